//! What a benchmark says in a sentence: which interface is best, against which points that holds,
//! how sure that is, and where it stops scaling.

use crate::apart::Apart;
use crate::bench::{Section, name, sections};
use crate::course::jobs;
use crate::disturbed;
use crate::quantity::{iops, median, number, range};
use q2c_result::bench::{BenchCell, BenchResult, Curve, Measure};
use std::cmp::Ordering;

/// The conclusion on a part of a benchmark, by one figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conclusion {
    /// The part: block size, pattern, depth.
    pub of: String,
    /// The verdict, a sentence.
    pub words: String,
    /// The figures that it stands on, a sentence for each point that the best one is set against.
    pub evidence: Vec<String>,
    /// Whether the trials tell the best point from those of every other line, and nothing disturbed
    /// them.
    pub sure: bool,
}

/// The conclusions on all parts in which something was measured.
pub(crate) fn of(result: &BenchResult) -> Vec<Conclusion> {
    let sections = sections(result).into_iter();
    sections.flat_map(|section| on(result, &section)).collect()
}

/// What limits all conclusions: a sentence for each thing that disturbed the trials.
pub(crate) fn caveats(result: &BenchResult) -> Vec<String> {
    disturbed::caveats(result.warnings.iter())
}

fn on(result: &BenchResult, section: &Section) -> Vec<Conclusion> {
    let cells = result.cells.iter();
    let compared = cells.filter(|cell| section.holds(&cell.point) && cell.is_comparable());
    let compared: Vec<&BenchCell> = compared.collect();
    let undisturbed = caveats(result).is_empty();
    let conclusion = |contest: &Contest<'_>, does: &str, more: &str| Conclusion {
        of: section.title(),
        words: contest.words(does) + more,
        evidence: contest.evidence(),
        sure: undisturbed && contest.is_sure(),
    };
    let Some(fastest) = Contest::of(&compared, Measure::Iops) else {
        return Vec::new();
    };
    let shape = shape(result, fastest.first);
    if compared.len() == 1 {
        return vec![conclusion(&fastest, "was measured alone", &shape)];
    }
    let mut all = vec![conclusion(&fastest, "reaches most", &shape)];
    // Where it is not known of a line, nobody can say which does most.
    let known = |cell: &&&BenchCell| cell.kiops_per_core.trials > 0;
    let known: Vec<String> = compared
        .iter()
        .filter(known)
        .map(|c| name(&c.point))
        .collect();
    let of_all = compared
        .iter()
        .all(|cell| known.contains(&name(&cell.point)));
    let most = Contest::of(&compared, Measure::KiopsPerCore).filter(|_| of_all);
    if let Some(most) = most {
        let mut of_core = conclusion(&most, "does most for a core", "");
        of_core.evidence.extend(price(most.first, fastest.first));
        all.push(of_core);
    }
    all
}

/// The best point by a figure, and the points of other lines that it is set against.
struct Contest<'a> {
    measure: Measure,
    first: &'a BenchCell,
    /// The best other one with as many jobs.
    here: Option<&'a BenchCell>,
    /// The best other one with another number of jobs, where it is better than that.
    elsewhere: Option<&'a BenchCell>,
    /// Further ones that the trials do not tell from the first, one of each line.
    also: Vec<&'a BenchCell>,
    /// What the trials say of all points of other lines.
    told: Vec<Apart>,
}

impl<'a> Contest<'a> {
    /// `None` where no point has the figure.
    fn of(cells: &[&'a BenchCell], measure: Measure) -> Option<Self> {
        let cells = cells.iter().copied();
        let mut cells: Vec<&BenchCell> = cells
            .filter(|cell| cell.figure(measure).trials > 0)
            .collect();
        cells.sort_by(|a, b| falling(a, b, measure));
        let first = *cells.first()?;
        let line = name(&first.point);
        cells.retain(|cell| name(&cell.point) != line);
        let is_here = |cell: &&&BenchCell| cell.point.jobs == first.point.jobs;
        let here = cells.iter().find(is_here).copied();
        let best = cells.first().filter(|best| !is_here(best));
        let elsewhere = best.copied();
        let mut contest = Contest {
            measure,
            first,
            here,
            elsewhere,
            also: Vec::new(),
            told: cells.iter().map(|c| Apart::of(first, c, measure)).collect(),
        };
        for cell in cells {
            let above = |other| Apart::of(first, other, measure).is_above();
            let same_line = |other: &BenchCell| name(&other.point) == name(&cell.point);
            let said = contest.named().any(|n| same_line(n) && !above(n));
            if !said && !above(cell) {
                contest.also.push(cell);
            }
        }
        Some(contest)
    }

    /// The other points that are named.
    fn named(&self) -> impl Iterator<Item = &'a BenchCell> {
        let named = self.here.into_iter().chain(self.elsewhere);
        named.chain(self.also.iter().copied())
    }

