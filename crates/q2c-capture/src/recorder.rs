//! Recording by BPF, or by tracefs where BPF is refused or sees too little.

use crate::block_io::{BlockIo, BlockIoCounts};
use crate::tracefs::Tracefs;
use crate::{CaptureFilter, ProbeError};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_result::replay::CapturedBy;
use q2c_sys::clock::kernel_ns;
use q2c_trace::recording::Recorded;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A recording by BPF switches to tracefs when the kernel hides the begin or the end of more than
/// this share of the I/Os (0 to 1), and of at least [`LEAST_HIDDEN`] of them.
const HIDDEN: f64 = 0.01;
const LEAST_HIDDEN: u64 = 20;
/// Time between two looks at what is hidden.
const LOOK: Duration = Duration::from_secs(1);

enum RecorderBackend {
    Bpf(Box<BlockIo>),
    Tracefs(Box<Tracefs>),
}

/// A recording under way, by BPF or by tracefs.
///
/// The caller attaches it and calls [`Recorder::follow`], or drains it so often that no buffer
/// fills, and ends it once. Dropping it without [`Recorder::end`] stops the recording as well; I/Os
/// that were not handed on are lost then.
pub struct Recorder {
    kind: RecorderBackend,
    refused: Option<ProbeError>,
    other: Option<Box<Other>>,
    /// I/Os and events that the part by BPF lacked, if the recording switched to tracefs.
    before: Missing,
}

/// The inputs of a recording by BPF, kept in case it must switch to tracefs.
struct Other {
    roots: Roots,
    disks: Vec<Disk>,
    wanted: CaptureFilter,
    looked: Instant,
    first: Option<BlockIoCounts>,
}

impl Recorder {
    /// Begins to record 1 to 8 disks. `by` names the way; `None` takes BPF, and tracefs where BPF
    /// is refused. When both ways are refused, the error gives the reason for each.
    pub fn attach(
        roots: &Roots,
        disks: &[Disk],
        wanted: &CaptureFilter,
        by: Option<CapturedBy>,
    ) -> Result<Recorder, ProbeError> {
        let bpf = || -> Result<_, ProbeError> {
            let probe = BlockIo::attach(roots, disks, wanted)?;
            Ok(RecorderBackend::Bpf(Box::new(probe)))
        };
        let tracefs = || -> Result<_, ProbeError> {
            let probe = Tracefs::attach(roots, disks, wanted)?;
            Ok(RecorderBackend::Tracefs(Box::new(probe)))
        };
        let (kind, refused) = match by {
            Some(CapturedBy::Bpf) => (bpf()?, None),
            Some(CapturedBy::Tracefs) => (tracefs()?, None),
            None => match bpf() {
                Ok(kind) => (kind, None),
                Err(error @ ProbeError::Disks { .. }) => return Err(error),
                Err(bpf) => match tracefs() {
                    Ok(kind) => (kind, Some(bpf)),
                    Err(tracefs) => return Err(ProbeError::Neither(Box::new([bpf, tracefs]))),
                },
            },
        };
        Ok(Recorder {
            kind,
            refused,
            other: None,
            before: Missing::default(),
        })
    }

    /// Lets [`Recorder::follow`] switch to tracefs, with the same disks and I/Os, if the kernel
    /// hides many events from BPF.
    pub fn or_on_by_tracefs(
        mut self,
        roots: &Roots,
        disks: &[Disk],
        wanted: &CaptureFilter,
    ) -> Recorder {
        self.other = Some(Box::new(Other {
            roots: roots.clone(),
            disks: disks.to_vec(),
            wanted: wanted.clone(),
            looked: Instant::now(),
            first: None,
        }));
        self
    }

    /// Switches to tracefs if too much is hidden from BPF, and if tracefs can be used.
    pub(crate) fn look_for_hidden<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<(), E> {
        let (RecorderBackend::Bpf(probe), Some(other)) = (&self.kind, &mut self.other) else {
            return Ok(());
        };
        if other.looked.elapsed() < LOOK {
            return Ok(());
        }
        other.looked = Instant::now();
        let counts = probe.counts()?;
        // I/Os that were in flight at the begin are not hidden, and are complete by the first look.
        let first = *other.first.get_or_insert(counts);
        match hidden(&first, &counts, other.wanted.ops.is_empty()) {
            Some(hidden) => self.go_on_by_tracefs(hidden, take),
            None => Ok(()),
        }
    }

