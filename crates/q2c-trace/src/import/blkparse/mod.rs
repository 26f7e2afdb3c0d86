//! The text that blkparse prints, in its default format or in one that was given to `blkparse -f`.
//!
//! Lines become the events from which they were printed, and the events become I/Os, as for binary
//! blktrace. The text does not tell the sectors of passthrough commands (they are left out and
//! counted), the length of a bio before a split, or the start in Unix time. The text that was
//! published with the YCSB and RocksDB traces (ssdtrace) is of this kind.

mod events;
mod line;
mod pattern;

use super::error::ImportError;
use super::run::Import;
use super::text::BOM;
use super::{ImportFormat, ImportOption};
use events::TextEvents;
use line::{Form, Line};
use pattern::{Field, Pattern};
use q2c_model::TraceMeta;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "blkparse",
    help: "text of blkparse, its default format or --blkparse-format; so YCSB/RocksDB ssdtrace (not verified against a real file)",
    sniff,
    own_device_numbers: false,
    by_shape: false,
    uses: &[ImportOption::BlkparseFormat, ImportOption::Op],
    import,
};

/// blkparse's default format, for the columns with which all lines begin.
const DEFAULT: &str = "%D %2c %8s %5T.%9t %5p %2a %3d ";

/// Whether the first lines all fit the default format and at least one of them is an event.
fn sniff(head: &[u8]) -> bool {
    const LINES: usize = 8;
    let Ok(pattern) = Pattern::of(DEFAULT) else {
        return false;
    };
    let form = Form {
        pattern,
        default: true,
        op: None,
    };
    let head = head.strip_prefix(BOM).unwrap_or(head);
    let whole = head.iter().rposition(|byte| *byte == b'\n');
    let lines = head[..whole.unwrap_or(head.len())].split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let mut events = 0;
    let is_event = |line: &[u8]| matches!(line::of(line, &form), Ok(Line::Event(..)));
    let mut first = lines.take(LINES);
    first.all(|line| {
        events += usize::from(is_event(line));
        line::of(line, &form).is_ok()
    }) && events > 0
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let (path, options) = (from.path, from.options);
    let given = options.blkparse_format.as_deref();
    let pattern = Pattern::of(given.unwrap_or(DEFAULT))
        .and_then(|pattern| pattern.with_all_needed(given.is_some(), options.op.is_some()));
    let pattern = pattern.map_err(|(expected, found)| ImportError::Pattern {
        path: path.to_owned(),
        expected,
        found,
    })?;
    let form = Form {
        default: given.is_none(),
        op: options
            .op
            .filter(|_| given.is_some() && !pattern.has(Field::Rwbs)),
        pattern,
    };
    let (mut lines, mut skipped) = (0, 0);
    let events = TextEvents::new(path, from.input, options, form);
    let events = events.counted(&mut lines, &mut skipped);
    let meta = super::blktrace::take(events, path, 1, from.sink)?;
    let mut meta = meta.ok_or_else(|| ImportError::Empty {
        path: path.to_owned(),
        lines,
        skipped,
    })?;
    FORMAT.name.clone_into(&mut meta.source);
    "from the first event that blkparse read".clone_into(&mut meta.clock);
    Ok(meta)
}
