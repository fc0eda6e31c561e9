//! Clients that take their time, by bad luck or by intent.

use std::{
    io,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::support::{SOON, Server, eventually};

/// What the server is set to; and what a busy machine may add to it.
const LIMIT: Duration = Duration::from_millis(500);
const FLAGS: [&str; 8] = [
    "--header-timeout",
    "500ms",
    "--body-timeout",
    "500ms",
    "--send-timeout",
    "500ms",
    "--idle-timeout",
    "3s",
];

fn address(server: &Server) -> &str {
    server.url.strip_prefix("http://").unwrap()
}

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(address(server)).await.unwrap()
}

/// Sends a byte now and then, for as long as the server takes it and nothing comes back.
async fn drip(stream: &mut TcpStream, text: &str) -> String {
    let mut pace = tokio::time::interval(LIMIT / 20);
    for byte in text.bytes().cycle() {
        pace.tick().await;
        let mut answer = [0; 1024];
        match stream.try_read(&mut answer) {
            Ok(read) => return String::from_utf8_lossy(&answer[..read]).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return String::new(),
        }
        if stream.write_all(&[byte]).await.is_err() {
            return String::new();
        }
    }
    unreachable!("it goes round for ever")
}

async fn answer(stream: &mut TcpStream) -> String {
    let mut answer = String::new();
    let _ = tokio::time::timeout(SOON, stream.read_to_string(&mut answer)).await.expect("it is closed");
    answer
}

const HEAD: &str = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";

#[tokio::test]
async fn a_head_that_drips_in_ends_the_connection() {
    let server = Server::start(&FLAGS);
    let began = Instant::now();
    let mut silent = connect(&server).await;
    let mut dripping = connect(&server).await;
    let (after_silence, after_drips) =
        tokio::join!(answer(&mut silent), drip(&mut dripping, "GET / HTTP/1.1\r\nX: yyyyyyyy"));
    assert_eq!((after_silence.as_str(), after_drips.as_str()), ("", ""));
    assert!(began.elapsed() >= LIMIT, "{:?}", began.elapsed());
    assert_eq!(reqwest::get(format!("{}/healthz", server.url)).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_body_that_drips_in_or_does_not_come_is_408() {
    let server = Server::start(&FLAGS);
    let mut missing = connect(&server).await;
    missing.write_all(format!("{HEAD}Content-Length: 100\r\n\r\n{{").as_bytes()).await.unwrap();
    assert!(answer(&mut missing).await.starts_with("HTTP/1.1 408 "));
    let mut dripping = connect(&server).await;
    dripping.write_all(format!("{HEAD}Content-Length: 100000\r\n\r\n").as_bytes()).await.unwrap();
    let said = drip(&mut dripping, " ").await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert!(said.contains("did not arrive within 500ms"), "{said}");
}

#[tokio::test]
async fn a_connection_may_be_idle_for_longer_than_a_head_may_take() {
    let server = Server::start(&FLAGS);
    let mut stream = connect(&server).await;
    let ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    for _ in 0..2 {
        stream.write_all(ask).await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"ok") {
            assert!(stream.read_buf(&mut read).await.unwrap() > 0, "closed after {read:?}");
        }
        // The idleness itself, not something that is waited for.
        tokio::time::sleep(LIMIT * 2).await;
    }
    // But not for ever; and the second head has its time from its first byte on.
    stream.write_all(b"GET ").await.unwrap();
    let began = Instant::now();
    assert_eq!(answer(&mut stream).await, "");
    assert!(began.elapsed() >= LIMIT / 2, "{:?}", began.elapsed());
    let mut idle = connect(&server).await;
    idle.write_all(ask).await.unwrap();
    assert!(answer(&mut idle).await.ends_with("ok"));
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answers_is_cut_off() {
    let server = Server::start(&FLAGS);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address(&server).parse().unwrap()).await.unwrap();
    let ask = "GET /graphql?query=%7B__schema%7Btypes%7Bname%20description%20fields%7Bname%20description%7D%7D%7D%7D \
               HTTP/1.1\r\nHost: x\r\n\r\n";
    // Far more answers than all buffers hold.
    stream.write_all(ask.repeat(500).as_bytes()).await.unwrap();
    eventually("the connection is reset", SOON, || async {
        match stream.try_write(b"GET") {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Some(()),
            _ => None,
        }
    })
    .await;
}

#[tokio::test]
async fn a_head_that_is_too_long_is_431() {
    let server = Server::shared();
    for head in [
        format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(101)),
        format!("GET /healthz HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "b".repeat(70_000)),
    ] {
        let mut stream = connect(server).await;
        let _ = stream.write_all(head.as_bytes()).await;
        let mut status = [0; 13];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 431 ");
    }
}