    /// Switches to tracefs, with each I/O in one of the two parts: BPF records I/Os queued before a
    /// moment, tracefs those queued later. [`Recorder::refused`] then returns `why`.
    pub fn go_on_by_tracefs<E: From<ProbeError>>(
        &mut self,
        why: ProbeError,
        mut take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<(), E> {
        let (RecorderBackend::Bpf(probe), Some(other)) = (&mut self.kind, self.other.take()) else {
            return Ok(());
        };
        let Ok(mut tracefs) = Tracefs::attach(&other.roots, &other.disks, &other.wanted) else {
            return Ok(());
        };
        let from_ns = kernel_ns();
        tracefs.leave_out_before(from_ns);
        let of_before = |io: Recorded| {
            if io.span.first_ns() < from_ns {
                take(io)
            } else {
                Ok(())
            }
        };
        let ended = probe.end_beside(of_before, || tracefs.keep_up());
        self.before = probe.missing()?;
        let caught = ended.and_then(|()| tracefs.catch_up(take));
        self.kind = RecorderBackend::Tracefs(Box::new(tracefs));
        self.refused = Some(why);
        caught
    }

    /// The way in which this recording is made now.
    pub fn by(&self) -> CapturedBy {
        match self.kind {
            RecorderBackend::Bpf(_) => CapturedBy::Bpf,
            RecorderBackend::Tracefs(_) => CapturedBy::Tracefs,
        }
    }

    /// Why the recording is by tracefs, where [`Recorder::attach`] was free to choose: BPF was
    /// refused, or saw too little; else `None`.
    pub fn refused(&self) -> Option<&ProbeError> {
        self.refused.as_ref()
    }

    /// Hands on completed I/Os that were not handed on before. [`Tracefs::drain`] holds an I/O back
    /// until those queued before it have completed. When `take` fails, the record it was given is
    /// lost.
    pub(crate) fn drain<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<Drained, E> {
        match &mut self.kind {
            RecorderBackend::Bpf(probe) => probe.drain(take),
            RecorderBackend::Tracefs(probe) => probe.drain(take),
        }
    }

    /// Ends the recording and hands on the last I/Os. [`Recorder::missing`] is complete afterwards.
    pub fn end<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<(), E> {
        match &mut self.kind {
            RecorderBackend::Bpf(probe) => probe.end(take),
            RecorderBackend::Tracefs(probe) => probe.end(take),
        }
    }

    /// What the recording lacks so far.
    pub fn missing(&self) -> Result<Missing, ProbeError> {
        let now = match &self.kind {
            RecorderBackend::Bpf(probe) => probe.missing(),
            RecorderBackend::Tracefs(probe) => probe.missing(),
        };
        Ok(self.before.clone().and(now?))
    }

    /// About how many I/Os are in flight now.
    pub fn in_flight(&self) -> Result<u64, ProbeError> {
        match &self.kind {
            RecorderBackend::Bpf(probe) => probe.in_flight_now(),
            RecorderBackend::Tracefs(probe) => Ok(probe.in_flight()),
        }
    }
}

/// The error when the kernel hid the begin or the end of too many I/Os between two looks; `None`
/// when few are hidden. A hidden begin does not count when only some operations are wanted: the
/// empty flush of a write has another operation at its end.
fn hidden(first: &BlockIoCounts, now: &BlockIoCounts, all_are_wanted: bool) -> Option<ProbeError> {
    let since = now.since(*first);
    let hidden = since.unended + since.unqueued * u64::from(all_are_wanted);
    let ios = since.records + since.filtered + hidden;
    let many = hidden >= LEAST_HIDDEN && hidden as f64 > HIDDEN * ios as f64;
    many.then_some(ProbeError::Hidden { hidden, ios })
}

/// Bytes that all rings together should take; `RING_LEAST` and `RING_MOST` bound each ring. A BPF
/// record of 128 bytes takes 136 bytes of its ring.
const RINGS: u32 = 256 << 20;
const RING_LEAST: u32 = 256 << 10;
const RING_MOST: u32 = 4 << 20;
/// How long the end of a recording waits for I/Os that are still in flight.
pub(crate) const PATIENCE: Duration = Duration::from_millis(200);

/// The result of reading the rings once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drained {
    /// Records that were handed on.
    pub records: u64,
    /// About how full the fullest ring was, in percent. Near 100, records may be lost: drain more
    /// often.
    pub fullest: u64,
}

/// Bytes of each CPU's ring on a machine with this many CPUs: a power of two.
pub(crate) fn ring_size(cpus: usize) -> u32 {
    let share = RINGS / u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
    let size = share.clamp(RING_LEAST, RING_MOST);
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
    pub(crate) fn and(mut self, later: Missing) -> Missing {
        self.lost += later.lost;
        self.unqueued += later.unqueued;
        for (reason, n) in later.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
        for (name, text) in later.facts {
            let number = |text: &str| text.parse::<u64>().ok();
            let before = self.facts.get(&name).and_then(|text| number(text));
            let both = before.zip(number(&text)).map(|(a, b)| (a + b).to_string());
            self.facts.insert(name, both.unwrap_or(text));
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
            [true, false].map(|all_are_wanted| hidden(&first, &now, all_are_wanted).is_some())
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
        let both = part(5, "one", "40").and(part(6, "other", "2"));
        assert_eq!((both.lost, both.unqueued), (11, 2));
        let reasons: Vec<(&str, u64)> =
            both.reasons.iter().map(|(w, n)| (w.as_str(), *n)).collect();
        assert_eq!(reasons, [("both", 6), ("one", 2), ("other", 2)]);
        assert_eq!(both.facts["capture.merged"], "42");
        let actual = Missing::default().and(part(5, "one", "no number"));
        assert_eq!(actual, part(5, "one", "no number"));
    }
}
