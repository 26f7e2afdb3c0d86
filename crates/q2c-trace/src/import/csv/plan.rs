//! The plan of an import: which cell of a row holds which field, and in which unit.

use super::cells::CsvCells;
use super::clock::{ClockOrigin, FORMS, is_like_clock};
use super::headers::{
    check_addresses, find_usual, size_unit, size_unit_of, suggest_map, time_unit, to_lower,
    typed_map, unit_of,
};
use super::row::{BLOCK, Field, LENGTH, USER};
use crate::Column;
use crate::import::error::{input_error, quote, usage_error};
use crate::import::{
    ColumnMap, ImportError, ImportOptions, TimeUnit, fact, refuse_stated, require,
};
use q2c_model::facts::{COLUMNS_NOT_TAKEN, STATED_BYTES, STATED_OP, STATED_SECTOR};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Op, Sectors, parse_size};
use std::path::Path;

/// A column map that was checked against the header row.
#[derive(Debug)]
pub(super) struct CsvPlan {
    pub(super) fields: Vec<Mapping>,
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
    /// The operation, 0 or 1, that is a read.
    pub(super) read_flag: Option<u8>,
    /// The option that would state the unit of lengths, if nothing states it. Lengths then count as
    /// bytes, which must be whole sectors.
    pub(super) length_unit: Option<String>,
    /// The fact about the depth if no request has an end, with the reason.
    pub(super) no_ends: String,
    /// Facts that the user stated for the whole source, or that were detected.
    pub(super) stated: Vec<StatedFact>,
}

