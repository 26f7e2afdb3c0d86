//! The output of biosnoop: that of bcc, of libbpf-tools, and of bpftrace (biosnoop.bt).
//!
//! The header names the columns. A row is printed at completion, with the latency, so its request
//! may have started before the first row. In bcc and libbpf-tools, the latency starts when the
//! driver got the request, and `QUE` is the time in the queue before. In bpftrace it starts at the
//! queueing; operation and length are missing and must be stated. With `-t`, libbpf-tools prints
//! the time of day at which it read the event, not that of the completion. Disks are numbered by
//! appearance, from 0; the trace's facts have their names.

use super::csv::{ClockOrigin, add_day, midnights};
use super::text::{self, NO_OFFSETS, Parse, cell_ranges, number_32, sectors, time, whole_number};
use super::{
    BadLine, Import, ImportError, ImportFormat, ImportOption, MaybeTime, Name, Names, Row, Spec,
    TimeUnit, bad, fact, refuse_stated, require,
};
use crate::blktrace::kind_of_rwbs;
use q2c_model::facts::{STATED_BYTES, STATED_OP, STATED_SECTOR};
use q2c_model::{Bytes, Nanos, Op, OpFlags, Sectors, TraceMeta};
use std::ops::Range;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "biosnoop",
    help: "biosnoop of bcc, libbpf-tools or bpftrace; the last needs op and block size (not verified against a real file)",
    sniff: |head| {
        let mut snoop = BiosnoopParser::default();
        text::sniff(head, |line| snoop.parse_line(line))
    },
    by_shape: false,
    uses: &[ImportOption::Op, ImportOption::Bytes, ImportOption::Sort],
    import,
};

/// Number of first lines in which the header is searched.
const MAX_HEADER_LINES: usize = 16;

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let (path, options) = (from.path, from.options);
    let head = from.peek(usize::MAX)?;
    let mut lines = head.split(|byte| *byte == b'\n').take(MAX_HEADER_LINES);
    let columns = lines.find_map(parse_header).unwrap_or_default();
    let has_no = |name| !columns.is_empty() && columns.iter().all(|column| column.name != name);
    let mut snoop = BiosnoopParser::default();
    let mut facts = Vec::new();
    if has_no("T") {
        let op = require(options.op_or_assumed(), path, "op", "it has no column T")?;
        facts.push(fact(STATED_OP, op));
        snoop.op = Some(op);
    } else {
        refuse_stated(options.op, path, "biosnoop with a column T", "--op")?;
    }
    if has_no("BYTES") {
        let (bytes, reason) = (options.bytes_or_assumed(), "it has no column BYTES");
        snoop.bytes = require(bytes, path, "block size", reason)?;
        facts.push(fact(STATED_BYTES, snoop.bytes.0));
    } else {
        refuse_stated(options.bytes, path, "biosnoop with a column BYTES", "--bs")?;
    }
    if has_no("SECTOR") {
        facts.push(fact(STATED_SECTOR, NO_OFFSETS));
    }
    let clock = if has_no("TIME") {
        "time of day at which biosnoop read the event, ms"
    } else {
        "from a day before biosnoop's time zero"
    };
    let spec = Spec {
        ends: true,
        numbers_devices: true,
        // In bpftrace's rows, requests start when they are queued.
        starts_at_issue: !has_no("T"),
        ..Spec::lines("biosnoop", clock)
    };
    let mut meta = text::import_in_order(from, &spec, |line| snoop.parse_line(line))?;
    let days = midnights(snoop.last_time).map(|(name, text)| fact(name, text));
    let facts = snoop.disks.facts().chain(facts).chain(days);
    meta.facts.extend(facts);
    meta.lost = snoop.lost;
    Ok(meta)
}

/// A column by its header, such as `PID` or `LAT(ms)`, with the unit in brackets.
struct BiosnoopColumn {
    name: String,
    unit: Option<TimeUnit>,
}

/// Parses the columns of a header; `None` if the line is not a header.
fn parse_header(line: &[u8]) -> Option<Vec<BiosnoopColumn>> {
    if !line.first()?.is_ascii_uppercase() {
        return None;
    }
    let column = |at: Range<usize>| {
        let text = String::from_utf8_lossy(&line[at]);
        let (name, unit) = text.split_once('(').unwrap_or((&text, ""));
        let unit = unit.trim_end_matches(')').parse().ok();
        let name = name.to_owned();
        BiosnoopColumn { name, unit }
    };
    let columns: Vec<BiosnoopColumn> = cell_ranges(line).map(column).collect();
    let has = |name, with_unit: bool| {
        let mut columns = columns.iter();
        columns.any(|column| column.name == name && column.unit.is_some() == with_unit)
    };
    let has_time = has("TIME", true) || has("TIMESTAMP", false);
    (has_time && has("COMM", false) && has("LAT", true)).then_some(columns)
}

/// State of the parser: the header names the columns.
#[derive(Default)]
struct BiosnoopParser {
    columns: Vec<BiosnoopColumn>,
    /// The operation and the length of requests, if the text lacks them.
    op: Option<Op>,
    bytes: Bytes,
    disks: Names,
    lost: u64,
    /// The last time of day plus its day, ns since the first midnight.
    last_time: Nanos,
}

