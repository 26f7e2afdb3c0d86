//! Turns the lines of a text into events in the order of time.

use super::line::{self, BEFORE, Form, Line};
use crate::blktrace::{Event, EventSource, Losses, Notes, Seen, Sequences, action};
use crate::import::error::{BadLine, ImportError};
use crate::import::options::ImportOptions;
use crate::import::run::{Position, read_error, refused};
use crate::import::text::{BOM, Blocks, LONGEST_LINE};
use q2c_model::Nanos;
use std::collections::VecDeque;
use std::io::BufRead;
use std::path::Path;

/// A time that goes back by no more than this (ns) belongs to events of two CPUs that blkparse
/// printed in the wrong order.
const SLIGHTLY: u64 = 1_000_000_000;
/// Most events at the beginning that are put in the order of time if one of them lies before
/// blkparse's time zero. blkparse that reads from a pipe takes as zero the first event that it got,
/// before it knows what came earlier on other CPUs.
const FIRST: usize = 1 << 16;

/// Reads events from the text of one source.
pub(super) struct TextEvents<'a> {
    path: &'a Path,
    form: Form,
    skip_bad: bool,
    blocks: Blocks<'a>,
    /// The block of text at hand. Lines that are not read yet begin at `at`.
    block: Vec<u8>,
    at: usize,
    line: u64,
    skipped: u64,
    /// Receives the numbers of lines read and of lines left out, at the end of the source.
    counts: Option<(&'a mut u64, &'a mut u64)>,
    notes: Notes,
    losses: Losses,
    sequences: Sequences,
    /// An event far from those before it, and its line: the next event tells whether it is bad.
    far: Option<(Event, u64)>,
    /// An event that was read to judge the one before it.
    read_ahead: Option<Event>,
    /// The latest time that was accepted; `None` before the first event.
    latest: Option<u64>,
    /// The first events in the order of time; `None` before they are read.
    first: Option<VecDeque<Event>>,
    last_time: u64,
}

impl<'a> TextEvents<'a> {
    pub(super) fn new(
        path: &'a Path,
        input: &'a mut dyn BufRead,
        options: &ImportOptions,
        form: Form,
    ) -> Self {
        TextEvents {
            path,
            form,
            skip_bad: options.skip_bad,
            blocks: Blocks::new(input),
            block: Vec::new(),
            at: 0,
            line: 0,
            skipped: 0,
            counts: None,
            notes: Notes::default(),
            losses: Losses::default(),
            sequences: Sequences::default(),
            far: None,
            read_ahead: None,
            latest: None,
            first: None,
            last_time: 0,
        }
    }

    /// Sets where the numbers of lines read and of lines left out are stored at the end of the
    /// source.
    pub(super) fn counted(mut self, lines: &'a mut u64, skipped: &'a mut u64) -> Self {
        self.counts = Some((lines, skipped));
        self
    }

    /// Reads the next block; false at the end.
    fn fill(&mut self) -> Result<bool, ImportError> {
        let first = self.line == 0 && self.block.is_empty();
        let memory = std::mem::take(&mut self.block);
        let next = self.blocks.next(memory).map_err(read_error(self.path))?;
        let Some(block) = next else { return Ok(false) };
        self.at = match first && block.starts_with(BOM) {
            true => BOM.len(),
            false => 0,
        };
        self.block = block;
        Ok(true)
    }

    /// The event of the next line; `None` when the line has no event that can be matched.
    fn next_line(&mut self) -> Result<Option<Event>, BadLine> {
        let rest = &self.block[self.at..];
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        self.at += end.map_or(rest.len(), |end| end + 1);
        self.line += 1;
        if line.len() > LONGEST_LINE {
            let expected = "at most 65536 bytes and a line break";
            return Err(BadLine::new("line too long", "line", expected, "").found("a longer line"));
        }
        let (event, nowhere) = match line::of(line.trim_ascii_end(), &self.form)? {
            Line::Nothing => return Ok(None),
            Line::Nowhere(event) => (event, true),
            Line::Event(event, comm) => {
                if !comm.is_empty() && event.action != action::COMPLETE {
                    self.notes.name_process(event.pid, event.time, comm);
                }
                (event, false)
            }
        };
        // A remap from a partition has the disk's number, and is numbered among the partition's.
        let seen = match event.action {
            action::REMAP => Seen::Next,
            _ => self.sequences.check(&event, &mut self.losses),
        };
        // Numbers are missing, too, in what blkparse or grep chose, or in the trace of a partition.
        self.losses.forget_lost();
        if nowhere {
            let reason = "event without a place (passthrough)";
            self.losses.count(reason, 1);
        }
        Ok((seen != Seen::Again && !nowhere).then_some(event))
    }

    fn bad(&mut self, line: u64, bad: BadLine) -> Result<(), ImportError> {
        if self.skip_bad {
            self.skipped += 1;
            self.losses.count(bad.reason, 1);
            return Ok(());
        }
        Err(refused(self.path, Position::Line(line), bad))
    }

    /// The event of the next line that has one; `None` at the end.
    fn read(&mut self) -> Result<Option<Event>, ImportError> {
        if let Some(event) = self.read_ahead.take() {
            return Ok(Some(event));
        }
        loop {
            if self.at >= self.block.len() && !self.fill()? {
                if let Some((lines, skipped)) = &mut self.counts {
                    (**lines, **skipped) = (self.line, self.skipped);
                }
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
    fn timely(&mut self) -> Result<Option<Event>, ImportError> {
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
    fn begin(&mut self) -> Result<VecDeque<Event>, ImportError> {
        let mut first = Vec::new();
        while first.len() < FIRST
            && let Some(event) = self.timely()?
        {
            let start = first.first().map_or(event.time, |first: &Event| first.time);
            first.push(event);
            if event.time.saturating_sub(start) > SLIGHTLY {
                break;
            }
        }
        if first.iter().any(|event| event.time < BEFORE) {
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
    let found = format!("{} ns {way} the line above", time.abs_diff(latest));
    BadLine::new("time stands alone", "time", expected, "").found(&found)
}

impl EventSource for TextEvents<'_> {
    type Error = ImportError;

    fn next_event(&mut self) -> Result<Option<Event>, ImportError> {
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
        event.rise_to(self.last_time, &mut self.losses);
        self.last_time = event.time;
        Ok(Some(event))
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn losses(&self) -> &Losses {
        &self.losses
    }

    /// A gap in the numbers of a text is no sign that completions are missing.
    fn gaps_passed(&self) -> u64 {
        0
    }
}
