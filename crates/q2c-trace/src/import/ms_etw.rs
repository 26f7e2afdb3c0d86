//! Microsoft production and TPC-E traces: the CSV that Windows event tracing is dumped to.
//!
//! The cells of `DiskRead` and `DiskWrite` are event, TimeStamp, process (PID), thread, IRP,
//! ByteOffset, IOSize, ElapsedTime, DiskNum, and more that are not kept. `DiskFlush` has neither
//! offset nor size. Times are microseconds; offset and size are hexadecimal bytes. An event is
//! taken to be logged at the completion, so a request starts its elapsed time before. `*Init`
//! events and the header block are passed over.

use super::ImportFormat;
use super::arrange::Spec;
use super::decimal::TimeUnit;
use super::error::{BadLine, ImportError};
use super::row::{Name, Row};
use super::run::Import;
use super::text::{self, Cells, Parse, Separator, bad, device, sectors, time};
use q2c_model::{Bytes, Nanos, Op, Sectors, TraceMeta};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "ms-etw",
    help: "Microsoft production, TPC-E: DiskRead, DiskWrite and DiskFlush events of ETW as CSV (not verified against a real file)",
    sniff: |head| {
        let mut events = Events::default();
        head.trim_ascii_start().starts_with(BEGIN) || text::sniff(head, |line| events.line(line))
    },
    own_device_numbers: false,
    import,
};

const BEGIN: &[u8] = b"BeginHeader";
const SPEC: Spec = Spec {
    ends: true,
    ..Spec::lines("ms-etw", "microseconds from the recording's start")
};

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let mut events = Events {
        unit: from.options.unit.unwrap_or(TimeUnit::Microseconds),
        ..Events::default()
    };
    text::import_in_order(from, &SPEC, |line| events.line(line))
}

/// Parses events. Lines within the header block are passed over.
struct Events {
    unit: TimeUnit,
    in_header: bool,
}

impl Default for Events {
    fn default() -> Self {
        Events {
            unit: TimeUnit::Microseconds,
            in_header: false,
        }
    }
}

impl Events {
    fn line(&mut self, line: &[u8]) -> Parse {
        let cells = Cells::<9>::split(line, Separator::Comma);
        match cells.get(0) {
            BEGIN => self.in_header = true,
            b"EndHeader" => self.in_header = false,
            _ if self.in_header => {}
            b"DiskRead" => return self.transfer(Op::Read, &cells, line),
            b"DiskWrite" => return self.transfer(Op::Write, &cells, line),
            b"DiskFlush" => return self.flush(&cells, line),
            b"DiskReadInit" | b"DiskWriteInit" | b"DiskFlushInit" => {}
            other => {
                let expected = "DiskRead, DiskWrite, DiskFlush, or their Init";
                return Err(bad("event", expected, other));
            }
        }
        Ok(None)
    }

    fn transfer(&self, op: Op, cells: &Cells<'_, 9>, line: &[u8]) -> Parse {
        let expected = "9 cells or more, from the event to DiskNum";
        enough(cells, 9, expected, line)?;
        let offset = hexadecimal(cells.get(5), "ByteOffset")?;
        let sector = sectors(offset, Bytes(1))
            .ok_or_else(|| bad("ByteOffset", "a multiple of 512", cells.get(5)))?;
        let bytes = hexadecimal(cells.get(6), "IOSize")?;
        if bytes == 0 {
            let expected = "a length above zero";
            return Err(BadLine::new("zero length", "IOSize", expected, "0"));
        }
        self.row(op, (sector, Bytes(bytes)), cells, 7)
    }

    fn flush(&self, cells: &Cells<'_, 9>, line: &[u8]) -> Parse {
        let expected = "7 cells or more, from the event to DiskNum";
        enough(cells, 7, expected, line)?;
        self.row(Op::Flush, (Sectors(0), Bytes(0)), cells, 5)
    }

    /// The row of an event. The cell `elapsed` holds the elapsed time, and the next cell the disk.
    fn row(
        &self,
        op: Op,
        (sector, bytes): (Sectors, Bytes),
        cells: &Cells<'_, 9>,
        elapsed: usize,
    ) -> Parse {
        let end = time(cells.get(1), self.unit, "TimeStamp")?;
        let latency = time(cells.get(elapsed), self.unit, "ElapsedTime")?;
        let disk = device(cells.get(elapsed + 1), "DiskNum")?;
        let (name, pid) = process(cells.get(2))?;
        let start = end.0.checked_sub(latency.0).map(Nanos).ok_or_else(|| {
            let expected = "at most TimeStamp";
            bad("ElapsedTime", expected, cells.get(elapsed))
        })?;
        let mut row = Row::new(start, op, sector, bytes).on(disk);
        (row.latency, row.name, row.pid) = (Some(latency), name, pid);
        Ok(Some(row))
    }
}

fn enough(
    cells: &Cells<'_, 9>,
    least: usize,
    expected: &'static str,
    line: &[u8],
) -> Result<(), BadLine> {
    match cells.count >= least {
        true => Ok(()),
        false => {
            let found = String::from_utf8_lossy(line);
            Err(BadLine::new(
                "wrong number of cells",
                "line",
                expected,
                &found,
            ))
        }
    }
}

/// Parses `name.exe ( 1234)`. The number may be missing, or -1 where it is unknown.
fn process(cell: &[u8]) -> Result<(Name, Option<u32>), BadLine> {
    let Some(open) = cell.iter().rposition(|byte| *byte == b'(') else {
        return Ok((Name::cut(cell), None));
    };
    let pid = cell[open + 1..].strip_suffix(b")").unwrap_or(b"");
    let pid = match pid.trim_ascii() {
        b"-1" => None,
        pid => Some(device(pid, "process (PID)")?),
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
