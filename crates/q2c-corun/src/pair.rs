//! Two tasks at the same time on named CPUs.

use crate::work::Task;
use q2c_model::CpuId;
use q2c_result::corun::Work;
use q2c_sys::thread::pin;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A machine on which pairs of tasks can be measured.
pub trait Machine {
    /// Blocks per second of `own` on the first CPU while the neighbour, if there is one, runs on
    /// the other CPU of the core, or on the same CPU.
    ///
    /// # Errors
    /// A thread cannot be started or pinned.
    fn rate(&mut self, own: Work, neighbour: Option<Work>, same_cpu: bool) -> io::Result<f64>;
}

/// Two logical CPUs of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Siblings {
    /// The one that is measured.
    pub own: CpuId,
    /// The other one of the same core.
    pub other: CpuId,
    /// Length of a trial.
    pub trial: Duration,
}

impl Machine for Siblings {
    fn rate(&mut self, own: Work, neighbour: Option<Work>, same_cpu: bool) -> io::Result<f64> {
        let other = if same_cpu { self.own } else { self.other };
        let both = Barrier::new(1 + usize::from(neighbour.is_some()));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let beside = neighbour.map(|work| {
                let (both, over) = (&both, &over);
                scope.spawn(move || beside(work, other, both, over))
            });
            let rate = scope
                .spawn(|| measured(own, self.own, self.trial, &both))
                .join();
            over.store(true, Ordering::Relaxed);
            let beside = beside.map_or(Ok(Ok(())), thread::ScopedJoinHandle::join);
            let panicked = |_| io::Error::other("a measuring thread panicked");
            beside.map_err(panicked)??;
            rate.map_err(panicked)?
        })
    }
}

fn measured(work: Work, cpu: CpuId, trial: Duration, both: &Barrier) -> io::Result<f64> {
    let pinned = pin(cpu);
    let mut task = Task::new(work, 1);
    both.wait();
    pinned?;
    // A tenth of the trial brings caches and clocks to where they stay.
    let warm = Instant::now();
    while warm.elapsed() < trial / 10 {
        task.block();
    }
    let began = Instant::now();
    let mut blocks = 0_u64;
    while began.elapsed() < trial {
        task.block();
        blocks += 1;
    }
    Ok(blocks as f64 / began.elapsed().as_secs_f64())
}

fn beside(work: Work, cpu: CpuId, both: &Barrier, over: &AtomicBool) -> io::Result<()> {
    let pinned = pin(cpu);
    let mut task = Task::new(work, 2);
    both.wait();
    pinned?;
    while !over.load(Ordering::Relaxed) {
        task.block();
    }
    Ok(())
}
