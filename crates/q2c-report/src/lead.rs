//! Where which interface and method leads a benchmark, in words.

use crate::apart::Apart;
use crate::bench::{BenchSection, name, sections};
use crate::course::jobs;
use crate::label::range;
use crate::phrase::{distinct, grouped, joined, listed, when};
use q2c_model::stats::CLEAR_TRIALS;
use q2c_result::bench::{BenchCell, BenchMeasure, BenchResult};
use std::collections::{BTreeMap, BTreeSet};

/// Sentences on who leads at which points, by IOPS and by KIOPS/core: among all interfaces, and
/// among the methods of each. Comparisons with equal words share one sentence. A comparison of
/// fewer than two points has none, because the conclusion says the same.
pub(crate) fn leads(result: &BenchResult) -> Vec<String> {
    let comparisons = comparisons(result);
    let mut lines = once(comparisons.iter().map(|c| (c.measure, &*c.of, words(c))));
    lines.extend(few(&comparisons));
    lines
}

/// The words of a comparison: first the places with a clear leader, then those without.
fn words(comparison: &LeadComparison) -> String {
    let standings = || comparison.standings.iter();
    let all_places: Vec<DepthAndJobs> = standings().map(|one| one.place).collect();
    let mut groups = grouped(standings().map(|one| (&one.standing, one.place)));
    groups.sort_by_key(|(standing, _)| !standing.rivals.is_empty());
    let group = groups.iter().map(|(standing, places)| {
        let (leader, at) = (&standing.leader, points(places, &all_places));
        let sentence = match standing.rivals.as_slice() {
            [] => format!("{leader} leads {at}"),
            rivals => {
                let rivals = first_two(rivals);
                format!("{at}, {leader} has most, not told apart from {rivals}")
            }
        };
        match standing.missing.as_slice() {
            [] => sentence,
            missing => format!("{sentence} (not compared there: {})", listed(missing)),
        }
    });
    joined(group, "; ")
}

/// `a`, `a and b`, `a, b and 3 more`.
fn first_two(names: &[String]) -> String {
    match names {
        [one, other, more @ ..] if !more.is_empty() => {
            format!("{one}, {other} and {} more", more.len())
        }
        few => joined(few, " and "),
    }
}

/// `at every point`, or `at 1-4 jobs x depth 1 and 2 jobs x depth 8`. A range such as `1-4` covers
/// all numbers of jobs that were compared between its ends.
fn points(places: &[DepthAndJobs], all: &[DepthAndJobs]) -> String {
    if places.len() == all.len() && all.len() > 1 {
        return "at every point".to_owned();
    }
    let depths: BTreeSet<u16> = places.iter().map(|place| place.0).collect();
    let at = |depth: u16| {
        let here: Vec<DepthAndJobs> = all.iter().filter(|p| p.0 == depth).copied().collect();
        let runs = here.split(|place| !places.contains(place));
        let runs: Vec<&[DepthAndJobs]> = runs.filter(|run| !run.is_empty()).collect();
        match runs.as_slice() {
            [[(_, only)]] => format!("{} x depth {depth}", jobs(*only)),
            runs => {
                let runs = runs.iter().map(|run| range(run[0].1, run[run.len() - 1].1));
                format!("{} jobs x depth {depth}", listed(runs))
            }
        }
    };
    format!("at {}", joined(depths.into_iter().map(at), " and "))
}

/// Joins comparisons that have the same words: first the measures of one scope, then the scopes
/// with the same measures. The first of each group decides the order.
fn once<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str, String)>) -> Vec<String> {
    let rows = rows.into_iter();
    let measured = grouped(rows.map(|(by, scope, words)| ((scope, words), by))).into_iter();
    let by_words = grouped(measured.map(|((scope, words), measures)| ((measures, words), scope)));
    let line = |((measures, words), scopes)| {
        let [measures, scopes]: [String; 2] =
            [measures, scopes].map(|names: Vec<&str>| joined(names, " and "));
        format!("{measures}, {scopes}: {words}")
    };
    by_words.into_iter().map(line).collect()
}

fn few(comparisons: &[LeadComparison]) -> Option<String> {
    let standings = comparisons.iter().flat_map(|one| &one.standings);
    let chance = standings.map(|one| one.chance).fold(0.0, f64::max);
    let cases = format!(
        "in {:.0} % of the cases; with {CLEAR_TRIALS} trials in 3 %",
        chance * 100.0
    );
    (chance > 0.0)
        .then(|| format!("trials are few: two equal methods come apart like this {cases}"))
}

