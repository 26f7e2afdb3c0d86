//! The unit of each column with times.

use super::cells::Cells;
use super::field::Field;
use super::guess::unit_of;
use crate::import::decimal::TimeUnit;
use crate::import::error::{ImportError, shown};
use crate::import::run::needed;
use std::path::Path;

/// A field, and where a row holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapped {
    pub(super) field: Field,
    /// The index of its cell.
    pub(super) at: usize,
    /// The unit of its cells; only cells with times are read in it.
    pub(super) unit: TimeUnit,
}

/// The fields with the unit of each: `given` for all times, or else the one that the header of each
/// ends with, whether a map or the header's name says what it holds.
pub(super) fn with_units(
    fields: &[(Field, usize)],
    header: &Cells,
    given: Option<TimeUnit>,
    path: &Path,
) -> Result<Vec<Mapped>, ImportError> {
    let name = |at: usize| header.get(at).unwrap_or_default();
    let unit = |at: usize| given.or_else(|| unit_of(name(at)));
    let times = || fields.iter().filter(|(field, _)| field.is_time());
    // A header that is a field's own name, such as `queue_ns`, names the field and no unit.
    let own = |at: usize| unit_of(name(at)).filter(|_| Field::by_name(name(at).trim()).is_none());
    let other = |at: usize| own(at).filter(|own| given.is_some_and(|unit| unit != *own));
    if let Some((_, at)) = times().find(|(_, at)| other(*at).is_some()) {
        return Err(ImportError::Map {
            path: path.to_owned(),
            expected: "--unit as the headers of times say, or a header without a unit (leave --unit out to go by them)"
                .to_owned(),
            found: shown(name(*at)),
        });
    }
    let any = times().find_map(|(_, at)| unit(*at));
    let any = needed(any, path, "unit", "the times are bare numbers")?;
    if let Some((_, bare)) = times().find(|(_, at)| unit(*at).is_none()) {
        return Err(ImportError::Map {
            path: path.to_owned(),
            expected:
                "a unit at the end of every header of times, as some have one, or --unit for all"
                    .to_owned(),
            found: shown(name(*bare)),
        });
    }
    let mapped = |(field, at): &(Field, usize)| Mapped {
        field: *field,
        at: *at,
        unit: unit(*at).filter(|_| field.is_time()).unwrap_or(any),
    };
    Ok(fields.iter().map(mapped).collect())
}

/// The unit of all times, or of each where they differ: `submit_ns s, latency us`.
pub(super) fn told(fields: &[Mapped]) -> String {
    let times = || fields.iter().filter(|mapped| mapped.field.is_time());
    let first = times().next().map(|mapped| mapped.unit.name());
    match first.filter(|first| times().all(|mapped| mapped.unit.name() == *first)) {
        Some(one) => one.to_owned(),
        None => {
            let each = times().map(|of| format!("{} {}", of.field.name(), of.unit.name()));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}
