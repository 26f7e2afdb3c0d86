//! The conclusion of a benchmark in sentences: the best interface, the points that it beats and how
//! surely, where it stops scaling, and where which interface and method leads.

use crate::bench::{BenchSection, name, name_with_jobs, sections};
use crate::document::DocumentAnswer;
use crate::note::Weight;
use crate::phrase::{distinct, grouped, jobs, joined, listed, when};
use crate::quantity::{iops, median, number, range};
use crate::{label, validity};
use q2c_model::stats::{CLEAR_TRIALS, Interval};
use q2c_result::bench::{BenchCell, BenchMeasure, BenchPoint, BenchResult, ThroughputCurve};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn conclusions(result: &BenchResult) -> Vec<DocumentAnswer> {
    let sections = sections(result);
    let answers = sections.iter().flat_map(|s| section_answers(result, s));
    answers.collect()
}

fn section_answers(result: &BenchResult, section: &BenchSection) -> Vec<DocumentAnswer> {
    let comparable = section.cells(result).filter(|cell| cell.is_comparable());
    let comparable: Vec<&BenchCell> = comparable.collect();
    let undisturbed = validity::caveats(&result.warnings).is_empty();
    let conclusion = |contest: &PointContest<'_>, claim: &str, more: &str| DocumentAnswer {
        subject: section.title(),
        weight: Weight::good_if(undisturbed && contest.is_sure()),
        evidence: contest.evidence(),
        ..DocumentAnswer::new(contest.sentence(claim) + more)
    };
    let Some(fastest) = PointContest::by_measure(&comparable, BenchMeasure::Iops) else {
        return Vec::new();
    };
    let shape = shape_text(result, fastest.best);
    if comparable.len() == 1 {
        return vec![conclusion(&fastest, "was measured alone", &shape)];
    }
    let mut answers = vec![conclusion(&fastest, "is fastest", &shape)];
    // If a line has no KIOPS/core, nobody can say which line has the most.
    let has_figure = |cell: &&&BenchCell| cell.kiops_per_core.trials > 0;
    let lines = comparable.iter().filter(has_figure).map(|c| name(&c.point));
    let lines: Vec<String> = lines.collect();
    let all_known = comparable.iter().all(|c| lines.contains(&name(&c.point)));
    let leader = PointContest::by_measure(&comparable, BenchMeasure::KiopsPerCore);
    if let Some(leader) = leader.filter(|_| all_known) {
        let mut per_core = conclusion(&leader, "is best for a core", "");
        per_core.evidence.extend(price(leader.best, fastest.best));
        answers.push(per_core);
    }
    answers
}

/// The best point by one figure, and the points of other lines that it is compared with. The points
/// of a line have the same interface and method.
struct PointContest<'a> {
    measure: BenchMeasure,
    best: &'a BenchCell,
    /// The best point of another line with the same number of jobs.
    same_jobs: Option<&'a BenchCell>,
    /// The best point of another line with another number of jobs, if it is better than
    /// `same_jobs`.
    other_jobs: Option<&'a BenchCell>,
    /// Further points, one of each line, that the trials do not tell from the best point.
    undistinguished: Vec<&'a BenchCell>,
    /// The significance of the best point's lead over each point of the other lines.
    verdicts: Vec<Significance>,
    one_engine: bool,
}

