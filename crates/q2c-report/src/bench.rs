//! The report of `q2c bench`.

use crate::conclusion::{caveats, conclusions};
use crate::course::jobs;
use crate::document::{Document, Reported, Section};
use crate::lead::leads;
use crate::mode::{self, ModeMatch};
use crate::phrase::{counted, distinct, grouped, joined, listed, when};
use crate::plots::{over_axes, over_jobs, phases, stages_over_jobs};
use crate::quantity::{self, NOTHING, count, duration, number, range, seconds};
use crate::said::{Note, ReportTable, Weight};
use crate::{cpu_trials, heat, invalid, label, sim_machine, stages};
use q2c_policy::Method;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult, ThroughputCurve, TunedMethod};
use q2c_result::tune::PerCore;

impl Reported for BenchResult {
    fn document(&self) -> Document<'_> {
        let about = format!(
            "{}, shuffled · CPUs {} · took {}",
            trials(self),
            self.job.cpu_order,
            seconds(self.provenance.seconds)
        );
        let mut document = Document::new("bench", &self.version, &self.schema)
            .titled(sim_machine::title(&self.target, &self.machine), about)
            .run(self.job.seed, self.provenance.started_unix_s)
            .complete(self.complete)
            .answers(conclusions(self))
            .notices(invalid::checks(&self.doctor).map(invalid::said))
            .notices(cautions(self))
            .section(Section::new("").plots(|| over_axes::plots(self)));
        // The caveats hold for all conclusions; they are shown once, with the first.
        if let Some(first) = document.answers.first_mut() {
            first.caveats = caveats(self);
        }
        let sections = sections(self);
        let sections = sections.iter().enumerate();
        let grids = heat::grids(self).into_iter();
        let floor = format!(
            "{:.2} CPUs were busy at rest; {:.0} ns CPU per I/O on an engine that does nothing, {:.0} with nothing kept",
            self.job.idle_busy_cpus, self.harness_floor_ns, self.harness_bare_ns
        );
        let measured = Section::new("How it was measured").notes([Note::plain("harness", floor)]);
        document
            .sections(sections.flat_map(|(id, s)| [points(self, s, id), stages_of(self, s, id)]))
            .sections(grids.map(|g| Section::new(format!("KIOPS, {}", g.title)).table(g.table())))
            .section(scaling(self))
            .section(Section::new("Phases").plots(|| phases::plots(self)))
            .section(measured.folded())
            .warnings(&self.warnings)
            .target(&self.target)
            .machine(&self.machine)
            .checks(&self.doctor)
    }
}

/// Notes that change how the numbers are to be read, and notes on points without a trial.
fn cautions(result: &BenchResult) -> Vec<Note> {
    let mut said: Vec<Note> = Note::each(Weight::Bad, "no trial", failed(result)).collect();
    said.extend(Note::cautions("KIOPS/core", by_threads(result)));
    said.extend(Note::cautions("busy", unseen(result)));
    said.extend(Note::plains("not measured", not_measured(result)));
    said.extend(Note::plains("left out", left_out(result)));
    said.extend(Note::plains("tuned", tuned(result)));
    let tried = cpu_trials::words(&result.target);
    said.extend(Note::plains("tried from", tried));
    said
}

