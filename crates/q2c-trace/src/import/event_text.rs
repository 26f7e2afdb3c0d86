//! Reads events from a text with at most one event per line. Lines left out are counted by reason.
//! Each time is checked against those before and after it.

use super::error::{ImportResult, fall_error, no_request};
use super::run::{Skipped, read_error, refusal};
use super::text::Lines;
use super::{BadLine, Import, ImportError};
use crate::blktrace::{BlktraceEvent, EventContext, EventSource};
use std::collections::VecDeque;
use std::path::Path;

/// Times may differ from the latest by this much before the next event must confirm them.
const MAX_STEP_NS: u64 = 1_000_000_000;
/// Most events at the start that are sorted by time, if one of them is before time zero.
const MAX_FIRST_EVENTS: usize = 1 << 16;

/// The event of a line; `None` if it has no event that can be matched.
pub(super) type ParsedEvent = Result<Option<BlktraceEvent>, BadLine>;

pub(super) trait EventLine {
    /// Time zero of the text, ns. The first events are sorted if one of them is before it.
    const ZERO_NS: u64;
    /// True if a gap in this text means that completions may be missing.
    const GAPS_HIDE_ENDS: bool;

    /// Parses a line without its line break.
    fn parse_event(&mut self, line: &[u8], context: &mut EventContext) -> ParsedEvent;
}

/// Imports a text of events. Source and clock of the description are still missing.
pub(super) fn import(from: &mut Import<'_>, parser: &mut impl EventLine) -> ImportResult {
    let path = from.path;
    let mut events = EventText {
        path,
        skip_bad: from.options.skip_bad,
        parser,
        lines: Lines::new(from.input),
        context: EventContext::default(),
        skipped: Skipped::default(),
        suspect: None,
        read_ahead: None,
        latest: None,
        first_events: None,
        last_time: 0,
    };
    let meta = super::blktrace::import_events(&mut events, path, 1, from.sink)?;
    let to_error = || no_request(path, events.lines.number, events.skipped.total());
    let mut meta = meta.ok_or_else(to_error)?;
    meta.facts.extend(events.skipped.facts("lines"));
    Ok(meta)
}

struct EventText<'a, P> {
    path: &'a Path,
    skip_bad: bool,
    parser: &'a mut P,
    lines: Lines<'a>,
    context: EventContext,
    skipped: Skipped,
    /// An event far from those before it, with its line. The next event shows whether it is bad.
    suspect: Option<(BlktraceEvent, u64)>,
    /// An event that was read in advance to judge the event before it.
    read_ahead: Option<BlktraceEvent>,
    /// The latest time that was accepted; `None` before the first event.
    latest: Option<u64>,
    /// The first events in the order of time; `None` before they are read.
    first_events: Option<VecDeque<BlktraceEvent>>,
    last_time: u64,
}

impl<P: EventLine> EventText<'_, P> {
    fn skip_bad(&mut self, line: u64, bad: BadLine) -> Result<(), ImportError> {
        if self.skip_bad {
            self.context.losses.count(bad.reason, 1);
            self.skipped.add(bad.reason, line);
            return Ok(());
        }
        Err(refusal(self.path, false, line, bad))
    }

    /// The event of the next line that has one; `None` at the end.
    fn read(&mut self) -> Result<Option<BlktraceEvent>, ImportError> {
        if let Some(event) = self.read_ahead.take() {
            return Ok(Some(event));
        }
        while let Some(line) = self.lines.next().map_err(read_error(self.path))? {
            let (parser, context) = (&mut *self.parser, &mut self.context);
            match line.and_then(|line| parser.parse_event(line.trim_ascii_end(), context)) {
                Ok(None) => {}
                Ok(event) => return Ok(event),
                Err(bad) => self.skip_bad(self.lines.number, bad)?,
            }
        }
        Ok(None)
    }

    /// The next event with a plausible time. A single line far from both neighbours is bad. If
    /// later lines continue from it, there was a pause, or, if time fell, the text holds several
    /// recordings.
    fn next_plausible(&mut self) -> Result<Option<BlktraceEvent>, ImportError> {
        loop {
            let next = self.read()?;
            let Some((suspect, line)) = self.suspect.take() else {
                let Some(event) = next else { return Ok(None) };
                let latest = *self.latest.get_or_insert(event.time);
                if event.time.abs_diff(latest) <= MAX_STEP_NS {
                    self.latest = Some(latest.max(event.time));
                    return Ok(Some(event));
                }
                self.suspect = Some((event, self.lines.number));
                continue;
            };
            self.read_ahead = next;
            let latest = self.latest.unwrap_or_default();
            let time = next.map(|event| event.time);
            if suspect.time > latest {
                if time.is_none_or(|time| time.saturating_add(MAX_STEP_NS) >= suspect.time) {
                    self.latest = Some(suspect.time);
                    return Ok(Some(suspect));
                }
            } else if time.is_some_and(|time| time.saturating_add(MAX_STEP_NS) < latest) {
                let place = format_args!("line {line}");
                let todo = "import the recordings in it as files of their own";
                return Err(fall_error(self.path, place, latest - suspect.time, todo));
            }
            self.skip_bad(line, bad_time(latest, suspect.time))?;
        }
    }

    /// Reads the first events, and sorts them by time if needed.
    fn read_first_events(&mut self) -> Result<VecDeque<BlktraceEvent>, ImportError> {
        let mut first: Vec<BlktraceEvent> = Vec::new();
        while P::ZERO_NS > 0
            && first.len() < MAX_FIRST_EVENTS
            && let Some(event) = self.next_plausible()?
        {
            first.push(event);
            if event.time.saturating_sub(first[0].time) > MAX_STEP_NS {
                break;
            }
        }
        if first.iter().any(|event| event.time < P::ZERO_NS) {
            first.sort_by_key(|event| event.time);
        }
        Ok(first.into())
    }
}

fn bad_time(latest: u64, time: u64) -> BadLine {
    let (expected, side) = if time > latest {
        ("a time not after those on both sides", "after")
    } else {
        ("a time not before those on both sides", "before")
    };
    let distance = format!("{} ns {side} the line above", time.abs_diff(latest));
    BadLine::new("time stands alone", "time", expected, "").found(distance)
}

impl<P: EventLine> EventSource for &mut EventText<'_, P> {
    type Error = ImportError;

    fn next_event(&mut self) -> Result<Option<BlktraceEvent>, ImportError> {
        if self.first_events.is_none() {
            self.first_events = Some(self.read_first_events()?);
        }
        let first = self.first_events.as_mut().and_then(VecDeque::pop_front);
        let next = first.map_or_else(|| self.next_plausible(), |event| Ok(Some(event)))?;
        let Some(mut event) = next else {
            return Ok(None);
        };
        if P::GAPS_HIDE_ENDS {
            self.context.gaps_passed = self.context.losses.gaps;
        }
        event.raise_time(self.last_time, &mut self.context.losses);
        self.last_time = event.time;
        Ok(Some(event))
    }

    fn context(&self) -> &EventContext {
        &self.context
    }
}
