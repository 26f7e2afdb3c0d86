//! Microsoft production and TPC-E traces, and dumps of xperf: Windows event tracing as CSV.
//!
//! The header block names the cells of each event. Without it, `DiskRead` and `DiskWrite` have
//! event, TimeStamp, process (PID), thread, IRP, ByteOffset, IOSize, ElapsedTime, DiskNum, and more
//! that are ignored. `DiskFlush` has neither offset nor size. Times are microseconds; offset and
//! size are hexadecimal bytes. Events are assumed to be logged at completion, so a request starts
//! its elapsed time earlier, perhaps before the recording. Other events are counted only.

use super::text::{self, BOM, Cells, Parse, Separator, number_32, sectors, time, whole_number};
use super::{
    BadLine, Import, ImportError, ImportFormat, ImportOption, Name, Row, Spec, TimeUnit, bad, fact,
};
use q2c_model::{Bytes, Nanos, Op, Sectors, TraceMeta};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "ms-etw",
    help: "Microsoft production, TPC-E: DiskRead, DiskWrite and DiskFlush events of ETW as CSV (not verified against a real file)",
    sniff: |head| {
        let mut events = EtwParser::new(TimeUnit::Microseconds);
        let text = head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start();
        text.starts_with(BEGIN_HEADER) || text::sniff(head, |line| events.parse_line(line))
    },
    by_shape: false,
    uses: &[ImportOption::Unit, ImportOption::Sort],
    import,
};

const BEGIN_HEADER: &[u8] = b"BeginHeader";
const SPEC: Spec = Spec {
    ends: true,
    ..Spec::lines("ms-etw", "from a day before the recording's start")
};
const MAX_CELLS: usize = 32;

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let mut events = EtwParser::new(from.options.unit.unwrap_or(TimeUnit::Microseconds));
    let mut meta = text::import_in_order(from, &SPEC, |line| events.parse_line(line))?;
    meta.lost = events.lost;
    let other_events = fact("events_of_other_kinds", events.other_events);
    meta.facts.extend([other_events]);
    Ok(meta)
}

struct EtwColumnNames(Vec<Vec<u8>>);

/// The cells of reads and writes, and of flushes, if no header names them.
const TRANSFER_CELLS: &[u8] = b"DiskRead, TimeStamp, Process Name, ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum";
const FLUSH_CELLS: &[u8] =
    b"DiskFlush, TimeStamp, Process Name, ThreadID, IrpPtr, ElapsedTime, DiskNum";

impl EtwColumnNames {
    fn from_line(line: &[u8]) -> EtwColumnNames {
        let names = line.split(|byte| *byte == b',').take(MAX_CELLS);
        EtwColumnNames(names.map(|name| name.trim_ascii().to_owned()).collect())
    }

    fn get<'a>(&self, cells: &Cells<'a, MAX_CELLS>, name: &str) -> &'a [u8] {
        let mut names = self.0.iter();
        let index = names.position(|known| known.starts_with(name.as_bytes()));
        index.map_or(b"", |index| cells.get(index))
    }
}

/// State of the parser: the header names the cells.
struct EtwParser {
    unit: TimeUnit,
    in_header: bool,
    /// The names of the cells of reads, writes and flushes, by [`Op`] as a number.
    names: [EtwColumnNames; 3],
    lost: u64,
    other_events: u64,
}

impl EtwParser {
    fn new(unit: TimeUnit) -> EtwParser {
        EtwParser {
            unit,
            in_header: false,
            names: [TRANSFER_CELLS, TRANSFER_CELLS, FLUSH_CELLS].map(EtwColumnNames::from_line),
            lost: 0,
            other_events: 0,
        }
    }