impl<'a> PointContest<'a> {
    /// Returns `None` if no point has the figure.
    fn by_measure(cells: &[&'a BenchCell], measure: BenchMeasure) -> Option<Self> {
        let with_figure = cells.iter().filter(|cell| cell.figure(measure).trials > 0);
        let mut cells: Vec<&BenchCell> = with_figure.copied().collect();
        let median = |cell: &BenchCell| cell.figure(measure).median;
        cells.sort_by(|a, b| median(b).total_cmp(&median(a)));
        let best = *cells.first()?;
        let one_engine = cells.iter().all(|c| c.point.engine == best.point.engine);
        let line = name(&best.point);
        cells.retain(|cell| name(&cell.point) != line);
        let has_same_jobs = |cell: &&&BenchCell| cell.point.jobs == best.point.jobs;
        let from_best = |cell: &&BenchCell| Significance::compare(best, cell, measure);
        let mut contest = PointContest {
            measure,
            best,
            same_jobs: cells.iter().find(has_same_jobs).copied(),
            other_jobs: cells.first().filter(|top| !has_same_jobs(top)).copied(),
            undistinguished: Vec::new(),
            verdicts: cells.iter().map(from_best).collect(),
            one_engine,
        };
        for cell in cells {
            let is_doubted = |other| !Significance::compare(best, other, measure).is_above();
            let same_line = |other: &BenchCell| name(&other.point) == name(&cell.point);
            let is_named = contest.named_cells().any(|n| same_line(n) && is_doubted(n));
            if is_doubted(cell) && !is_named {
                contest.undistinguished.push(cell);
            }
        }
        Some(contest)
    }

    fn named_cells(&self) -> impl Iterator<Item = &'a BenchCell> {
        let named = self.same_jobs.into_iter().chain(self.other_jobs);
        named.chain(self.undistinguished.iter().copied())
    }

    fn is_sure(&self) -> bool {
        self.verdicts.iter().all(|it| *it == Significance::Clear)
    }

    /// A sentence on the best point and the rival that leaves most doubt, else the strongest one.
    /// It makes the `claim` only if all trials of the best point lie above all others.
    fn sentence(&self, claim: &str) -> String {
        let is_above = self.verdicts.iter().all(|it| it.is_above());
        let claim = Some(claim).filter(|_| is_above);
        let claim = claim.unwrap_or("has the highest median");
        let median = |cell: &BenchCell| cell.figure(self.measure).median;
        let highest = median(self.best);
        let figure = match self.measure {
            BenchMeasure::Iops => format!("{} IOPS", iops(highest)),
            BenchMeasure::KiopsPerCore => format!("{} KIOPS/core", number(highest)),
        };
        let point = &self.best.point;
        let (name, with) = (self.name(point), jobs(point.jobs));
        let sentence = format!("{name} {claim}: {figure} with {with}");
        let doubted = |cell: &&BenchCell| !self.compare(cell).is_above();
        let strongest = self.other_jobs.or(self.same_jobs);
        let Some(other) = self.named_cells().find(doubted).or(strongest) else {
            return sentence;
        };
        let (times, certainty) = (number(highest / median(other)), self.compare(other).brief());
        let other = &other.point;
        let other_jobs = format!(" with {}", jobs(other.jobs));
        let other_jobs = when(other.jobs != point.jobs, &other_jobs);
        let other = self.name(other);
        format!("{sentence}, {times} times {other}{other_jobs} ({certainty})")
    }

    /// The interface and the method; only the method if all points have one interface.
    fn name(&self, point: &BenchPoint) -> String {
        if self.one_engine {
            point.method.to_string()
        } else {
            name(point)
        }
    }

    fn evidence(&self) -> Vec<String> {
        let next = self.same_jobs.map(|next| self.against("Next there", next));
        let other = self.other_jobs;
        let other = other.map(|other| self.against("Best of the others", other));
        let none = || "No other interface or method has a figure there".to_owned();
        let next = next.or_else(|| other.is_some().then(none));
        let evidence = next.into_iter().chain(other);
        evidence.chain(self.not_told_apart()).collect()
    }

    fn against(&self, role: &str, other: &BenchCell) -> String {
        format!(
            "{role}: {}, {} against {}. {}",
            name_with_jobs(&other.point),
            figure(other, self.measure),
            figure(self.best, self.measure),
            self.compare(other).sentence()
        )
    }

    fn not_told_apart(&self) -> Option<String> {
        let (first, more) = self.undistinguished.split_first()?;
        let more = match more {
            [] => String::new(),
            [one] => format!(", and from {}", name(&one.point)),
            more => format!(", and from {} others", more.len()),
        };
        let figure = figure(first, self.measure);
        let name = name_with_jobs(&first.point);
        Some(format!("Not told apart from {name} either, {figure}{more}"))
    }

