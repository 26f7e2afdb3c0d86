//! The report of `q2c bench`, and grids of throughput over the device's settings, which terminal
//! and page share.

use crate::conclusion::{conclusions, leads};
use crate::document::{Document, Reported, Section};
use crate::mode::{self, ModeMatch};
use crate::note::{Note, ReportTable, Weight};
use crate::phrase::{counted, distinct, grouped, jobs, joined, listed, when};
use crate::plots::{over_axes, over_jobs, over_time};
use crate::quantity::{self, DASH, count, duration, number, range, seconds, two_durations};
use crate::{facts, kinds, label, stages, validity};
use q2c_policy::Method;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult, ThroughputCurve, TunedMethod};
use q2c_result::figures::{Figure, FigureRow, FigureTable, FigureUnit, Measures};
use q2c_result::tune::PerCore;
use std::collections::BTreeSet;

impl Reported for BenchResult {
    fn document(&self) -> Document<'_> {
        let trial_counts = self.cells.iter().map(|cell| cell.iops.trials);
        let about = format!(
            "{} of {} s, shuffled · CPUs {} · took {}",
            quantity::trials(self.job.trials, trial_counts),
            self.job.trial_seconds,
            self.job.cpu_order,
            seconds(self.provenance.seconds)
        );
        let mut document = Document::new("bench", &self.version, &self.schema)
            .titled(facts::title(&self.target, &self.machine), about)
            .run(self.job.seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .answers(conclusions(self))
            .notices(validity::invalidating_checks(&self.doctor).map(validity::check_note))
            .notices(cautions(self))
            .section(Section::new("").plots(|| over_axes::plots(self)));
        // The caveats hold for all conclusions; they are shown once, with the first.
        if let Some(first) = document.answers.first_mut() {
            first.caveats = validity::caveats(&self.warnings);
        }
        let sections = sections(self);
        let sections = sections.iter().enumerate();
        let (grids, figures) = (grids(self).into_iter(), self.figures());
        let harness = format!(
            "{:.2} CPUs were busy at rest; {:.0} ns CPU per I/O on an engine that does nothing, {:.0} with nothing kept",
            self.job.idle_busy_cpus, self.harness_floor_ns, self.harness_bare_ns
        );
        let measured = Section::new("How it was measured").notes([Note::plain("harness", harness)]);
        document
            .sections(sections.flat_map(|(id, s)| sections_of(self, &figures, s, id)))
            .sections(grids.map(|g| Section::new(format!("KIOPS, {}", g.title)).table(g.table())))
            .section(scaling_section(self))
            .section(Section::new("Phases").plots(|| over_time::phase_plots(self)))
            .section(measured.folded())
            .warnings(&self.warnings)
            .target(&self.target)
            .machine(&self.machine)
            .checks(&self.doctor)
    }
}

/// Notes that change how the numbers are to be read, and notes on points without a trial.
fn cautions(result: &BenchResult) -> Vec<Note> {
    let mut notes: Vec<Note> = Note::many(Weight::Bad, "no trial", untried_text(result)).collect();
    notes.extend(Note::cautions("KIOPS/core", per_thread_cpu(result)));
    notes.extend(Note::cautions("busy", unknown_busy_cpus(result)));
    notes.extend(Note::plains("not measured", unmeasured_points(result)));
    notes.extend(Note::plains("left out", left_out_points(result)));
    notes.extend(Note::plains("tuned", tuned_methods(result)));
    let trials = label::cpu_trials(&result.target);
    notes.extend(Note::plains("tried from", trials));
    notes
}

