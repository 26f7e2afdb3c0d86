//! Work in a thread of its own, beside a trial that its caller runs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};

/// A thread that works until [`SideThread::end`]. Dropping it ends the thread, too.
pub(crate) struct SideThread<T, E> {
    stop: Arc<AtomicBool>,
    /// `None` once the thread is joined.
    thread: Option<JoinHandle<Result<T, E>>>,
}

impl<T, E> SideThread<T, E>
where
    T: Send + 'static,
    E: Send + 'static,
{
    /// Makes the worker in a new thread, and lets it work until its stop flag is set. `refused`
    /// makes the error when no thread can be started.
    pub(crate) fn begin<W>(
        make: impl FnOnce() -> Result<W, E> + Send + 'static,
        work: impl FnOnce(W, &AtomicBool) -> Result<T, E> + Send + 'static,
        refused: impl FnOnce(io::Error) -> E,
    ) -> Result<Self, E> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (sender, receiver) = sync_channel(1);
        let thread = Builder::new().spawn(move || {
            let worker = make();
            // The caller waits for this message, so the channel is open.
            sender.send(worker.is_ok()).ok();
            work(worker?, &stopped)
        });
        let thread = Some(thread.map_err(refused)?);
        let side = SideThread { stop, thread };
        match receiver.recv() {
            Ok(true) => Ok(side),
            _ => match side.end() {
                Err(error) => Err(error),
                Ok(_) => unreachable!("without a worker there is no work"),
            },
        }
    }

    pub(crate) fn end(mut self) -> Result<T, E> {
        self.stop.store(true, Ordering::Release);
        let thread = self.thread.take().expect("the thread is joined once");
        thread.join().expect("the work does not panic")
    }
}

impl<T, E> Drop for SideThread<T, E> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::thread::yield_now;

    #[test]
    fn it_works_until_it_is_ended() {
        let turns = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&turns);
        let side = SideThread::<_, String>::begin(
            || Ok(40_u64),
            move |from, stop| {
                while !stop.load(Ordering::Acquire) {
                    counted.fetch_add(1, Ordering::Relaxed);
                    yield_now();
                }
                Ok(from + 2)
            },
            |refused| refused.to_string(),
        );
        let side = side.expect("it is made");
        while turns.load(Ordering::Relaxed) == 0 {
            yield_now();
        }
        assert_eq!(side.end(), Ok(42));
    }

    #[test]
    fn a_worker_that_cannot_be_made_is_the_error() {
        let made = SideThread::begin(|| Err::<u64, _>("no device"), |n, _| Ok(n), |_| "no thread");
        assert_eq!(made.err(), Some("no device"));
    }

    #[test]
    fn a_drop_ends_the_work() {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let side = SideThread::<(), String>::begin(
            || Ok(()),
            move |(), stop| {
                while !stop.load(Ordering::Acquire) {
                    yield_now();
                }
                seen.store(true, Ordering::Release);
                Ok(())
            },
            |refused| refused.to_string(),
        );
        drop(side);
        assert!(ended.load(Ordering::Acquire));
    }
}
