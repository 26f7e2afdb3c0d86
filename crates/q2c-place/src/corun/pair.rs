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
        let gate = Barrier::new(1 + usize::from(neighbour.is_some()));
        let stop = AtomicBool::new(false);
        let work = (own, self.device.as_ref());
        thread::scope(|scope| {
            let neighbour = neighbour.map(|work| {
                let (gate, stop) = (&gate, &stop);
                let device = self.device.as_ref();
                scope.spawn(move || run_neighbour((work, device), other, gate, stop))
            });
            let measuring = scope.spawn(|| measure_rate(work, self.own, self.trial, &gate));
            let rate = measuring.join();
            stop.store(true, Ordering::Relaxed);
            let neighbour = neighbour.map_or(Ok(Ok(())), thread::ScopedJoinHandle::join);
            let panicked = |_| io::Error::other("a measuring thread panicked");
            neighbour.map_err(panicked)??;
            rate.map_err(panicked)?
        })
    }
}

/// A work, and the device that it polls.
type WorkOn<'a> = (Work, Option<&'a PolledDevice>);

/// Pins this thread and makes its task. Waits for the other thread, which a failure must not block.
fn start(on: WorkOn<'_>, seed: u64, cpu: CpuId, gate: &Barrier) -> io::Result<CorunTask> {
    let task = pin(cpu).and_then(|()| match on {
        (Work::Iopoll, Some(device)) => CorunTask::polling(device, seed),
        (Work::Iopoll, None) => Err(io::Error::other("there is no device to poll for")),
        (work, _) => Ok(CorunTask::new(work, seed)),
    });
    gate.wait();
    task
}

fn measure_rate(on: WorkOn<'_>, cpu: CpuId, trial: Duration, gate: &Barrier) -> io::Result<f64> {
    let mut task = start(on, 1, cpu, gate)?;
    // A tenth of the trial fills the caches and lets the CPU's frequency settle.
    let warm_up = Instant::now();
    while warm_up.elapsed() < trial / 10 {
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

fn run_neighbour(on: WorkOn<'_>, cpu: CpuId, gate: &Barrier, stop: &AtomicBool) -> io::Result<()> {
    let mut task = start(on, 2, cpu, gate)?;
    while !stop.load(Ordering::Relaxed) {
        task.block()?;
    }
    Ok(())
}
