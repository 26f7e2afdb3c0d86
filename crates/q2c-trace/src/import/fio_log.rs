//! fio's logs of latencies (`write_lat_log`): one I/O per line, in the order of completion.
//!
//! A line is `time, value, direction, block size[, offset][, priority[, issue time]]`. The time is
//! that of the completion, in whole milliseconds. The file's name says what the values are. The log
//! lacks fio's threads and their I/Os in flight, so overlapping I/Os are dealt to lanes. Within its
//! millisecond, an I/O ends as early as its lane allows.

use super::not_recordings::{FIO_LOG_ADVICE, not_a_recording};
use super::text::{self, Cells, NO_OFFSETS, Parse, Separator, address, length, time, whole_number};
use super::unpack::HEAD_BYTES;
use super::{
    BadLine, Import, ImportError, ImportFormat, ImportOption, ImportOptions, MaybeTime, Row, Spec,
    TimeUnit, bad, fact, require,
};
use q2c_model::facts::{COLUMNS_NOT_TAKEN, STATED_SECTOR};
use q2c_model::{Bytes, Layer, Nanos, Op, Sectors, TraceMeta};
use std::path::Path;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "fio-log",
    help: "fio's log of completion or total latencies (write_lat_log), not averaged",
    sniff,
    by_shape: false,
    uses: &[ImportOption::Unit, ImportOption::Sort],
    import,
};

const SPEC: Spec = Spec {
    layer: Layer::User,
    ends: true,
    ..Spec::lines("fio-log", "from fio's start, whole milliseconds")
};
const LINE_SHAPE: &str =
    "4 to 7 cells: time, value, direction, block size, offset, priority, issue time";
/// Nanoseconds in the unit of a log's times.
const MILLISECOND_NS: u64 = 1_000_000;
/// Most lanes, because each I/O searches them linearly.
const MAX_LANES: usize = 1024;

fn split_cells(line: &[u8]) -> Result<Cells<'_, 7>, BadLine> {
    Cells::from_line(line, Separator::Comma, (4, 7), LINE_SHAPE)
}

/// Times since fio's start are far below the Unix times in seconds with which other formats' lines
/// begin; Unix times in milliseconds are far above.
fn sniff(head: &[u8]) -> bool {
    text::sniff(head, |line| {
        let cells = split_cells(line)?;
        let time_ms = whole_number(cells.get(0), "time")?;
        if (1_000_000_000..1_000_000_000_000).contains(&time_ms) {
            return Err(bad("time", "milliseconds", cells.get(0)));
        }
        whole_number(cells.get(1), "value")?;
        whole_number(cells.get(3), "block size")?;
        let op = direction(cells.get(2))?;
        Ok(Some(Row::new(Nanos(time_ms), op, Sectors(0), Bytes(0))))
    })
}

fn direction(cell: &[u8]) -> Result<Op, BadLine> {
    match cell {
        b"0" => Ok(Op::Read),
        b"1" => Ok(Op::Write),
        b"2" => Ok(Op::Discard),
        other => Err(bad("direction", "0 (read), 1 (write) or 2 (trim)", other)),
    }
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let path = from.path;
    let layout = FioLogLayout::from_head(from.peek(HEAD_BYTES)?);
    let values = layout.values(path, from.options)?;
    let unit = layout.unit(path, from.options)?;
    let mut log = FioLogParser {
        unit,
        offset: layout.offset,
        last_ns: 0,
        lanes: Vec::new(),
    };
    let mut meta = text::import_in_order(from, &SPEC, |line| log.parse_line(line))?;
    let count = log.lanes.len();
    let lanes = format!("{count} (I/Os that overlap were dealt to lanes)");
    meta.facts.extend([
        fact("unit", unit.name()),
        fact("fio_log.values", values),
        fact("fio_log.ends", "known to a millisecond"),
        fact("stated.lanes", lanes),
    ]);
    let unused = layout.columns.saturating_sub(layout.columns_used());
    if unused > 0 {
        let names = ["priority", "issue time"][..unused.min(2)].join(", ");
        meta.facts.extend([fact(COLUMNS_NOT_TAKEN, names)]);
    }
    let no_offsets = || fact(STATED_SECTOR, NO_OFFSETS);
    meta.facts.extend(layout.offset.is_none().then(no_offsets));
    Ok(meta)
}

#[derive(Default)]
struct FioLogLayout {
    rows: usize,
    columns: usize,
    offset: Option<usize>,
    /// Number of lines without a block size, which are averages over time.
    averaged: usize,
    /// Number of lines with the value 1, which counts an I/O.
    ones: usize,
}

impl FioLogLayout {
    fn from_head(head: &[u8]) -> FioLogLayout {
        let mut layout = FioLogLayout::default();
        let lines = head.split(|byte| *byte == b'\n');
        for cells in lines.map_while(|line| split_cells(line).ok()) {
            layout.rows += 1;
            layout.columns = layout.columns.max(cells.count);
            layout.averaged += usize::from(cells.get(3) == b"0");
            layout.ones += usize::from(cells.get(1) == b"1");
            // A priority is 0, 1 or a hexadecimal number.
            let fifth = whole_number(cells.get(4), "offset");
            if cells.count > 5 || fifth.is_ok_and(|number| number > 1) {
                layout.offset = Some(4);
            }
        }
        layout
    }

