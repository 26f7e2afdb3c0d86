//! The placement rules: which task a CPU takes over, and from which other CPU.
//!
//! The rules are the published ones. Lower case is the run queue of one logical CPU, upper case a
//! physical core; P counts polling tasks. CPU d takes tasks from CPU s:
//!
//! 1. *Which task* ([`which_task`]). s and d on the same core: a P task when P_d >= P_s, else a C
//!    task. On different cores: a P task when P_D < P_T / N_P and P_S > P_T / N_P, else a C task.
//!    P_T is the number of all P tasks and N_P the number of physical cores.
//! 2. *Which source* ([`colocated`]). s is the nearest CPU whose load exceeds d's own by a
//!    threshold. If s is d's sibling and their core is already colocated, s is chosen anew among
//!    the other physical cores.
//!
//! One task moves at a time, until the loads are nearly equal; all is counted anew after each move.
//!
//! # Where the published rules are silent
//!
//! - *Threshold*: a load exceeds another when it is larger by two tasks or more. A difference of
//!   one is nearly equal: the move of one task would only turn it round.
//! - *Equally near sources*: the most loaded one, then the one with the lowest number.
//! - *d mixed and P_s = 0*: the core is not colocated; d takes from s. s holds no P task, so it is
//!   a C task. The CPUs of the core then share its load, and its P tasks stay where they are.
//! - *d idle and P_s = 0*: the same. An idle CPU does not hold only P tasks.
//! - *No task of the kind in s*: where a P task is called for and s holds none, a C task. Where a C
//!   task is called for and s holds none (or none that may move), s is passed over: a P task
//!   would undo what the rules are for.
//! - *Equal loads*: nothing is stolen, so an even but mixed start stays as it is. The
//!   [swap step](swap) is ours. It can be switched off.

mod balance;
mod steal;
mod swap;
mod tally;

pub(crate) use balance::{Move, next_move};
pub use steal::{Steal, steal};
pub use swap::{Swap, SwapReason, swap_at};
pub use tally::{RunQueueCounts, Tally};

use crate::map::CpuIndex;
use crate::predictor::Class;

/// Which of the rules are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The swap step. With it, a P task never moves to a core that would then have more P tasks
    /// than the one it left: the literal rules allow that, and the two would undo each other's
    /// moves.
    pub swap: Option<SwapStep>,
}

/// How far the swap step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapStep {
    /// P tasks of a core are gathered on one CPU in any case, even if that leaves the other idle.
    Always,
    /// They are gathered only where a C task takes, or could take, the place that is left: P tasks
    /// that share a CPU have half of it each, for nobody's use otherwise.
    ForRoom,
}

impl Rules {
    /// The published rules alone.
    pub(crate) const LITERAL: Rules = Rules { swap: None };
    /// The published rules with the swap step, whatever it leaves idle.
    pub(crate) const WITH_SWAP: Rules = Rules {
        swap: Some(SwapStep::Always),
    };
    /// The rules of the daemon and the scheduler.
    pub const PROPOSED: Rules = Rules {
        swap: Some(SwapStep::ForRoom),
    };
}

/// Whether some task of the class may move from the first CPU to the second: tasks that an
/// administrator pinned count in the loads, but do not move.
pub trait Movable {
    /// Whether a task of `class` on `from` may move to `to`.
    fn may_move(&self, from: CpuIndex, to: CpuIndex, class: Class) -> bool;
}

/// Every task may run on every CPU.
#[derive(Clone, Copy, Debug)]
pub struct Anywhere;

impl Movable for Anywhere {
    fn may_move(&self, _: CpuIndex, _: CpuIndex, _: Class) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
