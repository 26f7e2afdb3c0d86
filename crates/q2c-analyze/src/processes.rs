//! The processes that I/Os of a capture come from.

use q2c_result::live::{LiveInterval, ProcessIos};
use q2c_trace::recording::Recorded;
use q2c_trace::span::NONE_32;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Counts of I/Os by process, over an interval.
#[derive(Default)]
pub(crate) struct Processes(HashMap<u32, ProcessIos>);

impl Processes {
    pub(crate) fn take(&mut self, io: &Recorded) {
        let pid = io.span.pid;
        let process = self.0.entry(pid).or_insert_with(|| ProcessIos {
            pid: (pid != NONE_32).then_some(pid),
            comm: io.name().unwrap_or_default(),
            ..ProcessIos::default()
        });
        process.ios += 1;
        process.bytes = process.bytes.saturating_add(io.span.bytes);
    }

    /// Those with most I/Os, the first with most, and the number of all. Counting begins anew.
    pub(crate) fn end(&mut self) -> (Vec<ProcessIos>, u64) {
        let seen = self.0.len() as u64;
        let mut processes: Vec<ProcessIos> = self.0.drain().map(|(_, process)| process).collect();
        processes.sort_by_key(|process| (Reverse(process.ios), process.pid));
        processes.truncate(LiveInterval::PROCESSES);
        (processes, seen)
    }
}
