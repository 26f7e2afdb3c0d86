//! Turns SIGINT, SIGTERM, SIGHUP and SIGQUIT into a flag. No signal handler runs, and no system
//! call of a lane is interrupted.
//!
//! The command line calls [`Signals::install`] as the first thing in `main`, before any thread
//! exists. The four signals are then blocked in every thread, and one thread waits for them on a
//! `signalfd`. Runs look at [`Signals::stop`] between I/Os and end in the normal way, so that
//! restore guards are dropped and finished cells are kept; the command then exits with
//! `Exit::Interrupted`. A blocked mask is inherited through exec: start other programs with
//! `q2c_sys::signal::unblock_in_child`.

use q2c_sys::signal::{self, SignalFd, SignalSet};
use rustix::process::Signal;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

/// The signals that ask q2c to stop.
const STOPPING: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// The stop flag, and the number of the latest signal. Clones share both.
#[derive(Clone, Debug)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    last: Arc<AtomicI32>,
}

impl Signals {
    /// Blocks the signals and starts the thread that waits for them. Call it before any other
    /// thread exists, as threads inherit the mask.
    ///
    /// # Errors
    /// The mask could not be set, or the descriptor or the thread could not be made.
    pub fn install() -> io::Result<Signals> {
        let set = SignalSet::of(&STOPPING.map(Signal::as_raw))?;
        signal::block(&set)?;
        let fd = SignalFd::new(&set)?;
        let signals = Signals {
            stop: Arc::default(),
            last: Arc::default(),
        };
        let shared = signals.clone();
        thread::Builder::new()
            .name("q2c-signals".into())
            .spawn(move || shared.watch(&fd))?;
        Ok(signals)
    }

    /// The flag that runs look at. It becomes true with the first signal and stays true.
    #[must_use]
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether a signal has come.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The number of the latest signal; `None` before the first.
    #[must_use]
    pub fn received(&self) -> Option<i32> {
        Some(self.last.load(Ordering::Acquire)).filter(|&n| n != 0)
    }

    /// Waits for signals in a loop. If the descriptor fails, it raises the flag as well, because no
    /// later signal could stop the run, and ends.
    fn watch(&self, fd: &SignalFd) {
        loop {
            let signal = fd.wait();
            self.last
                .store(*signal.as_ref().unwrap_or(&0), Ordering::Release);
            self.stop.store(true, Ordering::Release);
            if signal.is_err() {
                return;
            }
        }
    }
}
