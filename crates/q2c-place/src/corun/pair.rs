//! Two tasks at the same time on named CPUs.

use crate::corun::work::CorunTask;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::{Bytes, CpuId};
use q2c_result::corun::Work;
use q2c_sys::thread::pin;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A machine on which pairs of tasks can be measured.
pub trait PairMachine {
    /// Blocks per second of `own` on the first CPU. The neighbour, if there is one, runs on the
    /// core's other CPU, or on the same CPU if `same_cpu`.
    ///
    /// # Errors
    /// A thread cannot be started or pinned.
    fn rate(&mut self, own: Work, neighbour: Option<Work>, same_cpu: bool) -> io::Result<f64>;

    /// The kinds of polling that can be measured here.
    fn polling(&self) -> Vec<Work> {
        Work::POLLING.to_vec()
    }
}

/// A device that tasks poll for in the kernel.
#[derive(Clone, Debug)]
pub struct PolledDevice {
    /// The engine, which polls the device.
    pub engine: EngineSpec,
    /// The device or a file on it.
    pub medium: Medium,
    /// Bytes that are read, from the start.
    pub span: Bytes,
    /// Bytes of a read.
    pub bs: u32,
}

/// Two logical CPUs of this machine.
#[derive(Clone, Debug)]
pub struct Siblings {
    /// The CPU whose task is measured.
    pub own: CpuId,
    /// The other CPU of the same core.
    pub other: CpuId,
    /// Length of a trial.
    pub trial: Duration,
    /// The device of [`Work::Iopoll`]; `None` leaves it out.
    pub device: Option<PolledDevice>,
}

impl PairMachine for Siblings {
    fn polling(&self) -> Vec<Work> {
        let device = self.device.iter().map(|_| Work::Iopoll);
        Work::POLLING.into_iter().chain(device).collect()
    }

    fn rate(&mut self, own: Work, neighbour: Option<Work>, same_cpu: bool) -> io::Result<f64> {
        let other = if same_cpu { self.own } else { self.other };
        let both = Barrier::new(1 + usize::from(neighbour.is_some()));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let beside = neighbour.map(|work| {
                let (both, over) = (&both, &over);
                let device = self.device.as_ref();
                scope.spawn(move || run_neighbour((work, device), other, both, over))
            });
            let measures =
                scope.spawn(|| measured((own, self.device.as_ref()), self.own, self.trial, &both));
            let rate = measures.join();
            over.store(true, Ordering::Relaxed);
            let beside = beside.map_or(Ok(Ok(())), thread::ScopedJoinHandle::join);
            let panicked = |_| io::Error::other("a measuring thread panicked");
            beside.map_err(panicked)??;
            rate.map_err(panicked)?
        })
    }
}

type On<'a> = (Work, Option<&'a PolledDevice>);

/// Pins this thread and makes its task. Even after a failure it joins the other at the barrier.
fn ready((work, device): On<'_>, seed: u64, cpu: CpuId, both: &Barrier) -> io::Result<CorunTask> {
    let task = pin(cpu).and_then(|()| match (work, device) {
        (Work::Iopoll, Some(device)) => CorunTask::polling(device, seed),
        (Work::Iopoll, None) => Err(io::Error::other("there is no device to poll for")),
        _ => Ok(CorunTask::new(work, seed)),
    });
    both.wait();
    task
}

fn measured(on: On<'_>, cpu: CpuId, trial: Duration, both: &Barrier) -> io::Result<f64> {
    let mut task = ready(on, 1, cpu, both)?;
    // A tenth of the trial brings caches and clocks to where they stay.
    let warm = Instant::now();
    while warm.elapsed() < trial / 10 {
        task.block()?;
    }
    let began = Instant::now();
    let mut blocks = 0_u64;
    while began.elapsed() < trial {
        task.block()?;
        blocks += 1;
    }
    Ok(blocks as f64 / began.elapsed().as_secs_f64())
}

fn run_neighbour(on: On<'_>, cpu: CpuId, both: &Barrier, over: &AtomicBool) -> io::Result<()> {
    let mut task = ready(on, 2, cpu, both)?;
    while !over.load(Ordering::Relaxed) {
        task.block()?;
    }
    Ok(())
}
