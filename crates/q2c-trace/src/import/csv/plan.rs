//! The plan of an import: which cell of a row holds which field.

use super::cells::CsvCells;
use super::clock::ClockOrigin;
use super::field::{BLOCK, Field, LENGTH, USER};
use super::guess::typed;
use super::suggest::advice;
use super::unit::{self, Mapped, NOT_TOLD, Unit, UnitEvidence};
use super::usual::{check_addresses, usual_columns};
use crate::Column;
use crate::import::error::{shown, unfit};
use crate::import::{ColumnMap, ImportError, ImportOptions, needed, not_told_twice};
use q2c_model::facts::{COLUMNS_NOT_TAKEN, STATED_BYTES, STATED_OP, STATED_SECTOR};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Op, Sectors};
use std::path::Path;

/// A column map that was checked against the header row.
#[derive(Debug)]
pub(super) struct CsvPlan {
    pub(super) fields: Vec<Mapped>,
    pub(super) width: usize,
    /// The instants of the layer, in the order of a request's life.
    pub(super) instants: &'static [Column],
    pub(super) start: Column,
    /// The first instant that is mapped, by which rows are ordered: the start, or the end if rows
    /// have only that and the latency.
    pub(super) stamp: Column,
    /// A record with the values stated for all rows, which each row's cells complete.
    pub(super) blank: IoRecord,
    /// True if a comma in a time is a decimal point.
    pub(super) decimal_comma: bool,
    /// Which of the operations 0 and 1 is a read.
    pub(super) read_flag: Option<u8>,
    /// The option that would state the unit of lengths, if nothing states it. They count as bytes
    /// as long as these are whole sectors.
    pub(super) length_unit: Option<String>,
    /// The fact about the depth if no request has an end, with the reason.
    pub(super) no_ends: String,
    /// Facts that the user stated for the whole source, or that were detected.
    pub(super) stated: StatedFacts,
}

impl CsvPlan {
    pub(super) fn new(of: &UnitEvidence<'_>, line: u64) -> Result<Self, ImportError> {
        let (header, options, path) = (of.header, of.options, of.path);
        let wrong = |wrong| of.wrong(wrong);
        let by_name = options.columns.is_empty();
        let named = mapped(of, line)?;
        let usual = usual_columns(header, &named).map_err(wrong)?;
        let fields = [&named[..], &usual].concat();
        let layer = check(&fields).map_err(wrong)?;
        let instants = if layer == Layer::User { USER } else { BLOCK };
        if by_name && let Some(advice) = advice(&fields, of) {
            return Err(wrong(advice));
        }
        let has = |column: &Column| has(&fields, Field::Column(*column));
        let stamp = instants.iter().copied().find(has).ok_or_else(|| {
            let expected = "a time besides the durations, such as submit_ns=HEADER (latencies alone: format latency-list)";
            wrong((expected.to_owned(), "none".to_owned()))
        })?;
        let end = instants[instants.len() - 1];
        let by_end = stamp == end && self::has(&fields, Field::Latency);
        let mapped = of.with_units(&fields)?;
        let is_untold = |column: &Mapped| column.field == LENGTH && column.source == NOT_TOLD;
        check_addresses(&usual, &mapped, of)?;
        let untold = mapped.iter().any(is_untold).then_some(&fields);
        let length_unit = untold.and_then(|fields| unit::option_for_unit(fields, of));
        if self::has(&usual, LENGTH)
            && has(&Column::Sector)
            && options.offset_unit.is_none()
            && let Some(option) = &length_unit
        {
            return Err(wrong(unit::ask_unit(option)));
        }
        let unused = not_taken(&fields, header);
        let (blank, mut stated) = blank(layer, &fields, options, path)?;
        let lacks = |what: &str| lacking(what, unused.as_deref());
        let has_place = fields.iter().any(|column| column.field.is_place());
        stated.extend((!has_place).then(|| (STATED_SECTOR, format!("0 ({})", lacks("offsets")))));
        let no_ends = format!("1 ({})", lacks("ends"));
        stated.extend(read_flag(&fields, of)?);
        let decimal_comma = of.delimiter == b';';
        let source = options.delimiter.map_or("detected", |_| "stated");
        let delimiter = format!("{:?} ({source})", char::from(of.delimiter));
        stated.push(("delimiter", delimiter));
        stated.extend(decimal_comma.then(|| ("decimals", "point or comma".to_owned())));
        let has_usual = !usual.is_empty();
        stated.extend(has_usual.then(|| ("columns_by_name", typed(&usual, header, None))));
        stated.extend(unused.map(|names| (COLUMNS_NOT_TAKEN, names)));
        Ok(CsvPlan {
            fields: mapped,
            width: header.count,
            instants,
            start: if by_end { instants[0] } else { stamp },
            stamp,
            blank,
            decimal_comma,
            read_flag: options.read_flag,
            length_unit,
            no_ends,
            stated,
        })
    }

