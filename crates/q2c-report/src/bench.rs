//! Tables and sentences of `q2c bench` that terminal and page share.

use crate::course::jobs;
use crate::invalid;
use crate::mode;
use crate::quantity::{self, count, duration, number, range};
use q2c_model::Bytes;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult, Curve};

pub(crate) const WAS: usize = 9;
/// Heads of the columns, in the order of [`row`].
const HEAD: [&str; 10] = [
    "interface, method",
    "jobs",
    "KIOPS",
    "[min, max]",
    "mean",
    "p50 / p99",
    "CPU\njobs+helpers",
    "busy",
    "KIOPS/core",
    "what it was",
];

/// The doctor's name of the measure in each column; empty for columns without a measure.
const MEASURES: [&str; 10] = [
    "",
    "",
    "iops",
    "iops",
    "latency",
    "latency",
    "cpu",
    "cpu",
    "kiops-per-core",
    "effective-mode",
];

/// The heads, with [`invalid::MARK`] where a check of the machine invalidates the column.
pub(crate) fn head(result: &BenchResult) -> [String; 10] {
    let marked = |at: usize| match invalid::measure(&result.doctor, MEASURES[at]) {
        true => format!("{}{}", HEAD[at], invalid::MARK),
        false => HEAD[at].to_owned(),
    };
    std::array::from_fn(marked)
}

/// The points of one table: those of one pattern, block size, depth, background and setting of the
/// device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub rw: String,
    pub bs: Bytes,
    pub depth: u16,
    pub background: String,
    pub hw_queues: Option<u32>,
    pub nr_requests: Option<u32>,
}

impl Section {
    pub fn title(&self) -> String {
        self.named(&format!(", depth {}", self.depth))
    }

    /// The title without the depth.
    pub fn place(&self) -> String {
        self.named("")
    }

    fn named(&self, depth: &str) -> String {
        let beside = beside(&self.background);
        let device = settings(self.hw_queues, self.nr_requests);
        format!("{} {}{depth}{device}{beside}", self.bs, self.rw)
    }

    pub fn holds(&self, point: &BenchPoint) -> bool {
        let place = (&self.rw, self.bs, self.depth, &self.background);
        let device = (self.hw_queues, self.nr_requests);
        place == (&point.rw, point.bs, point.depth, &point.background)
            && device == (point.hw_queues, point.nr_requests)
    }
}

/// A background behind the words of what it runs beside; empty for none.
pub(crate) fn beside(background: &str) -> String {
    match background {
        "" => String::new(),
        jobs => format!(", beside {jobs}"),
    }
}

/// The settings of a device, behind the words of what has them; empty for those that were found.
pub(crate) fn settings(hw_queues: Option<u32>, nr_requests: Option<u32>) -> String {
    let queues = match hw_queues {
        None => String::new(),
        Some(1) => ", 1 hardware queue".to_owned(),
        Some(n) => format!(", {n} hardware queues"),
    };
    queues + &nr_requests.map_or(String::new(), |n| format!(", nr_requests {n}"))
}

/// The trials of a point, as they were run: `5 trials of 10 s`.
pub(crate) fn trials(result: &BenchResult) -> String {
    let run = result.cells.iter().map(|cell| cell.iops.trials);
    format!(
        "{} of {} s",
        quantity::trials(result.job.trials, run),
        result.job.trial_seconds
    )
}

/// The sections of a result, in the order in which they were measured.
pub(crate) fn sections(result: &BenchResult) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for cell in &result.cells {
        let point = cell.point.clone();
        let section = Section {
            rw: point.rw,
            bs: point.bs,
            depth: point.depth,
            background: point.background,
            hw_queues: point.hw_queues,
            nr_requests: point.nr_requests,
        };
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    sections
}

/// The name of a point's line: engine and method.
pub(crate) fn name(point: &BenchPoint) -> String {
    format!("{} {}", point.engine, point.method)
}

/// A line for each reason for which points have no trial.
pub(crate) fn failed(result: &BenchResult) -> Vec<String> {
    let failed = result.cells.iter().filter(|cell| cell.iops.trials == 0);
    let line = |cell: &BenchCell| {
        let why = cell
            .failures
            .first()
            .map_or("it was not run", String::as_str);
        format!(
            "{} with {}: {why}",
            name(&cell.point),
            jobs(cell.point.jobs)
        )
    };
    failed.map(line).collect()
}

