//! The fields that a CSV column may hold, and how each is parsed from a cell.

use super::clock::{FORMS, is_like_clock};
use super::unit::Unit;
use crate::Column;
use crate::import::decimal;
use crate::import::{BadLine, bad};
use crate::process::kept_name;
use q2c_model::{Bytes, IoRecord, Nanos, Op, OpFlags, Sectors};
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Column(Column),
    /// Offset in bytes, for sources without sector numbers.
    Offset,
    /// Time from the start to the end, for sources without the end.
    Latency,
}

impl Field {
    /// The field of this name; `None` as well for fields that the importer assigns itself.
    pub(super) fn by_name(name: &str) -> Option<Field> {
        match name {
            "offset" => Some(Field::Offset),
            "latency" => Some(Field::Latency),
            _ => match name.parse().ok()? {
                Column::Id | Column::Layer | Column::MergedInto => None,
                column => Some(Field::Column(column)),
            },
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Field::Column(column) => column.name(),
            Field::Offset => "offset",
            Field::Latency => "latency",
        }
    }

    /// True if its cells are times, which have a unit.
    pub(super) fn is_time(self) -> bool {
        match self {
            Field::Latency => true,
            Field::Offset => false,
            Field::Column(Column::SleepAskedNs | Column::SleptNs) => true,
            Field::Column(_) => self.is_instant(),
        }
    }

    pub(super) fn is_instant(self) -> bool {
        let mut instants = USER.iter().chain(BLOCK);
        instants.any(|column| Field::Column(*column) == self)
    }

    pub(super) fn is_place(self) -> bool {
        matches!(self, Field::Offset | Field::Column(Column::Sector))
    }

    /// True if its cells are lengths or places, which have a unit.
    pub(super) fn is_size(self) -> bool {
        self.is_place() || self == LENGTH
    }

    /// All fields that a CSV column may hold, in the order of the trace's columns.
    pub(super) fn every() -> impl Iterator<Item = Field> {
        let columns = Column::ALL.iter().map(|column| column.name());
        columns
            .chain(["offset", "latency"])
            .filter_map(Field::by_name)
    }

