//! The sleep rules of hybrid polling, one file each. The simulator, the live engine and users of
//! this library run the same code.
//!
//! # Contract
//! A rule is used through [`Lane`], one value per submitting thread. For every I/O the caller MUST
//! call [`Lane::decide`] once, when the submission has returned, and [`Lane::complete`] once, when
//! the completion was seen, with the token that `decide` gave. `now` never goes back within a lane.
//! A rule reads no clock, allocates nothing after [`PolicySpec::build`](crate::PolicySpec), and
//! gives equal answers to equal sequences of calls.
//!
//! All times that a rule sees begin when the submission returns; the kernel's own begin at the
//! hand-over to the driver. `Outcome::observed` is the time that the caller saw, its own oversleep
//! included; a rule never learns the device's own time.
//!
//! # Example
//! Half of the mean of the last window: the first window has no statistic yet, so the rule polls.
//! ```
//! use q2c_model::{Direction, Nanos};
//! use q2c_policy::{Decision, Io, Outcome, PolicySpec};
//!
//! let rule: PolicySpec = "mean:ratio=50%,period=1ms".parse()?;
//! let mut lane = rule.build(1).remove(0);
//! let io = Io { direction: Direction::Read, bytes: 4096 };
//! for n in 0..100 {
//!     let now = Nanos(n * 100_000);
//!     let (decision, token) = lane.decide(io, now);
//!     if n == 0 {
//!         assert_eq!(decision, Decision::Poll);
//!     }
//!     if n == 99 {
//!         assert_eq!(decision, Decision::Sleep(Nanos(40_000)));
//!     }
//!     let outcome = Outcome { observed: Nanos(80_000), missed: false };
//!     lane.complete(io, token, outcome, Nanos(now.0 + 80_000));
//! }
//! # Ok::<(), q2c_policy::SpecError>(())
//! ```

mod bucket;
pub mod form;
mod formula;
pub mod method;
mod registry;
mod rules;
mod shared;
mod spec;
mod state;
pub mod windowed;

pub use bucket::{BUCKETS, bucket_of};
pub use formula::{Formula, FormulaCounts, FormulaResult, Statistic};
pub use method::{KernelSleep, LaneMethod, Method, ParseMethodError, Wait};
pub use registry::{LINUX, Learning, Param, ParamKind, RULES, Scope, SleepRule, find};
pub use spec::{Family, FamilyError, MAX_CONFIGURATIONS, PolicySpec, SpecError};

use q2c_model::{Direction, Nanos};

/// The longest sleep that any rule answers, 10 s: the NVMe driver gives up a request after 30 s.
pub const MAX_SLEEP: Nanos = Nanos(10_000_000_000);

/// A rule's answer for an I/O that was just submitted: how to wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// Wait for the interrupt.
    Interrupt,
    /// Poll at once.
    #[default]
    Poll,
    /// Sleep this long from now, then poll.
    Sleep(Nanos),
}

impl From<Nanos> for Decision {
    fn from(sleep: Nanos) -> Self {
        match sleep {
            Nanos::ZERO => Decision::Poll,
            sleep => Decision::Sleep(sleep),
        }
    }
}

/// The properties of an I/O that a rule knows when it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Read or write.
    pub direction: Direction,
    /// Length in bytes.
    pub bytes: u32,
}

impl Io {
    /// A read of 4 KiB.
    pub const READ_4K: Io = Io {
        direction: Direction::Read,
        bytes: 4096,
    };
}

/// A rule's private mark on an I/O, which the caller gives back at the completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token(pub u64);

/// How an I/O ended, as the caller reports it to the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Time from the submission's return to the moment at which the completion was seen.
    pub observed: Nanos,
    /// True if the first poll after the wake-up already found the completion; false without a
    /// sleep. With several I/Os in flight: true if this I/O was found complete by the first poll at
    /// or after the end of its own sleep or by an earlier poll, whichever I/O the thread slept for.
    pub missed: bool,
}

impl Outcome {
    /// The outcome of an I/O that was seen complete after `observed_ns`.
    #[inline]
    pub fn new(observed_ns: u64, missed: bool) -> Self {
        let observed = Nanos(observed_ns);
        Outcome { observed, missed }
    }
}

/// A rule as one submitting thread uses it. The crate's documentation has the contract.
pub trait Lane: Send {
    /// Decides how to wait for `io`, submitted at `now` on the caller's monotonic clock.
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token);

    /// Tells the rule that `io`, decided with `token`, was seen complete at `now`.
    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos);

    /// The numbers that the lane has learned, while none of its I/Os is in flight. `None` for a
    /// rule of windows, whose engine stores them with [`OpenWindow`](windowed::OpenWindow).
    fn state(&self) -> Option<Vec<u64>> {
        None
    }

    /// Resumes from the [`state`](Lane::state) of another lane of the same rule. Returns `None` if
    /// the numbers are not of this rule; the lane must not be used then.
    #[must_use]
    fn restore(&mut self, _state: &[u64]) -> Option<()> {
        None
    }
}
