//! The unit of each column with times, lengths or offsets.

use super::cells::CsvCells;
use super::clock::{ClockOrigin, FORMS, is_like_clock};
use super::field::{Field, LENGTH};
use super::guess::{in_small, size_unit, size_unit_of, time_unit, typed, unit_of};
use super::plan::Wrong;
use crate::Column;
use crate::import::error::{misused, shown};
use crate::import::{ImportError, ImportOptions, TimeUnit, fact, needed};
use q2c_model::{IoRecord, Op, parse_size};
use std::path::Path;

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
        let name = in_small(text.trim());
        if field.is_time() {
            return time_unit(&name).map(Unit::Time);
        }
        let number = || parse_size(&name).ok().map(|size| size.0);
        let numbered = name.starts_with(|first: char| first.is_ascii_digit());
        let bytes = size_unit(&name).or_else(|| number().filter(|_| numbered));
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

/// A field, and the column that holds it. Its unit is that of the map, if any, until
/// [`UnitEvidence::with_units`] has determined it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mapped {
    pub(super) field: Field,
    pub(super) at: usize,
    pub(super) unit: Unit,
    pub(super) source: &'static str,
}

impl Mapped {
    pub(super) fn new(field: Field, at: usize) -> Mapped {
        Mapped {
            field,
            at,
            unit: Unit::None,
            source: NOT_TOLD,
        }
    }
}

pub(super) const NOT_TOLD: &str = "not told, the usual one";

/// What shows the units: the header, the first row, and the user's options.
pub(super) struct UnitEvidence<'a> {
    pub(super) header: &'a CsvCells,
    pub(super) sample: Option<&'a CsvCells>,
    pub(super) delimiter: u8,
    pub(super) options: &'a ImportOptions,
    pub(super) path: &'a Path,
}

impl UnitEvidence<'_> {
    /// Returns the fields, each with its unit.
    pub(super) fn with_units(&self, fields: &[Mapped]) -> Result<Vec<Mapped>, ImportError> {
        let has_place = fields.iter().any(|column| column.field.is_place());
        if self.options.offset_unit.is_some() && !has_place {
            let expected = "a column of sectors or offsets for --offset-unit";
            return Err(self.wrong((expected.to_owned(), "none".to_owned())));
        }
        let clock = self.clock(fields);
        let is_number = |field: Field| field.is_time() && !(clock.is_some() && field.is_instant());
        if self.options.unit.is_some() && !fields.iter().any(|column| is_number(column.field)) {
            let expected = "a column of times that are numbers for --unit";
            return Err(self.wrong((expected.to_owned(), "none".to_owned())));
        }
        let mapped = fields.iter().map(|column| self.mapped(*column, clock));
        let mapped = mapped.collect::<Result<Vec<Mapped>, _>>()?;
        let is_bare = |column: &&Mapped| column.field.is_time() && column.unit == Unit::None;
        let Some(bare) = mapped.iter().find(is_bare) else {
            return Ok(mapped);
        };
        let cell = self.sampled(bare.at).unwrap_or_default();
        if is_like_clock(cell) {
            return Err(self.wrong((FORMS.to_owned(), shown(cell))));
        }
        let mut units = mapped.iter().map(|column| column.unit);
        let any = units.find(|unit| matches!(unit, Unit::Time(_)));
        needed(any, self.path, "unit", "the times are bare numbers")?;
        let expected =
            "a unit at the end of every header of times, as some have one, or --unit for all";
        let name = self.header.get(bare.at).unwrap_or_default();
        Err(self.wrong((expected.to_owned(), shown(name))))
    }

    /// Returns the field with the first known unit, in the order map, clock, option, header.
    fn mapped(&self, column: Mapped, clock: Option<ClockOrigin>) -> Result<Mapped, ImportError> {
        let Mapped {
            field, at, unit, ..
        } = column;
        let stated = Some(unit).filter(|unit| *unit != Unit::None);
        let clock = clock.filter(|_| stated.is_none() && field.is_instant());
        let is_number = field.is_time() && clock.is_none();
        let time = self.options.unit.filter(|_| is_number).map(Unit::Time);
        let place = self.options.offset_unit.filter(|_| field.is_place());
        let option = time.or(place.map(|unit| Unit::Size(unit.0)));
        let name = self.header.get(at).unwrap_or_default();
        let by_header = Unit::by_header(field, name);
        // A header that is exactly a field's name, such as `queue_ns`, states no unit.
        let header_unit = by_header.filter(|_| Field::by_name(name).is_none());
        if header_unit.is_some_and(|unit| stated.or(option).is_some_and(|given| given != unit)) {
            let expected = "the map or --unit as the headers of times say, and of sizes, or a header without a unit (leave it out to go by them)";
            return Err(self.wrong((expected.to_owned(), shown(name))));
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
        let first = sources.find_map(|(unit, source)| Some((unit?, source)));
        let (unit, source) = first.unwrap_or((usual, NOT_TOLD));
        Ok(Mapped {
            field,
            at,
            unit,
            source,
        })
    }

    fn clock(&self, fields: &[Mapped]) -> Option<ClockOrigin> {
        let column = fields.iter().find(|column| column.field.is_instant())?;
        ClockOrigin::recognise(self.sampled(column.at)?)
    }

    /// The cell of the first row in this column.
    pub(super) fn sampled(&self, at: usize) -> Option<&str> {
        self.sample?.get(at)
    }

    pub(super) fn wrong(&self, (expected, found): Wrong) -> ImportError {
        wrong_map(self.path, &expected, &found)
    }
}

