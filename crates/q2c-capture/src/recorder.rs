//! Recording by BPF, or by tracefs where BPF is refused or sees too little.

use crate::block_io::{BlockIo, BlockIoCounts};
use crate::tracefs::Tracefs;
use crate::{CaptureFilter, ProbeError};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_result::replay::CapturedBy;
use q2c_sys::clock::kernel_ns;
use q2c_trace::recording::RecordedIo;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A recording by BPF switches to tracefs when the kernel hides the begin or the end of more than
/// this share of the I/Os (0 to 1), and of at least [`MIN_HIDDEN`] of them.
const MAX_HIDDEN_SHARE: f64 = 0.01;
const MIN_HIDDEN: u64 = 20;
/// Time between two checks of how many I/Os are hidden.
const HIDDEN_CHECK_INTERVAL: Duration = Duration::from_secs(1);

enum Backend {
    Bpf(Box<BlockIo>),
    Tracefs(Box<Tracefs>),
}

/// A recording under way, by BPF or by tracefs.
///
/// The caller attaches it and calls [`Recorder::follow`], which reads the buffers and ends the
/// recording. Dropping it without an end stops the recording as well; I/Os that were not handed on
/// are lost then.
pub struct Recorder {
    backend: Backend,
    bpf_refusal: Option<ProbeError>,
    fallback: Option<Box<TracefsFallback>>,
    /// I/Os and events that the part by BPF lacked, if the recording switched to tracefs.
    missing_by_bpf: Missing,
}

/// The inputs of a recording by BPF, kept in case it must switch to tracefs.
struct TracefsFallback {
    roots: Roots,
    disks: Vec<Disk>,
    filter: CaptureFilter,
    last_check: Instant,
    /// The counts at the first check; `None` before it.
    first_counts: Option<BlockIoCounts>,
}

impl Recorder {
    /// Begins to record 1 to 8 disks. `captured_by` names the way; `None` takes BPF, and tracefs
    /// where BPF is refused. When both ways are refused, the error gives the reason for each.
    pub fn attach(
        roots: &Roots,
        disks: &[Disk],
        filter: &CaptureFilter,
        captured_by: Option<CapturedBy>,
    ) -> Result<Recorder, ProbeError> {
        let bpf = || -> Result<_, ProbeError> {
            let probe = BlockIo::attach(roots, disks, filter)?;
            Ok(Backend::Bpf(Box::new(probe)))
        };
        let tracefs = || -> Result<_, ProbeError> {
            let probe = Tracefs::attach(roots, disks, filter)?;
            Ok(Backend::Tracefs(Box::new(probe)))
        };
        let (backend, bpf_refusal) = match captured_by {
            Some(CapturedBy::Bpf) => (bpf()?, None),
            Some(CapturedBy::Tracefs) => (tracefs()?, None),
            Some(CapturedBy::Simulated) => unreachable!("no option names it"),
            None => match bpf() {
                Ok(backend) => (backend, None),
                Err(error @ ProbeError::Disks { .. }) => return Err(error),
                Err(bpf) => match tracefs() {
                    Ok(backend) => (backend, Some(bpf)),
                    Err(tracefs) => return Err(ProbeError::Neither(Box::new([bpf, tracefs]))),
                },
            },
        };
        Ok(Recorder {
            backend,
            bpf_refusal,
            fallback: None,
            missing_by_bpf: Missing::default(),
        })
    }

    /// Lets [`Recorder::follow`] switch to tracefs, with the same disks and I/Os, if the kernel
    /// hides many events from BPF.
    pub fn with_tracefs_fallback(
        mut self,
        roots: &Roots,
        disks: &[Disk],
        filter: &CaptureFilter,
    ) -> Recorder {
        self.fallback = Some(Box::new(TracefsFallback {
            roots: roots.clone(),
            disks: disks.to_vec(),
            filter: filter.clone(),
            last_check: Instant::now(),
            first_counts: None,
        }));
        self
    }

