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
use std::io::{self, Write};

/// The daemon's log. By default it writes nothing.
#[derive(Default)]
pub struct Log(Option<Box<dyn Write>>);

impl Log {
    /// A log into `out`. The first line, with the device and the rule, is written at once.
    pub fn to(mut out: Box<dyn Write>, policy: &str, disk: &str) -> io::Result<Log> {
        writeln!(out, "q2c.steer-log/1,{disk},{policy}")?;
        Ok(Log(Some(out)))
    }

    /// Logs a completion that counts, under the time at which the rule counts it.
    pub(super) fn complete(&mut self, at: Nanos, done: &Completion) -> Result<(), Fault> {
        let (latency, op, bytes) = (done.latency.0, done.op, done.bytes);
        self.print(|out| writeln!(out, "complete,{},{latency},{op},{bytes}", at.0))
    }

    /// Logs a written value, with the rule's decision and the time at which the rule was asked.
    pub(super) fn write(&mut self, at: Nanos, choice: Decision, delay: Delay) -> Result<(), Fault> {
        self.print(|out| match choice {
            Decision::Sleep(time) => writeln!(out, "write,{},{},{}", at.0, time.0, delay.0),
            Decision::Poll | Decision::Interrupt => {
                writeln!(out, "write,{},poll,{}", at.0, delay.0)
            }
        })
    }

    /// Logs the number of completions that were not seen since the last line of this kind.
    pub(super) fn lost(&mut self, at: Nanos, count: u64) -> Result<(), Fault> {
        self.print(|out| writeln!(out, "lost,{},{count}", at.0))
    }

    pub(super) fn flush(&mut self) -> Result<(), Fault> {
        self.print(|out| out.flush())
    }

    fn print(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Fault> {
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
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = Log(Some(Box::new(file.reopen().unwrap())));
        let mut done = polled_read(Nanos(5), Nanos(81_500));
        done.op = Op::Write;
        log.complete(Nanos(7), &done).unwrap();
        let sleep = Decision::Sleep(Nanos(57_050));
        log.write(Nanos(8), sleep, Delay(57)).unwrap();
        log.write(Nanos(9), Decision::Poll, Delay(-1)).unwrap();
        log.lost(Nanos(10), 3).unwrap();
        let lines = "complete,7,81500,write,4096\nwrite,8,57050,57\nwrite,9,poll,-1\nlost,10,3\n";
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), lines);
    }
}
