//! Every I/O of some disks without BPF: the block layer's tracepoints as tracefs hands them out (`trace_pipe_raw`), matched here as
//! blktrace's events are. It costs more than [`crate::block_io`], and hardware queue, tag and cgroup are not known.
//!
//! Events go to buffers of an instance of our own, one for each CPU; [`Tracefs::drain`] must be called often enough that none is
//! full. What is lost is counted by the kernel.

mod event;
mod format;
mod instance;
mod page;
mod sieve;
mod source;

use crate::rings::{PATIENCE, ring_size};
use crate::wanted::numbers;
use crate::{Drained, Missing, ProbeError, Wanted};
use instance::{Failed, Instance};
use q2c_host::block::Disk;
use q2c_host::{Roots, machine};
use q2c_trace::Span;
use q2c_trace::blktrace::{Counts, Matcher};
use q2c_trace::recording::Recorded;
use sieve::Sieve;
use source::{Pipes, Points, Seen, now};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// An event may reach its buffer this much later than it happened, and be older than one of another CPU that is there already: a CPU of
/// a virtual machine can stand still in between. ns.
const LATE: u64 = 100_000_000;
/// Reasons of the matcher that are counted here, by the I/O and after the filters.
const COUNTED_HERE: [&str; 5] = [
    "never completed",
    "completion without queue",
    "request without queue",
    "insert without queue",
    "issue without queue",
];

/// The recorder at work.
pub struct Tracefs {
    // Closed before the instance goes.
    pipes: Pipes,
    instance: Instance,
    points: Points,
    /// Gone at the end.
    matcher: Option<Matcher>,
    /// What it had counted by then.
    ended: Counts,
    sieve: Sieve,
    /// In the order of time up to where all is known; later ones may still come.
    waiting: Vec<Seen>,
    gaps: u64,
    ring: u32,
    cpus: Vec<u32>,
}

impl Tracefs {
    /// Begins to record some disks, at most 8.
    ///
    /// # Errors
    /// There are more disks, or one without a number; tracefs is not there or not permitted, or lacks the block layer's events.
    pub fn attach(roots: &Roots, disks: &[Disk], wanted: &Wanted) -> Result<Self, ProbeError> {
        numbers(disks)?;
        let cpus: Vec<u32> = machine::online(roots).iter().map(|cpu| cpu.0).collect();
        let ring = wanted.ring.unwrap_or_else(|| ring_size(cpus.len()));
        let instance = Instance::new(roots).map_err(refused)?;
        let points = Points::of(&instance, disks)?;
        prepare(&instance, ring).map_err(refused)?;
        points.enable(&instance, disks).map_err(refused)?;
        let pipes = Pipes::open(&instance, &cpus)?;
        instance.write("tracing_on", "1").map_err(refused)?;
        Ok(Tracefs {
            pipes,
            instance,
            points,
            matcher: Some(Matcher::default()),
            ended: Counts::default(),
            sieve: Sieve::new(roots, wanted),
            waiting: Vec::new(),
            gaps: 0,
            ring,
            cpus,
        })
    }