fn points<'a>(result: &'a BenchResult, section: &BenchSection, id: usize) -> Section<'a> {
    let cells: Vec<&BenchCell> = section.cells(result).collect();
    let differs = |cell: &BenchCell| mode::kept(&cell.effective_mode) == ModeMatch::Differs;
    let weight = |cell: &&BenchCell| {
        if cell.iops.trials == 0 || cell.too_good.is_some() {
            return Weight::Bad;
        }
        Weight::Caution.only_when(differs(cell))
    };
    let head = COLUMNS.map(|(head, measure)| {
        let is_invalid = invalid::measure(&result.doctor, measure);
        format!("{head}{}", when(is_invalid, invalid::MARK))
    });
    let table = ReportTable::from_rows(head, cells.iter().map(|cell| row(cell))).legend(LEGEND);
    let too_good = |cell: &&BenchCell| Some(Note::bad(&name(&cell.point), cell.too_good.as_ref()?));
    let otherwise = cells.iter().filter(|c| differs(c) && c.iops.trials > 0);
    let otherwise =
        otherwise.map(|cell| Note::bad(&name(&cell.point), label::fallback(&cell.effective_mode)));
    let qualified: Vec<Note> = cells.iter().filter_map(too_good).chain(otherwise).collect();
    let shown = Section::new(section.title())
        .marked(table, cells.iter().map(weight))
        .remark(mode::legend(cells.iter().map(|c| &c.effective_mode.was)))
        .notes(qualified);
    let shown = remarks(&cells).into_iter().fold(shown, Section::remark);
    let section = section.clone();
    shown.plots(move || {
        // The grids belong to the whole result; they are shown once, with the first section.
        let grids = (id == 0).then(|| over_axes::device_grids(result));
        let plot = over_jobs::plot(result, &section, id).into_iter();
        plot.chain(grids.into_iter().flatten()).collect()
    })
}

fn stages_of<'a>(result: &'a BenchResult, section: &BenchSection, id: usize) -> Section<'a> {
    let owned_section = section.clone();
    Section::new(format!("Stages in the block layer, {}", section.title()))
        .table(stages::table(&stages::seen(result, section)))
        .notes(stages::sentences(result, section))
        .plots(move || stages_over_jobs::plots(result, &owned_section, id))
}

fn scaling(result: &BenchResult) -> Section<'static> {
    let curves = result.scaling.iter().flat_map(|line| {
        let asked = !line.suspects.is_empty() || line.collapse.is_some();
        let missing = Some(listed(&line.not_looked_at)).filter(|text| asked && !text.is_empty());
        std::iter::once(Note::plain("scaling", curve(line)))
            .chain(Note::cautions("suspect", &line.suspects))
            .chain(Note::plains("not looked at", missing))
    });
    let leads = Note::plains("lead", leads(result));
    Section::new("Scaling").notes(curves).notes(leads)
}

fn unseen(result: &BenchResult) -> Option<String> {
    let points = of_all(result, |cell| cell.cpu.busy_s.trials == 0)?;
    let reason =
        "the kernel's counters could not be read, or I/Os take so long that jobs ended after them";
    Some(format!("in {points} unknown: {reason}"))
}

/// The number of points whose KIOPS/core divides by the threads' own CPU time; `None` if it is 0.
fn by_threads(result: &BenchResult) -> Option<String> {
    let points = of_all(result, |cell| cell.per_core == PerCore::Threads)?;
    Some(format!(
        "in {points} for each CPU that the jobs' threads took, without interrupts and \
         kernel threads: other work on the machine hid what was busy beyond them"
    ))
}

/// `3 of 7 points`: how many points with a trial fulfil `is_so`; `None` if none does.
fn of_all(result: &BenchResult, is_so: fn(&BenchCell) -> bool) -> Option<String> {
    let cells = result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let total = cells.clone().count();
    let some = cells.filter(|cell| is_so(cell)).count();
    (some > 0).then(|| format!("{some} of {total} points"))
}

/// The column heads in the order of [`row`], each with the doctor's name of its measure; that name
/// is empty for a column without one.
const COLUMNS: [(&str, &str); 10] = [
    ("interface, method", ""),
    ("jobs", ""),
    ("KIOPS", "iops"),
    ("KIOPS\n[min, max]", "iops"),
    ("mean", "latency"),
    ("p50 / p99", "latency"),
    ("CPU\njobs+helpers", "cpu"),
    ("busy", "cpu"),
    ("KIOPS/core", "kiops-per-core"),
    ("what it was", "effective-mode"),
];

