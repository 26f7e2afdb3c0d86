//! A minimal HTTP endpoint. It serves one page, which the program's own work replaces from time to
//! time. The work never waits for a client: it hands over a whole page, and clients are answered by
//! threads of their own, which give up on slow clients.

mod answer;

use answer::{Clients, answer};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;
use thiserror::Error;

/// Why an endpoint could not be set up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The address cannot be listened at.
    #[error("serve metrics at {address}: {source}{}", remedy(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// The serving thread could not be started.
    #[error(
        "start the thread that serves metrics: {0}; raise the limit of tasks (ulimit -u, pids.max)"
    )]
    Thread(#[source] io::Error),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse => {
            "; another program listens there: name another port, or 0 for one that is free"
        }
        ErrorKind::AddrNotAvailable => "; name an address of this machine",
        ErrorKind::PermissionDenied => "; ports below 1024 need root, so name a larger one",
        _ => "",
    }
}

#[derive(Clone)]
struct EndpointPage {
    /// The page's path, such as `/metrics`.
    path: &'static str,
    content_type: &'static str,
    text: Arc<Mutex<Arc<str>>>,
}

impl EndpointPage {
    fn lock_text(&self) -> MutexGuard<'_, Arc<str>> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address that is listened at. Clients wait until [`Endpoint::serve`].
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

impl Endpoint {
    /// Listens at `address`; port 0 stands for any that is free.
    pub fn bind(address: SocketAddr) -> Result<Self, EndpointError> {
        let refused = |source| EndpointError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Endpoint { listener, address })
    }

    /// The address, with the port that the system chose if port 0 was named.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves a page in its own threads, the first of which calls `begin`; other paths get 404.
    pub fn serve(
        self,
        path: &'static str,
        content_type: &'static str,
        text: String,
        begin: impl FnOnce() + Send + 'static,
    ) -> Result<PageServer, EndpointError> {
        let page = EndpointPage {
            path,
            content_type,
            text: Arc::new(Mutex::new(text.into())),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (served, stopped) = (page.clone(), Arc::clone(&stop));
        let Endpoint { listener, address } = self;
        let work = move || {
            begin();
            answer_clients(&listener, &served, &stopped);
        };
        let thread = Builder::new().name("metrics".to_owned()).spawn(work);
        Ok(PageServer {
            page,
            stop,
            address,
            thread: Some(thread.map_err(EndpointError::Thread)?),
        })
    }
}

/// Answers clients until `stop` is set.
fn answer_clients(listener: &TcpListener, page: &EndpointPage, stop: &AtomicBool) {
    /// How long to wait when no further connection can be taken, as when there are too many files.
    const RETRY_PAUSE: Duration = Duration::from_millis(100);
    let clients = Clients::default();
    while !stop.load(Ordering::Acquire) {
        let Ok((stream, _)) = listener.accept() else {
            sleep(RETRY_PAUSE);
            continue;
        };
        // Where there is no room for a client, its connection is closed.
        if let Some(client) = clients.enter() {
            let page = page.clone();
            let work = move || {
                // A client that goes away, or is too slow, is not reported.
                answer(stream, &page).ok();
                drop(client);
            };
            Builder::new().name("metrics".to_owned()).spawn(work).ok();
        }
    }
}

/// A page that is being served, until this value is dropped.
pub struct PageServer {
    page: EndpointPage,
    stop: Arc<AtomicBool>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl PageServer {
    /// Replaces the page. It does not wait for any client.
    pub fn publish(&self, text: String) {
        *self.page.lock_text() = text.into();
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        const WAKE_TIMEOUT: Duration = Duration::from_millis(200);
        self.stop.store(true, Ordering::Release);
        // A connection wakes the thread, which waits for one. Without it the thread goes on until
        // the process ends.
        let woken = TcpStream::connect_timeout(&self.address, WAKE_TIMEOUT).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests;
