//! The columns that are taken by their usual names: of all fields, or of those that the user's map
//! does not name.

use super::cells::Cells;
use super::field::Field;
use super::guess::named;
use super::plan::{Choice, Wrong, check, has};
use crate::Column;
use crate::import::error::shown;

/// The fields that usual names tell beside those of the map, with the indexes of their cells. A
/// field that several headers would fit goes to the first.
pub(super) fn usual_columns(header: &Cells, map: &[(Field, usize)]) -> Result<Choice, Wrong> {
    let mut usual: Choice = Vec::new();
    for (at, name) in header.iter().enumerate() {
        let is_new = |field: &Field| !has(map, *field) && !has(&usual, *field);
        let is_free = map.iter().all(|(_, taken)| *taken != at);
        if let Some(field) = named(name).filter(is_new).filter(|_| is_free) {
            usual.push((field, at));
        }
    }
    leave_out_contradictions(&mut usual, map);
    if map.is_empty() {
        refuse_doubled(&usual, header)?;
    } else {
        usual.retain(|(_, at)| !is_doubled(header, *at));
    }
    Ok(usual)
}

/// Leaves out what contradicts the map. Fields that contradict each other stay, to be refused.
fn leave_out_contradictions(usual: &mut Choice, map: &[(Field, usize)]) {
    let start = Field::Column(Column::SubmitNs);
    let is_start = |(field, _): &&(Field, usize)| *field == start;
    let goes_with = |others: &[(Field, usize)], choice: &(Field, usize)| {
        check(&[others, &[*choice]].concat()).is_ok()
    };
    // A latency and an end contradict each other only beside a start.
    let start = usual.iter().find(is_start).copied();
    let start: Choice = start
        .filter(|start| goes_with(map, start))
        .into_iter()
        .collect();
    let beside = [map, &start].concat();
    usual.retain(|choice| {
        start.contains(choice) || goes_with(&beside, choice) || !goes_with(&start, choice)
    });
}

fn is_doubled(header: &Cells, at: usize) -> bool {
    let name = header.get(at);
    (0..header.count()).any(|other| other != at && header.get(other) == name)
}

fn refuse_doubled(usual: &[(Field, usize)], header: &Cells) -> Result<(), Wrong> {
    let Some((_, at)) = usual.iter().find(|(_, at)| is_doubled(header, *at)) else {
        return Ok(());
    };
    let expected = "each header once, or a column map (field=header)".to_owned();
    let name = header.get(*at).unwrap_or_default();
    Err((expected, format!("{} twice", shown(name))))
}
