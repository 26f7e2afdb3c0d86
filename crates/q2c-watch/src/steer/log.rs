//! The daemon's log: the completions that were seen and the values that were written. Another
//! program can recompute the values from it.
//!
//! The first line names the device and the rule. The other lines stand in the order in which the
//! rule was asked:
//!
//! - `complete,AT_NS,LATENCY_NS,OP,BYTES` for every completion that counts,
//! - `write,AT_NS,DECISION,IO_POLL_DELAY` for every value written, where the decision is a sleep in
//!   ns or `poll`,
//! - `lost,AT_NS,N` when N more completions were not seen.
//!
//! Times are of CLOCK_MONOTONIC.

use q2c_capture::kernel_hybrid::Delay;
use q2c_capture::latency::Completion;
use q2c_model::{Exit, Fault, Nanos, OrFault};
use q2c_policy::Decision;
use std::fmt;
use std::io::{self, Write};

/// One line of the log, with its time.
pub(crate) enum SteerLogEntry {
    /// A completion that counts, under the time at which the rule counts it.
    Complete(Nanos, Completion),
    /// A written value: the time at which the rule was asked, the rule's decision and the value.
    Write(Nanos, Decision, Delay),
    /// Number of completions that were not seen since the last line of this kind.
    Lost(Nanos, u64),
}

impl fmt::Display for SteerLogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SteerLogEntry::Complete(at, done) => {
                let (latency, op, bytes) = (done.latency.0, done.op, done.bytes);
                write!(f, "complete,{},{latency},{op},{bytes}", at.0)
            }
            SteerLogEntry::Write(at, Decision::Sleep(time), delay) => {
                write!(f, "write,{},{},{}", at.0, time.0, delay.0)
            }
            SteerLogEntry::Write(at, Decision::Poll | Decision::Interrupt, delay) => {
                write!(f, "write,{},poll,{}", at.0, delay.0)
            }
            SteerLogEntry::Lost(at, count) => write!(f, "lost,{},{count}", at.0),
        }
    }
}

/// The daemon's log, which may be switched off.
pub struct Log(Option<Box<dyn Write>>);

impl Log {
    /// A log that writes nothing.
    pub fn none() -> Log {
        Log(None)
    }

    /// A log into `out`. The first line, with the device and the rule, is written at once.
    pub fn to(mut out: Box<dyn Write>, policy: &str, disk: &str) -> io::Result<Log> {
        writeln!(out, "q2c.steer-log/1,{disk},{policy}")?;
        Ok(Log(Some(out)))
    }

    pub(super) fn line(&mut self, entry: &SteerLogEntry) -> Result<(), Fault> {
        self.write(|out| writeln!(out, "{entry}"))
    }

    pub(super) fn flush(&mut self) -> Result<(), Fault> {
        self.write(|out| out.flush())
    }

    fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Fault> {
        let written = self.0.as_mut().map_or(Ok(()), |out| write(out));
        written.or_fault(Exit::Device, "write the log")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steer::steering::polled_read;
    use q2c_model::Op;

    #[test]
    fn lines() {
        let mut done = polled_read(Nanos(5), Nanos(81_500));
        done.op = Op::Write;
        let complete = SteerLogEntry::Complete(Nanos(7), done).to_string();
        assert_eq!(complete, "complete,7,81500,write,4096");
        let write = |at, decision, delay| {
            SteerLogEntry::Write(Nanos(at), decision, Delay(delay)).to_string()
        };
        let sleep = Decision::Sleep(Nanos(57_050));
        assert_eq!(write(8, sleep, 57), "write,8,57050,57");
        assert_eq!(write(9, Decision::Poll, -1), "write,9,poll,-1");
        let lost = SteerLogEntry::Lost(Nanos(10), 3).to_string();
        assert_eq!(lost, "lost,10,3");
    }
}