type DepthAndJobs = (u16, u32);

struct AtPlace {
    place: DepthAndJobs,
    standing: Standing,
    /// The probability that the lead is chance, if it rests on few trials; else 0.
    chance: f64,
}

#[derive(PartialEq)]
struct Standing {
    leader: String,
    /// Names that the trials do not tell from the leader.
    rivals: Vec<String>,
    /// Names without a comparable figure at this place.
    missing: Vec<String>,
}

/// The standings by one measure among points that differ only in jobs, depth and name.
struct LeadComparison {
    measure: &'static str,
    /// Who is compared: all interfaces, or the methods of one.
    of: String,
    standings: Vec<AtPlace>,
}

/// All comparisons with at least two places: for each group of sections first among all
/// interfaces, if there are several, then among the methods of each.
fn comparisons(result: &BenchResult) -> Vec<LeadComparison> {
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
            let measures = [
                (BenchMeasure::Iops, "IOPS"),
                (BenchMeasure::KiopsPerCore, "KIOPS/core"),
            ];
            comparisons.extend(measures.map(|(measure, name)| LeadComparison {
                measure: name,
                of: label.clone(),
                standings: standings(result, &place_sections, scope, measure),
            }));
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
    let cells = || result.cells.iter().filter(within);
    let named = |cell: &BenchCell| {
        let (point, tuned) = (&cell.point, result.job.tuned.as_ref());
        let tuned = tuned.is_some_and(|tuned| tuned.names(point.bs, &point.method));
        scope.map_or_else(|| name(point), |_| point.method.to_string()) + when(tuned, " (tuned)")
    };
    let mut places: BTreeMap<DepthAndJobs, Vec<&BenchCell>> = BTreeMap::new();
    for cell in cells() {
        let place = (cell.point.depth, cell.point.jobs);
        places.entry(place).or_default().push(cell);
    }
    let names = distinct(cells().map(named));
    let standing = |(at, here)| standing(at, here, &names, measure, &named);
    places.into_iter().filter_map(standing).collect()
}

/// The leader among the points `compared` at one place; `None` if fewer than two can be compared.
/// `names` has the names at all places, so that missing ones can be listed.
fn standing(
    place: DepthAndJobs,
    mut compared: Vec<&BenchCell>,
    names: &[String],
    measure: BenchMeasure,
    named: &impl Fn(&BenchCell) -> String,
) -> Option<AtPlace> {
    compared.retain(|c| c.is_comparable() && c.figure(measure).trials > 0);
    let median = |cell: &BenchCell| cell.figure(measure).median;
    // On a tie, the first one leads.
    let leader = compared.iter();
    let leader = leader.rev().max_by(|a, b| median(a).total_cmp(&median(b)));
    let leader = *leader.filter(|_| compared.len() > 1)?;
    let (mut rivals, mut chance) = (Vec::new(), 0f64);
    for other in compared.iter().filter(|c| c.point != leader.point) {
        match Apart::compare(leader, other, measure) {
            Apart::Told => {}
            Apart::Few(by_chance) => chance = chance.max(by_chance),
            _ => rivals.push(named(other)),
        }
    }
    let has: Vec<String> = compared.iter().map(|cell| named(cell)).collect();
    let missing = names.iter().filter(|name| !has.contains(name));
    let missing = missing.cloned().collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_grouped_by_depth_and_run() {
        let places: Vec<DepthAndJobs> = [1, 8]
            .iter()
            .flat_map(|depth| [1, 2, 4, 8].map(|jobs| (*depth, jobs)))
            .collect();
        assert_eq!(points(&places, &places), "at every point");
        assert_eq!(points(&places[..1], &places), "at 1 job x depth 1");
        assert_eq!(
            points(&[(1, 1), (1, 2), (1, 8), (8, 4)], &places),
            "at 1-2, 8 jobs x depth 1 and 4 jobs x depth 8"
        );
    }

    #[test]
    fn comparisons_that_share_their_words_share_a_line() {
        let (iops, per_core) = ("IOPS", "KIOPS/core");
        let rows = [
            (iops, "libaio"),
            (per_core, "libaio"),
            (iops, "io_uring"),
            (per_core, "io_uring"),
            (iops, "sync"),
        ];
        let lines = once(rows.map(|(measure, scope)| (measure, scope, "words".to_owned())));
        let wanted = [
            "IOPS and KIOPS/core, libaio and io_uring: words",
            "IOPS, sync: words",
        ];
        assert_eq!(lines, wanted);
    }
}
