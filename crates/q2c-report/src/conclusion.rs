//! What a benchmark says in a sentence: which interface is fastest, how sure that is, and where it
//! stops scaling.

use crate::bench::{Section, name, sections};
use crate::course::jobs;
use crate::disturbed;
use crate::quantity::{iops, number};
use q2c_result::bench::{BenchCell, BenchResult, Curve};
use q2c_stats::Interval;

/// The conclusion on a part of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conclusion {
    /// The part: block size, pattern, depth.
    pub of: String,
    pub words: String,
    /// Whether the trials tell the fastest from the next one, and nothing disturbed them.
    pub sure: bool,
}

/// The conclusions on all parts in which something was measured.
pub(crate) fn of(result: &BenchResult) -> Vec<Conclusion> {
    let sections = sections(result).into_iter();
    sections
        .filter_map(|section| on(result, &section))
        .collect()
}

/// What limits all conclusions: a sentence for each thing that disturbed the trials.
pub(crate) fn caveats(result: &BenchResult) -> Vec<String> {
    disturbed::caveats(result.warnings.iter())
}

/// How far the trials tell two points apart.
enum Told {
    Apart,
    Overlap,
    /// One of them has a single trial.
    Single,
}

fn told(a: &Interval, b: &Interval) -> Told {
    match a.trials.min(b.trials) {
        0 | 1 => Told::Single,
        _ if a.min > b.max => Told::Apart,
        _ => Told::Overlap,
    }
}

fn on(result: &BenchResult, section: &Section) -> Option<Conclusion> {
    let cells = result
        .cells
        .iter()
        .filter(|cell| section.holds(&cell.point));
    let counts = |cell: &&BenchCell| cell.iops.trials > 0 && cell.too_good.is_none();
    let cells: Vec<&BenchCell> = cells.filter(counts).collect();
    let peaks = best_of_each(&cells, |cell| cell.iops.median);
    let (&first, others) = peaks.split_first()?;
    let mut words = format!(
        "{} reaches most: {} IOPS with {}",
        name(&first.point),
        iops(first.iops.median),
        jobs(first.point.jobs)
    );
    let mut sure = caveats(result).is_empty();
    if let Some(next) = others.first() {
        let says = told(&first.iops, &next.iops);
        sure &= matches!(says, Told::Apart);
        words += &format!(
            ", {} times {} ({})",
            number(first.iops.median / next.iops.median),
            name(&next.point),
            match says {
                Told::Apart => "its slowest trial is above the other's fastest",
                Told::Overlap => "not told apart: their trials overlap",
                Told::Single => "not told apart: single trials have no interval",
            }
        );
    }
    words += &shape(result, first);
    words += &per_core(&cells, first);
    Some(Conclusion {
        of: section.title(),
        words,
        sure,
    })
}

/// The best point of each interface and method, the best of all first.
fn best_of_each<'a>(
    cells: &[&'a BenchCell],
    figure: impl Fn(&BenchCell) -> f64,
) -> Vec<&'a BenchCell> {
    let mut best: Vec<&BenchCell> = Vec::new();
    for &cell in cells {
        match best
            .iter_mut()
            .find(|b| name(&b.point) == name(&cell.point))
        {
            Some(found) if figure(found) >= figure(cell) => {}
            Some(found) => *found = cell,
            None => best.push(cell),
        }
    }
    best.sort_by(|a, b| figure(b).total_cmp(&figure(a)));
    best
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
        "; {}, {}",
        at(curve.knee, "knee"),
        at(curve.collapse, "collapse")
    )
}

/// The line that does most for a busy core, where it is another one than the fastest.
fn per_core(cells: &[&BenchCell], fastest: &BenchCell) -> String {
    let known = cells.iter().filter(|cell| cell.kiops_per_core.trials > 0);
    let known: Vec<&BenchCell> = known.copied().collect();
    let best = best_of_each(&known, |cell| cell.kiops_per_core.median);
    let own = best
        .iter()
        .find(|cell| name(&cell.point) == name(&fastest.point));
    let (Some(first), Some(own)) = (best.first(), own) else {
        return String::new();
    };
    if name(&first.point) == name(&own.point) {
        return String::new();
    }
    format!(
        "; {} does most for a core: {} KIOPS/core with {}, {} times {}",
        name(&first.point),
        number(first.kiops_per_core.median),
        jobs(first.point.jobs),
        number(first.kiops_per_core.median / own.kiops_per_core.median),
        name(&own.point)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(min: f64, median: f64, max: f64, trials: u32) -> Interval {
        Interval {
            median,
            min,
            max,
            trials,
        }
    }

    #[test]
    fn trials_that_overlap_or_are_single_tell_nothing_apart() {
        let a = interval(90.0, 100.0, 110.0, 5);
        assert!(matches!(
            told(&a, &interval(70.0, 80.0, 89.0, 5)),
            Told::Apart
        ));
        assert!(matches!(
            told(&a, &interval(70.0, 80.0, 91.0, 5)),
            Told::Overlap
        ));
        assert!(matches!(
            told(&a, &interval(1.0, 1.0, 1.0, 1)),
            Told::Single
        ));
    }
}
