//! Records every I/O of some disks without BPF. tracefs hands out the events of the block layer's
//! tracepoints (`trace_pipe_raw`); they are matched here to I/Os as blktrace's events are. This way
//! costs more than [`crate::block_io`], and hardware queue, tag and cgroup are not known.
//!
//! Events go to the buffers of a tracing instance of our own, one buffer per CPU.
//! [`Tracefs::drain`] must be called often enough that no buffer fills; the kernel counts the
//! events it loses.

mod event;
mod format;
mod instance;
mod page;
mod sieve;
mod source;

use crate::block_io::nonzero;
use crate::filter::packed_numbers;
use crate::recorder::{Drained, END_WAIT, ring_size};
use crate::{CaptureFilter, Missing, ProbeError};
use instance::Instance;
use q2c_host::block::Disk;
use q2c_host::{Roots, machine};
use q2c_sys::clock::kernel_ns;
use q2c_trace::Span;
use q2c_trace::blktrace::{Matcher, MatcherCounts};
use q2c_trace::recording::RecordedIo;
use sieve::Sieve;
use source::{Pipes, TracepointEvent, Tracepoints};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long events wait before they are matched, ns. An event may reach its buffer this much later
/// than it happened, because a CPU of a virtual machine can stand still in between; a later event
/// of another CPU may be there already.
const MAX_EVENT_DELAY_NS: u64 = 100_000_000;
/// The matcher's reasons that [`Tracefs::missing`] replaces by counts of its own: those count I/Os
/// that passed the filters.
const OWN_REASONS: [&str; 5] = [
    "never completed",
    "completion without queue",
    "request without queue",
    "insert without queue",
    "issue without queue",
];

/// An attached recording by tracefs.
///
/// Order of calls: [`Tracefs::attach`], [`Tracefs::drain`] again and again, [`Tracefs::end`] once.
/// Afterwards [`Tracefs::missing`] is final. Dropping it removes the tracing instance.
pub(crate) struct Tracefs {
    // Before `instance`, because fields are dropped in their order and the kernel removes an
    // instance only when its files are closed.
    pipes: Pipes,
    instance: Instance,
    tracepoints: Tracepoints,
    /// Matches events to I/Os; `None` after the end of the recording.
    matcher: Option<Matcher>,
    totals: MatcherCounts,
    sieve: Sieve,
    /// Events that were read and not matched yet. An older event may still come from another CPU.
    waiting: Vec<TracepointEvent>,
    /// Times that the kernel lost events, before events that were matched.
    gaps: u64,
    ring_bytes: u32,
    cpus: Vec<u32>,
    /// I/Os that began before this time are not handed on.
    pub(crate) from_ns: u64,
    /// Completions whose queueing was not seen until [`Tracefs::catch_up`]; they are not counted.
    unqueued_before: u64,
}

impl Tracefs {
    /// Begins to record 1 to 8 disks.
    pub(crate) fn attach(
        roots: &Roots,
        disks: &[Disk],
        wanted: &CaptureFilter,
    ) -> Result<Self, ProbeError> {
        packed_numbers(disks)?;
        let cpus: Vec<u32> = machine::online(roots).iter().map(|cpu| cpu.0).collect();
        let ring_bytes = wanted.ring.unwrap_or_else(|| ring_size(cpus.len()));
        let instance = Instance::new(roots)?;
        let tracepoints = Tracepoints::read(&instance, disks)?;
        prepare(&instance, ring_bytes)?;
        tracepoints.enable(&instance, disks)?;
        let pipes = Pipes::open(&instance, &cpus)?;
        instance.write("tracing_on", "1")?;
        Ok(Tracefs {
            pipes,
            instance,
            tracepoints,
            matcher: Some(Matcher::default()),
            totals: MatcherCounts::default(),
            sieve: Sieve::new(roots, wanted),
            waiting: Vec::new(),
            gaps: 0,
            ring_bytes,
            cpus,
            from_ns: 0,
            unqueued_before: 0,
        })
    }