    fn parse_line(&mut self, line: &[u8]) -> Parse {
        let cells = Cells::<MAX_CELLS>::split(line, Separator::Comma);
        match cells.get(0) {
            BEGIN_HEADER => self.in_header = true,
            b"EndHeader" => self.in_header = false,
            b"DiskRead" => return self.parse_event(Op::Read, &cells, line),
            b"DiskWrite" => return self.parse_event(Op::Write, &cells, line),
            b"DiskFlush" => return self.parse_event(Op::Flush, &cells, line),
            _ if self.in_header => {}
            b"DiskReadInit" | b"DiskWriteInit" | b"DiskFlushInit" => {}
            version if version.starts_with(b"OS Version:") => {
                self.lost = self.lost.saturating_add(lost_events(&cells)?);
            }
            first if first.starts_with(b"FirstReliable") => {}
            _ if is_event(&cells) => self.other_events += 1,
            other => {
                let expected = "the name of an event, such as DiskRead, and its time";
                return Err(bad("event", expected, other));
            }
        }
        Ok(None)
    }

    /// Reads the line of an event. In the header, such a line names the event's cells.
    fn parse_event(&mut self, op: Op, cells: &Cells<'_, MAX_CELLS>, line: &[u8]) -> Parse {
        let names = &mut self.names[op as usize];
        if self.in_header {
            *names = EtwColumnNames::from_line(line);
            return Ok(None);
        }
        let cell = |name| names.get(cells, name);
        if cell("DiskNum").is_empty() {
            let expected = "the cells from the event to DiskNum, as the header names them";
            return Err(BadLine::wrong_cells(expected, line));
        }
        let (sector, bytes) = match op {
            Op::Flush => (Sectors(0), Bytes(0)),
            _ => parse_range(cell("ByteOffset"), cell("IOSize"))?,
        };
        let end = time(cell("TimeStamp"), self.unit, "TimeStamp")?;
        let latency = time(cell("ElapsedTime"), self.unit, "ElapsedTime")?;
        let disk = number_32(cell("DiskNum"), "DiskNum")?;
        let row = Row::new(Nanos::ZERO, op, sector, bytes).with_device(disk);
        let mut row = row.with_end(end, latency)?;
        (row.name, row.pid) = parse_process(cell("Process Name"))?;
        Ok(Some(row))
    }
}

fn parse_range(offset: &[u8], size: &[u8]) -> Result<(Sectors, Bytes), BadLine> {
    let sector = sectors(hexadecimal(offset, "ByteOffset")?, Bytes(1))
        .ok_or_else(|| bad("ByteOffset", "a multiple of 512", offset))?;
    let bytes = Bytes(hexadecimal(size, "IOSize")?);
    if bytes == Bytes(0) {
        return Err(BadLine::zero_length("IOSize"));
    }
    Ok((sector, bytes))
}

/// The number in `Events Lost: 12`, which xperf writes after the header.
fn lost_events(cells: &Cells<'_, MAX_CELLS>) -> Result<u64, BadLine> {
    let number = (0..MAX_CELLS).find_map(|at| cells.get(at).strip_prefix(b"Events Lost:"));
    number.map_or(Ok(0), |number| {
        whole_number(number.trim_ascii(), "Events Lost")
    })
}

/// True if a line is an event: a name, which may hold a slash or blanks, and a time.
fn is_event(cells: &Cells<'_, MAX_CELLS>) -> bool {
    let (name, time) = (cells.get(0), cells.get(1));
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(is_text)
        && !time.is_empty()
        && time.iter().all(u8::is_ascii_digit)
}

/// Parses `name.exe ( 1234)`. The number may be missing, or -1 where it is unknown.
fn parse_process(cell: &[u8]) -> Result<(Name, Option<u32>), BadLine> {
    let Some(open) = cell.iter().rposition(|byte| *byte == b'(') else {
        return Ok((Name::cut(cell), None));
    };
    let pid = cell[open + 1..].strip_suffix(b")").unwrap_or(b"");
    let pid = match pid.trim_ascii() {
        b"-1" => None,
        pid => Some(number_32(pid, "process (PID)")?),
    };
    Ok((Name::cut(cell[..open].trim_ascii()), pid))
}

fn hexadecimal(cell: &[u8], field: &'static str) -> Result<u64, BadLine> {
    let digits = cell.strip_prefix(b"0x").or(cell.strip_prefix(b"0X"));
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    // The standard library would accept a sign.
    let digits = digits.filter(|digits| !digits.starts_with('+'));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| bad(field, "a hexadecimal number, such as 0x1000", cell))
}
