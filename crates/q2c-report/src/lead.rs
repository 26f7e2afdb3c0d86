//! Where which interface and method leads a benchmark, in words.

mod standing;

use crate::course::jobs;
use q2c_result::bench::BenchResult;
use q2c_stats::CLEAR_TRIALS;
use standing::{Comparison, Place, Standing, comparisons};
use std::collections::BTreeSet;

/// Sentences on who leads at which points, among all interfaces and among the methods of each, in
/// IOPS and in KIOPS/core; each is said once for all comparisons that share it. A comparison of
/// less than two points has none, because the conclusion says the same.
pub(crate) fn leads(result: &BenchResult) -> Vec<String> {
    let comparisons = comparisons(result);
    let mut lines = once(comparisons.iter().map(Comparison::told).collect());
    lines.extend(few(&comparisons));
    lines
}

/// What is said of a comparison.
struct Told {
    measure: &'static str,
    of: String,
    words: String,
}

impl Comparison {
    fn told(&self) -> Told {
        Told {
            measure: self.measure,
            of: self.of.clone(),
            words: self.words(),
        }
    }

    /// First where someone leads, then where none is told from the next.
    fn words(&self) -> String {
        let mut groups: Vec<(&Standing, Vec<Place>)> = Vec::new();
        for one in &self.standings {
            match groups.iter_mut().find(|(of, _)| of.key() == one.key()) {
                Some((_, places)) => places.push(one.place),
                None => groups.push((one, vec![one.place])),
            }
        }
        groups.sort_by_key(|(of, _)| !of.rivals.is_empty());
        let all: Vec<Place> = self.standings.iter().map(|one| one.place).collect();
        let group = |(of, places): &(&Standing, Vec<Place>)| {
            let (leader, at) = (&of.leader, points(places, &all));
            let words = match of.rivals.as_slice() {
                [] => format!("{leader} leads {at}"),
                rivals => format!(
                    "{at}, {leader} has most, not told apart from {}",
                    list(rivals)
                ),
            };
            match of.missing.as_slice() {
                [] => words,
                missing => format!("{words} (not compared there: {})", missing.join(", ")),
            }
        };
        let groups: Vec<String> = groups.iter().map(group).collect();
        groups.join("; ")
    }
}

/// `a`, `a and b`, `a, b and 3 more`.
fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [one, other, more @ ..] => format!("{one}, {other} and {} more", more.len()),
    }
}

/// `at every point`, or `at 1-4 jobs x depth 1 and 2 jobs x depth 8`. A run of numbers of jobs has
/// every number in it that was compared.
fn points(places: &[Place], all: &[Place]) -> String {
    if places.len() == all.len() && all.len() > 1 {
        return "at every point".to_owned();
    }
    let depths: BTreeSet<u16> = places.iter().map(|place| place.0).collect();
    let at = |depth: u16| {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let mut joins = false;
        for place in all.iter().filter(|place| place.0 == depth) {
            let holds = places.contains(place);
            match runs.last_mut().filter(|_| joins && holds) {
                Some(run) => run.1 = place.1,
                None if holds => runs.push((place.1, place.1)),
                None => {}
            }
            joins = holds;
        }
        let run = |(first, last): &(u32, u32)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let words: Vec<String> = runs.iter().map(run).collect();
        match runs.as_slice() {
            [(first, last)] if first == last => format!("{} x depth {depth}", jobs(*first)),
            _ => format!("{} jobs x depth {depth}", words.join(", ")),
        }
    };
    let each: Vec<String> = depths.into_iter().map(at).collect();
    format!("at {}", each.join(" and "))
}

/// Comparisons that share their words are put together: first the measures of one, then those of
/// the same measures. The order is that of the first of each.
fn once(all: Vec<Told>) -> Vec<String> {
    let mut measured: Vec<(Vec<&str>, String, String)> = Vec::new();
    for told in all {
        let same =
            |known: &&mut (Vec<&str>, String, String)| known.1 == told.of && known.2 == told.words;
        match measured.iter_mut().find(same) {
            Some(known) => known.0.push(told.measure),
            None => measured.push((vec![told.measure], told.of, told.words)),
        }
    }
    let mut by_words: Vec<(Vec<&str>, Vec<String>, String)> = Vec::new();
    for (measures, of, words) in measured {
        let same =
            |known: &&mut (Vec<&str>, Vec<String>, String)| known.0 == measures && known.2 == words;
        match by_words.iter_mut().find(same) {
            Some(known) => known.1.push(of),
            None => by_words.push((measures, vec![of], words)),
        }
    }
    let line = |(measures, of, words): (Vec<&str>, Vec<String>, String)| {
        format!("{}, {}: {words}", measures.join(" and "), of.join(" and "))
    };
    by_words.into_iter().map(line).collect()
}

/// How much of the leads may be chance, where some stand on few trials.
fn few(comparisons: &[Comparison]) -> Option<String> {
    let standings = comparisons.iter().flat_map(|one| &one.standings);
    let chance = standings.map(|one| one.chance).fold(0.0, f64::max);
    (chance > 0.0).then(|| {
        format!(
            "trials are few: two equal methods come apart like this in {:.0} % of the cases; with {CLEAR_TRIALS} trials in 3 %",
            chance * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_grouped_by_depth_and_run() {
        let all: Vec<Place> = [1, 8]
            .iter()
            .flat_map(|depth| [1, 2, 4, 8].map(|jobs| (*depth, jobs)))
            .collect();
        assert_eq!(points(&all, &all), "at every point");
        assert_eq!(points(&all[..1], &all), "at 1 job x depth 1");
        assert_eq!(
            points(&[(1, 1), (1, 2), (1, 8), (8, 4)], &all),
            "at 1-2, 8 jobs x depth 1 and 4 jobs x depth 8"
        );
    }

    #[test]
    fn comparisons_that_share_their_words_share_a_line() {
        let told = |measure, of: &str, words: &str| Told {
            measure,
            of: of.to_owned(),
            words: words.to_owned(),
        };
        let (iops, per_core) = ("IOPS", "KIOPS/core");
        let leads = "poll leads at every point";
        let lines = once(vec![
            told(iops, "libaio", leads),
            told(per_core, "libaio", leads),
            told(iops, "io_uring", leads),
            told(per_core, "io_uring", leads),
            told(iops, "sync", leads),
        ]);
        assert_eq!(
            lines,
            [
                "IOPS and KIOPS/core, libaio and io_uring: poll leads at every point",
                "IOPS, sync: poll leads at every point",
            ]
        );
    }
}