    pub(super) fn has(&self, field: Field) -> bool {
        has(&self.fields, field)
    }

    pub(super) fn end(&self) -> Column {
        self.instants[self.instants.len() - 1]
    }

    /// True if the start is computed from the end and the latency.
    pub(super) fn by_end(&self) -> bool {
        self.start != self.stamp
    }

    pub(super) fn clock(&self) -> Option<ClockOrigin> {
        self.fields.iter().find_map(|mapped| match mapped.unit {
            Unit::Clock(clock) => Some(clock),
            _ => None,
        })
    }
}

/// The fields of the column map, with the units that it states.
fn mapped(of: &UnitEvidence<'_>, line: u64) -> Result<Vec<Mapped>, ImportError> {
    let mapped = |map: &ColumnMap| {
        let unknown = || (format!("one of {}", Field::names()), shown(&map.field));
        let field = Field::by_name(&map.field).ok_or_else(|| of.wrong(unknown()))?;
        let as_it_is = of.header.iter().any(|name| name == map.header);
        let with_unit = || {
            let (name, unit) = map.header.rsplit_once(':').filter(|_| !as_it_is)?;
            Some((name.trim(), Unit::parse(field, unit)?))
        };
        let (name, unit) = with_unit().unwrap_or((&map.header, Unit::None));
        let at = place(of.header, name, line, of.path)?;
        Ok(Mapped {
            unit,
            ..Mapped::new(field, at)
        })
    };
    of.options.columns.iter().map(mapped).collect()
}