    fn compare(&self, other: &BenchCell) -> Significance {
        Significance::compare(self.best, other, self.measure)
    }
}

fn figure(cell: &BenchCell, measure: BenchMeasure) -> String {
    let (scale, unit) = match measure {
        BenchMeasure::Iops => (1e-3, "KIOPS"),
        BenchMeasure::KiopsPerCore => (1.0, "KIOPS/core"),
    };
    let interval = cell.figure(measure);
    let (median, range) = (median(&interval, scale), range(&interval, scale));
    format!("{median} {unit} {range}").trim_end().to_owned()
}

/// A sentence on the KIOPS/core of the fastest point, if another point gives more.
fn price(leader: &BenchCell, fastest: &BenchCell) -> Option<String> {
    let is_other = fastest.kiops_per_core.trials > 0 && leader.point != fastest.point;
    let (point, figure) = (&fastest.point, figure(fastest, BenchMeasure::KiopsPerCore));
    is_other.then(|| format!("{}, first in IOPS, has {figure}", name_with_jobs(point)))
}

/// Knee and collapse of the curve over the jobs, as words that follow the verdict.
fn shape_text(result: &BenchResult, cell: &BenchCell) -> String {
    let Some(curve) = result.scaling.iter().find(|curve: &&ThroughputCurve| {
        let mut point = curve.first.clone();
        point.jobs = cell.point.jobs;
        point == cell.point
    }) else {
        return String::new();
    };
    let at = |n: Option<u32>, what: &str| match n {
        Some(n) => format!("{what} at {}", jobs(n)),
        None => format!("no {what}"),
    };
    let (knee, collapse) = (at(curve.knee, "knee"), at(curve.collapse, "collapse"));
    format!(". By the number of jobs: {knee}, {collapse}")
}

/// The significance of a point's lead over another whose median is not higher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Significance {
    /// All trials of the first point lie above all trials of the second.
    Clear,
    /// As `Clear`, but with so few trials that two equal points would show it with this
    /// probability.
    Few(f64),
    Overlap,
    /// One of the two points has a single trial.
    Single,
    /// One figure divides by the machine's busy CPUs, the other by the CPU time of threads.
    Unlike,
}

impl Significance {
    /// Compares `a` with `b` by a figure that both have.
    pub(crate) fn compare(a: &BenchCell, b: &BenchCell, measure: BenchMeasure) -> Significance {
        if measure == BenchMeasure::KiopsPerCore && a.per_core != b.per_core {
            return Significance::Unlike;
        }
        Significance::from_intervals(&a.figure(measure), &b.figure(measure))
    }

    fn from_intervals(a: &Interval, b: &Interval) -> Significance {
        match a.trials.min(b.trials) {
            0 | 1 => Significance::Single,
            _ if !a.is_above(b) => Significance::Overlap,
            few if few < CLEAR_TRIALS => Significance::Few(a.chance_above(b)),
            _ => Significance::Clear,
        }
    }

    /// True if all trials of the first point lie above all of the second's, however few they are.
    pub(crate) fn is_above(self) -> bool {
        matches!(self, Significance::Clear | Significance::Few(_))
    }

    pub(crate) fn brief(self) -> String {
        match self {
            Significance::Clear => "clearly".to_owned(),
            Significance::Few(chance) => format!(
                "too few trials: by chance in {:.0} % of cases",
                chance * 100.0
            ),
            Significance::Overlap | Significance::Single | Significance::Unlike => {
                "not clearly".to_owned()
            }
        }
    }

    pub(crate) fn sentence(self) -> String {
        let sentence = match self {
            Significance::Clear => "All trials of the first are above all of these",
            Significance::Few(chance) => {
                return format!(
                    "All trials of the first are above all of these, but with so few that happens by chance in {:.0} % \
                     of cases",
                    chance * 100.0
                );
            }
            Significance::Overlap => "Their trials overlap",
            Significance::Single => "Single trials have no interval",
            Significance::Unlike => "One is for each busy CPU, the other for the threads' CPU time",
        };
        sentence.to_owned()
    }
}