    fn is_sure(&self) -> bool {
        self.told.iter().all(|told| *told == Apart::Told)
    }

    /// The verdict. `does` is said of the first where all its trials lie above all of the others'.
    /// It is set against the point that leaves most doubt.
    fn words(&self, does: &str) -> String {
        let does = match self.told.iter().all(|told| told.is_above()) {
            true => does,
            false => "has the highest median",
        };
        let words = format!(
            "{} {does}: {} with {}",
            name(&self.first.point),
            self.median(self.first),
            jobs(self.first.point.jobs)
        );
        let doubted = |cell: &&BenchCell| !self.apart(cell).is_above();
        let strongest = self.elsewhere.or(self.here);
        let against = self.named().find(doubted).or(strongest);
        against.map_or(words.clone(), |other| {
            format!(
                "{words}. That is {} times {} with {} ({})",
                self.times(other),
                name(&other.point),
                jobs(other.point.jobs),
                self.apart(other).in_short()
            )
        })
    }

    fn evidence(&self) -> Vec<String> {
        let mut all = Vec::new();
        match self.here {
            Some(here) => all.push(self.against("Next there", here)),
            None if self.elsewhere.is_some() => {
                all.push("No other interface or method has a figure there".to_owned());
            }
            None => {}
        }
        let elsewhere = self.elsewhere.into_iter();
        all.extend(elsewhere.map(|other| self.against("Best of the others", other)));
        all.extend(self.not_told_from());
        all
    }

    fn against(&self, role: &str, other: &BenchCell) -> String {
        format!(
            "{role}: {} with {}, {} against {}. {}",
            name(&other.point),
            jobs(other.point.jobs),
            figure(other, self.measure),
            figure(self.first, self.measure),
            self.apart(other).words()
        )
    }

    fn not_told_from(&self) -> Option<String> {
        let (first, more) = self.also.split_first()?;
        let more = match more.len() {
            0 => String::new(),
            1 => format!(", and from {}", name(&more[0].point)),
            n => format!(", and from {n} others"),
        };
        Some(format!(
            "Not told apart from {} with {} either, {}{more}",
            name(&first.point),
            jobs(first.point.jobs),
            figure(first, self.measure)
        ))
    }

    fn apart(&self, other: &BenchCell) -> Apart {
        Apart::of(self.first, other, self.measure)
    }

    fn times(&self, other: &BenchCell) -> String {
        let median = |cell: &BenchCell| cell.figure(self.measure).median;
        number(median(self.first) / median(other))
    }

    /// The median with its unit.
    fn median(&self, cell: &BenchCell) -> String {
        let of = cell.figure(self.measure).median;
        match self.measure {
            Measure::Iops => format!("{} IOPS", iops(of)),
            Measure::KiopsPerCore => format!("{} KIOPS/core", number(of)),
        }
    }
}

fn falling(a: &BenchCell, b: &BenchCell, measure: Measure) -> Ordering {
    b.figure(measure)
        .median
        .total_cmp(&a.figure(measure).median)
}

/// Median and range as the table has them.
fn figure(cell: &BenchCell, measure: Measure) -> String {
    let (scale, unit) = match measure {
        Measure::Iops => (1e-3, "KIOPS"),
        Measure::KiopsPerCore => (1.0, "KIOPS/core"),
    };
    let of = cell.figure(measure);
    let range = range(&of, scale);
    let blank = if range.is_empty() { "" } else { " " };
    format!("{} {unit}{blank}{range}", median(&of, scale))
}

/// What the fastest point does for a core, where another one does more.
fn price(most: &BenchCell, fastest: &BenchCell) -> Option<String> {
    let known = fastest.kiops_per_core.trials > 0;
    (known && most.point != fastest.point).then(|| {
        format!(
            "{} with {}, first in IOPS, has {}",
            name(&fastest.point),
            jobs(fastest.point.jobs),
            figure(fastest, Measure::KiopsPerCore)
        )
    })
}

/// Where the curve over the jobs bends and falls, behind the sentence.
fn shape(result: &BenchResult, first: &BenchCell) -> String {
    let of = |curve: &&Curve| {
        let mut point = curve.first.clone();
        point.jobs = first.point.jobs;
        point == first.point
    };
    let Some(curve) = result.scaling.iter().find(of) else {
        return String::new();
    };
    let at = |n: Option<u32>, what: &str| match n {
        Some(n) => format!("{what} at {}", jobs(n)),
        None => format!("no {what}"),
    };
    format!(
        ". By the number of jobs: {}, {}",
        at(curve.knee, "knee"),
        at(curve.collapse, "collapse")
    )
}
