//! What a benchmark says in a sentence: which interface is best, against which points that holds,
//! how sure that is, and where it stops scaling.

use crate::apart::Apart;
use crate::bench::{BenchSection, name, name_with_jobs, sections};
use crate::course::jobs;
use crate::document::DocumentAnswer;
use crate::invalid;
use crate::phrase::when;
use crate::quantity::{iops, median, number, range};
use crate::said::Weight;
use q2c_result::bench::{BenchCell, BenchMeasure, BenchPoint, BenchResult, ThroughputCurve};

pub(crate) fn conclusions(result: &BenchResult) -> Vec<DocumentAnswer> {
    let sections = sections(result);
    let answer = |section| section_answers(result, section);
    sections.iter().flat_map(answer).collect()
}

/// What limits all conclusions: a sentence for each thing that disturbed the trials.
pub(crate) fn caveats(result: &BenchResult) -> Vec<String> {
    invalid::caveats(&result.warnings)
}

fn section_answers(result: &BenchResult, section: &BenchSection) -> Vec<DocumentAnswer> {
    let compared = section.cells(result).filter(|cell| cell.is_comparable());
    let compared: Vec<&BenchCell> = compared.collect();
    let undisturbed = caveats(result).is_empty();
    let conclusion = |contest: &PointContest<'_>, does: &str, more: &str| DocumentAnswer {
        of: section.title(),
        weight: Weight::sure(undisturbed && contest.is_sure()),
        evidence: contest.evidence(),
        ..DocumentAnswer::new(contest.words(does) + more)
    };
    let Some(fastest) = PointContest::by_measure(&compared, BenchMeasure::Iops) else {
        return Vec::new();
    };
    let shape = shape(result, fastest.first);
    if compared.len() == 1 {
        return vec![conclusion(&fastest, "was measured alone", &shape)];
    }
    let mut answers = vec![conclusion(&fastest, "is fastest", &shape)];
    // If a line has no KIOPS/core, nobody can say which line has the most.
    let is_known = |cell: &&&BenchCell| cell.kiops_per_core.trials > 0;
    let known = compared.iter().filter(is_known).map(|c| name(&c.point));
    let known: Vec<String> = known.collect();
    let of_all = compared.iter().all(|c| known.contains(&name(&c.point)));
    let most = PointContest::by_measure(&compared, BenchMeasure::KiopsPerCore);
    if let Some(most) = most.filter(|_| of_all) {
        let mut of_core = conclusion(&most, "is best for a core", "");
        of_core.evidence.extend(price(most.first, fastest.first));
        answers.push(of_core);
    }
    answers
}

/// The best point by one figure, and the points of other lines that it is compared with.
struct PointContest<'a> {
    measure: BenchMeasure,
    first: &'a BenchCell,
    /// The best point of another line with the same number of jobs.
    here: Option<&'a BenchCell>,
    /// The best point of another line with another number of jobs, if it is better than `here`.
    elsewhere: Option<&'a BenchCell>,
    /// Further points, one of each line, that the trials do not tell from the best point.
    also: Vec<&'a BenchCell>,
    /// What the trials say of the best point against each point of the other lines.
    told: Vec<Apart>,
    one_engine: bool,
}

impl<'a> PointContest<'a> {
    /// Returns `None` if no point has the figure.
    fn by_measure(cells: &[&'a BenchCell], measure: BenchMeasure) -> Option<Self> {
        let with_figure = cells.iter().filter(|cell| cell.figure(measure).trials > 0);
        let mut cells: Vec<&BenchCell> = with_figure.copied().collect();
        let median = |cell: &BenchCell| cell.figure(measure).median;
        cells.sort_by(|a, b| median(b).total_cmp(&median(a)));
        let first = *cells.first()?;
        let one_engine = cells.iter().all(|c| c.point.engine == first.point.engine);
        let line = name(&first.point);
        cells.retain(|cell| name(&cell.point) != line);
        let is_here = |cell: &&&BenchCell| cell.point.jobs == first.point.jobs;
        let from_first = |cell: &&BenchCell| Apart::compare(first, cell, measure);
        let mut contest = PointContest {
            measure,
            first,
            here: cells.iter().find(is_here).copied(),
            elsewhere: cells.first().filter(|best| !is_here(best)).copied(),
            also: Vec::new(),
            told: cells.iter().map(from_first).collect(),
            one_engine,
        };
        for cell in cells {
            let above = |other| Apart::compare(first, other, measure).is_above();
            let same_line = |other: &BenchCell| name(&other.point) == name(&cell.point);
            if !contest.named_cells().any(|n| same_line(n) && !above(n)) && !above(cell) {
                contest.also.push(cell);
            }
        }
        Some(contest)
    }

    fn named_cells(&self) -> impl Iterator<Item = &'a BenchCell> {
        let named = self.here.into_iter().chain(self.elsewhere);
        named.chain(self.also.iter().copied())
    }