fn points<'a>(
    result: &'a BenchResult,
    figures: &FigureTable,
    section: &BenchSection,
    id: usize,
) -> Section<'a> {
    let covered = result.cells.iter().zip(&figures.rows);
    let covered = covered.filter(|(cell, _)| section.covers(&cell.point));
    let (cells, values): (Vec<&BenchCell>, Vec<&FigureRow>) = covered.unzip();
    let differs = |cell: &BenchCell| mode::mode_match(&cell.effective_mode) == ModeMatch::Differs;
    let weight = |cell: &&BenchCell| {
        if cell.iops.trials == 0 || cell.too_good.is_some() {
            return Weight::Bad;
        }
        Weight::Caution.only_if(differs(cell))
    };
    let shown = shown_figures(figures).map(|(_, figure)| (figure.head, &*figure.name));
    let columns = COLUMNS.into_iter().chain(shown).chain([MODE_COLUMN]);
    let head = columns.map(|(head, measure)| {
        // The doctor's checks write the names of measures with hyphens.
        let measure = measure.replace('_', "-");
        let is_invalid = result.doctor.checks.iter().any(|c| c.invalidates(&measure));
        format!("{head}{}", when(is_invalid, validity::MARK))
    });
    let rows = cells.iter().zip(values);
    let rows = rows.map(|(cell, values)| point_row(cell, shown_figures(figures), values));
    let table = ReportTable::from_rows(head, rows).legend(LEGEND);
    let too_good = |cell: &&BenchCell| Some(Note::bad(&name(&cell.point), cell.too_good.as_ref()?));
    let fallbacks = cells.iter().filter(|c| differs(c) && c.iops.trials > 0);
    let fallbacks =
        fallbacks.map(|cell| Note::bad(&name(&cell.point), label::fallback(&cell.effective_mode)));
    let notes: Vec<Note> = cells.iter().filter_map(too_good).chain(fallbacks).collect();
    let body = Section::new(section.title())
        .weighted(table, cells.iter().map(weight))
        .remark(mode::legend(cells.iter().map(|c| &c.effective_mode.mode)))
        .notes(notes);
    let body = remarks(&cells).into_iter().fold(body, Section::remark);
    let section = section.clone();
    body.plots(move || {
        // The grids belong to the whole result; they are shown once, with the first section.
        let grids = (id == 0).then(|| over_axes::device_grids(result));
        let plot = over_jobs::plot(result, &section, id).into_iter();
        plot.chain(grids.into_iter().flatten()).collect()
    })
}

fn sections_of<'a>(
    result: &'a BenchResult,
    figures: &FigureTable,
    section: &BenchSection,
    id: usize,
) -> [Section<'a>; 3] {
    let title = format!("By kind of request, {}", section.title());
    let kinds = section.cells(result).map(|cell| {
        let BenchCell { point, kinds, .. } = cell;
        (format!("{}, {}", name(point), jobs(point.jobs)), &kinds[..])
    });
    [
        points(result, figures, section, id),
        kinds::section(title, kinds),
        stages_of(result, section, id),
    ]
}

fn stages_of<'a>(result: &'a BenchResult, section: &BenchSection, id: usize) -> Section<'a> {
    let owned_section = section.clone();
    Section::new(format!("Stages in the block layer, {}", section.title()))
        .table(stages::table(&stages::runs(result, section)))
        .notes(stages::stage_notes(result, section))
        .plots(move || over_jobs::stage_plots(result, &owned_section, id))
}

fn scaling_section(result: &BenchResult) -> Section<'static> {
    let curves = result.scaling.iter().flat_map(|curve| {
        let sought = !curve.suspects.is_empty() || curve.collapse.is_some();
        let missing = Some(listed(&curve.not_looked_at)).filter(|text| sought && !text.is_empty());
        std::iter::once(Note::plain("scaling", curve_text(curve)))
            .chain(Note::cautions("suspect", &curve.suspects))
            .chain(Note::plains("not looked at", missing))
    });
    let leads = Note::plains("lead", leads(result));
    Section::new("Scaling").notes(curves).notes(leads)
}

fn unknown_busy_cpus(result: &BenchResult) -> Option<String> {
    let points = count_points(result, |cell| cell.cpu.busy_s.trials == 0)?;
    let reason =
        "the kernel's counters could not be read, or I/Os take so long that jobs ended after them";
    Some(format!("in {points} unknown: {reason}"))
}

/// The number of points whose KIOPS/core divides by the threads' own CPU time; `None` if it is 0.
fn per_thread_cpu(result: &BenchResult) -> Option<String> {
    let points = count_points(result, |cell| cell.per_core == PerCore::Threads)?;
    Some(format!(
        "in {points} for each CPU that the jobs' threads took, without interrupts and \
         kernel threads: other work on the machine hid what was busy beyond them"
    ))
}

/// `3 of 7 points`: how many points with a trial fulfil `fulfils`; `None` if none does.
fn count_points(result: &BenchResult, fulfils: fn(&BenchCell) -> bool) -> Option<String> {
    let cells = result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let total = cells.clone().count();
    let n = cells.filter(|cell| fulfils(cell)).count();
    (n > 0).then(|| format!("{n} of {total} points"))
}