/// Sentences on who leads at which points, by IOPS and by KIOPS/core: among all interfaces, and
/// among the methods of each. Comparisons with equal words share one sentence. A comparison of
/// fewer than two points has none, because the conclusion says the same.
pub(crate) fn leads(result: &BenchResult) -> Vec<String> {
    let comparisons = comparisons(result);
    let rows = comparisons.iter();
    let mut lines = joined_lines(rows.map(|c| (c.measure, &*c.scope, standings_text(c))));
    lines.extend(chance_sentence(&comparisons));
    lines
}

/// The words of a comparison: first the places with a clear leader, then those without.
fn standings_text(comparison: &LeadComparison) -> String {
    let standings = || comparison.standings.iter();
    let compared_places: Vec<DepthAndJobs> = standings().map(|one| one.place).collect();
    let mut groups = grouped(standings().map(|one| (&one.standing, one.place)));
    groups.sort_by_key(|(standing, _)| !standing.rivals.is_empty());
    let group = groups.iter().map(|(standing, places)| {
        let (leader, at) = (&standing.leader, points_text(places, &compared_places));
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
fn points_text(places: &[DepthAndJobs], all: &[DepthAndJobs]) -> String {
    if places.len() == all.len() && all.len() > 1 {
        return "at every point".to_owned();
    }
    let depths: BTreeSet<u16> = places.iter().map(|(depth, _)| *depth).collect();
    let at = |depth: u16| {
        let at_depth: Vec<DepthAndJobs> = all.iter().filter(|p| p.0 == depth).copied().collect();
        let runs = at_depth.split(|place| !places.contains(place));
        let runs: Vec<&[DepthAndJobs]> = runs.filter(|run| !run.is_empty()).collect();
        match runs.as_slice() {
            [[(_, only)]] => format!("{} x depth {depth}", jobs(*only)),
            runs => {
                let runs = runs.iter().map(|r| label::range(r[0].1, r[r.len() - 1].1));
                format!("{} jobs x depth {depth}", listed(runs))
            }
        }
    };
    format!("at {}", joined(depths.into_iter().map(at), " and "))
}

/// Joins comparisons that have the same words: first the measures of one scope, then the scopes
/// with the same measures. The first of each group decides the order.
fn joined_lines<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str, String)>) -> Vec<String> {
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

fn chance_sentence(comparisons: &[LeadComparison]) -> Option<String> {
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

struct PlaceStanding {
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
    scope: String,
    standings: Vec<PlaceStanding>,
}

/// All comparisons with at least two places. Sections that differ only in depth are compared
/// together: first among all interfaces, if there are several, then among the methods of each.
fn comparisons(result: &BenchResult) -> Vec<LeadComparison> {
    let sections = sections(result);
    let titles = distinct(sections.iter().map(BenchSection::short_title));
    let engines = distinct(result.cells.iter().map(|cell| cell.point.engine.as_str()));
    let mut scopes: Vec<Option<&str>> = engines.into_iter().map(Some).collect();
    if scopes.len() > 1 {
        scopes.insert(0, None);
    }
    let mut comparisons = Vec::new();
    for title in &titles {
        let title_sections = sections.iter().filter(|s| s.short_title() == *title);
        let title_sections: Vec<&BenchSection> = title_sections.collect();
        for &scope in &scopes {
            let scope_name = scope.unwrap_or("all interfaces");
            let label = match titles.len() {
                1 => scope_name.to_owned(),
                _ => format!("{scope_name} {title}"),
            };
            let measures = [
                (BenchMeasure::Iops, "IOPS"),
                (BenchMeasure::KiopsPerCore, "KIOPS/core"),
            ];
            comparisons.extend(measures.map(|(measure, name)| LeadComparison {
                measure: name,
                scope: label.clone(),
                standings: standings(result, &title_sections, scope, measure),
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
) -> Vec<PlaceStanding> {
    let is_in_scope = |cell: &&BenchCell| {
        scope.is_none_or(|engine| cell.point.engine == engine)
            && sections.iter().any(|section| section.covers(&cell.point))
    };
    let cells = || result.cells.iter().filter(is_in_scope);
    let label = |cell: &BenchCell| {
        let (point, tuned) = (&cell.point, result.job.tuned.as_ref());
        let tuned = tuned.is_some_and(|tuned| tuned.names(point.bs, &point.method));
        scope.map_or_else(|| name(point), |_| point.method.to_string()) + when(tuned, " (tuned)")
    };
    let mut places: BTreeMap<DepthAndJobs, Vec<&BenchCell>> = BTreeMap::new();
    for cell in cells() {
        let place = (cell.point.depth, cell.point.jobs);
        places.entry(place).or_default().push(cell);
    }
    let names = distinct(cells().map(label));
    let standing = |(place, cells)| standing(place, cells, &names, measure, &label);
    places.into_iter().filter_map(standing).collect()
}

/// The leader among the points `compared` at one place; `None` if fewer than two can be compared.
/// `names` has the names at all places, so that missing ones can be listed.
fn standing(
    place: DepthAndJobs,
    mut compared: Vec<&BenchCell>,
    names: &[String],
    measure: BenchMeasure,
    label: &impl Fn(&BenchCell) -> String,
) -> Option<PlaceStanding> {
    compared.retain(|c| c.is_comparable() && c.figure(measure).trials > 0);
    let median = |cell: &BenchCell| cell.figure(measure).median;
    // On a tie, the first one leads.
    let leader = compared.iter();
    let leader = leader.rev().max_by(|a, b| median(a).total_cmp(&median(b)));
    let leader = *leader.filter(|_| compared.len() > 1)?;
    let (mut rivals, mut chance) = (Vec::new(), 0f64);
    for other in compared.iter().filter(|c| c.point != leader.point) {
        match Significance::compare(leader, other, measure) {
            Significance::Clear => {}
            Significance::Few(by_chance) => chance = chance.max(by_chance),
            _ => rivals.push(label(other)),
        }
    }
    let compared_names: Vec<String> = compared.iter().map(|cell| label(cell)).collect();
    let missing = names.iter().filter(|name| !compared_names.contains(name));
    let missing = missing.cloned().collect();
    Some(PlaceStanding {
        place,
        chance: if rivals.is_empty() { chance } else { 0.0 },
        standing: Standing {
            leader: label(leader),
            rivals,
            missing,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::Significance::{Clear, Overlap, Single};
    use super::*;

    #[test]
    fn trials_that_overlap_or_are_few_tell_nothing_apart() {
        let interval = |min: f64, max: f64, trials| Interval {
            median: (min + max) / 2.0,
            min,
            max,
            trials,
        };
        let a = interval(90.0, 110.0, 5);
        let against = |b| Significance::from_intervals(&a, &b);
        assert_eq!(against(interval(70.0, 89.0, 5)), Clear);
        assert_eq!(against(interval(70.0, 91.0, 5)), Overlap);
        assert_eq!(against(interval(1.0, 1.0, 1)), Single);
        let (first, second) = (interval(90.0, 110.0, 3), interval(70.0, 89.0, 3));
        let three = Significance::from_intervals(&first, &second);
        assert!(three.is_above() && three.sentence().contains("chance in 10 %"));
    }

    #[test]
    fn points_are_grouped_by_depth_and_run() {
        let places: Vec<DepthAndJobs> = [1, 8]
            .iter()
            .flat_map(|depth| [1, 2, 4, 8].map(|jobs| (*depth, jobs)))
            .collect();
        assert_eq!(points_text(&places, &places), "at every point");
        assert_eq!(points_text(&places[..1], &places), "at 1 job x depth 1");
        assert_eq!(
            points_text(&[(1, 1), (1, 2), (1, 8), (8, 4)], &places),
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
        let lines = joined_lines(rows.map(|(measure, scope)| (measure, scope, "words".to_owned())));
        let wanted = [
            "IOPS and KIOPS/core, libaio and io_uring: words",
            "IOPS, sync: words",
        ];
        assert_eq!(lines, wanted);
    }
}
