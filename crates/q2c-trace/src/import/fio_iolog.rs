//! fio iolog, versions 2 and 3.
//!
//! Version 2 has lines `name action offset length`, with `name wait us` between them; waits add up,
//! as documented. Version 3 has lines `time name action offset length`, with the time in
//! microseconds. Names may hold blanks, so lines are parsed from the right. Without a header, the
//! first line shows the version. Offsets are bytes in the file; those of buffered I/O are rounded
//! down to sectors and counted. Files are numbered by appearance, from 0, and the trace's facts
//! have their names. Times are the program's, so records are of the user layer and have only a
//! submission.

use super::text::{self, BOM, Parse, cell_ranges, length, time, whole_number};
use super::{
    BadLine, Import, ImportError, ImportFormat, ImportOption, Names, Row, Spec, TimeUnit, bad, fact,
};
use q2c_model::{Bytes, Layer, Nanos, Op, Sectors, TraceMeta};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "fio-iolog",
    help: "fio iolog versions 2 and 3, microseconds unless --unit says otherwise (not verified against a real file)",
    sniff: |head| {
        let mut log = IologParser::new(TimeUnit::Microseconds);
        let head = head.strip_prefix(BOM).unwrap_or(head);
        let headers = [VERSION_2_HEADER, VERSION_3_HEADER];
        headers.iter().any(|header| head.starts_with(header))
            || text::sniff(head, |line| log.parse_line(line))
    },
    by_shape: false,
    uses: &[ImportOption::Unit, ImportOption::Sort],
    import,
};

const VERSION_2_HEADER: &[u8] = b"fio version 2 iolog";
const VERSION_3_HEADER: &[u8] = b"fio version 3 iolog";
const SPEC: Spec = Spec {
    layer: Layer::User,
    numbers_devices: true,
    ..Spec::lines("fio-iolog", "from fio's start")
};
const ACTIONS: &str = "read write trim sync datasync wait add open close";

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let mut log = IologParser::new(from.options.unit.unwrap_or(TimeUnit::Microseconds));
    let mut meta = text::import_in_order(from, &SPEC, |line| log.parse_line(line))?;
    meta.facts.extend(log.files.facts());
    if let Some(version) = log.version {
        meta.source_version = version.to_string();
    }
    if log.lacks_header {
        let version = &meta.source_version;
        let how = format!("version {version} by the shape of its lines; its header is missing");
        meta.facts.extend([fact("recognised", how)]);
    }
    if log.rounded > 0 {
        let rounded = fact("offsets_rounded_down", log.rounded);
        meta.facts.extend([rounded]);
    }
    Ok(meta)
}

/// State of the parser: the meaning of a line depends on earlier lines.
struct IologParser {
    unit: TimeUnit,
    version: Option<u8>,
    /// True if the version was detected without a header.
    lacks_header: bool,
    /// Version 2: the sum of the waits so far, ns.
    now: Nanos,
    files: Names,
    /// Number of offsets that are not a multiple of a sector.
    rounded: u64,
}

struct IologAction<'a> {
    name: &'a [u8],
    word: &'a [u8],
    /// The cells after the action, empty if missing.
    numbers: [&'a [u8]; 2],
}

impl<'a> IologAction<'a> {
    /// Splits a line at the last word that is an action with at most two cells after it.
    fn split(line: &'a [u8]) -> Result<Self, BadLine> {
        let cells: Vec<_> = cell_ranges(line).collect();
        let cell = |at: usize| cells.get(at).map_or(&b""[..], |cell| &line[cell.clone()]);
        let first_candidate = cells.len().saturating_sub(3).max(1);
        let is_action = |at: &usize| ACTIONS.split(' ').any(|word| word.as_bytes() == cell(*at));
        let at = (first_candidate..cells.len()).rev().find(is_action).ok_or_else(|| {
            let expected = "name action, or name action offset length, with an action of read, write, \
                            trim, sync, datasync, wait, add, open or close";
            bad("action", expected, line)
        })?;
        Ok(IologAction {
            name: line[..cells[at].start].trim_ascii(),
            word: cell(at),
            numbers: [cell(at + 1), cell(at + 2)],
        })
    }
}

impl IologParser {
    fn new(unit: TimeUnit) -> IologParser {
        IologParser {
            unit,
            version: None,
            lacks_header: false,
            now: Nanos::ZERO,
            files: Names::default(),
            rounded: 0,
        }
    }

    fn parse_line(&mut self, line: &[u8]) -> Parse {
        let line = line.trim_ascii();
        match (self.version, line) {
            (None, VERSION_2_HEADER) => self.version = Some(2),
            (None, VERSION_3_HEADER) => self.version = Some(3),
            (None, line) => {
                self.version = Some(version_of(line)?);
                self.lacks_header = true;
                return self.parse_line(line);
            }
            (Some(2), line) => return self.parse_version_2_line(line),
            (Some(_), line) => {
                let (start, action) = split_time(line);
                let start = time(start, self.unit, "time")?;
                return self.parse_action(start, &IologAction::split(action)?);
            }
        }
        Ok(None)
    }

    fn parse_version_2_line(&mut self, line: &[u8]) -> Parse {
        let action = IologAction::split(line)?;
        if action.word != b"wait" {
            return self.parse_action(self.now, &action);
        }
        let [text, _] = action.numbers;
        let wait = time(text, self.unit, "wait")?;
        let now = self.now.0.checked_add(wait.0).map(Nanos);
        self.now = now.ok_or_else(|| bad("wait", "a sum below 2^64 ns", text))?;
        Ok(None)
    }

    fn parse_action(&mut self, start: Nanos, action: &IologAction<'_>) -> Parse {
        let op = match action.word {
            b"add" | b"open" | b"close" => {
                self.files.number(action.name, "name")?;
                return Ok(None);
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Discard,
            b"sync" | b"datasync" => {
                let file = self.files.number(action.name, "name")?;
                let flush = Row::new(start, Op::Flush, Sectors(0), Bytes(0));
                return Ok(Some(flush.with_device(file)));
            }
            other => return Err(bad("action", "no wait in version 3", other)),
        };
        let [offset, bytes] = action.numbers;
        let offset = whole_number(offset, "offset")?;
        let bytes = length(bytes, Bytes(1), "length")?;
        self.rounded += u64::from(!offset.is_multiple_of(512));
        let file = self.files.number(action.name, "name")?;
        let row = Row::new(start, op, Sectors(offset / 512), bytes);
        Ok(Some(row.with_device(file)))
    }
}

/// Detects the version of a log without a header from one of its lines.
fn version_of(line: &[u8]) -> Result<u8, BadLine> {
    let (time, action) = split_time(line);
    if time.iter().all(u8::is_ascii_digit) && IologAction::split(action).is_ok() {
        return Ok(3);
    }
    let expected = "fio version 2 iolog, or 3, or a line of one";
    let action = IologAction::split(line);
    action.map(|_| 2).map_err(|_| bad("header", expected, line))
}

/// Splits a line after its first cell, and trims the text after it.
fn split_time(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (time, after) = line.split_at(end.unwrap_or(line.len()));
    (time, after.trim_ascii())
}