/// The column heads in the order of [`point_row`], each with the name that the doctor's checks have
/// for its measure. That name is empty if no check can invalidate the column.
const COLUMNS: [(&str, &str); 8] = [
    ("interface, method", ""),
    ("jobs", ""),
    ("KIOPS", "iops"),
    ("KIOPS\n[min, max]", "iops"),
    ("mean", "latency"),
    ("p50 / p99", "latency"),
    ("CPU\njobs+helpers", "cpu"),
    ("busy", "cpu"),
];

/// The last column, after those of the figures that the result's table shows.
const MODE_COLUMN: (&str, &str) = ("what it was", "effective-mode");

/// The figures with a column of their own, with their places in a row.
fn shown_figures(figures: &FigureTable) -> impl Iterator<Item = (usize, &Figure)> {
    let figures = figures.figures.iter().enumerate();
    figures.filter(|(_, figure)| !figure.head.is_empty())
}

const LEGEND: &str = "Medians over trials. CPU: seconds per second, CPUs; busy: the whole machine. * more jobs and helper threads than \
     CPUs. \u{2020} a check of the machine invalidates the column. Latency: submission to reaping.";

/// The points of one table. They share pattern, block size, depth, background and the device's
/// settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchSection {
    /// A point with the shared values. Its interface, method and jobs have no meaning.
    shared: BenchPoint,
}

impl BenchSection {
    fn from_point(point: &BenchPoint) -> Self {
        let mut shared = point.clone();
        (shared.engine, shared.method, shared.jobs) = (String::new(), Method::POLL, 0);
        BenchSection { shared }
    }

    pub(crate) fn title(&self) -> String {
        self.title_with(&format!(", depth {}", self.shared.depth))
    }

    /// The title without the depth.
    pub(crate) fn short_title(&self) -> String {
        self.title_with("")
    }

    fn title_with(&self, depth: &str) -> String {
        let BenchPoint { bs, rw, .. } = &self.shared;
        format!("{bs} {rw}{depth}{}", conditions(&self.shared))
    }

    pub(crate) fn covers(&self, point: &BenchPoint) -> bool {
        // A run has thousands of points, and this is called for each of them: nothing is copied.
        shared_axes(&self.shared) == shared_axes(point)
    }

    pub(crate) fn cells<'a>(&self, result: &'a BenchResult) -> impl Iterator<Item = &'a BenchCell> {
        result.cells.iter().filter(|cell| self.covers(&cell.point))
    }
}

/// The values that the points of a section share: all but interface, method and jobs.
fn shared_axes(point: &BenchPoint) -> impl PartialEq {
    let device = (point.hw_queues, point.nr_requests);
    (point.depth, point.bs, &point.rw, &point.background, device)
}

/// A background as a suffix to the words for the measured jobs; empty without a background.
pub(crate) fn background_suffix(background: &str) -> String {
    match background {
        "" => String::new(),
        jobs => format!(", beside {jobs}"),
    }
}

/// The device's settings as a suffix; empty for settings that were left as they were found.
pub(crate) fn device_settings(hw_queues: Option<u32>, nr_requests: Option<u32>) -> String {
    let queues = hw_queues.map(|n| format!(", {}", counted(n, "hardware queue")));
    let requests = nr_requests.map(|n| format!(", nr_requests {n}"));
    queues.unwrap_or_default() + &requests.unwrap_or_default()
}

/// The device's settings and the background, as a suffix.
fn conditions(point: &BenchPoint) -> String {
    device_settings(point.hw_queues, point.nr_requests) + &background_suffix(&point.background)
}

/// The sections of a result, in the order in which they were measured.
pub(crate) fn sections(result: &BenchResult) -> Vec<BenchSection> {
    let points = result.cells.iter().map(|cell| &cell.point);
    distinct(points.map(BenchSection::from_point))
}

pub(crate) fn name(point: &BenchPoint) -> String {
    format!("{} {}", point.engine, point.method)
}

/// `io_uring poll with 2 jobs`.
pub(crate) fn name_with_jobs(point: &BenchPoint) -> String {
    format!("{} with {}", name(point), jobs(point.jobs))
}

fn untried_text(result: &BenchResult) -> impl Iterator<Item = String> {
    let failed = result.cells.iter().filter(|cell| cell.iops.trials == 0);
    failed.map(|cell| {
        let not_run = "it was not run";
        let reason = cell.failures.first().map_or(not_run, String::as_str);
        format!("{}: {reason}", name_with_jobs(&cell.point))
    })
}

