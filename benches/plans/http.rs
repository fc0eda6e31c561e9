//! Load over HTTP: connections that send the same request again as soon as it is answered.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    Outcome,
    documents::Document,
    server::{Server, token},
};

pub struct Load {
    pub per_second: f64,
    /// CPU time of the server per request.
    pub cpu: Duration,
}

/// Sends the document for a third of the time to warm up, and then for this time.
pub async fn measure(
    server: &Server,
    document: &Document,
    connections: usize,
    time: Duration,
) -> Outcome<Load> {
    let request = request(server, document)?;
    run(server, document, &request, connections, time / 3).await?;
    let (cpu, begin) = (server.cpu()?, Instant::now());
    let requests = run(server, document, &request, connections, time).await?;
    let (cpu, elapsed) = (server.cpu()? - cpu, begin.elapsed());
    Ok(Load { per_second: f64::from(requests) / elapsed.as_secs_f64(), cpu: cpu / requests })
}

fn request(server: &Server, document: &Document) -> Outcome<String> {
    let (body, host) = (document.body(), server.address());
    let token = if document.variables == serde_json::json!({}) {
        String::new()
    } else {
        format!("authorization: Bearer {}\r\n", token()?)
    };
    Ok(format!(
        "POST /graphql HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n{token}content-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// Returns how many requests were answered.
async fn run(
    server: &Server,
    document: &Document,
    request: &str,
    connections: usize,
    time: Duration,
) -> Outcome<u32> {
    let end = Instant::now() + time;
    let connection = async |_| -> Outcome<u32> {
        let mut stream = TcpStream::connect(server.address()).await?;
        stream.set_nodelay(true)?;
        let (mut requests, mut answer) = (0, Vec::with_capacity(64 * 1024));
        while Instant::now() < end {
            stream.write_all(request.as_bytes()).await?;
            read(&mut stream, &mut answer).await?;
            requests += 1;
        }
        let text = String::from_utf8_lossy(&answer);
        let is_whole = text.starts_with("HTTP/1.1 200") && !text.contains("\"errors\":[");
        if is_whole { Ok(requests) } else { Err(format!("{}: {text}", document.name).into()) }
    };
    Ok(try_join_all((0..connections).map(connection)).await?.into_iter().sum())
}

/// Reads one answer, which has a length.
async fn read(stream: &mut TcpStream, answer: &mut Vec<u8>) -> Outcome<()> {
    answer.clear();
    let mut length = None;
    while length.is_none_or(|length| answer.len() < length) {
        if stream.read_buf(answer).await? == 0 {
            return Err("the connection ended".into());
        }
        if length.is_none() {
            length = whole_length(answer)?;
        }
    }
    Ok(())
}

/// The length of the answer with its head, if the head has arrived.
fn whole_length(answer: &[u8]) -> Outcome<Option<usize>> {
    let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
    let head = str::from_utf8(&answer[..end])?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    Ok(Some(end + 4 + length.ok_or("no content-length")?.parse::<usize>()?))
}
