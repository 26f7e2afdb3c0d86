//! Who leads at each point of a benchmark.

use crate::apart::Apart;
use crate::bench::{BenchSection, name, sections};
use crate::phrase::{distinct, when};
use q2c_result::bench::{BenchCell, BenchMeasure, BenchResult};
use std::collections::BTreeSet;

pub(super) type DepthAndJobs = (u16, u32);

pub(super) struct AtPlace {
    pub place: DepthAndJobs,
    pub standing: Standing,
    /// The probability that the lead is chance, where it stands on few trials; 0 elsewhere.
    pub chance: f64,
}

#[derive(PartialEq)]
pub(super) struct Standing {
    pub leader: String,
    /// Those that the trials do not tell from the leader.
    pub rivals: Vec<String>,
    /// Those that have no figure here that could be compared.
    pub missing: Vec<String>,
}

/// The standings by one measure of those who share everything but jobs, depth and name.
pub(super) struct LeadComparison {
    pub measure: &'static str,
    /// Whose: all interfaces, or the methods of one.
    pub of: String,
    pub standings: Vec<AtPlace>,
}

/// All comparisons of at least two points: of each place all interfaces, where there are several,
/// then the methods of each.
pub(super) fn comparisons(result: &BenchResult) -> Vec<LeadComparison> {
    let sections = sections(result);
    let places = distinct(sections.iter().map(BenchSection::place));
    let engines = distinct(result.cells.iter().map(|cell| cell.point.engine.as_str()));
    let mut scopes: Vec<Option<&str>> = engines.into_iter().map(Some).collect();
    if scopes.len() > 1 {
        scopes.insert(0, None);
    }
    let mut comparisons = Vec::new();
    for place in &places {
        let place_sections: Vec<&BenchSection> =
            sections.iter().filter(|s| s.place() == *place).collect();
        for &scope in &scopes {
            let scope_name = scope.unwrap_or("all interfaces");
            let label = match places.len() {
                1 => scope_name.to_owned(),
                _ => format!("{scope_name} {place}"),
            };
            let by = |(measure, name)| LeadComparison {
                measure: name,
                of: label.clone(),
                standings: standings(result, &place_sections, scope, measure),
            };
            let measures = [
                (BenchMeasure::Iops, "IOPS"),
                (BenchMeasure::KiopsPerCore, "KIOPS/core"),
            ];
            comparisons.extend(measures.map(by));
        }
    }
    comparisons.retain(|one| one.standings.len() > 1);
    comparisons
}

fn standings(
    result: &BenchResult,
    sections: &[&BenchSection],
    scope: Option<&str>,
    measure: BenchMeasure,
) -> Vec<AtPlace> {
    let within = |cell: &&BenchCell| {
        scope.is_none_or(|engine| cell.point.engine == engine)
            && sections.iter().any(|section| section.holds(&cell.point))
    };
    let cells: Vec<&BenchCell> = result.cells.iter().filter(within).collect();
    let named = |cell: &BenchCell| {
        let (point, tuned) = (&cell.point, result.job.tuned.as_ref());
        let tuned = tuned.is_some_and(|tuned| tuned.names(point.bs, &point.method));
        let name = scope.map_or_else(|| name(point), |_| point.method.to_string());
        name + when(tuned, " (tuned)")
    };
    let place = |cell: &BenchCell| (cell.point.depth, cell.point.jobs);
    let places: BTreeSet<DepthAndJobs> = cells.iter().map(|cell| place(cell)).collect();
    let standing = |at: DepthAndJobs| {
        let here = cells.iter().filter(|cell| place(cell) == at).copied();
        standing(at, here, &cells, measure, &named)
    };
    places.into_iter().filter_map(standing).collect()
}

/// Who leads among the points `here`; `None` where less than two can be compared. `all` are the
/// points of all places.
fn standing<'a>(
    place: DepthAndJobs,
    here: impl Iterator<Item = &'a BenchCell>,
    all: &[&BenchCell],
    measure: BenchMeasure,
    named: &impl Fn(&BenchCell) -> String,
) -> Option<AtPlace> {
    let compared = here.filter(|c| c.is_comparable() && c.figure(measure).trials > 0);
    let compared: Vec<&BenchCell> = compared.collect();
    let median = |cell: &BenchCell| cell.figure(measure).median;
    let first = |best, cell| {
        if median(cell) > median(best) {
            cell
        } else {
            best
        }
    };
    let leader = compared
        .iter()
        .copied()
        .reduce(first)
        .filter(|_| compared.len() > 1)?;
    let (mut rivals, mut chance) = (Vec::new(), 0f64);
    for other in compared.iter().filter(|c| c.point != leader.point) {
        match Apart::compare(leader, other, measure) {
            Apart::Told => {}
            Apart::Few(by_chance) => chance = chance.max(by_chance),
            _ => rivals.push(named(other)),
        }
    }
    let has: Vec<String> = compared.iter().map(|cell| named(cell)).collect();
    let mut missing = distinct(all.iter().map(|cell| named(cell)));
    missing.retain(|name| !has.contains(name));
    Some(AtPlace {
        place,
        chance: if rivals.is_empty() { chance } else { 0.0 },
        standing: Standing {
            leader: named(leader),
            rivals,
            missing,
        },
    })
}