    fn is_sure(&self) -> bool {
        self.told.iter().all(|apart| *apart == Apart::Told)
    }

    /// The verdict. `does` describes the best point if all its trials lie above all others. The
    /// verdict names the point that leaves most doubt.
    fn words(&self, does: &str) -> String {
        let is_above = self.told.iter().all(|apart| apart.is_above());
        let does = Some(does).filter(|_| is_above);
        let does = does.unwrap_or("has the highest median");
        let median = |cell: &BenchCell| cell.figure(self.measure).median;
        let best = median(self.first);
        let figure = match self.measure {
            BenchMeasure::Iops => format!("{} IOPS", iops(best)),
            BenchMeasure::KiopsPerCore => format!("{} KIOPS/core", number(best)),
        };
        let point = &self.first.point;
        let (name, with) = (self.name(point), jobs(point.jobs));
        let sentence = format!("{name} {does}: {figure} with {with}");
        let doubted = |cell: &&BenchCell| !self.apart(cell).is_above();
        let strongest = self.elsewhere.or(self.here);
        let Some(other) = self.named_cells().find(doubted).or(strongest) else {
            return sentence;
        };
        let (times, apart) = (number(best / median(other)), self.apart(other).in_short());
        let other = &other.point;
        let elsewhere = format!(" with {}", jobs(other.jobs));
        let elsewhere = when(other.jobs != point.jobs, &elsewhere);
        let other = self.name(other);
        format!("{sentence}, {times} times {other}{elsewhere} ({apart})")
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
        let here = self.here.map(|here| self.against("Next there", here));
        let elsewhere = self.elsewhere;
        let best = elsewhere.map(|other| self.against("Best of the others", other));
        let none = || "No other interface or method has a figure there".to_owned();
        let here = here.or_else(|| best.is_some().then(none));
        let evidence = here.into_iter().chain(best);
        evidence.chain(self.not_told_from()).collect()
    }

    fn against(&self, role: &str, other: &BenchCell) -> String {
        format!(
            "{role}: {}, {} against {}. {}",
            name_with_jobs(&other.point),
            figure(other, self.measure),
            figure(self.first, self.measure),
            self.apart(other).words()
        )
    }

    fn not_told_from(&self) -> Option<String> {
        let (first, more) = self.also.split_first()?;
        let more = match more {
            [] => String::new(),
            [one] => format!(", and from {}", name(&one.point)),
            more => format!(", and from {} others", more.len()),
        };
        let figure = figure(first, self.measure);
        let name = name_with_jobs(&first.point);
        Some(format!("Not told apart from {name} either, {figure}{more}"))
    }

    fn apart(&self, other: &BenchCell) -> Apart {
        Apart::compare(self.first, other, self.measure)
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

/// What the fastest point gives per core, if another point gives more.
fn price(most: &BenchCell, fastest: &BenchCell) -> Option<String> {
    let is_other = fastest.kiops_per_core.trials > 0 && most.point != fastest.point;
    let (point, figure) = (&fastest.point, figure(fastest, BenchMeasure::KiopsPerCore));
    is_other.then(|| format!("{}, first in IOPS, has {figure}", name_with_jobs(point)))
}

/// Knee and collapse of the curve over the jobs, as words that follow the verdict.
fn shape(result: &BenchResult, first: &BenchCell) -> String {
    let Some(curve) = result.scaling.iter().find(|curve: &&ThroughputCurve| {
        let mut point = curve.first.clone();
        point.jobs = first.point.jobs;
        point == first.point
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
