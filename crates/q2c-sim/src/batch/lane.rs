//! One configuration between its events: the ends of its windows, and the begin and end of what counts.

use super::FAR;
use super::totals::{Snapshot, Totals};
use crate::outcome::Outcome;
use q2c_policy::form::{Sensitivity, WindowForm};

/// No such time.
pub(super) const NEVER: i64 = i64::MAX;
/// [`Lane::end`] while no window is open; lies in the past.
pub(super) const IDLE: i64 = i64::MIN;

/// What decides the sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// A lane without configuration, one that is done, or one that always sleeps the same.
    Still,
    Windowed(WindowForm),
    Pas(Sensitivity),
}

impl Rule {
    /// Of its windows, ns; 0 without any.
    pub fn period(&self) -> u64 {
        match self {
            Rule::Windowed(form) => form.period.0,
            _ => 0,
        }
    }
}

/// How much of the counting is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    WarmUp,
    Counting,
    Done,
}

/// Times in nanoseconds of simulated time.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub rule: Rule,
    /// When the kernel calls for this lane next: at the first completion at or after it.
    pub event: i64,
    /// When the open window is over.
    pub end: i64,
    /// When the stage changes: with the first I/O begun at or after it.
    pub mark: i64,
    pub stage: Stage,
    /// Number of the open window's first completion.
    pub opened: u64,
    /// I/Os that the totals contain.
    pub flushed: u64,
    /// No later than when they were flushed.
    pub flushed_at: i64,
    /// Time that these I/Os took, but for recorded submissions and think times.
    pub taken: i64,
    /// Their device times.
    pub waited: i64,
    pub totals: Totals,
    /// Where counting began.
    pub before: Snapshot,
    pub outcome: Outcome,
}

impl Lane {
    pub fn new(rule: Rule, warm_up: i64) -> Self {
        Lane {
            rule,
            event: 0,
            end: match rule {
                Rule::Windowed(_) => IDLE,
                _ => NEVER,
            },
            mark: warm_up,
            stage: Stage::WarmUp,
            opened: 0,
            flushed: 0,
            flushed_at: 0,
            taken: 0,
            waited: 0,
            totals: Totals::default(),
            before: Snapshot::default(),
            outcome: Outcome::default(),
        }
    }

    /// A lane without configuration.
    pub fn empty() -> Self {
        Lane {
            stage: Stage::Done,
            ..Lane::new(Rule::Still, NEVER)
        }
    }

    /// Sets the next event, from `now` on; returns by how much it moved.
    pub fn next_event(&mut self, now: i64) -> i64 {
        let next = self.end.min(self.mark).min(now + i64::from(FAR));
        let moved = next - self.event;
        self.event = next;
        moved
    }
}
