//! Threads that repeat operations for some time, and the operations in the counted time.

use q2c_model::CpuId;
use q2c_sys::thread::pin;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The counted time of a trial, and the operations of one of its threads.
#[derive(Clone)]
pub(crate) struct OpCounter<'a> {
    pub from: Instant,
    pub to: Instant,
    stop: &'a AtomicBool,
    /// Operations of the thread so far, including the warm-up.
    pub done: u64,
    /// Operations before the counted time, and the start of the first one that counts.
    counted_from: Option<(u64, Instant)>,
}

impl<'a> OpCounter<'a> {
    /// Creates a counter for a trial whose warm-up starts now. Both times are in seconds.
    pub(crate) fn new(warm_up_s: f64, seconds: f64, stop: &'a AtomicBool) -> Self {
        let from = Instant::now() + Duration::from_secs_f64(warm_up_s);
        OpCounter {
            from,
            to: from + Duration::from_secs_f64(seconds),
            stop,
            done: 0,
            counted_from: None,
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// True if there is time for one more operation. It counts if the counted time has started.
    pub(crate) fn start_operation(&mut self) -> bool {
        let now = Instant::now();
        if self.counted_from.is_none() && now >= self.from {
            self.counted_from = Some((self.done, now));
        }
        now < self.to && !self.is_stopped()
    }

    /// The number of operations that count, and their time in seconds.
    pub(crate) fn finish(&self) -> (u64, f64) {
        self.counted_from.map_or((0, 0.0), |(before, start)| {
            (self.done - before, start.elapsed().as_secs_f64())
        })
    }
}

/// Runs `work` in `count` threads, each with its number and on the next CPU, and `meanwhile` in
/// this thread. `name` is the word for such a thread in errors.
pub(crate) fn run_in_threads<T: Send, M>(
    (name, count): (&str, usize),
    cpus: &[u32],
    work: impl Fn(usize) -> io::Result<T> + Sync,
    meanwhile: impl FnOnce() -> M,
) -> io::Result<(Vec<T>, M)> {
    let work = &work;
    thread::scope(|scope| {
        let start = |number: usize| {
            let cpu = CpuId(cpus[number % cpus.len()]);
            scope.spawn(move || {
                pin(cpu)?;
                work(number)
            })
        };
        let threads: Vec<_> = (0..count).map(start).collect();
        let meanwhile = meanwhile();
        let died = || io::Error::other(format!("a {name} ended early"));
        let joined = threads.into_iter().map(|thread| thread.join());
        let results = joined.map(|joined| joined.unwrap_or_else(|_| Err(died())));
        Ok((results.collect::<io::Result<_>>()?, meanwhile))
    })
}
