//! What is to be said of an option.

use std::fmt;

/// What a flag of q2c's can say instead of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Interface.
    Engine,
    /// Completion method.
    Method,
    /// Pattern.
    Rw,
    /// Block size.
    Bs,
    /// Requests in flight.
    Depth,
    /// Threads.
    Jobs,
    /// File or device.
    Target,
    /// How much of it.
    Size,
    /// Measured time.
    Seconds,
    /// Time before it.
    WarmUp,
    /// Submissions per second.
    Rate,
    /// CPUs.
    Cpus,
}

/// An option of the file, or one that it lacks, and a sentence on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Its line, from 1; that of the section's head for an option that is missing.
    pub line: usize,
    /// The option as written, without its value.
    pub option: String,
    /// Why it is not needed, or not possible.
    pub why: String,
    /// What settles the matter when it is given elsewhere.
    pub about: Option<Topic>,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.option, self.why)
    }
}

/// Adds what was not said yet: options of a global section are looked at once for each job.
pub(crate) fn add(all: &mut Vec<Remark>, more: Vec<Remark>) {
    for remark in more {
        if !all.contains(&remark) {
            all.push(remark);
        }
    }
}
