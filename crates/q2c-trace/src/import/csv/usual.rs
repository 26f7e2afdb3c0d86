//! Columns that are recognised by their usual names, for all fields that the user's map leaves
//! open.

use super::cells::CsvCells;
use super::field::{Field, USER};
use super::guess::{field_named, is_address, typed};
use super::plan::{Wrong, check, has};
use super::unit::{Mapped, NOT_TOLD, UnitEvidence};
use crate::Column;
use crate::import::error::shown;
use crate::import::{ImportError, needed};

/// The fields that usual names give in addition to the map, with the indexes of their cells.
pub(super) fn usual_columns(header: &CsvCells, map: &[Mapped]) -> Result<Vec<Mapped>, Wrong> {
    let is_free = |(at, _): &(usize, &str)| map.iter().all(|column| column.at != *at);
    let columns = header.iter().enumerate().filter(is_free);
    let columns = columns.filter_map(|(at, name)| Some(Mapped::new(field_named(name)?, at)));
    let mut usual: Vec<Mapped> = columns.filter(|column| !has(map, column.field)).collect();
    end_in_layer_of_start(&mut usual, map, header);
    leave_out_contradictions(&mut usual, map);
    if map.is_empty() {
        refuse_doubled(&usual, header)?;
    } else {
        usual.retain(|column| !is_doubled(header, column.at));
    }
    refuse_rivals(&usual, header)?;
    Ok(usual)
}

/// `complete_us` is the end in the layer of the start, but `complete_ns` is always a column of the
/// block layer.
fn end_in_layer_of_start(usual: &mut [Mapped], map: &[Mapped], header: &CsvCells) {
    let is_user = |column: &Column| {
        let field = Field::Column(*column);
        has(usual, field) || has(map, field)
    };
    if !USER.iter().any(is_user) {
        return;
    }
    for Mapped { field, at, .. } in usual {
        let is_own_name = Field::by_name(header.get(*at).unwrap_or_default()).is_some();
        if *field == Field::Column(Column::CompleteNs) && !is_own_name {
            *field = Field::Column(Column::ReapNs);
        }
    }
}

/// Drops fields that contradict the map. Fields that contradict each other stay and fail later.
fn leave_out_contradictions(usual: &mut Vec<Mapped>, map: &[Mapped]) {
    let start = Field::Column(Column::SubmitNs);
    let goes_with =
        |others: &[Mapped], choice: &Mapped| check(&[others, &[*choice]].concat()).is_ok();
    // A latency and an end contradict each other only if there is a start.
    let start = usual.iter().find(|column| column.field == start).copied();
    let start = Vec::from_iter(start.filter(|start| goes_with(map, start)));
    let beside = [map, &start].concat();
    usual.retain(|choice| {
        start.contains(choice) || goes_with(&beside, choice) || !goes_with(&start, choice)
    });
}

fn is_doubled(header: &CsvCells, at: usize) -> bool {
    let name = header.get(at);
    (0..header.count).any(|other| other != at && header.get(other) == name)
}

fn refuse_doubled(usual: &[Mapped], header: &CsvCells) -> Result<(), Wrong> {
    let mut places = usual.iter().map(|column| column.at);
    let Some(at) = places.find(|at| is_doubled(header, *at)) else {
        return Ok(());
    };
    let expected = "each header once, or a column map (field=header)".to_owned();
    let name = header.get(at).unwrap_or_default();
    Err((expected, format!("{} twice", shown(name))))
}

/// Fails if several headers may hold one field, because the choice would be a guess.
fn refuse_rivals(usual: &[Mapped], header: &CsvCells) -> Result<(), Wrong> {
    let rival = |column: &Mapped| {
        let mut others = usual.iter().filter(|other| other.at > column.at);
        let other = others.find(|other| other.field == column.field)?;
        Some((*column, other.at))
    };
    let Some((column, other)) = usual.iter().find_map(rival) else {
        return Ok(());
    };
    let name = |at| shown(header.get(at).unwrap_or_default());
    let map = typed(&[column], header, None);
    let field = column.field.name();
    let expected = format!("one column of {field}, as by --columns '{map}'");
    Err((expected, format!("{} and {}", name(column.at), name(other))))
}

/// Asks for the unit of addresses if no header states it: both bytes and blocks are usual.
pub(super) fn check_addresses(
    usual: &[Mapped],
    mapped: &[Mapped],
    evidence: &UnitEvidence<'_>,
) -> Result<(), ImportError> {
    let is_bare = |column: &Mapped| {
        column.source == NOT_TOLD
            && column.field == Field::Offset
            && usual.iter().any(|usual| usual.at == column.at)
            && is_address(evidence.header.get(column.at).unwrap_or_default())
    };
    if !mapped.iter().any(is_bare) {
        return Ok(());
    }
    let reason = "the header of the addresses does not tell their unit";
    needed(None, evidence.path, "offset unit", reason)
}
