//! Answers a client within a limit of time.

use crate::endpoint::EndpointPage;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time for a client, from its connection to the end of the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest head of a request.
const MAX_HEAD_BYTES: usize = 8 << 10;

/// Counts the clients that are answered at the same time.
#[derive(Default)]
pub(super) struct Clients(Arc<()>);

/// The place of a client, until it is dropped.
pub(super) struct Client(#[expect(dead_code, reason = "it is counted")] Arc<()>);

impl Clients {
    const MAX_AT_ONCE: usize = 16;

    /// A place for a client; `None` when all are taken. Only one thread may call this.
    pub(crate) fn enter(&self) -> Option<Client> {
        let clients = Arc::strong_count(&self.0) - 1;
        (clients < Self::MAX_AT_ONCE).then(|| Client(Arc::clone(&self.0)))
    }
}

pub(super) fn answer(mut stream: TcpStream, page: &EndpointPage) -> io::Result<()> {
    let deadline = Instant::now() + CLIENT_TIMEOUT;
    let head = read_head(&mut stream, deadline)?;
    let text = Arc::clone(&page.lock_text());
    let answer = HttpRequest::parse(&head, page.path).answer(page.content_type, &text);
    let mut unsent = answer.as_bytes();
    while !unsent.is_empty() {
        stream.set_write_timeout(Some(remaining_time(deadline)?))?;
        match stream.write(unsent)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => unsent = &unsent[written..],
        }
    }
    stream.shutdown(Shutdown::Write)?;
    // Closing with unread bytes would reset the connection before the client has the answer.
    let mut buffer = [0; 1024];
    while read(&mut stream, &mut buffer, deadline)? > 0 {}
    Ok(())
}

/// The head of a request: all up to an empty line, to [`MAX_HEAD_BYTES`], or to the end.
fn read_head(stream: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while head.len() < MAX_HEAD_BYTES {
        let count = read(stream, &mut buffer, deadline)?;
        head.extend_from_slice(&buffer[..count]);
        let ends = |end: &[u8]| head.windows(end.len()).any(|part| part == end);
        if count == 0 || ends(b"\r\n\r\n") || ends(b"\n\n") {
            break;
        }
    }
    Ok(head)
}

fn read(stream: &mut TcpStream, into: &mut [u8], deadline: Instant) -> io::Result<usize> {
    stream.set_read_timeout(Some(remaining_time(deadline)?))?;
    stream.read(into)
}

/// The time until `deadline`, above zero.
fn remaining_time(deadline: Instant) -> io::Result<Duration> {
    let remaining = deadline.saturating_duration_since(Instant::now());
    let positive = Some(remaining).filter(|time| !time.is_zero());
    positive.ok_or_else(|| ErrorKind::TimedOut.into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpRequest {
    Page,
    /// The head of the page alone.
    PageHead,
    OtherPath,
    /// Another method than GET and HEAD.
    OtherMethod,
    /// Something that is no request of HTTP/1.
    Malformed,
}

impl HttpRequest {
    /// The request with this head, where the page has the path `path`.
    pub(crate) fn parse(head: &[u8], path: &str) -> HttpRequest {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
        let Ok(line) = std::str::from_utf8(line) else {
            return HttpRequest::Malformed;
        };
        let fields: Vec<&str> = line.trim_end_matches('\r').split(' ').collect();
        let [method, target, version] = fields[..] else {
            return HttpRequest::Malformed;
        };
        let target_path = target.split('?').next();
        match (version.starts_with("HTTP/1."), method) {
            (false, _) => HttpRequest::Malformed,
            _ if target_path != Some(path) => HttpRequest::OtherPath,
            (_, "GET") => HttpRequest::Page,
            (_, "HEAD") => HttpRequest::PageHead,
            _ => HttpRequest::OtherMethod,
        }
    }

    pub(crate) fn answer(self, content_type: &str, page: &str) -> String {
        const TEXT: &str = "text/plain; charset=utf-8";
        let (status, kind, body) = match self {
            HttpRequest::Page | HttpRequest::PageHead => ("200 OK", content_type, page),
            HttpRequest::OtherPath => ("404 Not Found", TEXT, "not found\n"),
            HttpRequest::OtherMethod => ("405 Method Not Allowed", TEXT, "only GET and HEAD\n"),
            HttpRequest::Malformed => ("400 Bad Request", TEXT, "no request of HTTP/1\n"),
        };
        let length = body.len();
        let (allow, body) = match self {
            HttpRequest::OtherMethod => ("Allow: GET, HEAD\r\n", body),
            HttpRequest::PageHead => ("", ""),
            _ => ("", body),
        };
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n{body}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        use HttpRequest::{Malformed, OtherMethod, OtherPath, Page, PageHead};
        let parsed = |head: &[u8]| HttpRequest::parse(head, "/metrics");
        for (head, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n", Page),
            ("GET /metrics?a=b HTTP/1.0\n\n", Page),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", PageHead),
            ("GET / HTTP/1.1\r\n\r\n", OtherPath),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", OtherPath),
            ("POST /metrics HTTP/1.1\r\n\r\n", OtherMethod),
            ("GET /metrics HTTP/2\r\n\r\n", Malformed),
            ("GET /metrics\r\n\r\n", Malformed),
            ("\u{16}\u{3}\u{1}", Malformed),
            ("", Malformed),
        ] {
            assert_eq!(parsed(head.as_bytes()), wanted, "{head}");
        }
        assert_eq!(parsed(&[0xff, b'\n']), Malformed);
    }

    #[test]
    fn answers_have_the_length_of_their_body() {
        let whole = HttpRequest::Page.answer("text/x", "a 1\n");
        let (head, body) = whole.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n"));
        assert!(head.contains("Content-Length: 4\r\n"), "{head}");
        assert_eq!(body, "a 1\n");
        let expected = format!("{head}\r\n\r\n");
        assert_eq!(HttpRequest::PageHead.answer("text/x", "a 1\n"), expected);
        let wrong = HttpRequest::OtherMethod.answer("text/x", "a 1\n");
        assert!(wrong.contains("405 ") && wrong.contains("\r\nAllow: GET, HEAD\r\n"));
    }
}
