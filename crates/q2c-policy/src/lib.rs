//! The sleep rules of hybrid polling, one file each: the same code in simulator, live engine and library.
//!
//! # Contract
//! A rule is used through [`Lane`], one value per submitting thread. For every I/O the caller MUST call
//! [`Lane::decide`] once, when the submission has returned, and [`Lane::complete`] once, when the completion
//! was seen, with the token `decide` gave. `now` never goes back within a lane. A rule keeps no clock, allocates
//! nothing after [`PolicySpec::build`](crate::PolicySpec), and answers the same to the same calls.
//!
//! All times a rule sees count from the moment the submission returned, as the kernel's count from the
//! hand-over to the driver. `Outcome::observed` is what the caller saw, its own oversleep included; a rule never
//! learns the device's own time.

mod bucket;
pub mod form;
mod formula;
mod registry;
mod rules;
mod shared;
mod spec;
pub mod windowed;

pub use bucket::{BUCKETS, bucket_of};
pub use formula::{Answer, Formula, FormulaError, Statistic, Tally};
pub use registry::{Kind, Param, RULES, Rule, Scope, find, help};
pub use spec::{Family, FamilyError, PolicySpec, SpecError, SpecErrorKind};

use q2c_model::{Direction, Nanos};

/// The longest sleep any rule answers. Nothing a device completes in takes longer: the NVMe driver itself gives a
/// request up after 30 s, and a rule that ran away must not put its caller to sleep for good.
pub const MAX_SLEEP: Nanos = Nanos(10_000_000_000);

/// What to do with an I/O that was just submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Wait for the interrupt.
    Interrupt,
    /// Poll at once.
    Poll,
    /// Sleep this long from now, then poll.
    Sleep(Nanos),
}

/// A sleep of no time is none.
impl From<Nanos> for Decision {
    fn from(sleep: Nanos) -> Self {
        match sleep {
            Nanos::ZERO => Decision::Poll,
            some => Decision::Sleep(some),
        }
    }
}

/// What a rule knows of an I/O when it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Read or write.
    pub direction: Direction,
    /// Length in bytes.
    pub bytes: u32,
}

/// A rule's private mark on an I/O, given back at its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token(pub u64);

/// How an I/O ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// From the submission's return to the moment the completion was seen.
    pub observed: Nanos,
    /// The first poll after the wake-up already found the completion. False for an I/O that did not sleep. With several in flight: the
    /// first look at or after the end of this one's sleep, whoever the caller slept for, or a look before, found it complete.
    pub missed: bool,
}

/// One submitting thread's view of a rule.
pub trait Lane: Send {
    /// The decision for `io`, submitted at `now` (submission's return, monotonic).
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token);

    /// `io` was seen complete at `now`.
    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos);
}