    /// Number of columns before the priority.
    fn columns_used(&self) -> usize {
        4 + usize::from(self.offset.is_some())
    }

    /// The meaning of the values, in words; an error if they are not latencies of single I/Os.
    fn values(&self, path: &Path, options: &ImportOptions) -> Result<&'static str, ImportError> {
        const SUBMISSION: &str = "submission latencies, which are a part of the I/Os' latencies";
        let no_latencies =
            |what| not_a_recording(path, &format!("a log of fio with {what}"), FIO_LOG_ADVICE);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = name.rsplit(['.', '_', '-']).find_map(|word| match word {
            "bw" => Some(Err("bandwidths")),
            "iops" => Some(Err("IOPS")),
            "slat" => Some(Err(SUBMISSION)),
            "clat" => Some(Ok("completion latencies, by the file's name")),
            "lat" => Some(Ok("total latencies, by the file's name")),
            _ => None,
        });
        let are_averages = self.rows > 0 && self.averaged == self.rows;
        let are_counts = self.rows > 1 && self.ones == self.rows;
        match kind {
            Some(Err(what)) => Err(no_latencies(what)),
            _ if are_averages => Err(no_latencies("averages (log_avg_msec)")),
            _ if are_counts => Err(no_latencies("IOPS (each value is 1)")),
            Some(Ok(what)) => Ok(what),
            None => {
                let reason = "the file's name (NAME_clat.1.log, NAME_lat.1.log) does not say that its values are latencies; with their unit you say so";
                require(options.unit, path, "unit", reason)?;
                Ok("latencies, as stated by --unit")
            }
        }
    }

    fn unit(&self, path: &Path, options: &ImportOptions) -> Result<TimeUnit, ImportError> {
        let has_priority = self.columns > self.columns_used();
        let has_ns = has_priority || self.rows == 0;
        let unit = options.unit.or(has_ns.then_some(TimeUnit::Nanoseconds));
        let reason = "lines without a priority are of fio 2, which wrote us, or of an early fio 3, which wrote ns";
        require(unit, path, "unit", reason)
    }
}

/// State of the parser: the start of an I/O depends on earlier I/Os.
struct FioLogParser {
    unit: TimeUnit,
    offset: Option<usize>,
    last_ns: u64,
    /// The time from which each lane is free, ns.
    lanes: Vec<u64>,
}

impl FioLogParser {
    fn parse_line(&mut self, line: &[u8]) -> Parse {
        const MAX_STEP_BACK_NS: u64 = 1_000 * MILLISECOND_NS;
        let cells = split_cells(line)?;
        let at_ns = time(cells.get(0), TimeUnit::Milliseconds, "time")?.0;
        let latency = time(cells.get(1), self.unit, "latency")?;
        let op = direction(cells.get(2))?;
        let bytes = length(cells.get(3), Bytes(1), "block size")?;
        let sector = match self.offset {
            Some(column) => address(cells.get(column), Bytes(1), "offset")?,
            None => Sectors(0),
        };
        if at_ns < self.last_ns.saturating_sub(MAX_STEP_BACK_NS) {
            let expected = "a time not a second before the line above (the log of another job begins here: divide the file)";
            return Err(bad("time", expected, cells.get(0)));
        }
        let (lane, start) = self.deal(at_ns, latency.0).ok_or_else(|| {
            let expected = "a latency not above the time since fio's start, of at most 1024 I/Os in flight (is the unit right?)";
            bad("latency", expected, cells.get(1))
        })?;
        self.last_ns = self.last_ns.max(at_ns);
        let mut row = Row::new(Nanos(start), op, sector, bytes);
        (row.latency, row.lane) = (MaybeTime::from(latency), lane);
        Ok(Some(row))
    }

    /// The lane of an I/O that ends in the millisecond `at_ns`, and its start, ns. Takes the free
    /// lane that was busy last, to need few lanes; `None` if no lane is free.
    fn deal(&mut self, at_ns: u64, latency: u64) -> Option<(u32, u64)> {
        let end = at_ns.checked_add(MILLISECOND_NS)?;
        let fits = |free: u64| free.checked_add(latency).is_some_and(|ends| ends < end);
        let lanes = self.lanes.iter().enumerate();
        let lanes = lanes.filter(|(_, free)| fits(**free));
        let lane = match lanes.max_by_key(|(_, free)| **free) {
            Some((lane, _)) => lane,
            None if self.lanes.len() < MAX_LANES && fits(0) => {
                self.lanes.push(0);
                self.lanes.len() - 1
            }
            None => return None,
        };
        let start = self.lanes[lane].max(at_ns.saturating_sub(latency));
        self.lanes[lane] = start + latency;
        // The bound on lanes keeps the number within 32 bits.
        Some((lane as u32, start))
    }
}
