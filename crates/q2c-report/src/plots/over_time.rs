//! Plots over time: the cells of a block size over one trial, late time over its run with the parts
//! of U2C and each miss, the methods of `q2c poll tune-kernel`, and trials whose background changes
//! in phases.

use super::NS_TO_US;
use super::tune::CellLine;
use crate::bench::name;
use crate::kernel_tune::method_name;
use crate::late_time;
use crate::phrase::grouped;
use crate::plot::{Plot, PlotAxis, PlotMark, PlotSeries, Quantity, Style, View, styles, with_data};
use crate::quantity::seconds;
use q2c_model::stats::Interval;
use q2c_result::bench::{BenchCell, BenchResult, TrialSlice};
use q2c_result::kernel_tune::{KernelMethod, KernelTuneResult};
use q2c_result::kernel_watch::KernelInterval;
use q2c_result::late::{LateRun, LateTime, Miss};
use q2c_result::tune;

const QUANTITIES: [Quantity<tune::Series, Vec<Option<f64>>>; 4] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |s| s.rates.iops.clone()),
    Quantity::new("CPU", "CPU, % of one", 1.0, |s| s.rates.cpu_pct.clone()),
    Quantity::new("mean latency", "mean latency, us", NS_TO_US, |s| {
        without_gaps(&s.mean_ns)
    }),
    Quantity::new("p99 latency", "p99 latency, us", NS_TO_US, |s| {
        without_gaps(&s.p99_ns)
    }),
];

