//! Turns the lines of a text into events in the order of time.

use super::line::{self, Line};
use super::pattern::Pattern;
use crate::blktrace::{Event, EventSource, Losses, Notes, Seen, Sequences, action};
use crate::import::error::{BadLine, ImportError};
use crate::import::options::ImportOptions;
use crate::import::run::{Position, read_error, refused};
use crate::import::text::{BOM, Blocks, LONGEST_LINE};
use std::io::BufRead;
use std::path::Path;

/// A time that goes back by no more than this (ns) belongs to events of two CPUs that blkparse
/// printed in the wrong order.
const SLIGHTLY: u64 = 1_000_000_000;

/// Reads events from the text of one source.
pub(super) struct TextEvents<'a> {
    path: &'a Path,
    pattern: Pattern,
    /// Whether lines end as in blkparse's default format.
    default: bool,
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
    last_time: u64,
}

impl<'a> TextEvents<'a> {
    pub(super) fn new(
        path: &'a Path,
        input: &'a mut dyn BufRead,
        options: &ImportOptions,
        pattern: Pattern,
        default: bool,
    ) -> Self {
        TextEvents {
            path,
            pattern,
            default,
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
        let (mut event, nowhere) =
            match line::of(line.trim_ascii_end(), &self.pattern, self.default)? {
                Line::Nothing => return Ok(None),
                Line::Nowhere(event) => (event, true),
                Line::Event(event, comm) => {
                    if !comm.is_empty() && event.action != action::COMPLETE {
                        self.notes.name_process(event.pid, comm);
                    }
                    (event, false)
                }
            };
        if self.last_time.saturating_sub(event.time) > SLIGHTLY {
            let expected = "a time at most 1 s before the line above; import several traces as files of their own";
            let found = format!("{} ns after {} ns", event.time, self.last_time);
            return Err(BadLine::new("time goes back", "time", expected, "").found(&found));
        }
        event.rise_to(self.last_time, &mut self.losses);
        self.last_time = event.time;
        let seen = self.sequences.check(&event, &mut self.losses);
        if nowhere {
            let reason = "event without a place (passthrough)";
            self.losses.count(reason, 1);
        }
        Ok((seen != Seen::Again && !nowhere).then_some(event))
    }

    fn bad(&mut self, bad: BadLine) -> Result<(), ImportError> {
        if self.skip_bad {
            self.skipped += 1;
            self.losses.count(bad.reason, 1);
            return Ok(());
        }
        Err(refused(self.path, Position::Line(self.line), bad))
    }
}

impl EventSource for TextEvents<'_> {
    type Error = ImportError;

    fn next_event(&mut self) -> Result<Option<Event>, ImportError> {
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
                Err(bad) => self.bad(bad)?,
            }
        }
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn losses(&self) -> &Losses {
        &self.losses
    }

    fn gaps_passed(&self) -> u64 {
        self.losses.gaps
    }
}
