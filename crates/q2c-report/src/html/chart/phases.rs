//! The phases of trials through which the jobs run on: throughput over time, with the phases
//! marked.

use super::series::{Style, styles};
use super::{Chart, View, axis, value};
use crate::bench::name;
use crate::html::escape::chart_text;
use crate::quantity::seconds;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult, Slice};
use q2c_stats::Interval;
use serde_json::{Value, json};

/// One trial of a point through all its phases.
struct Course<'a> {
    name: String,
    /// The background of each phase, and the phase's slices.
    phases: Vec<(&'a str, &'a [Slice])>,
}

/// A view: its label, the title of its axis, its unit, and the function that reads a slice.
type Quantity = (&'static str, &'static str, &'static str, fn(&Slice) -> f64);

const QUANTITIES: [Quantity; 4] = [
    ("IOPS", "KIOPS", "KIOPS", |s| s.iops * 1e-3),
    ("background", "KIOPS of the background", "KIOPS", |s| {
        s.background_iops * 1e-3
    }),
    ("CPU", "CPUs of the jobs' threads", "CPUs", |s| s.job_cpus),
    ("effective sleep", "effective sleep, us", "us", |s| {
        s.effective_sleep_ns.map_or(f64::NAN, |ns| ns * 1e-3)
    }),
];

/// A chart for each block size, pattern and depth whose trials have phases.
pub(crate) fn charts(result: &BenchResult) -> Vec<Chart> {
    let mut places: Vec<&BenchPoint> = Vec::new();
    for cell in result.cells.iter().filter(|cell| !cell.courses.is_empty()) {
        if !places.iter().any(|place| same_place(place, &cell.point)) {
            places.push(&cell.point);
        }
    }
    let chart = |(n, place): (usize, &&BenchPoint)| {
        let courses = courses(result, place);
        Chart {
            id: format!("phases-{n}"),
            title: "Through the phases of a trial".into(),
            note: format!(
                "{} {}, depth {}: the trial with the median IOPS of each point, in slices of {}. A \
                 line stands where the background changes. Open points do not count: they are the \
                 warm-up of a phase, or come after its counted part.",
                place.bs,
                place.rw,
                place.depth,
                courses.first().map_or_else(String::new, length),
            ),
            height: 460,
            wide: true,
            views: views(&courses),
        }
    };
    places.iter().enumerate().map(chart).collect()
}

/// Length of a slice, in words.
fn length(course: &Course<'_>) -> String {
    let first = course.phases.first().and_then(|(_, slices)| slices.first());
    first.map_or_else(String::new, |slice| seconds(slice.seconds))
}

fn same_place(a: &BenchPoint, b: &BenchPoint) -> bool {
    (&a.rw, a.bs, a.depth) == (&b.rw, b.bs, b.depth)
}

/// The courses of all points of a place. The cells of a point's phases differ in the background and
/// follow each other.
fn courses<'a>(result: &'a BenchResult, place: &BenchPoint) -> Vec<Course<'a>> {
    let cells = result.cells.iter();
    let own: Vec<&BenchCell> = cells
        .filter(|cell| same_place(&cell.point, place) && !cell.courses.is_empty())
        .collect();
    let of_point = |a: &&BenchCell, b: &&BenchCell| {
        let without = |cell: &BenchCell| BenchPoint {
            background: String::new(),
            ..cell.point.clone()
        };
        without(a) == without(b)
    };
    own.chunk_by(of_point).filter_map(course).collect()
}

/// The course of the trial with the median IOPS over all phases.
fn course<'a>(cells: &[&'a BenchCell]) -> Option<Course<'a>> {
    let iops = |trial: usize| -> Option<f64> {
        let mut sum = 0.0;
        for cell in cells {
            let counted = cell.courses.get(trial)?.iter().filter(|s| s.counted);
            let each: Vec<f64> = counted.map(|slice| slice.iops).collect();
            sum += each.iter().sum::<f64>() / each.len().max(1) as f64;
        }
        Some(sum)
    };
    let trials: Vec<f64> = (0..).map_while(iops).collect();
    let median = Interval::of(&trials).median;
    let off = |n: &usize| (trials[*n] - median).abs();
    let trial = (0..trials.len()).min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let point = &cells.first()?.point;
    let phase = |cell: &&'a BenchCell| (cell.point.background.as_str(), &*cell.courses[trial]);
    Some(Course {
        name: format!("{}, jobs: {}", name(point), point.jobs),
        phases: cells.iter().map(phase).collect(),
    })
}