/// IOPS, CPU or latency of every cell over time, with the miss rate below.
pub(crate) fn throughput(lines: &[CellLine<'_>]) -> Plot {
    let view = |quantity: &Quantity<tune::Series, Vec<Option<f64>>>| {
        let upper = measured(lines).map(|line| {
            let figures = (quantity.value)(&line.cell.series);
            over_time(line, &figures, quantity.scale, quantity.unit())
        });
        view(quantity.label, quantity.axis).series(upper.chain(sleeping(lines).map(miss_rate)))
    };
    Plot::new("over-time", "Throughput and miss rate over time", 460)
        .note(
            "The trial with the median IOPS of each cell. A miss is an I/O that was complete before \
             its sleep ended; only sleeping cells can miss.",
        )
        .views(QUANTITIES.iter().map(view))
}

/// Sleep asked and time slept of each sleeping cell over time, with the miss rate below.
pub(crate) fn sleep(lines: &[CellLine<'_>]) -> Plot {
    let series_of = |line: &CellLine<'_>| {
        let series = &line.cell.series;
        let slept = over_time(line, &without_gaps(&series.slept_ns), NS_TO_US, "us slept");
        [
            over_time(line, &series.rates.effective_sleep_ns, NS_TO_US, "us asked"),
            slept.dash("dot").unlisted(),
            miss_rate(line),
        ]
    };
    Plot::new("sleep-over-time", "Sleep and miss rate over time", 440)
        .note(
            "Solid: effective sleep (asked, over all I/Os). Dotted: slept, from call to return, over those that \
             slept. Where every I/O slept, the wake-up delay lies between them.",
        )
        .view(view("sleep", "sleep, us").series(sleeping(lines).flat_map(series_of)))
}

fn view(label: &'static str, upper: &str) -> View {
    View::over_time(label, PlotAxis::new(upper)).with_lower(PlotAxis::from_zero("miss rate, %"))
}

fn measured<'a>(lines: &'a [CellLine<'a>]) -> impl Iterator<Item = &'a CellLine<'a>> {
    lines.iter().filter(|line| !line.cell.series.t_s.is_empty())
}

fn sleeping<'a>(lines: &'a [CellLine<'a>]) -> impl Iterator<Item = &'a CellLine<'a>> {
    measured(lines).filter(|line| line.cell.sleeping)
}

/// A line through a cell's figures over time, with a gap at each missing reading.
fn over_time(line: &CellLine<'_>, figures: &[Option<f64>], scale: f64, unit: &str) -> PlotSeries {
    let figures = figures.iter().map(|figure| Some((*figure)? * scale));
    line.series(line.cell.series.t_s.iter().copied().zip(figures), unit)
}

fn miss_rate(line: &CellLine<'_>) -> PlotSeries {
    let rates = &line.cell.series.rates.miss_rate;
    over_time(line, rates, 100.0, "% missed").lower().unlisted()
}

fn without_gaps(figures: &[f64]) -> Vec<Option<f64>> {
    figures.iter().copied().map(Some).collect()
}

/// Colours of the parts, in the order of time. Device, oversleep and wake-up must differ clearly.
const PART_COLOURS: [&str; 6] = ["@a", "@poll", "@b", "@chosen", "@f", "@c"];

pub(crate) fn late_time(lines: &[CellLine<'_>]) -> Vec<Plot> {
    let captured = lines.iter().filter_map(|line| match &line.cell.late {
        Some(late @ LateTime::Seen(run)) => Some((line, late, run)),
        _ => None,
    });
    let plots = captured.enumerate().map(|(n, (line, late, run))| {
        let view = View::new("parts", PlotAxis::from_zero("time, s"), PlotAxis::from_zero("U2C, us"));
        let view = view.with_lower(PlotAxis::from_zero("lateness, us"));
        Plot::new(format!("late-time-{n}"), "Late time", 460)
            .note(format!(
                "{}, in a run of its own with the block layer captured. Above: the mean parts of U2C by interval, \
                 stacked. Where the device rises, I/Os were late by the device; where the oversleep rises, by the \
                 sleep that the rule asked for; where the wake-up rises, by the timer, the CPU or the scheduler. \
                 Below: the misses. {}.",
                line.name,
                late_time::sentences(late).join("; ")
            ))
            .view(view.series(part_areas(run)).series(miss_dots(run)))
    });
    plots.collect()
}

/// The mean parts of U2C by interval. An interval without I/Os is a gap.
fn part_areas(run: &LateRun) -> impl Iterator<Item = PlotSeries> {
    let coloured = late_time::PART_NAMES.iter().zip(PART_COLOURS).enumerate();
    coloured.map(move |(n, (name, colour))| {
        let part = run.intervals.iter().map(|interval| {
            let parts = interval.numbers.parts;
            let part = parts.map(|parts| parts.in_order()[n] * NS_TO_US);
            (interval.end_s, part)
        });
        PlotSeries::area(*name, part).pen(colour, 1.0).unit("us")
    })
}

/// The misses as points: those that had the device to themselves, and those with other requests
/// beside them.
fn miss_dots(run: &LateRun) -> impl Iterator<Item = PlotSeries> {
    let (with_others, alone): (Vec<&Miss>, Vec<&Miss>) =
        run.misses_kept.iter().partition(|miss| miss.others > 0);
    let lateness = |miss: &Miss| {
        let late_ns = miss.oversleep_ns + miss.wakeup_ns;
        (miss.t_s, late_ns as f64 * NS_TO_US)
    };
    let dots = move |name, colour, misses: Vec<&Miss>| {
        let dots = PlotSeries::dots(name, misses.into_iter().map(lateness)).lower();
        dots.colour(colour).size(4.0).unit("us").if_any()
    };
    let alone = dots("miss, alone on the device", "@d", alone);
    let with_others = dots("miss, beside others", "@e", with_others);
    alone.into_iter().chain(with_others)
}

const KERNEL_COLOURS: [&str; 4] = ["@poll", "@a", "@chosen", "@b"];

const KERNEL_QUANTITIES: [Quantity<KernelInterval, Option<f64>>; 4] = [
    Quantity::new("miss rate", "missed, %", 100.0, |i| i.rates.miss_rate),
    Quantity::new("effective sleep", "effective sleep, us", 1e-3, |i| {
        i.rates.effective_sleep_ns
    }),
    Quantity::new("CPU", "CPU, % of one", 1.0, |i| i.rates.cpu_pct),
    Quantity::new("IOPS", "KIOPS", 1e-3, |i| i.rates.iops),
];

/// The plots of a run; none if no trial has several intervals, because one shows no change.
pub(crate) fn kernel_plots(result: &KernelTuneResult) -> Vec<Plot> {
    let views = KERNEL_QUANTITIES.iter();
    let views = views.map(|quantity| kernel_view(&result.methods, quantity));
    let plot = Plot::new("kernel-over-time", "Over time, in the kernel", 380)
        .note("The trial with the median IOPS of each method, as the kernel's probe counted it.")
        .views(views.filter(|view| !view.series.is_empty()));
    with_data([plot], "")
}

fn kernel_view(methods: &[KernelMethod], quantity: &Quantity<KernelInterval, Option<f64>>) -> View {
    let series = |(method, colour): (&KernelMethod, &&'static str)| {
        let figure = |interval| Some((quantity.value)(interval)? * quantity.scale);
        let points = method.series.iter();
        let points = points.map(|interval| (interval.end_s, figure(interval)));
        let with_figure = points.clone().filter(|(_, figure)| figure.is_some());
        let line = PlotSeries::line(method_name(&method.method), points).colour(*colour);
        (with_figure.count() > 1).then_some(line)
    };
    let coloured = methods.iter().zip(KERNEL_COLOURS.iter().cycle());
    let view = quantity.view(PlotAxis::over_time("time, s"));
    view.series(coloured.filter_map(series))
}

/// One trial of a point, through all its phases.
struct PlottedTrial<'a> {
    name: String,
    /// The name of each phase's background, and the phase's slices.
    phases: Vec<(&'a str, &'a [TrialSlice])>,
}

const PHASE_QUANTITIES: [Quantity<TrialSlice>; 4] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |s| s.iops),
    Quantity::new("background", "KIOPS of the background", 1e-3, |s| {
        s.background_iops
    }),
    Quantity::new("CPU", "CPUs of the jobs' threads", 1.0, |s| s.job_cpus),
    Quantity::new("effective sleep", "effective sleep, us", 1e-3, |s| {
        s.effective_sleep_ns.unwrap_or(f64::NAN)
    }),
];

