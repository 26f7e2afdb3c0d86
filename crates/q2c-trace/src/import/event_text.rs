//! Reads events from a text with at most one event per line. Lines left out are counted by reason.
//! Each time is checked against those before and after it.

use super::error::{empty, falls};
use super::run::{Skipped, read_error, refused};
use super::text::Lines;
use super::{BadLine, Import, ImportError};
use crate::blktrace::{BesideEvents, BlktraceEvent, EventSource};
use q2c_model::TraceMeta;
use std::collections::VecDeque;
use std::path::Path;

/// Times may differ from the latest by this much, ns, before the next event must confirm them.
const SLIGHTLY: u64 = 1_000_000_000;
/// Most events at the start that are sorted by time, if one of them is before time zero.
const FIRST: usize = 1 << 16;

pub(super) trait EventLine {
    /// Time zero of the text, ns. The first events are sorted if one of them is before it.
    const ZERO: u64;
    /// True if a gap in this text means that completions may be missing.
    const GAPS_COUNT: bool;

    /// Parses a line without its line break; `None` if it has no event that can be matched.
    fn event(
        &mut self,
        line: &[u8],
        told: &mut BesideEvents,
    ) -> Result<Option<BlktraceEvent>, BadLine>;
}

/// Imports a text of events. Source and clock of the description are still missing.
pub(super) fn import(
    from: &mut Import<'_>,
    parser: &mut impl EventLine,
) -> Result<TraceMeta, ImportError> {
    let path = from.path;
    let mut events = EventText {
        path,
        skip_bad: from.options.skip_bad,
        parser,
        lines: Lines::new(from.input),
        told: BesideEvents::default(),
        skipped: Skipped::default(),
        far: None,
        read_ahead: None,
        latest: None,
        first: None,
        last_time: 0,
    };
    let meta = super::blktrace::take(&mut events, path, 1, from.sink)?;
    let none = || empty(path, events.lines.number, events.skipped.total());
    let mut meta = meta.ok_or_else(none)?;
    meta.facts.extend(events.skipped.facts("lines"));
    Ok(meta)
}

struct EventText<'a, P> {
    path: &'a Path,
    skip_bad: bool,
    parser: &'a mut P,
    lines: Lines<'a>,
    told: BesideEvents,
    skipped: Skipped,
    /// An event far from those before it, with its line. The next event shows whether it is bad.
    far: Option<(BlktraceEvent, u64)>,
    /// An event that was read in advance to judge the event before it.
    read_ahead: Option<BlktraceEvent>,
    /// The latest time that was accepted; `None` before the first event.
    latest: Option<u64>,
    /// The first events in the order of time; `None` before they are read.
    first: Option<VecDeque<BlktraceEvent>>,
    last_time: u64,
}

impl<P: EventLine> EventText<'_, P> {
    fn bad(&mut self, line: u64, bad: BadLine) -> Result<(), ImportError> {
        if self.skip_bad {
            self.told.losses.count(bad.reason, 1);
            self.skipped.add(bad.reason, line);
            return Ok(());
        }
        Err(refused(self.path, false, line, bad))
    }

    /// The event of the next line that has one; `None` at the end.
    fn read(&mut self) -> Result<Option<BlktraceEvent>, ImportError> {
        if let Some(event) = self.read_ahead.take() {
            return Ok(Some(event));
        }
        while let Some(line) = self.lines.next().map_err(read_error(self.path))? {
            let (parser, beside) = (&mut *self.parser, &mut self.told);
            match line.and_then(|line| parser.event(line.trim_ascii_end(), beside)) {
                Ok(None) => {}
                Ok(event) => return Ok(event),
                Err(bad) => self.bad(self.lines.number, bad)?,
            }
        }
        Ok(None)
    }

    /// The next event with a plausible time. A single line far from both neighbours is bad. If
    /// later lines continue from it, there was a pause, or, if time fell, the text holds several
    /// recordings.
    fn timely(&mut self) -> Result<Option<BlktraceEvent>, ImportError> {
        loop {
            let next = self.read()?;
            let Some((far, line)) = self.far.take() else {
                let Some(event) = next else { return Ok(None) };
                let latest = *self.latest.get_or_insert(event.time);
                if event.time.abs_diff(latest) <= SLIGHTLY {
                    self.latest = Some(latest.max(event.time));
                    return Ok(Some(event));
                }
                self.far = Some((event, self.lines.number));
                continue;
            };
            self.read_ahead = next;
            let latest = self.latest.unwrap_or_default();
            let time = next.map(|event| event.time);
            if far.time > latest {
                if time.is_none_or(|time| time.saturating_add(SLIGHTLY) >= far.time) {
                    self.latest = Some(far.time);
                    return Ok(Some(far));
                }
            } else if time.is_some_and(|time| time.saturating_add(SLIGHTLY) < latest) {
                let place = format_args!("line {line}");
                let todo = "import the recordings in it as files of their own";
                return Err(falls(self.path, place, latest - far.time, todo));
            }
            self.bad(line, stands_alone(latest, far.time))?;
        }
    }

    /// Reads the first events, and sorts them by time if needed.
    fn begin(&mut self) -> Result<VecDeque<BlktraceEvent>, ImportError> {
        let mut first: Vec<BlktraceEvent> = Vec::new();
        while P::ZERO > 0
            && first.len() < FIRST
            && let Some(event) = self.timely()?
        {
            first.push(event);
            if event.time.saturating_sub(first[0].time) > SLIGHTLY {
                break;
            }
        }
        if first.iter().any(|event| event.time < P::ZERO) {
            first.sort_by_key(|event| event.time);
        }
        Ok(first.into())
    }
}

fn stands_alone(latest: u64, time: u64) -> BadLine {
    let (expected, way) = if time > latest {
        ("a time not after those on both sides", "after")
    } else {
        ("a time not before those on both sides", "before")
    };
    let distance = format!("{} ns {way} the line above", time.abs_diff(latest));
    BadLine::new("time stands alone", "time", expected, "").found(distance)
}

impl<P: EventLine> EventSource for &mut EventText<'_, P> {
    type Error = ImportError;

    fn next_event(&mut self) -> Result<Option<BlktraceEvent>, ImportError> {
        let first = match &mut self.first {
            Some(first) => first,
            None => {
                let first = self.begin()?;
                self.first.insert(first)
            }
        };
        let next = first
            .pop_front()
            .map_or_else(|| self.timely(), |event| Ok(Some(event)))?;
        let Some(mut event) = next else {
            return Ok(None);
        };
        if P::GAPS_COUNT {
            self.told.gaps_passed = self.told.losses.gaps;
        }
        event.rise_to(self.last_time, &mut self.told.losses);
        self.last_time = event.time;
        Ok(Some(event))
    }

    fn met(&self) -> &BesideEvents {
        &self.told
    }
}