    pub(super) fn names() -> String {
        Field::every()
            .map(Field::name)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

pub(super) const LENGTH: Field = Field::Column(Column::Bytes);
/// Instants of the user layer, in the order of a request's life.
pub(super) const USER: &[Column] = &[Column::SubmitNs, Column::SubmitEndNs, Column::ReapNs];
/// Instants of the block layer, in the order of a request's life.
pub(super) const BLOCK: &[Column] = &[
    Column::QueueNs,
    Column::GetrqNs,
    Column::InsertNs,
    Column::IssueNs,
    Column::CompleteNs,
];

/// The record's field for an instant; `None` for other columns.
pub(super) fn instant(record: &mut IoRecord, column: Column) -> Option<&mut Option<Nanos>> {
    Some(match column {
        Column::SubmitNs => &mut record.submit_ns,
        Column::SubmitEndNs => &mut record.submit_end_ns,
        Column::ReapNs => &mut record.reap_ns,
        Column::QueueNs => &mut record.queue_ns,
        Column::GetrqNs => &mut record.getrq_ns,
        Column::InsertNs => &mut record.insert_ns,
        Column::IssueNs => &mut record.issue_ns,
        Column::CompleteNs => &mut record.complete_ns,
        _ => return None,
    })
}

/// Parses a cell that is not empty into the record. Module `row` handles lanes, operations, devices
/// and latencies.
pub(super) fn set(
    record: &mut IoRecord,
    field: Field,
    cell: &str,
    unit: Unit,
) -> Result<(), BadLine> {
    let Field::Column(column) = field else {
        if field == Field::Offset {
            record.sector = sector(field, cell, unit)?;
        }
        return Ok(());
    };
    if let Some(place) = instant(record, column) {
        *place = Some(time(field, cell, unit)?);
        return Ok(());
    }
    match column {
        Column::Flags => record.flags = record.flags.union(flags(cell)?),
        Column::Sector => record.sector = sector(field, cell, unit)?,
        Column::Bytes => record.bytes = Bytes(bytes(field, cell, unit)?),
        Column::DepthAtSubmit => record.depth_at_submit = whole_number(field, cell)?,
        Column::SleepAskedNs => record.sleep_asked_ns = Some(time(field, cell, unit)?),
        Column::SleptNs => record.slept_ns = Some(time(field, cell, unit)?),
        Column::Missed => record.missed = Some(truth(cell)?),
        Column::Pid => record.pid = Some(whole_number(field, cell)?),
        Column::Comm => record.comm = Some(kept_name(cell)),
        Column::CpuSubmit => record.cpu_submit = Some(whole_number(field, cell)?),
        Column::CpuComplete => record.cpu_complete = Some(whole_number(field, cell)?),
        Column::Hctx => record.hctx = Some(whole_number(field, cell)?),
        Column::Tag => record.tag = Some(whole_number(field, cell)?),
        Column::Cgroup => record.cgroup = Some(whole_number(field, cell)?),
        Column::Error => record.error = Some(parse(field, "0 or a negative errno", cell)?),
        _ => {}
    }
    Ok(())
}

fn parse<T: FromStr>(field: Field, expected: &'static str, cell: &str) -> Result<T, BadLine> {
    cell.parse().map_err(|_| bad(field.name(), expected, cell))
}

const WHOLE: &str = "a whole number in the field's range";

pub(super) fn whole_number<T: FromStr>(field: Field, cell: &str) -> Result<T, BadLine> {
    parse(field, WHOLE, cell)
}

pub(super) fn time(field: Field, cell: &str, unit: Unit) -> Result<Nanos, BadLine> {
    if let Unit::Clock(clock) = unit {
        let expected = "a date or a time of day as in the first row, from 1970 on";
        let ns = clock.nanos(cell);
        return ns
            .map(Nanos)
            .ok_or_else(|| bad(field.name(), expected, cell));
    }
    let ns = decimal::nanos(cell, unit.time()).map(Nanos);
    ns.map_err(|reason| {
        let is_clock = is_like_clock(cell);
        let expected = if is_clock {
            FORMS
        } else {
            "a time, zero or above"
        };
        BadLine::new(reason, field.name(), expected, cell)
    })
}

fn bytes(field: Field, cell: &str, unit: Unit) -> Result<u64, BadLine> {
    let bytes = decimal::multiple(cell, unit.bytes());
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    bytes.ok_or_else(|| bad(field.name(), WHOLE, cell))
}

fn sector(field: Field, cell: &str, unit: Unit) -> Result<Sectors, BadLine> {
    let bytes = decimal::multiple(cell, unit.bytes());
    let bytes = bytes.filter(|bytes| bytes.is_multiple_of(512));
    let sector = bytes.and_then(|bytes| u64::try_from(bytes / 512).ok());
    let expected = "a whole number in its range, a multiple of 512 bytes";
    let sector = sector.map(Sectors);
    sector.ok_or_else(|| bad(field.name(), expected, cell))
}

/// Parses an operation: its name or first letter, blktrace's letters (`WFS`), or 0 and 1, where
/// `read_flag` is the digit of a read.
pub(super) fn op(cell: &str, read_flag: Option<u8>) -> Result<(Op, OpFlags), BadLine> {
    if let ("0" | "1", Some(read)) = (cell, read_flag) {
        let is_read = cell == if read == 0 { "0" } else { "1" };
        let op = if is_read { Op::Read } else { Op::Write };
        return Ok((op, OpFlags::default()));
    }
    let expected =
        "read, write, flush, discard or other, letters as RS or WFS, or 0 and 1 with --read-flag";
    let named = cell.parse().ok().map(|op| (op, OpFlags::default()));
    named
        .or_else(|| letters(cell))
        .ok_or_else(|| bad("op", expected, cell))
}

/// Parses letters as the kernel's tracepoints print them: F for a preceding flush, one of R W D F
/// N, then F A S M E.
fn letters(cell: &str) -> Option<(Op, OpFlags)> {
    let letters = cell.as_bytes();
    let flushes = matches!(letters, [b'F', b'R' | b'W' | b'D' | b'F' | b'N', ..]);
    let (kind, rest) = letters[usize::from(flushes)..].split_first()?;
    let op = match kind {
        b'R' => Op::Read,
        b'W' => Op::Write,
        b'D' => Op::Discard,
        b'F' => Op::Flush,
        b'N' => Op::Other,
        _ => return None,
    };
    let add = |flags: OpFlags, letter: &u8| {
        Some(flags.union(match letter {
            b'F' => OpFlags::FUA,
            b'A' => OpFlags::READAHEAD,
            b'S' => OpFlags::SYNC,
            b'M' => OpFlags::META,
            b'E' => OpFlags::default(),
            _ => return None,
        }))
    };
    Some((op, rest.iter().try_fold(OpFlags::default(), add)?))
}

fn truth(cell: &str) -> Result<bool, BadLine> {
    match cell.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(bad("missed", "true, false, 1 or 0", cell)),
    }
}

/// Parses words such as `sync|fua`, or the bits as a number.
fn flags(cell: &str) -> Result<OpFlags, BadLine> {
    if let Ok(bits) = cell.parse() {
        return Ok(OpFlags(bits));
    }
    let word = |word: &str| {
        Some(match word.trim() {
            "sync" => OpFlags::SYNC,
            "meta" => OpFlags::META,
            "fua" => OpFlags::FUA,
            "readahead" => OpFlags::READAHEAD,
            "polled" => OpFlags::POLLED,
            _ => return None,
        })
    };
    let expected = "sync, meta, fua, readahead, polled, joined by |, or their bits";
    let flags: Option<Vec<OpFlags>> = cell.split('|').map(word).collect();
    let flags = flags.ok_or_else(|| bad("flags", expected, cell))?;
    Ok(flags.into_iter().fold(OpFlags::default(), OpFlags::union))
}
