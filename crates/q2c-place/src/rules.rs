//! The placement rules: which task a CPU takes over, and from which other CPU.
//!
//! The rules are the published ones. Lower case is the run queue of one logical CPU, upper case a
//! physical core; P counts polling tasks. CPU d takes tasks from CPU s:
//!
//! 1. *Which task*. s and d on the same core: a P task when P_d >= P_s, else a C
//!    task. On different cores: a P task when P_D < P_T / N_P and P_S > P_T / N_P, else a C task.
//!    P_T is the number of all P tasks and N_P the number of physical cores.
//! 2. *Which source*. s is the nearest CPU whose load exceeds d's own by a
//!    threshold. If s is d's sibling and their core is already colocated, s is chosen anew among
//!    the other physical cores.
//!
//! One task moves at a time, until the loads are nearly equal; all is counted anew after each move.
//!
//! # Where the published rules are silent
//!
//! - *Threshold*: the daemon and the scheduler's swap step take two tasks, for the move of one
//!   task would only turn a difference of one round. The published rules alone converge only with
//!   one task, which is Linux's (`docs/placement.md`).
//! - *Equally near sources*: the most loaded one, then the one with the lowest number.
//! - *d mixed and P_s = 0*: the core is not colocated; d takes from s. s holds no P task, so it is
//!   a C task. The CPUs of the core then share its load, and its P tasks stay where they are.
//! - *d idle and P_s = 0*: the same. An idle CPU does not hold only P tasks.
//! - *No task of the kind in s*: where a P task is called for and s holds none, a C task. Where a C
//!   task is called for and s holds none (or none that may move), s is passed over: a P task
//!   would undo what the rules are for.
//! - *Equal loads*: nothing is stolen, so an even but mixed start stays as it is. The
//!   swap step (`swap.rs`) is ours. It can be switched off.

mod steal;
mod swap;
mod tally;

pub use steal::Steal;
pub use swap::{Swap, SwapReason};
pub use tally::{RunQueueCounts, Tally};

use crate::map::CpuIndex;
use crate::predictor::Class;

/// The rules in force. With the swap step, a P task never moves to a core that would then have more
/// P tasks than the core it left: the literal rules allow that move, but the swap step would undo
/// it, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The published rules alone.
    Literal,
    /// With the swap step, which gathers the P tasks of a core on one CPU in any case, even if that
    /// leaves the other idle.
    WithSwap,
    /// The rules of the daemon and the scheduler. P tasks are gathered on one CPU only if a C task
    /// takes, or could take, the CPU that they leave. Else the P tasks would share a CPU while
    /// another idles.
    Proposed,
}

/// Says which tasks may move: tasks that an administrator pinned count in the loads, but do not
/// move.
pub trait Movable {
    /// True if some task of `class` on `from` may move to `to`.
    fn may_move(&self, from: CpuIndex, to: CpuIndex, class: Class) -> bool;
}

/// Every task may run on every CPU.
#[derive(Clone, Copy, Debug)]
pub struct AllMovable;

impl Movable for AllMovable {
    fn may_move(&self, _: CpuIndex, _: CpuIndex, _: Class) -> bool {
        true
    }
}

/// The threshold of Linux, tasks: three tasks on two CPUs keep changing places, for loads that
/// differ by a quarter are uneven to it (`imbalance_pct`, `kernel/sched/topology.c`). The source
/// names none.
pub const LINUX_THRESHOLD: u32 = 1;

/// The threshold of the daemon, and of the scheduler with the swap step.
pub const THRESHOLD: u32 = 2;

impl Rules {
    /// The threshold of these rules where the published ones alone have the threshold `alone`.
    pub(crate) fn threshold(self, alone: u32) -> u32 {
        if self == Rules::Literal {
            alone
        } else {
            THRESHOLD
        }
    }
}

/// Decides which tasks move.
pub struct Decider<'a, M> {
    /// Where the tasks are.
    pub tally: &'a Tally<'a>,
    /// The rules in force.
    pub rules: Rules,
    /// The number of tasks by which another CPU's load must exceed a CPU's own for a steal.
    pub threshold: u32,
    /// Which tasks may move.
    pub movable: &'a M,
}

/// A move that the rules ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// By the published rules.
    Steal(Steal),
    /// By the swap step.
    Swap(Swap),
}

impl<M: Movable> Decider<'_, M> {
    /// The next move: a steal by the first CPU that has one to make, else a swap.
    pub(crate) fn next_move(&self) -> Option<Move> {
        let mut cpus = 0..self.tally.map.cpus();
        let steal = cpus.find_map(|cpu| self.steal(cpu).map(Move::Steal));
        steal.or_else(|| self.swap().map(Move::Swap))
    }
}

#[cfg(test)]
mod tests;