/// The row of a cell. [`untried_text`] says why a cell has no trials.
fn point_row<'a>(
    cell: &BenchCell,
    shown: impl Iterator<Item = (usize, &'a Figure)>,
    values: &FigureRow,
) -> Vec<String> {
    let (name, jobs) = (name(&cell.point), cell.point.jobs);
    if cell.iops.trials == 0 {
        let mut row = vec![name, jobs.to_string()];
        row.resize(COLUMNS.len() + shown.count(), DASH.to_owned());
        row.push("no trial".to_owned());
        return row;
    }
    let shown = shown.map(|(at, figure)| match figure.unit {
        FigureUnit::Nanoseconds => {
            let value = values.values[at];
            quantity::or_dash((value.trials > 0).then(|| duration(value.median)))
        }
        _ => quantity::median(&values.values[at], 1.0),
    });
    let (cpu, lat) = (&cell.cpu, &cell.lat_ns);
    let cells = [
        name,
        format!("{jobs}{}", when(cell.oversubscribed, "*")),
        number(cell.iops.median / 1e3),
        range(&cell.iops, 1e-3),
        duration(lat.mean.median),
        two_durations(lat.p50.median, lat.p99.median),
        format!("{:.2}", cpu.job_s.median + cpu.helper_s.median),
        quantity::or_dash((cpu.busy_s.trials > 0).then(|| format!("{:.2}", cpu.busy_s.median))),
    ];
    let mode = mode::label(&cell.effective_mode.mode);
    cells.into_iter().chain(shown).chain([mode]).collect()
}

fn curve_text(curve: &ThroughputCurve) -> String {
    let or_none = |n: Option<u32>| n.map_or("none".to_owned(), |n| format!("{n} jobs"));
    let first @ BenchPoint { bs, rw, depth, .. } = &curve.first;
    let [knee, peak, collapse] = [curve.knee, curve.peak, curve.collapse].map(or_none);
    let (name, suffix) = (name(first), conditions(first));
    let mut text = format!(
        "{name}, {bs} {rw} depth {depth}{suffix}: knee {knee}, peak {peak}, collapse {collapse}"
    );
    if let Some(shape) = &curve.shape {
        let retained = shape.retained * 100.0;
        text += &format!(", {retained:.0} % of the peak kept at the end");
    }
    if let Some(fit) = &curve.usl {
        text += &format!(
            "; scalability law: lambda {} IOPS, sigma {:.4}, kappa {:.6}, residuals {:.1} %",
            count(fit.usl.lambda as u64),
            fit.usl.sigma,
            fit.usl.kappa,
            fit.rms_relative * 100.0
        );
    } else if let Some(reason) = &curve.refused {
        text += &format!("; no scalability law: {reason}");
    }
    text
}

/// The number of points that were not measured and so are missing from the search for knee and
/// collapse.
fn unmeasured_points(result: &BenchResult) -> Option<String> {
    let left_out = result.not_measured.len();
    let total = left_out + result.cells.len();
    let measured =
        "of so many, a coarse grid is measured, and what lies beside knee, peak and collapse";
    (left_out > 0).then(|| format!("{left_out} of {total} points: {measured}"))
}

/// A line for each reason to leave out points: their names, then the reason.
fn left_out_points(result: &BenchResult) -> impl Iterator<Item = String> {
    let reasons = grouped(result.left_out.iter().map(|l| (&l.reason, name(&l.point)))).into_iter();
    reasons.map(|(reason, names)| format!("{}: {reason}", listed(distinct(names))))
}

/// A remark states the share of I/Os that slept if it is below this.
const MAX_SLEPT_SHARE: f64 = 0.95;

