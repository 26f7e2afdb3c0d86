//! Picks the wanted I/Os from the matched ones, with the filters that the BPF program applies in
//! the kernel, and finds the process of each thread.

use super::event::EAGAIN;
use crate::filter::CaptureFilter;
use q2c_host::Roots;
use q2c_model::Op;
use q2c_trace::Span;
use q2c_trace::recording::RecordedIo;
use q2c_trace::span::NONE;
use std::collections::HashMap;
use std::fs;

/// A thread that queued I/O.
#[derive(Clone, Copy, Debug, Default)]
struct QueuingThread {
    /// Id of the thread's process; `None` when the thread was gone before procfs could be read.
    process: Option<u32>,
    comm: [u8; 16],
}

pub(super) struct Sieve {
    roots: Roots,
    wanted: CaptureFilter,
    threads: HashMap<u32, QueuingThread>,
    /// I/Os that completed without the wanted size or latency.
    pub(super) filtered: u64,
    /// I/Os that completed without having been seen queued.
    pub(super) unqueued: u64,
    pub(super) unfinished: u64,
    /// I/Os that ended without a request, because they may not wait.
    pub(super) refused: u64,
    /// Recorded I/Os whose process could not be read: the thread's id stands in its place.
    pub(super) unread_process: u64,
    /// I/Os left out because one process is wanted and the process of the I/O could not be read.
    pub(super) perhaps_wanted: u64,
}

impl Sieve {
    /// Most threads that are remembered; beyond that all are forgotten and looked up anew.
    const MAX_THREADS: usize = 1 << 16;

    pub(super) fn new(roots: &Roots, wanted: &CaptureFilter) -> Sieve {
        Sieve {
            roots: roots.clone(),
            wanted: wanted.clone(),
            threads: HashMap::new(),
            filtered: 0,
            unqueued: 0,
            unfinished: 0,
            refused: 0,
            unread_process: 0,
            perhaps_wanted: 0,
        }
    }

    /// Learns name and process of a thread that just queued an I/O. The process is looked up in
    /// procfs when the thread is new.
    pub(super) fn learn_thread(&mut self, tid: u32, comm: [u8; 16]) {
        if let Some(known) = self.threads.get_mut(&tid) {
            known.comm = comm;
            return;
        }
        if self.threads.len() >= Self::MAX_THREADS {
            self.threads.clear();
        }
        let status = self.roots.proc(&format!("{tid}/status"));
        let status = fs::read_to_string(status).ok();
        let process = status.as_deref().and_then(parse_tgid);
        self.threads.insert(tid, QueuingThread { process, comm });
    }

    /// Makes the record of an I/O. `None` when it is of an unwanted operation or process; also
    /// `None`, and counted, when it has an unwanted size or latency or was not seen from its start
    /// to its end.
    pub(super) fn record(&mut self, span: &Span) -> Option<RecordedIo> {
        let tid = span.pid;
        let thread = self.threads.get(&tid).copied().unwrap_or_default();
        let process = thread.process.unwrap_or(tid);
        let ops = &self.wanted.ops;
        if !ops.is_empty() && !ops.contains(&span.op) {
            return None;
        }
        if self.wanted.pid.is_some_and(|pid| pid != process) {
            self.perhaps_wanted += u64::from(thread.process.is_none());
            return None;
        }
        if is_refused(span) {
            self.refused += 1;
            return None;
        }
        let (min, max) = (self.wanted.min_size.0, self.wanted.max_size.0);
        let is_of_size = (min..=max).contains(&span.bytes);
        let is_seen_queued = span.begin_ns != NONE || span.op == Op::Other;
        let latency = span.end_ns.wrapping_sub(span.first_ns());
        let latency_above = self.wanted.latency_above.0;
        let is_of_latency = latency_above == 0 || latency > latency_above;
        if span.end_ns == NONE {
            self.unfinished += u64::from(is_of_size);
            return None;
        }
        if !is_of_size || is_seen_queued && !is_of_latency {
            self.filtered += 1;
            return None;
        }
        if !is_seen_queued {
            self.unqueued += 1;
            return None;
        }
        let lead = span.merged_into;
        self.unread_process += u64::from(thread.process.is_none());
        Some(RecordedIo {
            span: Span {
                pid: process,
                merged_into: NONE,
                ..*span
            },
            // Keys begin at 1, because a lead of 0 means none; no key is used twice.
            key: span.id + 1,
            lead: if lead == NONE { 0 } else { lead + 1 },
            // The matcher does not report merges into this I/O, so they are assumed possible.
            carries: true,
            tid,
            comm: thread.comm,
        })
    }
}

/// True if the I/O ended without a request, because it may not wait. Its submitter queues it again.
fn is_refused(span: &Span) -> bool {
    span.error == -EAGAIN && span.getrq_ns == NONE && span.issue_ns == NONE
}

fn parse_tgid(status: &str) -> Option<u32> {
    let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    tgid.trim().parse().ok()
}