/// A plot for each block size, pattern and depth whose trials have phases.
pub(crate) fn phase_plots(result: &BenchResult) -> Vec<Plot> {
    let cells = result.cells.iter().filter(|cell| !cell.courses.is_empty());
    let groups = cells.map(|cell| ((cell.point.bs, &*cell.point.rw, cell.point.depth), cell));
    let plot = |(n, ((bs, rw, depth), cells)): (usize, ((_, &str, _), Vec<&BenchCell>))| {
        let trials = shown_trials(&cells);
        let slice = trials.first().and_then(|trial| trial.slices().next());
        let length = slice.map_or_else(String::new, |slice| seconds(slice.seconds));
        let note = format!(
            "{bs} {rw}, depth {depth}: the trial with the median IOPS of each point, in slices of \
             {length}. A line stands where the background changes. Open points do not count: they \
             are the warm-up of a phase, or come after its counted part."
        );
        let plot = Plot::new(format!("phases-{n}"), "Through the phases of a trial", 460);
        plot.note(note).views(phase_views(&trials))
    };
    grouped(groups).into_iter().enumerate().map(plot).collect()
}

/// The shown trial of each point. A point has a cell for each phase; these cells differ only in the
/// background and follow each other.
fn shown_trials<'a>(cells: &[&'a BenchCell]) -> Vec<PlottedTrial<'a>> {
    let without_background = |cell: &BenchCell| {
        let mut point = cell.point.clone();
        point.background.clear();
        point
    };
    let points = cells.chunk_by(|a, b| without_background(a) == without_background(b));
    points.filter_map(shown_trial).collect()
}

