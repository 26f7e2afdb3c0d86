//! Reads events from a text that has at most one in each line. What is left out is counted by
//! reason, and each time is judged by those on both sides.

use super::error::{BadLine, ImportError};
use super::run::{Import, Skipped, SourcePosition, read_error, refused};
use super::text::{BOM, Blocks, LONGEST_LINE};
use crate::blktrace::{BlktraceEvent, BlktraceLosses, EventSource, Notes};
use q2c_model::{Nanos, TraceMeta};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// A time that goes back by no more than this (ns) belongs to events of two CPUs.
const SLIGHTLY: u64 = 1_000_000_000;
/// Most events at the beginning that are put in the order of time if one of them lies before time
/// zero.
const FIRST: usize = 1 << 16;

/// The names of processes and the losses that the lines so far hold, beside their events.
#[derive(Default)]
pub(super) struct LineNotes {
    pub(super) notes: Notes,
    pub(super) losses: BlktraceLosses,
}

pub(super) trait EventLine {
    /// Time zero of the text, ns. The first events are put in order if one of them lies before it.
    const ZERO: u64;
    /// Whether a gap in this text means that completions may be missing.
    const GAPS_COUNT: bool;

    /// The event of a line, which comes without its break; `None` when it has no event that can be
    /// matched.
    fn event(
        &mut self,
        line: &[u8],
        told: &mut LineNotes,
    ) -> Result<Option<BlktraceEvent>, BadLine>;
}

/// Imports a text of events. The description still lacks source and clock.
pub(super) fn import(
    from: &mut Import<'_>,
    parser: &mut impl EventLine,
) -> Result<TraceMeta, ImportError> {
    let path = from.path;
    let mut events = EventText {
        path,
        skip_bad: from.options.skip_bad,
        parser,
        blocks: Blocks::new(from.input),
        block: Vec::new(),
        at: 0,
        line: 0,
        told: LineNotes::default(),
        skipped: BTreeMap::new(),
        far: None,
        read_ahead: None,
        latest: None,
        first: None,
        last_time: 0,
    };
    let meta = super::blktrace::take(&mut events, path, 1, from.sink)?;
    let skipped = events.skipped.iter();
    let mut meta = meta.ok_or_else(|| ImportError::Empty {
        path: path.to_owned(),
        lines: events.line,
        skipped: skipped.clone().map(|(_, lines)| lines.count).sum(),
    })?;
    let facts = skipped.map(|(reason, lines)| lines.fact(reason, "lines"));
    meta.facts.extend(facts);
    Ok(meta)
}

struct EventText<'a, P> {
    path: &'a Path,
    skip_bad: bool,
    parser: &'a mut P,
    blocks: Blocks<'a>,
    /// The block of text at hand. Lines that are not read yet begin at `at`.
    block: Vec<u8>,
    at: usize,
    /// Number of the last line that was read, from 1.
    line: u64,
    told: LineNotes,
    skipped: BTreeMap<&'static str, Skipped>,
    /// An event far from those before it, and its line: the next event tells whether it is bad.
    far: Option<(BlktraceEvent, u64)>,
    /// An event that was read to judge the one before it.
    read_ahead: Option<BlktraceEvent>,
    /// The latest time that was accepted; `None` before the first event.
    latest: Option<u64>,
    /// The first events in the order of time; `None` before they are read.
    first: Option<VecDeque<BlktraceEvent>>,
    last_time: u64,
}

impl<P: EventLine> EventText<'_, P> {
    fn fill(&mut self) -> Result<bool, ImportError> {
        let first = self.line == 0 && self.block.is_empty();
        let memory = std::mem::take(&mut self.block);
        let next = self.blocks.next(memory).map_err(read_error(self.path))?;
        let Some(block) = next else { return Ok(false) };
        self.at = if first && block.starts_with(BOM) {
            BOM.len()
        } else {
            0
        };
        self.block = block;
        Ok(true)
    }

    /// The event of the next line; `None` when the line has no event that can be matched.
    fn next_line(&mut self) -> Result<Option<BlktraceEvent>, BadLine> {
        let rest = &self.block[self.at..];
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        self.at += end.map_or(rest.len(), |end| end + 1);
        self.line += 1;
        if line.len() > LONGEST_LINE {
            let expected = "at most 65536 bytes and a line break";
            return Err(BadLine::new("line too long", "line", expected, "").found("a longer line"));
        }
        self.parser.event(line.trim_ascii_end(), &mut self.told)
    }

    fn bad(&mut self, line: u64, bad: BadLine) -> Result<(), ImportError> {
        if self.skip_bad {
            self.told.losses.count(bad.reason, 1);
            self.skipped.entry(bad.reason).or_default().add(line);
            return Ok(());
        }
        Err(refused(self.path, SourcePosition::Line(line), bad))
    }

    /// The event of the next line that has one; `None` at the end.
    fn read(&mut self) -> Result<Option<BlktraceEvent>, ImportError> {
        if let Some(event) = self.read_ahead.take() {
            return Ok(Some(event));
        }
        loop {
            if self.at >= self.block.len() && !self.fill()? {
                return Ok(None);
            }
            match self.next_line() {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(bad) => self.bad(self.line, bad)?,
            }
        }
    }

    /// The next event whose time can be. One line far from those on both sides is bad. Where the
    /// lines behind it go on from it, nothing happened for a while, or, if time fell, the text
    /// holds several recordings.
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
                self.far = Some((event, self.line));
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
                return Err(self.falls(line, latest - far.time));
            }
            self.bad(line, stands_alone(latest, far.time))?;
        }
    }

    fn falls(&self, line: u64, fall: u64) -> ImportError {
        ImportError::Falls {
            path: self.path.to_owned(),
            place: format!("line {line}"),
            fall: Nanos(fall),
            todo: "import the recordings in it as files of their own",
        }
    }

    /// Reads the first events, and puts them in the order of time if it must.
    fn begin(&mut self) -> Result<VecDeque<BlktraceEvent>, ImportError> {
        let mut first = Vec::new();
        while P::ZERO > 0
            && first.len() < FIRST
            && let Some(event) = self.timely()?
        {
            let start = first
                .first()
                .map_or(event.time, |first: &BlktraceEvent| first.time);
            first.push(event);
            if event.time.saturating_sub(start) > SLIGHTLY {
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
    BadLine::new("time stands alone", "time", expected, "").found(&distance)
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
        let next = match first.pop_front() {
            Some(event) => Some(event),
            None => self.timely()?,
        };
        let Some(mut event) = next else {
            return Ok(None);
        };
        event.rise_to(self.last_time, &mut self.told.losses);
        self.last_time = event.time;
        Ok(Some(event))
    }

    fn notes(&self) -> &Notes {
        &self.told.notes
    }

    fn losses(&self) -> &BlktraceLosses {
        &self.told.losses
    }

    fn gaps_passed(&self) -> u64 {
        if P::GAPS_COUNT {
            self.told.losses.gaps
        } else {
            0
        }
    }
}
