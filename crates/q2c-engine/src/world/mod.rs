//! A world: a simulated machine with its own clock.
//!
//! Lanes are coroutines on one thread. The schedule always continues with the earliest event, on a
//! tie with that of the lowest lane, so a run is a function of its plan and its seeds. A thread
//! that looks for a completion does not step through time: it advances to the last look before the
//! completion and is charged for the CPU time.
//!
//! [`SimMachine`] has the costs. Threads on one CPU take turns of
//! [`slice_ns`](SimMachine::slice_ns); a thread that wakes waits until the running thread's turn is
//! over. An interrupt is taken only for a completion that a thread waits for asleep, on the CPU
//! that [`irq`](SimMachine::irq) names.

mod coroutines;
mod crew;
mod schedule;
#[cfg(test)]
mod tests;

pub use coroutines::{SimulatedThread, ThreadBody, run_in_world};
pub(crate) use crew::run_crew;

use q2c_model::CpuId;
use q2c_service::SimMachine;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A simulated machine with its clock and its counters, which continue from one run to the next.
/// All clones are the same world.
#[derive(Clone, Debug)]
pub struct World {
    machine: Arc<SimMachine>,
    counters: Arc<Mutex<Counters>>,
}

/// The counters of a simulated machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Time since the world was made, ns.
    pub now_ns: u64,
    /// The counters of each CPU, by number.
    pub cpus: Vec<SimCpuCounters>,
}

/// The counters of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimCpuCounters {
    /// Time in which threads ran, ns.
    pub threads_ns: u64,
    /// Time in interrupts of timers and devices, ns.
    pub interrupts_ns: u64,
    /// Number of the device's interrupts.
    pub interrupts: u64,
}

impl World {
    /// A world on this machine, whose values must be in range ([`SimMachine::check`]).
    pub fn new(machine: SimMachine) -> Self {
        let cpus = vec![SimCpuCounters::default(); machine.cpus() as usize];
        World {
            machine: Arc::new(machine),
            counters: Arc::new(Mutex::new(Counters { now_ns: 0, cpus })),
        }
    }

    /// The machine.
    pub fn machine(&self) -> &SimMachine {
        &self.machine
    }

    /// All CPUs of the machine.
    pub fn cpus(&self) -> Vec<CpuId> {
        (0..self.machine.cpus()).map(CpuId).collect()
    }

    /// Time since the world was made, ns. During a run, only the work next to its lanes may ask.
    pub fn now(&self) -> u64 {
        self.lock().now_ns
    }

    /// The counters; they may be read when [`World::now`] may be.
    pub fn counters(&self) -> Counters {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
