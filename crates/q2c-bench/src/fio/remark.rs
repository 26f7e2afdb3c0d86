//! Remarks on options of a job file.

use std::fmt;

/// A property of a job that a flag of q2c can state instead of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Interface with its options.
    Engine,
    /// Completion method.
    Method,
    /// Pattern of offsets and direction.
    Rw,
    /// Block size.
    Bs,
    /// Requests in flight.
    Depth,
    /// Number of threads.
    Jobs,
    /// File or device.
    Target,
    /// Part of the target that is used.
    Size,
    /// Measured time.
    Seconds,
    /// Time before the measured time.
    WarmUp,
    /// Submissions per second.
    Rate,
    /// CPUs that threads are pinned to.
    Cpus,
}

/// A remark on an option that the file has, or on one that it lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Line of the option, from 1; for an option that is missing the line of the section's head.
    pub line: usize,
    /// The option as written, without its value.
    pub option: String,
    /// The reason why the option is not needed or not possible.
    pub why: String,
    /// The property that settles the remark when a flag states it; `None` when no flag can.
    pub about: Option<Topic>,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.option, self.why)
    }
}

/// Options of a global section are looked at once for each job: adds what is not there yet.
pub(crate) fn add(all: &mut Vec<Remark>, more: Vec<Remark>) {
    for remark in more {
        if !all.contains(&remark) {
            all.push(remark);
        }
    }
}
