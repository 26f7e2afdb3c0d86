//! The text that blkparse prints, in its default format or in that of `blkparse -f`.
//!
//! Lines become the events that were printed, and the events become I/Os, as with binary blktrace.
//! The text lacks the sectors of passthrough commands (they are left out and counted), the length
//! of a bio before a split, and the start in Unix time. The text published with the YCSB and
//! RocksDB traces (ssdtrace) is of this kind.

mod line;

use super::error::usage_error;
use super::event_text::{EventLine, ParsedEvent};
use super::text::complete_lines;
use super::{Import, ImportError, ImportFormat, ImportOption, refuse_stated};
use crate::blktrace::{EventContext, SequenceStep, Sequences, action};
use line::{BlkparseLineFormat, BlkparsePattern, MAX_EARLY_NS};
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
const DEFAULT_FORMAT: &str = "%D %2c %8s %5T.%9t %5p %2a %3d ";

/// Number of first lines that decide whether a text has the default format.
const MAX_HEAD_LINES: u64 = 8;

/// True if all first lines have the default format and at least one is an event.
fn sniff(head: &[u8]) -> bool {
    let Ok(pattern) = BlkparsePattern::parse(DEFAULT_FORMAT) else {
        return false;
    };
    let form = BlkparseLineFormat {
        pattern,
        is_default: true,
        op: None,
    };
    let mut has_event = false;
    let mut first_lines = complete_lines(head).take(MAX_HEAD_LINES as usize);
    first_lines.all(|line| {
        let parsed = form.parse(line);
        has_event |= matches!(parsed, Ok(Some((_, Some(_)))));
        parsed.is_ok()
    }) && has_event
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let (path, options) = (from.path, from.options);
    let given = options.blkparse_format.as_deref();
    let pattern = BlkparsePattern::parse(given.unwrap_or(DEFAULT_FORMAT)).and_then(|pattern| {
        pattern.check_fields(given.is_some(), options.op_or_assumed().is_some())
    });
    let pattern = pattern.map_err(|(expected, found)| {
        let path = path.display();
        usage_error(format_args!("import {path}: format of lines: expected {expected}, found {found}; give the one of blkparse -f with --blkparse-format"))
    })?;
    if pattern.has(b'd') {
        refuse_stated(options.op, path, "blkparse's text with RWBS", "--op")?;
    }
    let form = BlkparseLineFormat {
        is_default: given.is_none(),
        op: options.op_or_assumed().filter(|_| !pattern.has(b'd')),
        pattern,
    };
    let is_default = form.is_default;
    let sequences = Sequences::default();
    let read = super::event_text::import(from, &mut BlkparseParser { form, sequences });
    let mut meta = read.map_err(|mut error| {
        if let ImportError::Line { line, found, .. } = &mut error
            && is_default
            && *line <= MAX_HEAD_LINES
        {
            *found += " (text that was printed with -f needs its format in --blkparse-format)";
        }
        error
    })?;
    FORMAT.name.clone_into(&mut meta.source);
    "from the first event that blkparse read".clone_into(&mut meta.clock);
    Ok(meta)
}

struct BlkparseParser {
    form: BlkparseLineFormat,
    sequences: Sequences,
}

impl EventLine for BlkparseParser {
    /// If blkparse reads from a pipe, its time zero is the first event that it got. Earlier events
    /// of other CPUs may come later.
    const ZERO_NS: u64 = MAX_EARLY_NS;
    const GAPS_HIDE_ENDS: bool = false;

    fn parse_event(&mut self, line: &[u8], context: &mut EventContext) -> ParsedEvent {
        let Some((event, comm)) = self.form.parse(line)? else {
            return Ok(None);
        };
        let process = comm.filter(|comm| !comm.is_empty() && event.action != action::COMPLETE);
        if let Some(comm) = process {
            context.notes.name_process(event.pid, event.time, comm);
        }
        // A remap from a partition has the disk's device number, but is counted with the partition.
        let step = match event.action {
            action::REMAP => SequenceStep::Next,
            _ => self.sequences.check(&event, &mut context.losses),
        };
        // Numbers are also missing if blkparse or grep filtered, or if a partition was traced.
        context.losses.forget_lost();
        if comm.is_none() {
            let losses = &mut context.losses;
            losses.count("event without a place (passthrough)", 1);
        }
        Ok((step != SequenceStep::Repeated && comm.is_some()).then_some(event))
    }
}
