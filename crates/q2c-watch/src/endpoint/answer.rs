//! Answers a client within a limit of time.

use crate::endpoint::EndpointPage;
use crate::endpoint::request::HttpRequest;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time for a client, from its connection to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest head of a request, bytes.
const HEAD: usize = 8 << 10;

/// Counts the clients that are answered at the same time.
#[derive(Default)]
pub(super) struct Clients(Arc<()>);

/// The place of a client, until it is dropped.
pub(super) struct Client(#[expect(dead_code, reason = "it is counted")] Arc<()>);

impl Clients {
    /// Most clients at the same time.
    const MOST: usize = 16;

    /// A place for a client; `None` when all are taken. Clients enter in one thread alone.
    pub(crate) fn enter(&self) -> Option<Client> {
        let taken = Arc::strong_count(&self.0) - 1;
        (taken < Self::MOST).then(|| Client(Arc::clone(&self.0)))
    }
}

/// Reads a request and answers it.
pub(super) fn answer(mut stream: TcpStream, page: &EndpointPage) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let head = head(&mut stream, until)?;
    let text = page.text();
    let answer = HttpRequest::parse(&head, page.path).answer(page.content_type, &text);
    let mut rest = answer.as_bytes();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(rest)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => rest = &rest[written..],
        }
    }
    stream.shutdown(Shutdown::Write)?;
    // What the client still sends is read, since closing before would take the answer back.
    let mut more = [0; 1024];
    while read(&mut stream, &mut more, until)? > 0 {}
    Ok(())
}

/// The head of a request: all up to an empty line, or [`HEAD`] bytes, or what came before the end.
fn head(stream: &mut TcpStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut more = [0; 1024];
    while head.len() < HEAD {
        let count = read(stream, &mut more, until)?;
        head.extend_from_slice(&more[..count]);
        let ends = |end: &[u8]| head.windows(end.len()).any(|part| part == end);
        if count == 0 || ends(b"\r\n\r\n") || ends(b"\n\n") {
            break;
        }
    }
    Ok(head)
}

fn read(stream: &mut TcpStream, into: &mut [u8], until: Instant) -> io::Result<usize> {
    stream.set_read_timeout(Some(left(until)?))?;
    stream.read(into)
}

/// The time until `until`, above zero.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(ErrorKind::TimedOut.into())
    } else {
        Ok(left)
    }
}