impl BiosnoopParser {
    fn parse_line(&mut self, line: &[u8]) -> Parse {
        if let Some(columns) = parse_header(line) {
            self.columns = columns;
            return Ok(None);
        }
        if let Some(lost) = lost_events(line) {
            self.lost = self.lost.saturating_add(lost);
            return Ok(None);
        }
        // Lines before a header, and the maps that bpftrace prints at the end.
        let begins = |text: &[u8]| line.starts_with(text);
        let is_second_line = line.trim_ascii() == b"MAJOR MINOR";
        if begins(b"Attach") || begins(b"Tracing") || begins(b"@") || is_second_line {
            return Ok(None);
        }
        if self.columns.is_empty() {
            let expected = "a header, such as TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)";
            return Err(bad("header", expected, line));
        }
        let cells = BiosnoopCells::split(line, &self.columns)?;
        let row = cells.row(self.op, self.bytes, &mut self.last_time)?;
        let disk = match cells.get("ID") {
            b"" => cells.get("DISK").to_vec(),
            // A later biosnoop.bt prints major and minor number.
            minor => [cells.get("DISK"), b":", minor].concat(),
        };
        Ok(Some(row.with_device(self.disks.number(&disk, "DISK")?)))
    }
}

struct BiosnoopCells<'a> {
    line: &'a [u8],
    columns: &'a [BiosnoopColumn],
    cell_ranges: Vec<Range<usize>>,
    /// Number of cells of the process's name, which may hold blanks.
    name_cells: usize,
}

impl<'a> BiosnoopCells<'a> {
    fn split(line: &'a [u8], columns: &'a [BiosnoopColumn]) -> Result<Self, BadLine> {
        let cell_ranges: Vec<_> = cell_ranges(line).collect();
        let name_cells = (cell_ranges.len() + 1).checked_sub(columns.len());
        let expected = "as many cells as the header has";
        Ok(BiosnoopCells {
            line,
            columns,
            cell_ranges,
            name_cells: name_cells.ok_or_else(|| BadLine::wrong_cells(expected, line))?,
        })
    }

    /// The cell of a column; empty if there is none.
    fn get(&self, name: &str) -> &'a [u8] {
        let index = |name| self.columns.iter().position(|column| column.name == name);
        let cells = index(name).zip(index("COMM")).and_then(|(column, comm)| {
            // A row without a name has one cell less than columns.
            let shifted = column + self.name_cells;
            let first = if column > comm { shifted - 1 } else { column };
            let count = if column == comm { self.name_cells } else { 1 };
            self.cell_ranges.get(first..first + count)
        });
        let outer = cells.and_then(|cells| cells.first().zip(cells.last()));
        outer.map_or(b"", |(first, last)| &self.line[first.start..last.end])
    }

    fn time(&self, name: &'static str) -> Result<Nanos, BadLine> {
        let column = self.columns.iter().find(|column| column.name == name);
        let unit = column.and_then(|column| column.unit);
        time(self.get(name), unit.unwrap_or(TimeUnit::Milliseconds), name)
    }

    fn row(&self, op: Option<Op>, bytes: Bytes, last_time: &mut Nanos) -> Result<Row, BadLine> {
        let bytes = match self.get("BYTES") {
            b"" => bytes,
            cell => Bytes(whole_number(cell, "BYTES")?),
        };
        let sector = match self.get("SECTOR") {
            // A request without a sector.
            b"" | b"-1" | b"18446744073709551615" => Sectors(0),
            cell => sectors(whole_number(cell, "SECTOR")?, Bytes(512))
                .ok_or_else(|| bad("SECTOR", "a sector below 2^55, or -1", cell))?,
        };
        let (op, flags) = match op {
            Some(op) => (op, OpFlags::default()),
            None => op_of_letters(self.get("T"), bytes)?,
        };
        // libbpf-tools prints -1 if a request was not queued.
        let waited = match self.get("QUE") {
            b"" | [b'-', b'1', ..] => MaybeTime::UNKNOWN,
            _ => MaybeTime::from(self.time("QUE")?),
        };
        let end = match self.get("TIMESTAMP") {
            b"" => self.time("TIME")?,
            cell => {
                let text = str::from_utf8(cell).ok();
                let ns = text.and_then(|cell| ClockOrigin::Day.nanos(cell));
                let expected = "a time of day such as 14:23:45.123";
                let ns = ns.ok_or_else(|| bad("TIMESTAMP", expected, cell))?;
                *last_time = add_day(Nanos(ns), *last_time);
                *last_time
            }
        };
        let latency = self.time("LAT")?;
        let since_queue = latency.0.saturating_add(waited.get().map_or(0, |ns| ns.0));
        let row = Row::new(Nanos::ZERO, op, sector, bytes);
        let mut row = row.with_end(end, Nanos(since_queue))?;
        row.pid = match self.get("PID") {
            b"" => None,
            cell => Some(number_32(cell, "PID")?),
        };
        (row.waited, row.flags, row.name) = (waited, flags, Name::cut(self.get("COMM")));
        Ok(row)
    }
}

/// The operation by its letters. bcc prints R for everything but writes: a request without data is
/// a flush.
fn op_of_letters(letters: &[u8], bytes: Bytes) -> Result<(Op, OpFlags), BadLine> {
    if letters.len() > 8 || !letters.iter().all(u8::is_ascii_uppercase) {
        let expected = "R, W or the letters of a request, such as WS";
        return Err(bad("T", expected, letters));
    }
    match kind_of_rwbs(letters, bytes) {
        (Op::Read | Op::Write, flags) if bytes.0 == 0 => Ok((Op::Flush, flags)),
        known => Ok(known),
    }
}

/// The number in `Possibly lost 34 samples` or `Lost 34 events on CPU #1!`.
fn lost_events(line: &[u8]) -> Option<u64> {
    let line = str::from_utf8(line).ok()?.to_lowercase();
    let text = line.strip_prefix("possibly ").unwrap_or(&line);
    let (number, unit) = text.strip_prefix("lost ")?.split_once(' ')?;
    let number = number.parse().ok()?;
    (unit.starts_with("samples") || unit.starts_with("events")).then_some(number)
}
