//! Lengths whose unit nothing tells. They are taken as bytes as long as these are whole sectors.

use super::field::{Field, LENGTH};
use super::guess::{size_unit_of, typed};
use super::plan::Wrong;
use super::unit::UnitEvidence;
use crate::import::error::ImportError;
use q2c_model::{IoRecord, Op};
use std::path::Path;

const UNITS: &str = "(or :B, :KB, :MB, :512B)";

/// What tells the unit of lengths, where nothing does: the whole map, or the part of a given one.
pub(super) fn option_for_unit(fields: &[(Field, usize)], of: &UnitEvidence<'_>) -> Option<String> {
    let unit = Some(missing_unit(fields, of)?);
    if of.options.columns.is_empty() {
        return Some(format!("--columns '{}'", typed(fields, of.header, unit)));
    }
    let lengths = fields.iter().copied().find(is_length)?;
    Some(format!(
        "{} in --columns",
        typed(&[lengths], of.header, unit)
    ))
}

fn is_length((field, _): &(Field, usize)) -> bool {
    *field == LENGTH
}

/// The unit of lengths whose header has none: bytes if the first row has whole sectors in these,
/// else sectors.
pub(super) fn missing_unit(
    fields: &[(Field, usize)],
    of: &UnitEvidence<'_>,
) -> Option<&'static str> {
    let (_, at) = fields.iter().copied().find(is_length)?;
    if size_unit_of(of.header.get(at)?).is_some() {
        return None;
    }
    let length = of.sample.and_then(|row| row.get(at)?.parse::<u64>().ok());
    let whole = length.is_some_and(|length| length > 0 && length.is_multiple_of(512));
    Some(if whole { "B" } else { "512B" })
}

/// The error of usual names beside sectors, where lengths may be sectors, too.
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
    Err(ImportError::Map {
        path: path.to_owned(),
        expected: format!("lengths of whole sectors, or their unit, such as {option} {UNITS}"),
        found: format!("`{}` without a unit in line {line}", record.bytes.0),
    })
}
