//! The notes of a source of events (names of processes, the start of the trace, messages), and its
//! losses, which the sequence numbers of each device and CPU show.

use super::IntMap;
use super::event::BlktraceEvent;
use super::layout::BlktraceLayout;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A source of events in the order of time, which also collects notes and losses.
pub trait EventSource {
    /// Error of the source.
    type Error;

    /// The next event; `None` at the end.
    fn next_event(&mut self) -> Result<Option<BlktraceEvent>, Self::Error>;
    /// Notes and losses so far.
    fn context(&self) -> &EventContext;
}

/// The notes and losses of a source of events.
#[derive(Debug, Default)]
pub struct EventContext {
    /// Notes read so far.
    pub notes: Notes,
    /// Losses found so far.
    pub losses: BlktraceLosses,
    /// Gaps before the events handed out so far, as [`Matcher::handle_event`] needs them.
    pub gaps_passed: u64,
}

/// Counts of lost and bad records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlktraceLosses {
    /// Number of records that are missing by the sequence numbers.
    pub lost: u64,
    /// True if numbers are missing in a source that may have been filtered, so that the number of
    /// lost records is unknown.
    pub lost_unknown: bool,
    /// Number of records left out or corrected, by reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Number of places at which records were missing.
    pub gaps: u64,
}

impl BlktraceLosses {
    pub(crate) fn count(&mut self, reason: &'static str, n: u64) {
        *self.reasons.entry(reason).or_default() += n;
    }

    /// Forgets the number of lost records, because the source may have been filtered.
    pub(crate) fn forget_lost(&mut self) {
        self.lost_unknown |= self.lost > 0;
        self.lost = 0;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceStep {
    Next,
    /// Records before this one are missing.
    AfterGap,
    Repeated,
}

/// The last sequence number of each device and CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequences {
    last: IntMap<u64, u32>,
    /// Device and CPU of the last event, and its number. They are kept out of the map while events
    /// of one device and CPU follow each other.
    key: u64,
    current: u32,
}

impl Sequences {
    /// Most pairs of device and CPU whose last number is kept.
    const MAX_PAIRS: usize = 1 << 20;

    /// Compares an event's number with the previous one of the same device and CPU.
    #[inline]
    pub(crate) fn check(
        &mut self,
        event: &BlktraceEvent,
        losses: &mut BlktraceLosses,
    ) -> SequenceStep {
        let key = u64::from(event.device) << 32 | u64::from(event.cpu);
        if key != self.key {
            self.switch_to(key);
        }
        if event.sequence.wrapping_sub(self.current) == 1 {
            self.current = event.sequence;
            return SequenceStep::Next;
        }
        self.check_step(event.sequence, losses)
    }

    fn switch_to(&mut self, key: u64) {
        if self.last.len() < Self::MAX_PAIRS {
            self.last.insert(self.key, self.current);
        }
        self.current = self.last.get(&key).copied().unwrap_or(0);
        self.key = key;
    }

    fn check_step(&mut self, sequence: u32, losses: &mut BlktraceLosses) -> SequenceStep {
        let step = sequence.wrapping_sub(self.current);
        if sequence == 0 {
            // The tracer does not number its records.
            return SequenceStep::Next;
        }
        if step == 0 {
            losses.count("duplicate record", 1);
            return SequenceStep::Repeated;
        }
        if step < 1 << 31 {
            losses.lost += u64::from(step - 1);
            losses.gaps += 1;
            self.current = sequence;
            return SequenceStep::AfterGap;
        }
        // The record is out of order. It was counted as lost when a later one came.
        losses.count("record out of sequence", 1);
        losses.lost = losses.lost.saturating_sub(1);
        SequenceStep::Next
    }
}

/// Contents of the notes read so far.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    names: IntMap<u32, Rc<str>>,
    /// Earlier names of processes, each with the time (ns) from which the next name counts. A name
    /// changes when a program is started (exec), or when the id is reused.
    earlier: IntMap<u32, Vec<(u64, Rc<str>)>>,
    renames: usize,
    /// Unix time of the start, ns; `None` without a timestamp note.
    pub start_unix_ns: Option<u64>,
    /// Time of that note on the monotonic clock, ns.
    pub start_ns: Option<u64>,
    /// Number of messages written into the trace.
    pub messages: u64,
}

/// Numbers of the notes that are read; other notes are ignored.
const PROCESS_NOTE: u16 = 0;
const TIMESTAMP_NOTE: u16 = 1;
const MESSAGE_NOTE: u16 = 2;

impl Notes {
    /// Most processes whose names are kept. The kernel has at most as many process ids.
    const MAX_PROCESSES: usize = 4 << 20;

    /// The name of a process at `time` (ns), if known.
    pub fn name(&self, pid: u32, time: u64) -> Option<&Rc<str>> {
        let earlier = self.earlier.get(&pid).into_iter().flatten();
        let mut earlier = earlier.filter(|(until, _)| time < *until);
        let name = earlier.next().map(|(_, name)| name);
        name.or_else(|| self.names.get(&pid))
    }

    /// True if a process had more than one name.
    pub fn are_renamed(&self) -> bool {
        self.renames > 0
    }

    /// All process ids with their last names, unordered.
    pub fn names(&self) -> impl Iterator<Item = (u32, &Rc<str>)> {
        self.names.iter().map(|(pid, name)| (*pid, name))
    }

    /// Stores the name that a process has from `time` (ns) on.
    pub(crate) fn name_process(&mut self, pid: u32, time: u64, name: &[u8]) {
        match self.names.get(&pid) {
            Some(current) if current.as_bytes() == name => return,
            None if self.names.len() >= Self::MAX_PROCESSES => return,
            _ => {}
        }
        let name = String::from_utf8_lossy(name);
        let old_name = self.names.insert(pid, Rc::from(name.as_ref()));
        if let Some(old_name) = old_name.filter(|_| self.renames < Self::MAX_PROCESSES) {
            self.renames += 1;
            self.earlier.entry(pid).or_default().push((time, old_name));
        }
    }

    /// Reads a note. A cgroup id was removed from `payload` before.
    pub(super) fn read(&mut self, event: &BlktraceEvent, payload: &[u8], layout: BlktraceLayout) {
        match event.action {
            PROCESS_NOTE => {
                let end = payload.iter().position(|byte| *byte == 0);
                let name = &payload[..end.unwrap_or(payload.len()).min(16)];
                self.name_process(event.pid, event.time, name);
            }
            TIMESTAMP_NOTE if payload.len() >= 8 => {
                let s = layout.number::<4>(payload);
                let ns = layout.number::<4>(&payload[4..]);
                self.start_unix_ns = Some(s * 1_000_000_000 + ns);
                self.start_ns = Some(event.time);
            }
            MESSAGE_NOTE => self.messages += 1,
            _ => {}
        }
    }
}