    /// Hands on what has completed so far, as far as all before it are over, too.
    ///
    /// # Errors
    /// The buffers cannot be read; that of `take`, the record is lost then.
    pub fn drain<E>(
        &mut self,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<Result<Drained, E>, ProbeError> {
        let known = now().saturating_sub(LATE);
        self.drain_until(known, take)
    }

    fn drain_until<E>(
        &mut self,
        known: u64,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<Result<Drained, E>, ProbeError> {
        let most = self.read()?;
        let mut matched = Vec::new();
        self.match_until(known, &mut matched);
        let records = match self.hand_on(&matched, take) {
            Ok(records) => records,
            Err(error) => return Ok(Err(error)),
        };
        let fullest = most as u64 * 100 / u64::from(self.ring);
        Ok(Ok(Drained { records, fullest }))
    }

    /// Reads what is there; returns the most bytes of a CPU.
    fn read(&mut self) -> Result<usize, ProbeError> {
        let (waiting, sieve, points) = (&mut self.waiting, &mut self.sieve, &self.points);
        self.pipes.read(|cpu, time, after_gap, record| {
            let Some((event, comm)) = points.event(time, cpu, record) else {
                return;
            };
            if let Some(comm) = comm {
                sieve.name(event.pid, comm);
            }
            waiting.push(Seen { event, after_gap });
        })
    }

    fn match_until(&mut self, known: u64, matched: &mut Vec<Span>) {
        // Stable: events of one CPU and instant keep their order.
        self.waiting.sort_by_key(|seen| seen.event.time);
        let ready = self
            .waiting
            .partition_point(|seen| seen.event.time <= known);
        let Some(matcher) = &mut self.matcher else {
            return;
        };
        for seen in self.waiting.drain(..ready) {
            self.gaps += u64::from(seen.after_gap);
            matcher.event(&seen.event, self.gaps, &mut |span| matched.push(*span));
        }
    }

    fn hand_on<E>(
        &mut self,
        matched: &[Span],
        mut take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut records = 0;
        for span in matched {
            if let Some(recorded) = self.sieve.recorded(span) {
                take(recorded)?;
                records += 1;
            }
        }
        Ok(records)
    }

    /// Ends the recording: no I/O is seen any more that is queued now, those in flight have a moment to end.
    ///
    /// # Errors
    /// The buffers cannot be read.
    pub fn end<E>(
        &mut self,
        mut take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<Result<(), E>, ProbeError> {
        let queue = "events/block/block_bio_queue/enable";
        self.instance.write(queue, "0").map_err(refused)?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE + Duration::from_nanos(LATE) {
            if let Err(error) = self.drain(&mut take)? {
                return Ok(Err(error));
            }
            if self.waiting.is_empty() && self.in_flight() == 0 {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        self.instance.write("tracing_on", "0").map_err(refused)?;
        if let Err(error) = self.drain_until(u64::MAX, &mut take)? {
            return Ok(Err(error));
        }
        let mut rest = Vec::new();
        if let Some(matcher) = self.matcher.take() {
            self.ended = matcher.finish(&mut |span| rest.push(*span));
        }
        Ok(self.hand_on(&rest, take).map(|_| ()))
    }

    /// I/Os seen and not over, about.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        let counts = self.matcher.as_ref().map(Matcher::counts);
        counts.map_or(0, |counts| counts.ios.saturating_sub(counts.completed))
    }

    /// What is missing so far.
    ///
    /// # Errors
    /// The kernel's counts cannot be read.
    pub fn missing(&self) -> Result<Missing, ProbeError> {
        let lost = self.overruns()?;
        let counts = self.matcher.as_ref().map_or(&self.ended, Matcher::counts);
        let unmatched = &counts.unmatched;
        let without = unmatched
            .get("completion without queue")
            .copied()
            .unwrap_or(0);
        let unqueued = self.sieve.unqueued + without;
        let others = unmatched
            .iter()
            .filter(|(why, _)| !COUNTED_HERE.contains(*why))
            .map(|(why, n)| (*why, *n));
        let own = [
            ("completion without queue", unqueued),
            ("never completed", self.sieve.unfinished),
            ("lost: event overwritten in the kernel's buffer", lost),
            (
                "malformed page of the kernel's buffer",
                self.pipes.malformed,
            ),
        ];
        let reasons = others.chain(own).filter(|(_, n)| *n > 0);
        let mut facts = facts(counts);
        if self.sieve.filtered > 0 {
            let filtered = self.sieve.filtered.to_string();
            facts.insert("capture.filtered_out".to_owned(), filtered);
        }
        Ok(Missing {
            lost,
            unqueued,
            reasons: reasons.map(|(why, n)| (why.to_owned(), n)).collect(),
            facts,
        })
    }

    /// Events that the kernel had no room for.
    fn overruns(&self) -> Result<u64, ProbeError> {
        let mut sum = 0;
        for cpu in &self.cpus {
            let stats = self.instance.read(&format!("per_cpu/cpu{cpu}/stats"));
            sum += overruns(&stats.map_err(refused)?);
        }
        Ok(sum)
    }
}

/// Buffers, clock and nothing else running.
fn prepare(instance: &Instance, ring: u32) -> Result<(), Failed> {
    instance.write("tracing_on", "0")?;
    instance.write("trace_clock", "mono")?;
    instance.write("options/overwrite", "1")?;
    instance.write("buffer_size_kb", &(ring >> 10).max(4).to_string())
}

/// Lines `overrun: N`, `commit overrun: N` and `dropped events: N` of a CPU's `stats`.
fn overruns(stats: &str) -> u64 {
    const LOST: [&str; 3] = ["overrun", "commit overrun", "dropped events"];
    let counts = stats.lines().filter_map(|line| line.split_once(':'));
    let lost = counts.filter(|(name, _)| LOST.contains(&name.trim()));
    lost.filter_map(|(_, n)| n.trim().parse::<u64>().ok()).sum()
}

fn facts(counts: &Counts) -> BTreeMap<String, String> {
    let counts = [
        ("capture.merged", counts.merged),
        ("capture.splits", counts.splits),
        ("capture.requeues", counts.requeues),
        ("capture.partial_completions", counts.partial_completions),
        ("capture.internal_flushes", counts.internal_flushes),
    ];
    let any = counts.into_iter().filter(|(_, n)| *n > 0);
    any.map(|(name, n)| (name.to_owned(), n.to_string()))
        .collect()
}

fn refused(failed: Failed) -> ProbeError {
    ProbeError::Tracefs {
        what: failed.what,
        source: failed.source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of Linux 6.18; read and entries are no losses.
    #[test]
    fn losses_of_a_cpu() {
        let stats = "entries: 52\noverrun: 3\ncommit overrun: 20\nbytes: 2148\noldest event ts:     1.500\n\
            now ts: 7.1\ndropped events: 100\nread events: 4000\n";
        assert_eq!(overruns(stats), 123);
        assert_eq!(overruns(""), 0);
    }
}