const LEGEND: &str = "Medians over trials. CPU: seconds per second, CPUs; busy: the whole machine. * more jobs and helper threads than \
     CPUs. \u{2020} a check of the machine invalidates the column. Latency: submission to reaping.";

/// The points of one table. They share pattern, block size, depth, background and the device's
/// settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchSection {
    /// What the points share; interface, method and jobs have no meaning here.
    common: BenchPoint,
}

impl BenchSection {
    fn from_point(point: &BenchPoint) -> Self {
        let mut common = point.clone();
        (common.engine, common.method, common.jobs) = (String::new(), Method::POLL, 0);
        BenchSection { common }
    }

    pub(crate) fn title(&self) -> String {
        self.title_with(&format!(", depth {}", self.common.depth))
    }

    /// The title without the depth.
    pub(crate) fn place(&self) -> String {
        self.title_with("")
    }

    fn title_with(&self, depth: &str) -> String {
        let BenchPoint { bs, rw, .. } = &self.common;
        format!("{bs} {rw}{depth}{}", surroundings(&self.common))
    }

    pub(crate) fn holds(&self, point: &BenchPoint) -> bool {
        // A run has thousands of points, and this is called for each of them: nothing is copied.
        shared(&self.common) == shared(point)
    }

    pub(crate) fn cells<'a>(&self, result: &'a BenchResult) -> impl Iterator<Item = &'a BenchCell> {
        result.cells.iter().filter(|cell| self.holds(&cell.point))
    }
}

