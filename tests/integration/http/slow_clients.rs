//! Slow clients: timeouts of request heads, bodies, unread responses and idle connections.

use std::{
    io,
    time::{Duration, Instant},
};

use support::{SOON, Server, eventually};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

/// The timeout of the server, apart from the idle timeout.
const LIMIT: Duration = Duration::from_millis(500);
const FLAGS: [&str; 4] = ["--client-timeout", "500ms", "--idle-timeout", "3s"];

fn address(server: &Server) -> &str {
    server.url.strip_prefix("http://").unwrap()
}

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(address(server)).await.unwrap()
}

/// Sends one byte at a time until the server responds or closes the connection; returns the response.
async fn drip(stream: &mut TcpStream, text: &str) -> String {
    let mut pace = tokio::time::interval(LIMIT / 20);
    for byte in text.bytes().cycle() {
        pace.tick().await;
        let mut response = [0; 1024];
        match stream.try_read(&mut response) {
            Ok(read) => return String::from_utf8_lossy(&response[..read]).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return String::new(),
        }
        if stream.write_all(&[byte]).await.is_err() {
            return String::new();
        }
    }
    unreachable!("`cycle` never ends")
}

async fn response(stream: &mut TcpStream) -> String {
    let mut response = String::new();
    let _ = tokio::time::timeout(SOON, stream.read_to_string(&mut response))
        .await
        .expect("the connection is closed");
    response
}

const HEAD: &str = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";

#[tokio::test]
async fn a_request_head_that_arrives_too_slowly_ends_the_connection() {
    let server = Server::start(&FLAGS);
    let start = Instant::now();
    let mut silent = connect(&server).await;
    let mut dripping = connect(&server).await;
    let (after_silence, after_drips) =
        tokio::join!(response(&mut silent), drip(&mut dripping, "GET / HTTP/1.1\r\nX: yyyyyyyy"));
    assert_eq!((after_silence.as_str(), after_drips.as_str()), ("", ""));
    assert!(start.elapsed() >= LIMIT, "{:?}", start.elapsed());
    assert_eq!(reqwest::get(format!("{}/livez", server.url)).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_body_that_arrives_too_slowly_or_not_at_all_is_408() {
    let server = Server::start(&FLAGS);
    let mut missing = connect(&server).await;
    missing.write_all(format!("{HEAD}Content-Length: 100\r\n\r\n{{").as_bytes()).await.unwrap();
    assert!(response(&mut missing).await.starts_with("HTTP/1.1 408 "));
    let mut dripping = connect(&server).await;
    dripping.write_all(format!("{HEAD}Content-Length: 100000\r\n\r\n").as_bytes()).await.unwrap();
    let late_response = drip(&mut dripping, " ").await;
    assert!(late_response.starts_with("HTTP/1.1 408 "), "{late_response}");
    assert!(late_response.contains("did not arrive within 500ms"), "{late_response}");
}

#[tokio::test]
async fn an_idle_connection_stays_open_longer_than_the_header_timeout() {
    let server = Server::start(&FLAGS);
    let mut stream = connect(&server).await;
    let get = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
    for _ in 0..2 {
        stream.write_all(get).await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"ok\n") {
            assert!(stream.read_buf(&mut read).await.unwrap() > 0, "closed after {read:?}");
        }
        // A plain pause: the test is about an idle connection.
        tokio::time::sleep(LIMIT * 2).await;
    }
    // The header timeout of the second request starts with its first byte.
    stream.write_all(b"GET ").await.unwrap();
    let start = Instant::now();
    assert_eq!(response(&mut stream).await, "");
    assert!(start.elapsed() >= LIMIT / 2, "{:?}", start.elapsed());
    let mut idle = connect(&server).await;
    idle.write_all(get).await.unwrap();
    assert!(response(&mut idle).await.ends_with("ok\n"));
}

#[tokio::test]
async fn a_client_that_does_not_read_its_responses_is_disconnected() {
    let server = Server::start(&FLAGS);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address(&server).parse().unwrap()).await.unwrap();
    let get = "GET /graphql?query=%7B__schema%7Btypes%7Bname%20description%20fields%7Bname%20description%7D%7D%7D%7D \
               HTTP/1.1\r\nHost: x\r\n\r\n";
    // More responses than all buffers hold.
    stream.write_all(get.repeat(500).as_bytes()).await.unwrap();
    eventually("the connection is reset", SOON, || async {
        match stream.try_write(b"GET") {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Some(()),
            _ => None,
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_head_that_is_too_long_is_431() {
    let server = Server::shared();
    for head in [
        format!("GET /livez HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(101)),
        format!("GET /livez HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "b".repeat(80_000)),
    ] {
        let mut stream = connect(server).await;
        let _ = stream.write_all(head.as_bytes()).await;
        let mut status = [0; 13];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 431 ");
    }
}
