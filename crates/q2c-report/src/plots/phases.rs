//! Throughput over time of trials whose background changes in phases, with the phases marked.

use crate::bench::name;
use crate::phrase::grouped;
use crate::plot::{Plot, PlotAxis, PlotMark, PlotSeries, Quantity, Style, View, styles};
use crate::quantity::seconds;
use q2c_model::stats::Interval;
use q2c_result::bench::{BenchCell, BenchResult, Slice};

/// One trial of a point, through all its phases.
struct TrialCourse<'a> {
    name: String,
    /// The name of each phase's background, and the phase's slices.
    phases: Vec<(&'a str, &'a [Slice])>,
}

const QUANTITIES: [Quantity<Slice>; 4] = [
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
pub(crate) fn plots(result: &BenchResult) -> Vec<Plot> {
    let cells = result.cells.iter().filter(|cell| !cell.courses.is_empty());
    let places = cells.map(|cell| ((cell.point.bs, &*cell.point.rw, cell.point.depth), cell));
    let plot = |(n, ((bs, rw, depth), cells)): (usize, ((_, &str, _), Vec<&BenchCell>))| {
        let courses = courses(&cells);
        let slice = courses.first().and_then(|course| course.slices().next());
        let length = slice.map_or_else(String::new, |slice| seconds(slice.seconds));
        let note = format!(
            "{bs} {rw}, depth {depth}: the trial with the median IOPS of each point, in slices of \
             {length}. A line stands where the background changes. Open points do not count: they \
             are the warm-up of a phase, or come after its counted part."
        );
        let plot = Plot::new(format!("phases-{n}"), "Through the phases of a trial", 460);
        plot.note(note).views(views(&courses))
    };
    grouped(places).into_iter().enumerate().map(plot).collect()
}

/// The courses of all points of a place. A point has a cell for each phase; these differ only in
/// the background and follow each other.
fn courses<'a>(cells: &[&'a BenchCell]) -> Vec<TrialCourse<'a>> {
    let without = |cell: &BenchCell| {
        let mut point = cell.point.clone();
        point.background.clear();
        point
    };
    let points = cells.chunk_by(|a, b| without(a) == without(b));
    points.filter_map(course).collect()
}

fn course<'a>(cells: &[&'a BenchCell]) -> Option<TrialCourse<'a>> {
    let iops = |trial: usize| -> Option<f64> {
        let means = cells.iter().map(|cell| {
            let counted = cell.courses.get(trial)?.iter().filter(|s| s.counted);
            let iops: Vec<f64> = counted.map(|slice| slice.iops).collect();
            Some(iops.iter().sum::<f64>() / iops.len().max(1) as f64)
        });
        means.sum()
    };
    let trials: Vec<f64> = (0..).map_while(iops).collect();
    let median = Interval::from_samples(&trials).median;
    let off = |n: &usize| (trials[*n] - median).abs();
    let trial = (0..trials.len()).min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let point = &cells.first()?.point;
    let phase = |cell: &&'a BenchCell| (cell.point.background.as_str(), &*cell.courses[trial]);
    Some(TrialCourse {
        name: format!("{}, jobs: {}", name(point), point.jobs),
        phases: cells.iter().map(phase).collect(),
    })
}

/// A view for each quantity that is above 0 somewhere, with the misses below if there can be any.
fn views(courses: &[TrialCourse<'_>]) -> Vec<View> {
    let styles = styles(courses.len());
    let styled = || courses.iter().zip(&styles);
    let misses = |(course, style): (&TrialCourse<'_>, &Style)| {
        let rate = |slice: &Slice| slice.miss_rate.map_or(f64::NAN, |rate| rate * 100.0);
        let may_miss = course.slices().any(|slice| slice.miss_rate.is_some());
        may_miss.then(|| course.series(style, "% missed", rate).below().unlisted())
    };
    let lower: Vec<PlotSeries> = styled().filter_map(misses).collect();
    let view = |quantity: &Quantity<Slice>| {
        let figure = |slice: &Slice| quantity.figure(slice);
        let mut view = quantity.view(PlotAxis::over_time("time, s"));
        if !lower.is_empty() {
            view = view.above(PlotAxis::from_zero("miss rate, %"));
        }
        view.series(styled().map(|(course, style)| course.series(style, quantity.unit(), figure)))
            .series(lower.iter().cloned())
            .marks(courses.first().map(TrialCourse::marks).unwrap_or_default())
    };
    let slices = || courses.iter().flat_map(TrialCourse::slices);
    let shown = QUANTITIES.iter();
    let shown = shown.filter(|quantity| slices().any(|slice| quantity.figure(slice) > 0.0));
    shown.map(view).collect()
}

impl TrialCourse<'_> {
    fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.phases.iter().flat_map(|(_, slices)| *slices)
    }

    /// A line through the middles of the slices; those that do not count have open symbols.
    fn series(&self, style: &Style, unit: &str, get: impl Fn(&Slice) -> f64) -> PlotSeries {
        let symbols = ["circle-open", "circle"];
        let points = self.slices();
        let points = points.map(|slice| (slice.begin_s + slice.seconds / 2.0, get(slice)));
        let line = PlotSeries::dotted_line(&self.name, points).grouped();
        let slices = self.slices();
        let line = line.style(style).size(7.0).unit(unit);
        line.symbols(slices.map(|slice| symbols[usize::from(slice.counted)]))
    }

    fn marks(&self) -> Vec<PlotMark> {
        let begin = |(n, (background, slices)): (usize, &(&str, &[Slice]))| {
            let name = Some(*background).filter(|name| !name.is_empty());
            let (x, name) = (slices.first()?.begin_s, name.unwrap_or("alone"));
            Some(PlotMark::begin(x, name, n == 0, false))
        };
        self.phases.iter().enumerate().filter_map(begin).collect()
    }
}
