//! What was seen and what was written, as lines that another program can recompute the values from.
//!
//! The first line names the rule. Then, in the order in which the rule was given them, `complete,AT_NS,LATENCY_NS,OP,BYTES` for every
//! completion that counts and `write,AT_NS,DECISION,IO_POLL_DELAY` for every value written, where the decision is a sleep in ns or
//! `poll`; `lost,AT_NS,N` when N completions more were not seen. Times are CLOCK_MONOTONIC.

use q2c_capture::kernel_hybrid::Delay;
use q2c_capture::latency::Completion;
use q2c_model::Nanos;
use q2c_policy::Decision;
use std::fmt;
use std::io::{self, Write};

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A completion, under the time that the rule counts it.
    Complete(Nanos, Completion),
    /// A value written.
    Write(Nanos, Decision, Delay),
    /// Completions that were not seen.
    Lost(Nanos, u64),
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Complete(at, done) => {
                let (latency, op, bytes) = (done.latency.0, done.op, done.bytes);
                write!(f, "complete,{},{latency},{op},{bytes}", at.0)
            }
            Entry::Write(at, Decision::Sleep(time), delay) => {
                write!(f, "write,{},{},{}", at.0, time.0, delay.0)
            }
            Entry::Write(at, Decision::Poll | Decision::Interrupt, delay) => {
                write!(f, "write,{},poll,{}", at.0, delay.0)
            }
            Entry::Lost(at, count) => write!(f, "lost,{},{count}", at.0),
        }
    }
}

/// Where lines go, if anywhere.
pub struct Log(Option<Box<dyn Write>>);

impl Log {
    /// No log.
    #[must_use]
    pub fn none() -> Log {
        Log(None)
    }

    /// A log that begins with the rule and the device.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn to(mut out: Box<dyn Write>, policy: &str, disk: &str) -> io::Result<Log> {
        writeln!(out, "q2c.steer-log/1,{disk},{policy}")?;
        Ok(Log(Some(out)))
    }

    /// Writes a line.
    pub(super) fn line(&mut self, entry: &Entry) -> io::Result<()> {
        match &mut self.0 {
            Some(out) => writeln!(out, "{entry}"),
            None => Ok(()),
        }
    }

    /// Hands over what was written so far.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), |out| out.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Op;

    #[test]
    fn lines() {
        let done = Completion {
            at: Nanos(5),
            latency: Nanos(81_500),
            bytes: 4_096,
            op: Op::Write,
        };
        let of = |entry: Entry| entry.to_string();
        assert_eq!(
            of(Entry::Complete(Nanos(7), done)),
            "complete,7,81500,write,4096"
        );
        let sleep = Decision::Sleep(Nanos(57_050));
        assert_eq!(
            of(Entry::Write(Nanos(8), sleep, Delay(57))),
            "write,8,57050,57"
        );
        assert_eq!(
            of(Entry::Write(Nanos(9), Decision::Poll, Delay(-1))),
            "write,9,poll,-1"
        );
        assert_eq!(of(Entry::Lost(Nanos(10), 3)), "lost,10,3");
    }
}