/// Two durations, with the unit once where they have the same.
fn pair(a: f64, b: f64) -> String {
    let (a, b) = (duration(a), duration(b));
    match (a.split_once(' '), b.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} / {b}"),
        _ => format!("{a} / {b}"),
    }
}

/// The row of a cell; the first field is the line's name. Why a cell has no trials is told by
/// [`failed`].
pub(crate) fn row(cell: &BenchCell) -> [String; 10] {
    if cell.iops.trials == 0 {
        let mut row: [String; 10] = std::array::from_fn(|_| "-".to_owned());
        row[0] = name(&cell.point);
        row[1] = cell.point.jobs.to_string();
        row[WAS] = "no trial".to_owned();
        return row;
    }
    let lat = &cell.lat_ns;
    let own = cell.cpu.job_s.median + cell.cpu.helper_s.median;
    [
        name(&cell.point),
        format!(
            "{}{}",
            cell.point.jobs,
            if cell.oversubscribed { "*" } else { "" }
        ),
        number(cell.iops.median / 1e3),
        range(&cell.iops, 1e-3),
        duration(lat.mean.median),
        pair(lat.p50.median, lat.p99.median),
        format!("{own:.2}"),
        match cell.cpu.busy_s.trials {
            0 => quantity::NOTHING.to_owned(),
            _ => format!("{:.2}", cell.cpu.busy_s.median),
        },
        quantity::median(&cell.kiops_per_core, 1.0),
        mode::words(&cell.effective_mode.was),
    ]
}

/// Explains the table's columns and marks.
pub(crate) const LEGEND: &str = "Medians over trials. CPU: seconds per second, CPUs; busy: the whole machine. * more jobs and helper threads than \
     CPUs. \u{2020} a check of the machine invalidates the column. Latency: submission to reaping.";

/// A scaling curve in a sentence: knee, peak, collapse and the fitted scalability law.
pub(crate) fn curve(curve: &Curve) -> String {
    let at = |n: Option<u32>| n.map_or_else(|| "none".to_owned(), |n| format!("{n} jobs"));
    let mut text = format!(
        "{}, {} {} depth {}{}{}: knee {}, peak {}, collapse {}",
        name(&curve.first),
        curve.first.bs,
        curve.first.rw,
        curve.first.depth,
        settings(curve.first.hw_queues, curve.first.nr_requests),
        beside(&curve.first.background),
        at(curve.knee),
        at(curve.peak),
        at(curve.collapse)
    );
    if let Some(shape) = &curve.shape {
        text += &format!(
            ", {:.0} % of the peak kept at the end",
            shape.retained * 100.0
        );
    }
    match (&curve.usl, &curve.refused) {
        (Some(fit), _) => {
            text += &format!(
                "; scalability law: lambda {} IOPS, sigma {:.4}, kappa {:.6}, residuals {:.1} %",
                count(fit.usl.lambda as u64),
                fit.usl.sigma,
                fit.usl.kappa,
                fit.rms_relative * 100.0
            );
        }
        (None, Some(why)) => text += &format!("; no scalability law: {why}"),
        (None, None) => {}
    }
    text
}

/// How many points the search for knee and collapse left out.
pub(crate) fn not_measured(result: &BenchResult) -> String {
    let left = result.not_measured.len();
    format!(
        "{left} of {} points: of so many, a coarse grid is measured, and what lies beside knee, peak and collapse",
        left + result.cells.len()
    )
}

/// A line for each reason for which points were left out: names of the points, then the reason.
pub(crate) fn left_out(result: &BenchResult) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for left in &result.left_out {
        let name = name(&left.point);
        match reasons
            .iter_mut()
            .find(|(reason, _)| *reason == left.reason)
        {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((left.reason.clone(), vec![name])),
        }
    }
    let line = |(reason, names): (String, Vec<String>)| format!("{}: {reason}", names.join(", "));
    reasons.into_iter().map(line).collect()
}