/// What the points of a section share: all but interface, method and jobs.
fn shared(point: &BenchPoint) -> impl PartialEq {
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
pub(crate) fn settings(hw_queues: Option<u32>, nr_requests: Option<u32>) -> String {
    let queues = hw_queues.map(|n| format!(", {}", counted(n, "hardware queue")));
    let requests = nr_requests.map(|n| format!(", nr_requests {n}"));
    queues.unwrap_or_default() + &requests.unwrap_or_default()
}

/// The device's settings and the background, as a suffix.
fn surroundings(point: &BenchPoint) -> String {
    settings(point.hw_queues, point.nr_requests) + &background_suffix(&point.background)
}

fn trials(result: &BenchResult) -> String {
    let run = result.cells.iter().map(|cell| cell.iops.trials);
    let trials = quantity::trials(result.job.trials, run);
    format!("{trials} of {} s", result.job.trial_seconds)
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

fn failed(result: &BenchResult) -> impl Iterator<Item = String> {
    let failed = result.cells.iter().filter(|cell| cell.iops.trials == 0);
    failed.map(|cell| {
        let not_run = "it was not run";
        let reason = cell.failures.first().map_or(not_run, String::as_str);
        format!("{}: {reason}", name_with_jobs(&cell.point))
    })
}

/// Two durations; a unit that both share is written once.
fn pair(a: f64, b: f64) -> String {
    let (a, b) = (duration(a), duration(b));
    match (a.split_once(' '), b.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} / {b}"),
        _ => format!("{a} / {b}"),
    }
}

/// The row of a cell. [`failed`] says why a cell has no trials.
fn row(cell: &BenchCell) -> [String; 10] {
    let (name, jobs) = (name(&cell.point), cell.point.jobs);
    if cell.iops.trials == 0 {
        let mut row: [String; 10] = std::array::from_fn(|_| NOTHING.to_owned());
        (row[0], row[1], row[9]) = (name, jobs.to_string(), "no trial".to_owned());
        return row;
    }
    let (cpu, lat) = (&cell.cpu, &cell.lat_ns);
    [
        name,
        format!("{jobs}{}", when(cell.oversubscribed, "*")),
        number(cell.iops.median / 1e3),
        range(&cell.iops, 1e-3),
        duration(lat.mean.median),
        pair(lat.p50.median, lat.p99.median),
        format!("{:.2}", cpu.job_s.median + cpu.helper_s.median),
        quantity::or_nothing((cpu.busy_s.trials > 0).then(|| format!("{:.2}", cpu.busy_s.median))),
        quantity::median(&cell.kiops_per_core, 1.0),
        mode::words(&cell.effective_mode.was),
    ]
}

fn curve(curve: &ThroughputCurve) -> String {
    let at = |n: Option<u32>| n.map_or("none".to_owned(), |n| format!("{n} jobs"));
    let first @ BenchPoint { bs, rw, depth, .. } = &curve.first;
    let [knee, peak, collapse] = [curve.knee, curve.peak, curve.collapse].map(at);
    let (name, around) = (name(first), surroundings(first));
    let mut text = format!(
        "{name}, {bs} {rw} depth {depth}{around}: knee {knee}, peak {peak}, collapse {collapse}"
    );
    if let Some(shape) = &curve.shape {
        let kept = shape.retained * 100.0;
        text += &format!(", {kept:.0} % of the peak kept at the end");
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
fn not_measured(result: &BenchResult) -> Option<String> {
    let left = result.not_measured.len();
    let total = left + result.cells.len();
    let measured =
        "of so many, a coarse grid is measured, and what lies beside knee, peak and collapse";
    (left > 0).then(|| format!("{left} of {total} points: {measured}"))
}

/// A line for each reason to leave out points: their names, then the reason.
fn left_out(result: &BenchResult) -> impl Iterator<Item = String> {
    let reasons = grouped(result.left_out.iter().map(|l| (&l.reason, name(&l.point)))).into_iter();
    reasons.map(|(reason, names)| format!("{}: {reason}", listed(distinct(names))))
}

/// The share of I/Os that slept below which a remark states it.
const NEARLY_ALL: f64 = 0.95;

/// A line for each point whose own threads slept, and one for each background.
fn remarks(cells: &[&BenchCell]) -> Vec<String> {
    let at = |cell: &BenchCell| format!("{}, {}", name(&cell.point), jobs(cell.point.jobs));
    let slept = cells.iter().filter_map(|cell| {
        let asked = duration(cell.effective_sleep_ns.as_ref()?.median);
        let slept = match &cell.slept_ns {
            Some(slept) => format!(", slept {}", duration(slept.median)),
            None => ", and none slept".to_owned(),
        };
        let misses = cell.miss_rate.map_or(f64::NAN, |rate| rate.median * 100.0);
        let share = cell.slept_share.filter(|share| share.median < NEARLY_ALL);
        let slept_share = share.map(|share| {
            let percent = number(share.median * 100.0);
            format!(" of all I/Os, of which {percent} % slept")
        });
        let (at, slept_share) = (at(cell), slept_share.unwrap_or_default());
        let missed = format!("miss rate {misses:.2} %{slept_share}");
        Some(format!("{at}: {missed}, effective sleep {asked}{slept}"))
    });
    let background = cells.iter().filter_map(|cell| {
        let beside = cell.background_jobs.as_ref()?;
        Some(format!(
            "beside {}: background {} KIOPS, alone {}, on CPUs {}{}; {:.2} CPUs \
             busy while the jobs rest are not counted",
            at(cell),
            number(beside.iops.median / 1e3),
            number(beside.alone_iops.median / 1e3),
            label::ranges(&beside.cpus),
            when(beside.shares_cpus, ", which jobs have, too"),
            beside.rest_busy_cpus.median
        ))
    });
    slept.chain(background).collect()
}

fn tuned(result: &BenchResult) -> Option<String> {
    let tuned = result.job.tuned.as_ref()?;
    let label = |t: &TunedMethod| match t.jobs {
        None => format!("{} {}", t.bs, t.method),
        Some(n) => format!("{} with {} {}", t.bs, jobs(n), t.method),
    };
    let methods = joined(tuned.methods.iter().map(label), "; ");
    let other = format!(", which tuned another target, {}", tuned.target);
    let other = when(tuned.target != result.target.path, &other);
    Some(format!("{methods}, by {}{other}", tuned.run))
}