/// A line for each point whose own threads slept, and one for each background.
fn remarks(cells: &[&BenchCell]) -> Vec<String> {
    let point_name = |cell: &BenchCell| format!("{}, {}", name(&cell.point), jobs(cell.point.jobs));
    let slept = cells.iter().filter_map(|cell| {
        let sleep = duration(cell.effective_sleep_ns.as_ref()?.median);
        let slept = match &cell.slept_ns {
            Some(slept) => format!(", slept {}", duration(slept.median)),
            None => ", and none slept".to_owned(),
        };
        let misses = cell.miss_rate.map_or(f64::NAN, |rate| rate.median * 100.0);
        let share = cell.slept_share.filter(|s| s.median < MAX_SLEPT_SHARE);
        let slept_share = share.map(|share| {
            let percent = number(share.median * 100.0);
            format!(" of all I/Os, of which {percent} % slept")
        });
        let (at, slept_share) = (point_name(cell), slept_share.unwrap_or_default());
        let missed = format!("miss rate {misses:.2} %{slept_share}");
        Some(format!("{at}: {missed}, effective sleep {sleep}{slept}"))
    });
    let background = cells.iter().filter_map(|cell| {
        let jobs = cell.background_jobs.as_ref()?;
        Some(format!(
            "beside {}: background {} KIOPS, alone {}, on CPUs {}{}; {:.2} CPUs \
             busy while the jobs rest are not counted",
            point_name(cell),
            number(jobs.iops.median / 1e3),
            number(jobs.alone_iops.median / 1e3),
            label::cpu_ranges(&jobs.cpus),
            when(jobs.shares_cpus, ", which jobs have, too"),
            jobs.rest_busy_cpus.median
        ))
    });
    slept.chain(background).collect()
}

fn tuned_methods(result: &BenchResult) -> Option<String> {
    let tuned = result.job.tuned.as_ref()?;
    let method = |t: &TunedMethod| match t.jobs {
        None => format!("{} {}", t.bs, t.method),
        Some(n) => format!("{} with {} {}", t.bs, jobs(n), t.method),
    };
    let methods = joined(tuned.methods.iter().map(method), "; ");
    let other_target = format!(", which tuned another target, {}", tuned.target);
    let other_target = when(tuned.target != result.target.path, &other_target);
    Some(format!("{methods}, by {}{other_target}", tuned.run))
}