    /// Switches to tracefs if too much is hidden from BPF, and if tracefs can be used.
    pub(crate) fn switch_if_hidden<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Backend::Bpf(probe), Some(fallback)) = (&self.backend, &mut self.fallback) else {
            return Ok(());
        };
        if fallback.last_check.elapsed() < HIDDEN_CHECK_INTERVAL {
            return Ok(());
        }
        fallback.last_check = Instant::now();
        let counts = probe.counts()?;
        // The first check is the origin: I/Os in flight when the recording began are complete then.
        let first_counts = *fallback.first_counts.get_or_insert(counts);
        match hidden(&first_counts, &counts, fallback.filter.ops.is_empty()) {
            Some(hidden) => self.switch_to_tracefs(hidden, take),
            None => Ok(()),
        }
    }

    /// Switches to tracefs at one moment: BPF has the I/Os queued before it, tracefs those queued
    /// later. [`Recorder::bpf_refusal`] then returns `reason`. Without tracefs nothing changes.
    pub fn switch_to_tracefs<E: From<ProbeError>>(
        &mut self,
        reason: ProbeError,
        mut take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Backend::Bpf(probe), Some(fallback)) = (&mut self.backend, self.fallback.take())
        else {
            return Ok(());
        };
        let Ok(mut tracefs) = Tracefs::attach(&fallback.roots, &fallback.disks, &fallback.filter)
        else {
            return Ok(());
        };
        let from_ns = kernel_ns();
        tracefs.from_ns = from_ns;
        let take_earlier = |io: RecordedIo| {
            let is_earlier = io.span.first_ns() < from_ns;
            if is_earlier { take(io) } else { Ok(()) }
        };
        let ended = probe.end_with(take_earlier, || tracefs.keep_up());
        self.missing_by_bpf = probe.missing()?;
        let caught_up = ended.and_then(|()| tracefs.catch_up(take));
        self.backend = Backend::Tracefs(Box::new(tracefs));
        self.bpf_refusal = Some(reason);
        caught_up
    }

    /// The way in which this recording is made now.
    pub fn captured_by(&self) -> CapturedBy {
        match self.backend {
            Backend::Bpf(_) => CapturedBy::Bpf,
            Backend::Tracefs(_) => CapturedBy::Tracefs,
        }
    }

    /// Why the recording is by tracefs, where [`Recorder::attach`] was free to choose: BPF was
    /// refused, or saw too little; else `None`.
    pub fn bpf_refusal(&self) -> Option<&ProbeError> {
        self.bpf_refusal.as_ref()
    }

    /// Hands on completed I/Os that were not handed on before. [`Tracefs::drain`] holds an I/O back
    /// until those queued before it have completed. When `take` fails, the record it was given is
    /// lost.
    pub(crate) fn drain<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<Drained, E> {
        match &mut self.backend {
            Backend::Bpf(probe) => probe.drain(take),
            Backend::Tracefs(probe) => probe.drain(take),
        }
    }

    /// Ends the recording and hands on the last I/Os. [`Recorder::missing`] is complete afterwards.
    pub fn end<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<(), E> {
        match &mut self.backend {
            Backend::Bpf(probe) => probe.end(take),
            Backend::Tracefs(probe) => probe.end(take),
        }
    }

    /// Everything that the recording lacks so far.
    pub fn missing(&self) -> Result<Missing, ProbeError> {
        let missing = match &self.backend {
            Backend::Bpf(probe) => probe.missing(),
            Backend::Tracefs(probe) => probe.missing(),
        };
        Ok(self.missing_by_bpf.clone().join(missing?))
    }

    /// About how many I/Os are in flight now.
    pub fn in_flight(&self) -> Result<u64, ProbeError> {
        match &self.backend {
            Backend::Bpf(probe) => probe.in_flight_now(),
            Backend::Tracefs(probe) => Ok(probe.in_flight()),
        }
    }
}

/// The error when the kernel hid the begin or the end of too many I/Os between two checks; `None`
/// when few are hidden. A hidden begin does not count when only some operations are wanted, because
/// the empty flush of a write has another operation at its end.
fn hidden(first: &BlockIoCounts, now: &BlockIoCounts, all_ops_wanted: bool) -> Option<ProbeError> {
    let since = now.since(*first);
    let hidden = since.unended + since.unqueued * u64::from(all_ops_wanted);
    let ios = since.records + since.filtered + hidden;
    let many = hidden >= MIN_HIDDEN && hidden as f64 > MAX_HIDDEN_SHARE * ios as f64;
    many.then_some(ProbeError::Hidden { hidden, ios })
}

