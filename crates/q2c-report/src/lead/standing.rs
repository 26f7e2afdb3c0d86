//! Who leads at each point of a benchmark.

use crate::apart::Apart;
use crate::bench::{Section, name, sections};
use q2c_result::bench::{BenchCell, BenchResult, Measure};
use std::collections::BTreeSet;

/// A point of a comparison: its depth and number of jobs.
pub(super) type Place = (u16, u32);

/// Who leads at a point.
pub(super) struct Standing {
    pub place: Place,
    pub leader: String,
    /// Those that the trials do not tell from the leader.
    pub rivals: Vec<String>,
    /// Those that have no figure here that could be compared.
    pub missing: Vec<String>,
    /// The probability that the lead is chance, where it stands on few trials; 0 elsewhere.
    pub chance: f64,
}

impl Standing {
    /// Everything but the place.
    pub fn key(&self) -> (&str, &[String], &[String]) {
        (&self.leader, &self.rivals, &self.missing)
    }
}

/// The standings by one measure of those who share everything but jobs, depth and name.
pub(super) struct Comparison {
    pub measure: &'static str,
    /// Whose: all interfaces, or the methods of one.
    pub of: String,
    pub standings: Vec<Standing>,
}

/// All comparisons of at least two points: of each place all interfaces, where there are several,
/// then the methods of each.
pub(super) fn comparisons(result: &BenchResult) -> Vec<Comparison> {
    let sections = sections(result);
    let places = distinct(sections.iter().map(Section::place).collect());
    let engines = result.cells.iter().map(|cell| cell.point.engine.as_str());
    let engines = distinct(engines.collect());
    let all = (engines.len() > 1).then_some(None);
    let scopes: Vec<Option<&str>> = all
        .into_iter()
        .chain(engines.into_iter().map(Some))
        .collect();
    let mut comparisons = Vec::new();
    for place in &places {
        let own: Vec<&Section> = sections.iter().filter(|s| s.place() == *place).collect();
        for &scope in &scopes {
            let of = scope.unwrap_or("all interfaces");
            let of = match places.len() {
                1 => of.to_owned(),
                _ => format!("{of} {place}"),
            };
            let by = |measure| Comparison {
                measure: match measure {
                    Measure::Iops => "IOPS",
                    Measure::KiopsPerCore => "KIOPS/core",
                },
                of: of.clone(),
                standings: standings(result, &own, scope, measure),
            };
            comparisons.extend([Measure::Iops, Measure::KiopsPerCore].map(by));
        }
    }
    comparisons.retain(|one| one.standings.len() > 1);
    comparisons
}

fn distinct<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut once: Vec<T> = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

fn standings(
    result: &BenchResult,
    sections: &[&Section],
    scope: Option<&str>,
    measure: Measure,
) -> Vec<Standing> {
    let within = |cell: &&BenchCell| {
        scope.is_none_or(|engine| cell.point.engine == engine)
            && sections.iter().any(|section| section.holds(&cell.point))
    };
    let cells: Vec<&BenchCell> = result.cells.iter().filter(within).collect();
    let named = |cell: &BenchCell| {
        let (point, tuned) = (&cell.point, result.job.tuned.as_ref());
        let tuned = tuned.is_some_and(|tuned| tuned.names(point.bs, &point.method));
        let name = scope.map_or_else(|| name(point), |_| point.method.to_string());
        name + if tuned { " (tuned)" } else { "" }
    };
    let places = cells.iter().map(|c| (c.point.depth, c.point.jobs));
    let places: BTreeSet<Place> = places.collect();
    let standing = |place: Place| {
        let here = |c: &&&BenchCell| (c.point.depth, c.point.jobs) == place;
        let here: Vec<&BenchCell> = cells.iter().filter(here).copied().collect();
        standing(place, &here, &cells, measure, &named)
    };
    places.into_iter().filter_map(standing).collect()
}

/// Who leads among the points `here`; `None` where less than two can be compared. `all` are the
/// points of all places.
fn standing(
    place: Place,
    here: &[&BenchCell],
    all: &[&BenchCell],
    measure: Measure,
    named: &impl Fn(&BenchCell) -> String,
) -> Option<Standing> {
    let compared = here.iter().copied();
    let compared = compared.filter(|c| c.is_comparable() && c.figure(measure).trials > 0);
    let compared: Vec<&BenchCell> = compared.collect();
    let median = |cell: &BenchCell| cell.figure(measure).median;
    let (first, others) = compared
        .split_first()
        .filter(|(_, more)| !more.is_empty())?;
    let leader = others.iter().fold(*first, |best, each| {
        if median(each) > median(best) {
            each
        } else {
            best
        }
    });
    let (mut rivals, mut chance) = (Vec::new(), 0f64);
    for other in compared.iter().filter(|c| c.point != leader.point) {
        match Apart::of(leader, other, measure) {
            Apart::Told => {}
            Apart::Few(by_chance) => chance = chance.max(by_chance),
            _ => rivals.push(named(other)),
        }
    }
    let has = |name: &String| compared.iter().any(|cell| named(cell) == *name);
    let mut missing = distinct(all.iter().map(|cell| named(cell)).collect());
    missing.retain(|name| !has(name));
    Some(Standing {
        place,
        leader: named(leader),
        chance: if rivals.is_empty() { chance } else { 0.0 },
        rivals,
        missing,
    })
}
