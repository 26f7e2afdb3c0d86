//! How the simulated lanes wait.

use q2c_policy::{Lane, LaneMethod, Wait};

/// How completions are waited for, made ready for each lane.
pub enum Waiting {
    /// By a method of q2c's own threads, one entry per lane.
    Lanes(Vec<Wait>),
    /// The bound: it knows each latency and wake delay, and sleeps whenever that saves CPU.
    Oracle,
}

impl Waiting {
    /// A method on so many lanes, each on a CPU of its own.
    #[must_use]
    pub fn from_method(method: &LaneMethod, lanes: usize) -> Self {
        Waiting::Lanes(method.build(lanes))
    }

    /// Classic polling on so many lanes.
    #[must_use]
    pub fn poll(lanes: usize) -> Self {
        Waiting::from_method(&LaneMethod::Poll, lanes)
    }

    /// Interrupts on so many lanes.
    #[must_use]
    pub fn interrupt(lanes: usize) -> Self {
        Waiting::from_method(&LaneMethod::Interrupt, lanes)
    }

    /// Sleep rules, one handle per lane.
    #[must_use]
    pub fn rules(handles: Vec<Box<dyn Lane>>) -> Self {
        Waiting::Lanes(handles.into_iter().map(Wait::Hybrid).collect())
    }

    /// `None` is the oracle.
    pub(crate) fn of_lane(&mut self, lane: usize) -> Option<&mut Wait> {
        match self {
            Waiting::Lanes(waits) => Some(&mut waits[lane]),
            Waiting::Oracle => None,
        }
    }
}
