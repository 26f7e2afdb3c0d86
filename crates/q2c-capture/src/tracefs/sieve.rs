//! From what was matched to what is wanted: the filters that BPF applies in the kernel, and processes of threads.

use crate::wanted::Wanted;
use q2c_host::Roots;
use q2c_model::Op;
use q2c_trace::Span;
use q2c_trace::recording::Recorded;
use q2c_trace::span::NONE;
use std::collections::HashMap;
use std::fs;

/// A thread that queued I/O.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// Its process; itself where that was not told in time.
    process: u32,
    comm: [u8; 16],
}

/// Takes what is wanted, counts the rest.
pub(super) struct Sieve {
    roots: Roots,
    wanted: Wanted,
    threads: HashMap<u32, Thread>,
    /// Complete, and not wanted for size or latency.
    pub(super) filtered: u64,
    /// Complete, and not seen queued.
    pub(super) unqueued: u64,
    /// Not complete.
    pub(super) unfinished: u64,
}

impl Sieve {
    /// Threads that are remembered.
    const THREADS: usize = 1 << 16;

    pub(super) fn new(roots: &Roots, wanted: &Wanted) -> Sieve {
        Sieve {
            roots: roots.clone(),
            wanted: wanted.clone(),
            threads: HashMap::new(),
            filtered: 0,
            unqueued: 0,
            unfinished: 0,
        }
    }

    /// A thread queues I/O now.
    pub(super) fn name(&mut self, tid: u32, comm: [u8; 16]) {
        if let Some(known) = self.threads.get_mut(&tid) {
            known.comm = comm;
            return;
        }
        if self.threads.len() >= Self::THREADS {
            self.threads.clear();
        }
        let status = self.roots.proc(&format!("{tid}/status"));
        let status = fs::read_to_string(status).unwrap_or_default();
        let process = process(&status).unwrap_or(tid);
        self.threads.insert(tid, Thread { process, comm });
    }

    /// The record of an I/O; `None` when it is not wanted, or not whole: that is counted.
    pub(super) fn recorded(&mut self, span: &Span) -> Option<Recorded> {
        let tid = span.pid;
        let unknown = Thread {
            process: tid,
            comm: [0; 16],
        };
        let thread = self.threads.get(&tid).copied().unwrap_or(unknown);
        if !self.is_of_kind(span.op) || self.wanted.pid.is_some_and(|pid| pid != thread.process) {
            return None;
        }
        let (least, most) = (self.wanted.min_size.0, self.wanted.max_size.0);
        let is_of_size = (least..=most).contains(&span.bytes);
        let has_queue = span.queue != NONE || span.op == Op::Other;
        let latency = span.complete.wrapping_sub(span.start());
        match (span.complete != NONE, is_of_size, has_queue) {
            (true, true, true)
                if latency > self.wanted.latency_above.0 || self.wanted.latency_above.0 == 0 => {}
            (true, true, false) => {
                self.unqueued += 1;
                return None;
            }
            (true, _, _) => {
                self.filtered += 1;
                return None;
            }
            (false, _, _) => {
                self.unfinished += u64::from(is_of_size);
                return None;
            }
        }
        let lead = span.merged_into;
        Some(Recorded {
            span: Span {
                pid: thread.process,
                merged_into: NONE,
                ..*span
            },
            // From 1, and none is used again.
            key: span.id + 1,
            lead: if lead == NONE { 0 } else { lead + 1 },
            // Whether it does is not told.
            carries: true,
            tid,
            comm: thread.comm,
        })
    }

    fn is_of_kind(&self, op: Op) -> bool {
        self.wanted.ops.is_empty() || self.wanted.ops.contains(&op)
    }
}

/// `Tgid:` of a thread's status.
fn process(status: &str) -> Option<u32> {
    let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    tgid.trim().parse().ok()
}