/// Bytes that all rings together should take; `MIN_RING_BYTES` and `MAX_RING_BYTES` bound each
/// ring. A BPF record of 128 bytes takes 136 bytes of its ring.
const ALL_RINGS_BYTES: u32 = 256 << 20;
const MIN_RING_BYTES: u32 = 256 << 10;
const MAX_RING_BYTES: u32 = 4 << 20;
/// How long the end of a recording waits for I/Os that are still in flight.
pub(crate) const END_WAIT: Duration = Duration::from_millis(200);

/// The result of reading the rings once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drained {
    pub records: u64,
    /// About how full the fullest ring was, in percent. Near 100, records may be lost: drain more
    /// often.
    pub fullest_pct: u64,
}

/// Bytes of each CPU's ring on a machine with this many CPUs: a power of two.
pub(crate) fn ring_size(cpus: usize) -> u32 {
    let bytes_per_cpu = ALL_RINGS_BYTES / u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
    let size = bytes_per_cpu.clamp(MIN_RING_BYTES, MAX_RING_BYTES);
    1 << size.ilog2()
}

/// Counts of I/Os that are in no record, and facts about the recording, as a trace keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// I/Os that should be in the trace and are not; in a recording by tracefs, events that the
    /// kernel lost.
    pub lost: u64,
    /// I/Os that completed without having been seen queued: they were in flight when the recording
    /// began, or the kernel did not show their queueing.
    pub unqueued: u64,
    /// Counts by reason of everything that is in no record; the lost I/Os are among them.
    pub reasons: BTreeMap<String, u64>,
    /// Other counts of the recording, such as merges, by their name in the trace
    /// (`capture.merged`).
    pub facts: BTreeMap<String, String>,
}

impl Missing {
    /// Adds what is missing in the next part of the same recording.
    pub(crate) fn join(mut self, later: Missing) -> Missing {
        self.lost += later.lost;
        self.unqueued += later.unqueued;
        for (reason, n) in later.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
        for (name, text) in later.facts {
            let number = |text: &str| text.parse::<u64>().ok();
            let earlier = self.facts.get(&name).and_then(|text| number(text));
            let sum = earlier.zip(number(&text)).map(|(a, b)| (a + b).to_string());
            self.facts.insert(name, sum.unwrap_or(text));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_hidden_from_one_in_a_hundred_on() {
        let counts = |unended, unqueued, records| BlockIoCounts {
            records,
            unended,
            unqueued,
            ..BlockIoCounts::default()
        };
        let is_hidden = |unended: u64, unqueued: u64, records: u64| {
            let first = counts(1_000, 1_000, 10);
            let now = counts(1_000 + unended, 1_000 + unqueued, 10 + records);
            [true, false].map(|all_ops_wanted| hidden(&first, &now, all_ops_wanted).is_some())
        };
        assert_eq!(is_hidden(115, 0, 340), [true, true]);
        assert_eq!(is_hidden(10, 11, 1_979), [true, false]);
        assert_eq!(is_hidden(10, 10, 1_980), [false, false]);
        assert_eq!(is_hidden(19, 0, 20), [false, false]);
        assert_eq!(is_hidden(0, 0, 0), [false, false]);
    }

    #[test]
    fn two_parts_lack_what_both_lack() {
        let part = |lost, reason: &str, merged: &str| Missing {
            lost,
            unqueued: 1,
            reasons: BTreeMap::from([(reason.to_owned(), 2), ("both".to_owned(), 3)]),
            facts: BTreeMap::from([("capture.merged".to_owned(), merged.to_owned())]),
        };
        let both = part(5, "one", "40").join(part(6, "other", "2"));
        assert_eq!((both.lost, both.unqueued), (11, 2));
        let reasons: Vec<(&str, u64)> =
            both.reasons.iter().map(|(w, n)| (w.as_str(), *n)).collect();
        assert_eq!(reasons, [("both", 6), ("one", 2), ("other", 2)]);
        assert_eq!(both.facts["capture.merged"], "42");
        let actual = Missing::default().join(part(5, "one", "no number"));
        assert_eq!(actual, part(5, "one", "no number"));
    }
}