fn views(courses: &[Course<'_>]) -> Vec<View> {
    let slices = || courses.iter().flat_map(Course::slices);
    let misses = slices().any(|slice| slice.miss_rate.is_some());
    let there = QUANTITIES
        .iter()
        .filter(|(_, _, _, of)| slices().any(|s| of(s) > 0.0));
    let styles = styles(courses.len());
    let view = |(label, title, unit, of): &Quantity| {
        let coloured = courses.iter().zip(&styles);
        let mut traces: Vec<Value> = coloured
            .clone()
            .map(|(course, style)| course.trace(style, unit, *of))
            .collect();
        let missing = coloured.filter(|(course, _)| course.slices().any(|s| s.miss_rate.is_some()));
        traces.extend(missing.map(|(course, style)| {
            let rate = |slice: &Slice| slice.miss_rate.map_or(f64::NAN, |rate| rate * 100.0);
            let mut below = course.trace(style, "% missed", rate);
            below["yaxis"] = json!("y2");
            below["showlegend"] = json!(false);
            below
        }));
        let (time, upper) = (axis::over_time("time, s"), axis::from_zero(title));
        let mut layout = match misses {
            true => axis::stacked(&time, &upper, &axis::from_zero("miss rate, %")),
            false => axis::single(&time, &upper),
        };
        if let Some(course) = courses.first() {
            (layout["shapes"], layout["annotations"]) = course.marks();
        }
        View {
            label,
            traces,
            layout,
        }
    };
    there.map(view).collect()
}

impl Course<'_> {
    fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.phases.iter().flat_map(|(_, slices)| *slices)
    }

    /// A line through the slices, each at its middle.
    fn trace(&self, style: &Style, unit: &str, of: impl Fn(&Slice) -> f64) -> Value {
        let name = chart_text(&self.name);
        let point = |slice: &Slice| match slice.counted {
            true => "circle",
            false => "circle-open",
        };
        let middle = |slice: &Slice| value(slice.begin_s + slice.seconds / 2.0);
        json!({
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "legendgroup": name,
            "x": self.slices().map(middle).collect::<Vec<Value>>(),
            "y": self.slices().map(|slice| value(of(slice))).collect::<Vec<Value>>(),
            "line": {"color": style.colour, "width": 2, "dash": style.dash},
            "marker": {
                "color": style.colour,
                "size": 7,
                "symbol": self.slices().map(point).collect::<Vec<&str>>(),
            },
            "hovertemplate": format!("%{{y}} {unit}"),
        })
    }

    /// A line at the begin of each phase but the first, and the name of each phase's background.
    fn marks(&self) -> (Value, Value) {
        let (mut lines, mut names) = (Vec::new(), Vec::new());
        for (n, (background, slices)) in self.phases.iter().enumerate() {
            let Some(begin) = slices.first().map(|slice| value(slice.begin_s)) else {
                continue;
            };
            if n > 0 {
                lines.push(json!({
                    "type": "line", "xref": "x", "yref": "paper", "layer": "below",
                    "x0": begin, "x1": begin, "y0": 0, "y1": 1,
                    "line": {"color": "@muted", "width": 1.5, "dash": "dot"},
                }));
            }
            let text = match *background {
                "" => "alone",
                jobs => jobs,
            };
            names.push(json!({
                "x": begin, "y": 1, "xref": "x", "yref": "paper",
                "xanchor": "left", "yanchor": "bottom", "showarrow": false,
                "text": chart_text(text), "font": {"size": 11, "color": "@muted"},
            }));
        }
        (json!(lines), json!(names))
    }
}
