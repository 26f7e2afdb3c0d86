//! The text that blkparse prints, in its default format or in that of `blkparse -f`.
//!
//! Lines become the events that were printed, and the events become I/Os, as with binary blktrace.
//! The text lacks the sectors of passthrough commands (they are left out and counted), the length
//! of a bio before a split, and the start in Unix time. The text published with the YCSB and
//! RocksDB traces (ssdtrace) is of this kind.

mod line;
mod pattern;

use super::error::misused;
use super::event_text::EventLine;
use super::text::complete_lines;
use super::{BadLine, Import, ImportError, ImportFormat, ImportOption, not_told_twice};
use crate::blktrace::{BesideEvents, BlktraceEvent, SequenceStep, Sequences, action};
use line::{BEFORE, BlkparseLineFormat};
use pattern::BlkparsePattern;
use q2c_model::TraceMeta;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "blkparse",
    help: "text of blkparse, its default format or --blkparse-format; so YCSB/RocksDB ssdtrace (not verified against a real file)",
    sniff,
    by_shape: false,
    uses: &[ImportOption::BlkparseFormat, ImportOption::Op],
    import,
};

/// blkparse's default format, for the columns that all lines begin with.
const DEFAULT: &str = "%D %2c %8s %5T.%9t %5p %2a %3d ";

/// Number of first lines that decide whether a text has the default format.
const FIRST_LINES: u64 = 8;

/// True if all first lines have the default format and at least one is an event.
fn sniff(head: &[u8]) -> bool {
    let Ok(pattern) = BlkparsePattern::parse(DEFAULT) else {
        return false;
    };
    let form = BlkparseLineFormat {
        pattern,
        default: true,
        op: None,
    };
    let mut has_event = false;
    let mut first = complete_lines(head).take(FIRST_LINES as usize);
    first.all(|line| {
        let parsed = line::parse(line, &form);
        has_event |= matches!(parsed, Ok(Some((_, Some(_)))));
        parsed.is_ok()
    }) && has_event
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let (path, options) = (from.path, from.options);
    let given = options.blkparse_format.as_deref();
    let pattern = BlkparsePattern::parse(given.unwrap_or(DEFAULT)).and_then(|pattern| {
        pattern.with_all_needed(given.is_some(), options.op_or_assumed().is_some())
    });
    let pattern = pattern.map_err(|(expected, found)| {
        let path = path.display();
        misused(format_args!("import {path}: format of lines: expected {expected}, found {found}; give the one of blkparse -f with --blkparse-format"))
    })?;
    if pattern.has(b'd') {
        not_told_twice(options.op, path, "blkparse's text with RWBS", "--op")?;
    }
    let form = BlkparseLineFormat {
        default: given.is_none(),
        op: options.op_or_assumed().filter(|_| !pattern.has(b'd')),
        pattern,
    };
    let is_default = form.default;
    let sequences = Sequences::default();
    let read = super::event_text::import(from, &mut Blkparse { form, sequences });
    let mut meta = read.map_err(|mut error| {
        if let ImportError::Line { line, found, .. } = &mut error
            && is_default
            && *line <= FIRST_LINES
        {
            *found += " (text that was printed with -f needs its format in --blkparse-format)";
        }
        error
    })?;
    FORMAT.name.clone_into(&mut meta.source);
    "from the first event that blkparse read".clone_into(&mut meta.clock);
    Ok(meta)
}

struct Blkparse {
    form: BlkparseLineFormat,
    sequences: Sequences,
}

impl EventLine for Blkparse {
    /// If blkparse reads from a pipe, its time zero is the first event that it got. Earlier events
    /// of other CPUs may come later.
    const ZERO: u64 = BEFORE;
    const GAPS_COUNT: bool = false;

    fn event(
        &mut self,
        line: &[u8],
        told: &mut BesideEvents,
    ) -> Result<Option<BlktraceEvent>, BadLine> {
        let Some((event, comm)) = line::parse(line, &self.form)? else {
            return Ok(None);
        };
        let named = comm.filter(|comm| !comm.is_empty() && event.action != action::COMPLETE);
        if let Some(comm) = named {
            told.notes.name_process(event.pid, event.time, comm);
        }
        // A remap from a partition has the disk's device number, but is counted with the partition.
        let seen = match event.action {
            action::REMAP => SequenceStep::Next,
            _ => self.sequences.check(&event, &mut told.losses),
        };
        // Numbers are also missing if blkparse or grep filtered, or if a partition was traced.
        told.losses.forget_lost();
        if comm.is_none() {
            told.losses.count("event without a place (passthrough)", 1);
        }
        Ok((seen != SequenceStep::Again && comm.is_some()).then_some(event))
    }
}
