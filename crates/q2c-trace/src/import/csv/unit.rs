//! The unit of each column with times, lengths or offsets.

use super::cells::CsvCells;
use super::clock::{ClockOrigin, FORMS, is_like_clock};
use super::field::Field;
use super::guess::{in_small, size_unit, size_unit_of, time_unit, unit_of};
use super::plan::Wrong;
use crate::Column;
use crate::import::decimal::TimeUnit;
use crate::import::error::{ImportError, shown};
use crate::import::options::ImportOptions;
use crate::import::run::needed;
use q2c_model::parse_size;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Time(TimeUnit),
    Clock(ClockOrigin),
    /// Bytes in one unit.
    Size(u64),
    /// The cells are no measures, or nothing tells the unit of times.
    None,
}

impl Unit {
    /// The unit of the field that is written so behind a header in a map.
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

    /// The unit that a header of the field ends with.
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

/// A field, and where a row holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapped {
    pub(super) field: Field,
    pub(super) at: usize,
    pub(super) unit: Unit,
    pub(super) source: &'static str,
}

pub(super) const NOT_TOLD: &str = "not told, the usual one";

/// The header, the first row, and what the user says of the units.
pub(super) struct UnitEvidence<'a> {
    pub(super) header: &'a CsvCells,
    pub(super) sample: Option<&'a CsvCells>,
    pub(super) delimiter: u8,
    pub(super) options: &'a ImportOptions,
    pub(super) path: &'a Path,
}

impl UnitEvidence<'_> {
    /// The fields with the unit of each. `stated` has the units of the map.
    pub(super) fn with_units(
        &self,
        fields: &[(Field, usize)],
        stated: &[Option<Unit>],
    ) -> Result<Vec<Mapped>, ImportError> {
        let has_place = fields.iter().any(|(field, _)| field.is_place());
        if self.options.offset_unit.is_some() && !has_place {
            let expected = "a column of sectors or offsets for --offset-unit";
            return Err(self.wrong((expected.to_owned(), "none".to_owned())));
        }
        let clock = self.clock(fields);
        let is_number = |field: Field| field.is_time() && !(clock.is_some() && field.is_instant());
        if self.options.unit.is_some() && !fields.iter().any(|(field, _)| is_number(*field)) {
            let expected = "a column of times that are numbers for --unit";
            return Err(self.wrong((expected.to_owned(), "none".to_owned())));
        }
        let mapped: Vec<Mapped> = fields
            .iter()
            .zip(stated)
            .map(|(choice, stated)| self.mapped(*choice, *stated, clock))
            .collect::<Result<_, _>>()?;
        let is_bare = |column: &&Mapped| column.field.is_time() && column.unit == Unit::None;
        let Some(bare) = mapped.iter().find(is_bare) else {
            return Ok(mapped);
        };
        let cell = self
            .sample
            .and_then(|row| row.get(bare.at))
            .unwrap_or_default();
        if is_like_clock(cell) {
            return Err(self.wrong((FORMS.to_owned(), shown(cell))));
        }
        let any = mapped
            .iter()
            .find(|column| matches!(column.unit, Unit::Time(_)));
        needed(any, self.path, "unit", "the times are bare numbers")?;
        let expected =
            "a unit at the end of every header of times, as some have one, or --unit for all";
        let name = self.header.get(bare.at).unwrap_or_default();
        Err(self.wrong((expected.to_owned(), shown(name))))
    }

    /// The field with the unit that comes first of those that are told.
    fn mapped(
        &self,
        (field, at): (Field, usize),
        stated: Option<Unit>,
        clock: Option<ClockOrigin>,
    ) -> Result<Mapped, ImportError> {
        let clock = clock.filter(|_| stated.is_none() && field.is_instant());
        let is_number = field.is_time() && clock.is_none();
        let time = self.options.unit.filter(|_| is_number).map(Unit::Time);
        let place = self.options.offset_unit.filter(|_| field.is_place());
        let option = time.or(place.map(|unit| Unit::Size(unit.0)));
        let name = self.header.get(at).unwrap_or_default();
        let by_header = Unit::by_header(field, name);
        // A header that is a field's own name, such as `queue_ns`, names the field and no unit.
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
        let mut units_by_source = sources
            .iter()
            .filter_map(|(unit, source)| Some(((*unit)?, *source)));
        let (unit, source) = units_by_source.next().unwrap_or((usual, NOT_TOLD));
        Ok(Mapped {
            field,
            at,
            unit,
            source,
        })
    }

    fn clock(&self, fields: &[(Field, usize)]) -> Option<ClockOrigin> {
        let (_, at) = fields.iter().find(|(field, _)| field.is_instant())?;
        ClockOrigin::recognise(self.sample?.get(*at)?)
    }

    pub(super) fn wrong(&self, (expected, found): Wrong) -> ImportError {
        ImportError::Map {
            path: self.path.to_owned(),
            expected,
            found,
        }
    }
}

/// The unit of all times, or of each where they differ: `submit_ns s, latency us`.
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
        (format!("unit.{}", size.field.name()), value)
    })
}