    /// Empties the kernel's buffers. The events that were read are matched later.
    pub(crate) fn keep_up(&mut self) {
        // An error is ignored here, because the next reading meets it again.
        self.read().ok();
    }

    /// Hands on all I/Os that have completed by now. Completions so far whose queueing was not seen
    /// are of the recording by BPF before this one, and are not counted.
    pub(crate) fn catch_up<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<(), E> {
        let caught = self.drain_until(kernel_ns(), take);
        self.unqueued_before = self.unqueued();
        caught.map(drop)
    }

    /// Completions whose queueing was not seen.
    fn unqueued(&self) -> u64 {
        let counts = self.matcher.as_ref().map_or(&self.totals, Matcher::counts);
        let by_matcher = counts.unmatched.get("completion without queue");
        self.sieve.unqueued + by_matcher.copied().unwrap_or(0) - self.unqueued_before
    }

    /// Hands on completed I/Os that were not handed on before. An I/O is due when all I/Os that
    /// were queued before it have completed too, and at the earliest after 100 ms: then no older
    /// event is expected. When `take` fails, the record it was given is lost.
    pub(crate) fn drain<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<Drained, E> {
        self.drain_until(kernel_ns().saturating_sub(MAX_EVENT_DELAY_NS), take)
    }

    fn drain_until<E: From<ProbeError>>(
        &mut self,
        until_ns: u64,
        take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<Drained, E> {
        let max_bytes = self.read()?;
        let mut matched = Vec::new();
        self.match_until(until_ns, &mut matched);
        let records = self.hand_on(&matched, take)?;
        let fullest_pct = max_bytes as u64 * 100 / u64::from(self.ring_bytes);
        Ok(Drained {
            records,
            fullest_pct,
        })
    }

    /// Reads all buffers empty. Returns the bytes of events in the fullest one.
    fn read(&mut self) -> Result<usize, ProbeError> {
        let (waiting, sieve, tracepoints) = (&mut self.waiting, &mut self.sieve, &self.tracepoints);
        self.pipes.read(|cpu, time, after_gap, record| {
            let Some((event, comm)) = tracepoints.event(time, cpu, record) else {
                return;
            };
            if let Some(comm) = comm {
                sieve.learn_thread(event.pid, comm);
            }
            waiting.push(TracepointEvent { event, after_gap });
        })
    }

    fn match_until(&mut self, until_ns: u64, matched: &mut Vec<Span>) {
        // The sort is stable, so that events of one CPU and one instant keep their order.
        self.waiting.sort_by_key(|waiting| waiting.event.time);
        let is_due = |waiting: &TracepointEvent| waiting.event.time <= until_ns;
        let due = self.waiting.partition_point(is_due);
        let Some(matcher) = &mut self.matcher else {
            return;
        };
        for waiting in self.waiting.drain(..due) {
            self.gaps += u64::from(waiting.after_gap);
            matcher.handle_event(&waiting.event, self.gaps, &mut |span| matched.push(*span));
        }
    }

    fn hand_on<E>(
        &mut self,
        matched: &[Span],
        mut take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut records = 0;
        let from_ns = self.from_ns;
        for span in matched.iter().filter(|span| span.first_ns() >= from_ns) {
            if let Some(record) = self.sieve.record(span) {
                take(record)?;
                records += 1;
            }
        }
        Ok(records)
    }

    /// Ends the recording. I/Os queued from now on are not seen; those in flight have 300 ms to
    /// complete. All remaining I/Os are handed on.
    pub(crate) fn end<E: From<ProbeError>>(
        &mut self,
        mut take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<(), E> {
        let queue = "events/block/block_bio_queue/enable";
        self.instance.write(queue, "0")?;
        let started = Instant::now();
        while started.elapsed() < END_WAIT + Duration::from_nanos(MAX_EVENT_DELAY_NS) {
            self.drain(&mut take)?;
            if self.waiting.is_empty() && self.in_flight() == 0 {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        self.instance.write("tracing_on", "0")?;
        self.drain_until(u64::MAX, &mut take)?;
        let mut last_spans = Vec::new();
        if let Some(matcher) = self.matcher.take() {
            self.totals = matcher.finish(&mut |span| last_spans.push(*span));
        }
        self.hand_on(&last_spans, take).map(drop)
    }

    /// About how many I/Os were seen and are not complete.
    pub(crate) fn in_flight(&self) -> u64 {
        let counts = self.matcher.as_ref().map(Matcher::counts);
        counts.map_or(0, |counts| counts.ios.saturating_sub(counts.completed))
    }

    /// Everything that the recording lacks so far.
    pub(crate) fn missing(&self) -> Result<Missing, ProbeError> {
        let lost = self.overruns()?;
        let counts = self.matcher.as_ref().map_or(&self.totals, Matcher::counts);
        let unqueued = self.unqueued();
        let unmatched = counts.unmatched.iter();
        let other_reasons = unmatched.filter(|(reason, _)| !OWN_REASONS.contains(*reason));
        let other_reasons = other_reasons.map(|(reason, n)| ((*reason).to_owned(), *n));
        let unknown = self.sieve.perhaps_wanted;
        let malformed = self.pipes.malformed;
        let own_reasons = nonzero([
            ("process not known, as its thread was gone", unknown),
            ("completion without queue", unqueued),
            ("never completed", self.sieve.unfinished),
            ("never had a request", self.sieve.refused),
            ("lost: event overwritten in the kernel's buffer", lost),
            ("malformed page of the kernel's buffer", malformed),
        ]);
        Ok(Missing {
            lost,
            unqueued,
            reasons: other_reasons.chain(own_reasons).collect(),
            facts: facts(counts, &self.sieve),
        })
    }

    /// Events that the kernel lost because a buffer was full, over all CPUs.
    fn overruns(&self) -> Result<u64, ProbeError> {
        let mut sum = 0;
        for cpu in &self.cpus {
            sum += overruns(&self.instance.read(&format!("per_cpu/cpu{cpu}/stats"))?);
        }
        Ok(sum)
    }
}

/// Sets the instance's clock and buffer size, with tracing off.
fn prepare(instance: &Instance, ring_bytes: u32) -> Result<(), ProbeError> {
    instance.write("tracing_on", "0")?;
    instance.write("trace_clock", "mono")?;
    instance.write("options/overwrite", "1")?;
    instance.write("buffer_size_kb", &(ring_bytes >> 10).max(4).to_string())
}

/// Sums the lines `overrun: N`, `commit overrun: N` and `dropped events: N` of a CPU's `stats`.
fn overruns(stats: &str) -> u64 {
    const LOST: [&str; 3] = ["overrun", "commit overrun", "dropped events"];
    let counts = stats.lines().filter_map(|line| line.split_once(':'));
    let lost = counts.filter(|(name, _)| LOST.contains(&name.trim()));
    lost.filter_map(|(_, n)| n.trim().parse::<u64>().ok()).sum()
}

fn facts(counts: &MatcherCounts, sieve: &Sieve) -> BTreeMap<String, String> {
    let facts = nonzero([
        ("capture.filtered_out", sieve.filtered),
        ("capture.process_unread", sieve.unread_process),
        ("capture.merged", counts.merged),
        ("capture.splits", counts.splits),
        ("capture.requeues", counts.requeues),
        ("capture.partial_completions", counts.partial_completions),
        ("capture.internal_flushes", counts.internal_flushes),
    ]);
    facts.map(|(name, n)| (name, n.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file is of Linux 6.18. Its `entries` and `read events` are not losses.
    #[test]
    fn losses_of_a_cpu() {
        let stats = "entries: 52\noverrun: 3\ncommit overrun: 20\nbytes: 2148\noldest event ts:     1.500\n\
            now ts: 7.1\ndropped events: 100\nread events: 4000\n";
        assert_eq!(overruns(stats), 123);
        assert_eq!(overruns(""), 0);
    }
}