fn wrong_map(path: &Path, expected: &str, found: &str) -> ImportError {
    let path = path.display();
    let message = format!(
        "import {path}: column map: expected {expected}, found {found}; say with --columns which header holds which field"
    );
    misused(message)
}

/// The unit of all times, or of each if they differ: `submit_ns s, latency us`.
pub(super) fn time_units(fields: &[Mapped]) -> String {
    let times = || fields.iter().filter(|mapped| mapped.field.is_time());
    let first = times().next().map(|mapped| mapped.unit);
    match first.filter(|first| times().all(|mapped| mapped.unit == *first)) {
        Some(unit) => unit.name(),
        None => times()
            .map(|mapped| format!("{} {}", mapped.field.name(), mapped.unit.name()))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

pub(super) fn size_facts(fields: &[Mapped]) -> impl Iterator<Item = (String, String)> {
    let sizes = fields.iter().filter(|mapped| mapped.field.is_size());
    sizes.map(|size| {
        let value = format!("{} ({})", size.unit.name(), size.source);
        fact(&format!("unit.{}", size.field.name()), value)
    })
}

/// Units of lengths, for messages. Lengths without a unit count as bytes as long as these are whole
/// sectors.
const UNITS: &str = "(or :B, :KB, :MB, :512B)";

/// The option that would state the unit of lengths: a whole map, or a part of the given one.
pub(super) fn option_for_unit(fields: &[Mapped], of: &UnitEvidence<'_>) -> Option<String> {
    let unit = Some(missing_unit(fields, of)?);
    if of.options.columns.is_empty() {
        return Some(format!("--columns '{}'", typed(fields, of.header, unit)));
    }
    let lengths = fields.iter().find(|column| column.field == LENGTH)?;
    let typed = typed(std::slice::from_ref(lengths), of.header, unit);
    Some(format!("{typed} in --columns"))
}

/// The unit of lengths if their header has none: bytes if the first row is then whole sectors, else
/// sectors.
pub(super) fn missing_unit(fields: &[Mapped], of: &UnitEvidence<'_>) -> Option<&'static str> {
    let Mapped { at, .. } = *fields.iter().find(|column| column.field == LENGTH)?;
    if size_unit_of(of.header.get(at)?).is_some() {
        return None;
    }
    let length = of.sampled(at).and_then(|cell| cell.parse::<u64>().ok());
    let whole = length.is_some_and(|length| length > 0 && length.is_multiple_of(512));
    Some(if whole { "B" } else { "512B" })
}

/// The error for lengths without a unit beside sectors, because the lengths may be sectors too.
pub(super) fn ask_unit(option: &str) -> Wrong {
    let expected = format!("the unit of lengths, such as {option} {UNITS}");
    (expected, "lengths without one beside sectors".to_owned())
}

pub(super) fn refuse(
    option: Option<&String>,
    record: &IoRecord,
    line: u64,
    path: &Path,
) -> Result<(), ImportError> {
    let moves = matches!(record.op, Op::Read | Op::Write);
    let Some(option) = option.filter(|_| moves && !record.bytes.0.is_multiple_of(512)) else {
        return Ok(());
    };
    let expected = format!("lengths of whole sectors, or their unit, such as {option} {UNITS}");
    let length = format!("`{}` without a unit in line {line}", record.bytes.0);
    Err(wrong_map(path, &expected, &length))
}