/// A grid of throughput: a row for each value of one axis, a column for each of another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThroughputGrid {
    /// The settings that all points of the grid share.
    pub title: String,
    pub axes: [&'static str; 2],
    pub columns: Vec<u32>,
    pub rows: Vec<GridRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GridRow {
    pub value: u32,
    /// KIOPS of each column; `None` if the point was not measured.
    pub kiops: Vec<Option<f64>>,
    /// The number of jobs at which throughput collapses; only known if the columns are jobs.
    pub collapse: Option<u32>,
}

/// An axis of a grid: its name, and the function that reads its value.
type ThroughputAxis = (&'static str, fn(&BenchPoint) -> Option<u32>);

const QUEUES: ThroughputAxis = ("hardware queues", |p| p.hw_queues);
const JOBS: ThroughputAxis = ("jobs", |p| Some(p.jobs));
const REQUESTS: ThroughputAxis = ("nr_requests", |p| p.nr_requests);

/// The grids of a result: hardware queues over jobs, and `nr_requests` over hardware queues. A grid
/// with fewer than two values on an axis is left out.
pub(crate) fn grids(result: &BenchResult) -> Vec<ThroughputGrid> {
    let mut grids = grids_over(result, QUEUES, JOBS, |p| (p.jobs, p.hw_queues) = (0, None));
    grids.extend(grids_over(result, REQUESTS, QUEUES, |p| {
        (p.nr_requests, p.hw_queues) = (None, None);
    }));
    grids
}

fn grids_over(
    result: &BenchResult,
    rows: ThroughputAxis,
    columns: ThroughputAxis,
    clear_axes: fn(&mut BenchPoint),
) -> Vec<ThroughputGrid> {
    let without_axes = |point: &BenchPoint| {
        let mut point = point.clone();
        clear_axes(&mut point);
        point
    };
    let measured_cells = || result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let grid = |common: BenchPoint| {
        let cells = measured_cells().filter(|cell| without_axes(&cell.point) == common);
        grid(result, &cells.collect::<Vec<_>>(), &common, [rows, columns])
    };
    let distinct_points = distinct(measured_cells().map(|cell| without_axes(&cell.point)));
    distinct_points.into_iter().filter_map(grid).collect()
}

fn grid(
    result: &BenchResult,
    cells: &[&BenchCell],
    common: &BenchPoint,
    [(row_axis, row_value), (column_axis, column_value)]: [ThroughputAxis; 2],
) -> Option<ThroughputGrid> {
    let values = |value: fn(&BenchPoint) -> Option<u32>| -> BTreeSet<u32> {
        cells.iter().filter_map(|cell| value(&cell.point)).collect()
    };
    let (row_values, column_values) = (values(row_value), values(column_value));
    let row = |&value: &u32| {
        let row_cells = || cells.iter().filter(|c| row_value(&c.point) == Some(value));
        let kiops_at = |column: &u32| {
            let cell = row_cells().find(|cell| column_value(&cell.point) == Some(*column));
            cell.map(|cell| cell.iops.median / 1e3)
        };
        let first = row_cells().next().filter(|_| column_axis == JOBS.0);
        let curve = first.and_then(|first| {
            let mut point = first.point.clone();
            let mut curves = result.scaling.iter();
            curves.find(|curve| {
                point.jobs = curve.first.jobs;
                curve.first == point
            })
        });
        GridRow {
            value,
            kiops: column_values.iter().map(kiops_at).collect(),
            collapse: curve.and_then(|curve| curve.collapse),
        }
    };
    let settings = device_settings(None, common.nr_requests);
    let BenchPoint { bs, rw, depth, .. } = common;
    (row_values.len() > 1 && column_values.len() > 1).then(|| ThroughputGrid {
        title: format!("{}, {bs} {rw} depth {depth}{settings}", name(common)),
        axes: [row_axis, column_axis],
        rows: row_values.iter().map(row).collect(),
        columns: column_values.iter().copied().collect(),
    })
}

impl ThroughputGrid {
    /// The grid as a table in KIOPS; if the columns are jobs, with the collapse of each row.
    pub(crate) fn table(&self) -> ReportTable {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(at, column)| (column.to_string(), Some(at)));
        let collapse = (self.axes[1] == JOBS.0).then(|| ("collapse".to_owned(), None));
        let rows = self.rows.iter();
        let rows = rows.map(|row| (row.value.to_string().into(), row));
        let field = |row: &&GridRow, column: &Option<usize>| match column {
            Some(at) => row.kiops[*at].map(number),
            None => Some(row.collapse.map_or("none".to_owned(), |n| n.to_string())),
        };
        let corner = format!("{} \\ {}", self.axes[0], self.axes[1]);
        ReportTable::grid(&corner, columns.chain(collapse), rows, field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::ReportField;

    /// A stored result with points of two queues, two numbers of requests and two of jobs; the last
    /// point was not measured.
    fn result() -> BenchResult {
        let text = include_str!("../../q2c/tests/kept/bench-5.json");
        let mut result: BenchResult = serde_json::from_str(text).unwrap();
        let one = result.cells[0].clone();
        let axes =
            [1, 2].map(|queues| [4, 32].map(|requests| [1, 2].map(|n| (queues, requests, n))));
        let cell = |(at, (queues, requests, jobs)): (usize, (u32, u32, u32))| {
            let mut cell = one.clone();
            cell.point.hw_queues = Some(queues);
            cell.point.nr_requests = Some(requests);
            cell.point.jobs = jobs;
            cell.iops.median = 1e3 * (at + 1) as f64;
            cell
        };
        let positions = axes.into_iter().flatten().flatten().enumerate();
        result.cells = positions.map(cell).collect();
        result.cells[7].iops.trials = 0;
        result
    }

    #[test]
    fn grids_are_queues_over_jobs_and_requests_over_queues() {
        let grids = grids(&result());
        let heads = grids.iter().map(|grid| grid.table().head.join(" "));
        let heads: Vec<String> = heads.collect();
        assert_eq!(
            heads,
            [
                "hardware queues \\ jobs 1 2 collapse",
                "hardware queues \\ jobs 1 2 collapse",
                "nr_requests \\ hardware queues 1 2",
                "nr_requests \\ hardware queues 1 2",
            ]
        );
        assert!(
            grids[1].title.ends_with("nr_requests 32"),
            "{}",
            grids[1].title
        );
        let kiops = |grid: &ThroughputGrid| -> Vec<Vec<Option<f64>>> {
            grid.rows.iter().map(|row| row.kiops.clone()).collect()
        };
        // With 32 requests: one queue has the cells 3 and 4, two have 7 and none.
        assert_eq!(
            kiops(&grids[1]),
            [[Some(3.0), Some(4.0)], [Some(7.0), None]]
        );
        let fields = &grids[1].table().rows[1];
        assert_eq!(fields[2..], ["-", "none"].map(ReportField::from));
        // Two jobs: 4 requests gave 2 and 6, 32 gave 4 and none.
        assert_eq!(
            kiops(&grids[3]),
            [[Some(2.0), Some(6.0)], [Some(4.0), None]]
        );
    }
}