fn shown_trial<'a>(cells: &[&'a BenchCell]) -> Option<PlottedTrial<'a>> {
    let iops = |trial: usize| -> Option<f64> {
        let means = cells.iter().map(|cell| {
            let counted = cell.courses.get(trial)?.iter().filter(|s| s.counted);
            let iops: Vec<f64> = counted.map(|slice| slice.iops).collect();
            Some(iops.iter().sum::<f64>() / iops.len().max(1) as f64)
        });
        means.sum()
    };
    let iops: Vec<f64> = (0..).map_while(iops).collect();
    let median = Interval::from_samples(&iops).median;
    let distance = |n: &usize| (iops[*n] - median).abs();
    let trial = (0..iops.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let point = &cells.first()?.point;
    let phase = |cell: &&'a BenchCell| (cell.point.background.as_str(), &*cell.courses[trial]);
    Some(PlottedTrial {
        name: format!("{}, jobs: {}", name(point), point.jobs),
        phases: cells.iter().map(phase).collect(),
    })
}

/// A view for each quantity that is above 0 somewhere, with the misses below if there can be any.
fn phase_views(trials: &[PlottedTrial<'_>]) -> Vec<View> {
    let styles = styles(trials.len());
    let styled = || trials.iter().zip(&styles);
    let misses = |(trial, style): (&PlottedTrial<'_>, &Style)| {
        let rate = |slice: &TrialSlice| slice.miss_rate.map_or(f64::NAN, |rate| rate * 100.0);
        let may_miss = trial.slices().any(|slice| slice.miss_rate.is_some());
        may_miss.then(|| trial.series(style, "% missed", rate).lower().unlisted())
    };
    let lower: Vec<PlotSeries> = styled().filter_map(misses).collect();
    let view = |quantity: &Quantity<TrialSlice>| {
        let figure = |slice: &TrialSlice| quantity.figure(slice);
        let mut view = quantity.view(PlotAxis::over_time("time, s"));
        if !lower.is_empty() {
            view = view.with_lower(PlotAxis::from_zero("miss rate, %"));
        }
        view.series(styled().map(|(trial, style)| trial.series(style, quantity.unit(), figure)))
            .series(lower.iter().cloned())
            .marks(trials.first().map(PlottedTrial::marks).unwrap_or_default())
    };
    let slices = || trials.iter().flat_map(PlottedTrial::slices);
    let shown = PHASE_QUANTITIES.iter();
    let shown = shown.filter(|quantity| slices().any(|slice| quantity.figure(slice) > 0.0));
    shown.map(view).collect()
}

impl PlottedTrial<'_> {
    fn slices(&self) -> impl Iterator<Item = &TrialSlice> {
        self.phases.iter().flat_map(|(_, slices)| *slices)
    }

    /// A line through the middles of the slices; those that do not count have open symbols.
    fn series(&self, style: &Style, unit: &str, get: impl Fn(&TrialSlice) -> f64) -> PlotSeries {
        let symbols = ["circle-open", "circle"];
        let points = self.slices();
        let points = points.map(|slice| (slice.begin_s + slice.seconds / 2.0, get(slice)));
        let line = PlotSeries::dotted_line(&self.name, points).grouped();
        let slices = self.slices();
        let line = line.style(style).size(7.0).unit(unit);
        line.symbols(slices.map(|slice| symbols[usize::from(slice.counted)]))
    }

    fn marks(&self) -> Vec<PlotMark> {
        let begin = |(n, (background, slices)): (usize, &(&str, &[TrialSlice]))| {
            let name = Some(*background).filter(|name| !name.is_empty());
            let (x, name, is_upright) = (slices.first()?.begin_s, name.unwrap_or("alone"), false);
            Some(PlotMark::phase_start(x, name, n == 0, is_upright))
        };
        self.phases.iter().enumerate().filter_map(begin).collect()
    }
}