/// The headers of the columns that are not read; `None` if all are read.
fn not_taken(fields: &[Mapped], header: &CsvCells) -> Option<String> {
    let taken = |at: usize| fields.iter().any(|column| column.at == at);
    let free = header.iter().enumerate().filter(|(at, _)| !taken(*at));
    let name =
        |(_, name): (usize, &str)| if name.is_empty() { "(unnamed)" } else { name }.to_owned();
    let names: Vec<String> = free.map(name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Why `what` is unknown: the source lacks it, or a column that is not read holds it.
fn lacking(what: &str, not_taken: Option<&str>) -> String {
    not_taken.map_or_else(
        || format!("the source has no {what}"),
        |names| format!("no column was taken for {what}; not taken: {names}"),
    )
}

pub(super) fn has(fields: &[Mapped], field: Field) -> bool {
    fields.iter().any(|column| column.field == field)
}

fn place(header: &CsvCells, name: &str, line: u64, path: &Path) -> Result<usize, ImportError> {
    let mut places = header.iter().enumerate().filter(|(_, cell)| *cell == name);
    if let (Some((at, _)), None) = (places.next(), places.next()) {
        return Ok(at);
    }
    let headers: Vec<&str> = header.iter().collect();
    let expected = format!("exactly one column {}", shown(name));
    Err(wrong_header(
        path,
        line,
        &expected,
        &shown(&headers.join(", ")),
    ))
}

pub(super) fn wrong_header(path: &Path, line: u64, expected: &str, found: &str) -> ImportError {
    let message = format!(
        ", line {line}, header: expected {expected}, found {found}; say with --columns which header holds which field"
    );
    unfit(path, message)
}

pub(super) type Wrong = (String, String);

/// Determines the layer; fails if fields contradict each other.
pub(super) fn check(fields: &[Mapped]) -> Result<Layer, Wrong> {
    let wrong = |expected: &str, found: &str| Err((expected.to_owned(), shown(found)));
    for (at, Mapped { field, .. }) in fields.iter().enumerate() {
        if has(&fields[..at], *field) {
            return wrong("every field once", field.name());
        }
    }
    let is = |name: Column| has(fields, Field::Column(name));
    let durations = [Column::SleepAskedNs, Column::SleptNs, Column::Missed];
    let instants = |columns: &[Column]| columns.iter().filter(|column| is(**column)).count();
    let (user, block) = (instants(USER), instants(BLOCK));
    if user + instants(&durations) > 0 && block > 0 {
        let expected = "times of one layer, as the two are never mixed";
        return wrong(expected, "times of the user layer and of the block layer");
    }
    if has(fields, Field::Offset) && is(Column::Sector) {
        return wrong("either offset or sector", "both");
    }
    let ends = is(Column::ReapNs) || is(Column::CompleteNs);
    if has(fields, Field::Latency) && ends && user + block > 1 {
        let expected = "either latency or the time of the end, besides another time";
        return wrong(expected, "both");
    }
    Ok(if block > 0 { Layer::Block } else { Layer::User })
}

/// The fact about the number of a read, if the first row's operation is 0 or 1.
fn read_flag(
    fields: &[Mapped],
    of: &UnitEvidence<'_>,
) -> Result<Option<(&'static str, String)>, ImportError> {
    let op = Field::Column(Column::Op);
    let op = fields.iter().find(|column| column.field == op);
    let cell = op.and_then(|column| of.sampled(column.at));
    if !matches!(cell, Some("0" | "1")) {
        let format = "a table without operations of 0 and 1";
        not_told_twice(of.options.read_flag, of.path, format, "--read-flag")?;
        return Ok(None);
    }
    let reason = "the operations are 0 and 1, and which of them is a read is not told";
    let flag = needed(of.options.read_flag, of.path, "read flag", reason)?;
    Ok(Some(("stated.read_flag", flag.to_string())))
}

pub(super) type StatedFacts = Vec<(&'static str, String)>;

/// Makes the record with the values stated for all rows, and the facts that list them.
fn blank(
    layer: Layer,
    fields: &[Mapped],
    options: &ImportOptions,
    path: &Path,
) -> Result<(IoRecord, StatedFacts), ImportError> {
    let mapped = |column| has(fields, Field::Column(column));
    let mut stated = Vec::new();
    let (mut op, mut bytes, mut device) = (Op::Other, Bytes(0), DevId::default());
    if !mapped(Column::Op) {
        let given = options.op_or_assumed();
        op = needed(given, path, "op", "no column is mapped to op")?;
        stated.push((STATED_OP, op.to_string()));
    } else {
        not_told_twice(options.op, path, "a table with this column", "--op")?;
    }
    if !mapped(Column::Bytes) {
        let (given, reason) = (options.bytes_or_assumed(), "no column is mapped to bytes");
        bytes = needed(given, path, "block size", reason)?;
        stated.push((STATED_BYTES, bytes.0.to_string()));
    } else {
        not_told_twice(options.bytes, path, "a table with this column", "--bs")?;
    }
    if !mapped(Column::Device) {
        device = options.device;
        stated.push(("stated.device", device.to_string()));
    }
    let blank = IoRecord::new(0, layer, device, op, Sectors(0), bytes);
    Ok((blank, stated))
}