impl CsvPlan {
    pub(super) fn new(head: &CsvHead<'_>, line: u64) -> Result<Self, ImportError> {
        let (header, options, path) = (head.header, head.options, head.path);
        let map_error = |wrong| head.map_error(wrong);
        let named = head.map_columns(line)?;
        let usual = find_usual(header, &named).map_err(map_error)?;
        let fields = [&named[..], &usual].concat();
        let layer = check_fields(&fields).map_err(map_error)?;
        let instants = if layer == Layer::User { USER } else { BLOCK };
        if options.columns.is_empty()
            && let Some(suggestion) = suggest_map(&fields, head)
        {
            return Err(map_error(suggestion));
        }
        let has = |column: &Column| has(&fields, Field::Column(*column));
        let stamp = instants.iter().copied().find(has).ok_or_else(|| {
            let expected = "a time besides the durations, such as submit_ns=HEADER (latencies alone: format latency-list)";
            map_error((expected.to_owned(), "none".to_owned()))
        })?;
        let end = instants[instants.len() - 1];
        let computed = stamp == end && self::has(&fields, Field::Latency);
        let mapped = head.with_units(&fields)?;
        check_addresses(&usual, &mapped, head)?;
        let is_bare = |c: &Mapping| c.field == LENGTH && c.unit_source == UNSTATED_UNIT;
        let bare = mapped.iter().any(is_bare).then_some(&fields);
        let length_unit = bare.and_then(|fields| option_for_unit(fields, head));
        if self::has(&usual, LENGTH)
            && has(&Column::Sector)
            && options.offset_unit.is_none()
            && let Some(option) = &length_unit
        {
            let expected = format!("the unit of lengths, such as {option} {UNITS}");
            let lacking = "lengths without one beside sectors".to_owned();
            return Err(map_error((expected, lacking)));
        }
        let unused = unused_headers(&fields, header);
        let (blank, mut stated) = blank_record(layer, &fields, options, path)?;
        // Says why `what` is unknown: the source lacks it, or a column that is not read holds it.
        let reason = |what: &str| match &unused {
            None => format!("the source has no {what}"),
            Some(names) => format!("no column was taken for {what}; not taken: {names}"),
        };
        let has_offset = fields.iter().any(|column| column.field.is_position());
        stated.extend((!has_offset).then(|| (STATED_SECTOR, format!("0 ({})", reason("offsets")))));
        let no_ends = format!("1 ({})", reason("ends"));
        stated.extend(head.read_flag(&fields)?);
        let decimal_comma = head.delimiter == b';';
        let source = options.delimiter.map_or("detected", |_| "stated");
        let delimiter = format!("{:?} ({source})", char::from(head.delimiter));
        stated.push(("delimiter", delimiter));
        stated.extend(decimal_comma.then(|| ("decimals", "point or comma".to_owned())));
        let by_name = || ("columns_by_name", typed_map(&usual, header, None));
        stated.extend((!usual.is_empty()).then(by_name));
        stated.extend(unused.map(|names| (COLUMNS_NOT_TAKEN, names)));
        Ok(CsvPlan {
            fields: mapped,
            width: header.count,
            instants,
            start: if computed { instants[0] } else { stamp },
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

    /// Fails if a length without a unit is not whole sectors.
    pub(super) fn check_unit(&self, record: &IoRecord, line: u64) -> Result<(), WrongMap> {
        match &self.length_unit {
            Some(option)
                if matches!(record.op, Op::Read | Op::Write)
                    && !record.bytes.0.is_multiple_of(512) =>
            {
                let expected =
                    format!("lengths of whole sectors, or their unit, such as {option} {UNITS}");
                let bytes = record.bytes.0;
                Err((expected, format!("`{bytes}` without a unit in line {line}")))
            }
            _ => Ok(()),
        }
    }

    /// True if the start is computed from the end and the latency.
    pub(super) fn has_computed_start(&self) -> bool {
        self.start != self.stamp
    }

    pub(super) fn clock(&self) -> Option<ClockOrigin> {
        self.fields.iter().find_map(|mapped| match mapped.unit {
            Unit::Clock(clock) => Some(clock),
            _ => None,
        })
    }
}

/// The headers of the columns that are not read; `None` if all are read.
fn unused_headers(fields: &[Mapping], header: &CsvCells) -> Option<String> {
    let is_used = |at: usize| fields.iter().any(|column| column.at == at);
    let unused = header.iter().enumerate().filter(|(at, _)| !is_used(*at));
    let names = unused.map(|(_, name)| if name.is_empty() { "(unnamed)" } else { name });
    let names = Vec::from_iter(names);
    (!names.is_empty()).then(|| names.join(", "))
}

pub(super) fn has(fields: &[Mapping], field: Field) -> bool {
    fields.iter().any(|column| column.field == field)
}

pub(super) fn wrong_header(path: &Path, line: u64, expected: &str, found: &str) -> ImportError {
    input_error(
        path,
        format_args!(
            ", line {line}, header: expected {expected}, found {found}; say with --columns which header holds which field"
        ),
    )
}

/// Two texts for the error of a column map: the expected one, and the one that was found.
pub(super) type WrongMap = (String, String);

/// Determines the layer; fails if fields contradict each other.
pub(super) fn check_fields(fields: &[Mapping]) -> Result<Layer, WrongMap> {
    let wrong = |expected: &str, found: &str| Err((expected.to_owned(), quote(found)));
    for (at, Mapping { field, .. }) in fields.iter().enumerate() {
        if has(&fields[..at], *field) {
            return wrong("every field once", field.name());
        }
    }
    let is = |name: Column| has(fields, Field::Column(name));
    let durations = [Column::SleepAskedNs, Column::SleptNs, Column::Missed];
    let count = |columns: &[Column]| columns.iter().filter(|column| is(**column)).count();
    let (user, block) = (count(USER), count(BLOCK));
    if user + count(&durations) > 0 && block > 0 {
        let expected = "times of one layer, as the two are never mixed";
        return wrong(expected, "times of the user layer and of the block layer");
    }
    if has(fields, Field::Offset) && is(Column::Sector) {
        return wrong("either offset or sector", "both");
    }
    let has_end = is(Column::ReapNs) || is(Column::CompleteNs);
    if has(fields, Field::Latency) && has_end && user + block > 1 {
        let expected = "either latency or the time of the end, besides another time";
        return wrong(expected, "both");
    }
    Ok(if block > 0 { Layer::Block } else { Layer::User })
}

type StatedFact = (&'static str, String);

/// Makes the record with the values stated for all rows, and the facts that list them.
fn blank_record(
    layer: Layer,
    fields: &[Mapping],
    options: &ImportOptions,
    path: &Path,
) -> Result<(IoRecord, Vec<StatedFact>), ImportError> {
    let mapped = |column| has(fields, Field::Column(column));
    let mut stated = Vec::new();
    let (mut op, mut bytes, mut device) = (Op::Other, Bytes(0), DevId::default());
    if mapped(Column::Op) {
        refuse_stated(options.op, path, "a table with this column", "--op")?;
    } else {
        let (given, reason) = (options.op_or_assumed(), "no column is mapped to op");
        op = require(given, path, "op", reason)?;
        stated.push((STATED_OP, op.to_string()));
    }
    if mapped(Column::Bytes) {
        refuse_stated(options.bytes, path, "a table with this column", "--bs")?;
    } else {
        let (given, reason) = (options.bytes_or_assumed(), "no column is mapped to bytes");
        bytes = require(given, path, "block size", reason)?;
        stated.push((STATED_BYTES, bytes.0.to_string()));
    }
    if !mapped(Column::Device) {
        device = options.device;
        stated.push(("stated.device", device.to_string()));
    }
    let blank = IoRecord::new(0, layer, device, op, Sectors(0), bytes);
    Ok((blank, stated))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Time(TimeUnit),
    Clock(ClockOrigin),
    /// Number of bytes in one unit.
    Size(u64),
    /// The cells are not measures, or nothing states their time unit.
    None,
}

impl Unit {
    /// Parses the unit after a header in a column map.
    pub(super) fn parse(field: Field, text: &str) -> Option<Unit> {
        let name = to_lower(text.trim());
        if field.is_time() {
            return time_unit(&name).map(Unit::Time);
        }
        let number = || parse_size(&name).ok().map(|size| size.0);
        let is_number = name.starts_with(|first: char| first.is_ascii_digit());
        let bytes = size_unit(&name).or_else(|| number().filter(|_| is_number));
        bytes.filter(|_| field.is_size()).map(Unit::Size)
    }

    /// The unit at the end of a header, if it fits the field.
    fn by_header(field: Field, header: &str) -> Option<Unit> {
        let bytes = size_unit_of(header).filter(|_| field.is_size());
        let time = unit_of(header).filter(|_| field.is_time());
        time.map(Unit::Time).or(bytes.map(Unit::Size))
    }

    pub(super) fn time(self) -> TimeUnit {
        match self {
            Unit::Time(unit) => unit,
            _ => TimeUnit::Nanoseconds,
        }
    }

    pub(super) fn bytes(self) -> u64 {
        match self {
            Unit::Size(bytes) => bytes,
            _ => 1,
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Unit::Time(unit) => unit.name().to_owned(),
            Unit::Clock(clock) => clock.name().to_owned(),
            Unit::Size(bytes) => format!("{bytes} B"),
            Unit::None => String::new(),
        }
    }
}

/// A field, and the column that holds it. Until [`CsvHead::with_units`] has determined the unit, it
/// is that of the map, if any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mapping {
    pub(super) field: Field,
    pub(super) at: usize,
    pub(super) unit: Unit,
    pub(super) unit_source: &'static str,
}

impl Mapping {
    pub(super) fn new(field: Field, at: usize) -> Mapping {
        Mapping {
            field,
            at,
            unit: Unit::None,
            unit_source: UNSTATED_UNIT,
        }
    }
}

pub(super) const UNSTATED_UNIT: &str = "not told, the usual one";

/// The header and the first row of a file, which show the fields and their units, and the options
/// of the user.
pub(super) struct CsvHead<'a> {
    pub(super) header: &'a CsvCells,
    pub(super) sample: Option<&'a CsvCells>,
    pub(super) delimiter: u8,
    pub(super) options: &'a ImportOptions,
    pub(super) path: &'a Path,
}

impl CsvHead<'_> {
    /// Returns the fields of the column map, with the units that it states.
    fn map_columns(&self, line: u64) -> Result<Vec<Mapping>, ImportError> {
        let map_column = |map: &ColumnMap| {
            let unknown = || (format!("one of {}", Field::names()), quote(&map.field));
            let field = Field::by_name(&map.field).ok_or_else(|| self.map_error(unknown()))?;
            let is_header = self.header.iter().any(|name| name == map.header);
            let with_unit = || {
                let (name, unit) = map.header.rsplit_once(':').filter(|_| !is_header)?;
                Some((name.trim(), Unit::parse(field, unit)?))
            };
            let (name, unit) = with_unit().unwrap_or((&map.header, Unit::None));
            let column = Mapping::new(field, self.index_of(name, line)?);
            Ok(Mapping { unit, ..column })
        };
        self.options.columns.iter().map(map_column).collect()
    }

    fn index_of(&self, name: &str, line: u64) -> Result<usize, ImportError> {
        let columns = self.header.iter().enumerate();
        let mut columns = columns.filter(|(_, cell)| *cell == name);
        if let (Some((at, _)), None) = (columns.next(), columns.next()) {
            return Ok(at);
        }
        let headers: Vec<&str> = self.header.iter().collect();
        let expected = format!("exactly one column {}", quote(name));
        let headers = quote(&headers.join(", "));
        Err(wrong_header(self.path, line, &expected, &headers))
    }

    /// The fact about the number of a read, if the first row's operation is 0 or 1.
    fn read_flag(&self, fields: &[Mapping]) -> Result<Option<StatedFact>, ImportError> {
        let op = Field::Column(Column::Op);
        let op = fields.iter().find(|column| column.field == op);
        let cell = op.and_then(|column| self.sample_cell(column.at));
        if !matches!(cell, Some("0" | "1")) {
            let format = "a table without operations of 0 and 1";
            refuse_stated(self.options.read_flag, self.path, format, "--read-flag")?;
            return Ok(None);
        }
        let reason = "the operations are 0 and 1, and which of them is a read is not told";
        let flag = require(self.options.read_flag, self.path, "read flag", reason)?;
        Ok(Some(("stated.read_flag", flag.to_string())))
    }

    /// Returns the fields, each with its unit.
    pub(super) fn with_units(&self, fields: &[Mapping]) -> Result<Vec<Mapping>, ImportError> {
        let has_position = fields.iter().any(|column| column.field.is_position());
        if self.options.offset_unit.is_some() && !has_position {
            let expected = "a column of sectors or offsets for --offset-unit";
            return Err(self.map_error((expected.to_owned(), "none".to_owned())));
        }
        let clock = self.clock(fields);
        let is_number = |field: Field| field.is_time() && !(clock.is_some() && field.is_instant());
        if self.options.unit.is_some() && !fields.iter().any(|column| is_number(column.field)) {
            let expected = "a column of times that are numbers for --unit";
            return Err(self.map_error((expected.to_owned(), "none".to_owned())));
        }
        let mapped = fields.iter().map(|column| self.with_unit(*column, clock));
        let mapped = mapped.collect::<Result<Vec<Mapping>, _>>()?;
        let is_bare = |column: &&Mapping| column.field.is_time() && column.unit == Unit::None;
        let Some(bare) = mapped.iter().find(is_bare) else {
            return Ok(mapped);
        };
        let cell = self.sample_cell(bare.at).unwrap_or_default();
        if is_like_clock(cell) {
            return Err(self.map_error((FORMS.to_owned(), quote(cell))));
        }
        let mut units = mapped.iter().map(|column| column.unit);
        let stated = units.find(|unit| matches!(unit, Unit::Time(_)));
        require(stated, self.path, "unit", "the times are bare numbers")?;
        let expected =
            "a unit at the end of every header of times, as some have one, or --unit for all";
        let name = self.header.get(bare.at).unwrap_or_default();
        Err(self.map_error((expected.to_owned(), quote(name))))
    }

    /// Returns the field with the first known unit, in the order map, clock, option, header.
    fn with_unit(
        &self,
        column: Mapping,
        clock: Option<ClockOrigin>,
    ) -> Result<Mapping, ImportError> {
        let field = column.field;
        let stated = Some(column.unit).filter(|unit| *unit != Unit::None);
        let clock = clock.filter(|_| stated.is_none() && field.is_instant());
        let is_number = field.is_time() && clock.is_none();
        let time_option = self.options.unit.filter(|_| is_number).map(Unit::Time);
        let offset_option = self.options.offset_unit.filter(|_| field.is_position());
        let option = time_option.or(offset_option.map(|unit| Unit::Size(unit.0)));
        let name = self.header.get(column.at).unwrap_or_default();
        let by_header = Unit::by_header(field, name);
        // A header that is exactly a field's name, such as `queue_ns`, states no unit.
        let header_unit = by_header.filter(|_| Field::by_name(name).is_none());
        if header_unit.is_some_and(|unit| stated.or(option).is_some_and(|given| given != unit)) {
            let expected = "the map or --unit as the headers of times say, and of sizes, or a header without a unit (leave it out to go by them)";
            return Err(self.map_error((expected.to_owned(), quote(name))));
        }
        let usual = match field {
            Field::Column(Column::Sector) => Unit::Size(512),
            field if field.is_size() => Unit::Size(1),
            _ => Unit::None,
        };
        let sources = [
            (stated, "by the map"),
            (clock.map(Unit::Clock), "by the first row"),
            (option, "by the option"),
            (by_header, "by the header"),
        ];
        let mut sources = sources.into_iter();
        let known = sources.find_map(|(unit, source)| Some((unit?, source)));
        let (unit, unit_source) = known.unwrap_or((usual, UNSTATED_UNIT));
        Ok(Mapping {
            unit,
            unit_source,
            ..column
        })
    }

    fn clock(&self, fields: &[Mapping]) -> Option<ClockOrigin> {
        let column = fields.iter().find(|column| column.field.is_instant())?;
        ClockOrigin::recognise(self.sample_cell(column.at)?)
    }

    /// The cell of the first row in this column.
    pub(super) fn sample_cell(&self, at: usize) -> Option<&str> {
        self.sample?.get(at)
    }

    fn map_error(&self, wrong: WrongMap) -> ImportError {
        map_error(self.path, wrong)
    }
}

pub(super) fn map_error(path: &Path, (expected, found): WrongMap) -> ImportError {
    let path = path.display();
    usage_error(format_args!(
        "import {path}: column map: expected {expected}, found {found}; say with --columns which header holds which field"
    ))
}

/// The unit of all times, or of each if they differ: `submit_ns s, latency us`.
pub(super) fn time_units(fields: &[Mapping]) -> String {
    let times = || fields.iter().filter(|mapped| mapped.field.is_time());
    let first = times().next().map(|mapped| mapped.unit);
    match first.filter(|first| times().all(|mapped| mapped.unit == *first)) {
        Some(unit) => unit.name(),
        None => {
            let unit = |column: &Mapping| format!("{} {}", column.field.name(), column.unit.name());
            Vec::from_iter(times().map(unit)).join(", ")
        }
    }
}

pub(super) fn size_facts(fields: &[Mapping]) -> impl Iterator<Item = (String, String)> {
    let sizes = fields.iter().filter(|mapped| mapped.field.is_size());
    sizes.map(|size| {
        let value = format!("{} ({})", size.unit.name(), size.unit_source);
        fact(&format!("unit.{}", size.field.name()), value)
    })
}

/// Units of lengths, for messages. Lengths without a unit count as bytes as long as these are whole
/// sectors.
const UNITS: &str = "(or :B, :KB, :MB, :512B)";

/// The option that would state the unit of lengths: a whole map, or a part of the given one.
fn option_for_unit(fields: &[Mapping], head: &CsvHead<'_>) -> Option<String> {
    let unit = Some(missing_unit(fields, head)?);
    let typed = |fields: &[Mapping]| typed_map(fields, head.header, unit);
    if head.options.columns.is_empty() {
        return Some(format!("--columns '{}'", typed(fields)));
    }
    let lengths = *fields.iter().find(|column| column.field == LENGTH)?;
    Some(format!("{} in --columns", typed(&[lengths])))
}

/// The unit of lengths if their header has none: bytes if the first row is then whole sectors, else
/// sectors.
pub(super) fn missing_unit(fields: &[Mapping], head: &CsvHead<'_>) -> Option<&'static str> {
    let at = fields.iter().find(|column| column.field == LENGTH)?.at;
    if size_unit_of(head.header.get(at)?).is_some() {
        return None;
    }
    let cell = head.sample_cell(at);
    let length = cell.and_then(|cell| cell.parse::<u64>().ok());
    let in_sectors = length.is_some_and(|length| length > 0 && length.is_multiple_of(512));
    Some(if in_sectors { "B" } else { "512B" })
}
