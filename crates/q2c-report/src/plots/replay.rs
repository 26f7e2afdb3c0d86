//! Plots of replayed traces, with a line for each device and one for the recording.

use super::latency::{curve, odds, percent};
use crate::phrase::when;
use crate::plot::{Plot, PlotAxis, PlotSeries, View, with_data};
use q2c_result::replay::{ReplayTrial, ReplayWindow, Spread};

const COLOURS: [&str; 8] = ["@a", "@poll", "@chosen", "@b", "@d", "@c", "@e", "@f"];

/// The shown trial of a device, with the name and colour that the device has in all plots.
pub(crate) struct ReplayLine<'a> {
    name: String,
    colour: &'static str,
    trial: &'a ReplayTrial,
    /// True if the page has no other device.
    is_alone: bool,
}

impl<'a> ReplayLine<'a> {
    /// The line of a replay, the only one on its page.
    pub(crate) fn only(trial: &'a ReplayTrial) -> Self {
        ReplayLine {
            is_alone: true,
            ..ReplayLine::compared(0, "replayed", trial)
        }
    }

    /// The line of a compared device; `at` is its index among the devices.
    pub(crate) fn compared(at: usize, device: &str, trial: &'a ReplayTrial) -> Self {
        ReplayLine {
            name: device.to_owned(),
            colour: COLOURS[at % COLOURS.len()],
            trial,
            is_alone: false,
        }
    }

    /// A line through points. Lines of one device share one entry in the legend.
    fn series(&self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> PlotSeries {
        let line = PlotSeries::line(name, points).grouped();
        line.pen(self.colour, 1.8)
    }

    /// The distributions of the trial, each with its name and its dash.
    fn spreads(&self) -> Vec<(&'static str, &'static str, &'a Spread)> {
        let trial = self.trial;
        // Without intended times this distribution equals U2C and needs no line of its own.
        let is_intended = self.is_alone && trial.u2c_intended_ns != trial.u2c_ns;
        let spreads = [
            Some(("U2C", "solid", &trial.u2c_ns)),
            is_intended.then_some(("U2C from intended", "dash", &trial.u2c_intended_ns)),
            trial.q2c_ns.as_ref().map(|spread| ("Q2C", "dot", spread)),
        ];
        let present = spreads.into_iter().flatten();
        let drawn = present.filter(|(.., spread)| !spread.curve.is_empty());
        drawn.collect()
    }

    fn windows<Y>(&self, get: impl Fn(&ReplayWindow) -> Y) -> impl Iterator<Item = (f64, Y)> {
        let windows = self.trial.windows.iter();
        windows.map(move |window| (window.from_s + window.length_s / 2.0, get(window)))
    }
}

/// The plots of a replay or comparison, in reading order. Plots without data are left out, as are
/// those over time unless `of_one_replay`.
pub(crate) fn plots(lines: &[ReplayLine<'_>], of_one_replay: bool) -> Vec<Plot> {
    let mut plots = vec![distributions(lines)];
    if of_one_replay {
        plots.extend(MEASURES.iter().map(|measure| over_time(lines, measure)));
        plots.push(lateness(lines));
    }
    with_data(plots, "")
}

/// The distributions of U2C and Q2C of every device. The page of a single replay also has U2C from
/// the intended time.
fn distributions(lines: &[ReplayLine<'_>]) -> Plot {
    let spreads = lines.iter();
    let spreads = spreads.flat_map(|line| line.spreads().into_iter().map(move |s| (line, s)));
    let view = |label, y, height: fn(f64) -> f64| {
        let view = View::new(label, latency_axis(lines), y).legend(true);
        view.series(spreads.clone().map(|(line, (kind, dash, spread))| {
            let device = format!("{} ", line.name);
            let name = format!("{}{kind}", when(!line.is_alone, &device));
            curve(&spread.curve, height, |places| line.series(&name, places)).dash(dash)
        }))
    };
    let is_compared = lines.iter().all(|line| !line.is_alone);
    let scope = when(is_compared, ", in each device's trial with the median sum");
    let mut note = format!(
        "Share of the requests that took at most so long{scope}. Solid: U2C, from just before the submission to the reaping."
    );
    let has = |stroke: &str| spreads.clone().any(|(_, (_, dash, _))| dash == stroke);
    let dashed = " Dashed: from the time that the trace asks for; what lies between is lateness.";
    note += when(has("dash"), dashed);
    note += when(has("dot"), " Dotted: Q2C, of the block layer.");
    Plot::new("latency", "How long do requests take?", 440)
        .note(note)
        .view(view("distribution", PlotAxis::shares(), percent))
        .view(view("tail", PlotAxis::quantiles(), odds))
}

/// The logarithmic axis of latencies. Over many decades it has one tick per decade, so that the
/// ticks' names fit.
fn latency_axis(lines: &[ReplayLine<'_>]) -> PlotAxis {
    let spreads = lines.iter().flat_map(ReplayLine::spreads);
    let latencies = spreads.flat_map(|(.., spread)| &spread.curve);
    let positive = latencies.filter(|(_, ns)| ns.is_finite() && *ns > 0.0);
    let (least, most) = super::span(positive.map(|(_, ns)| *ns));
    if most / least > 1e5 {
        PlotAxis::decades_us("latency")
    } else {
        PlotAxis::logarithmic_us("latency")
    }
}

/// A quantity that is drawn over time, for the recording and for the replay.
struct ReplayQuantity {
    id: &'static str,
    title: &'static str,
    /// The title if the recording's values are unknown.
    title_alone: &'static str,
    axis: &'static str,
    recorded: fn(&ReplayWindow) -> Option<f64>,
    replayed: fn(&ReplayWindow) -> f64,
    unit: &'static str,
    note: &'static str,
}

const MEASURES: [ReplayQuantity; 2] = [
    ReplayQuantity {
        id: "in-flight",
        title: "How many requests are in flight, recorded and replayed?",
        title_alone: "How many requests are in flight?",
        axis: "requests in flight",
        recorded: |window| window.recorded_in_flight,
        replayed: |window| window.in_flight,
        unit: "in flight",
        note: "Mean over each window: by U2C in the replay; in a recording of the block layer by Q2C, \
               which lacks the time outside of it.",
    },
    ReplayQuantity {
        id: "iops",
        title: "Does the replay submit when the recording did?",
        title_alone: "How many requests are submitted?",
        axis: "requests per second",
        recorded: |window| window.recorded_ios.map(|ios| ios as f64 / window.length_s),
        replayed: |window| window.ios as f64 / window.length_s,
        unit: "IOPS",
        note: "Requests submitted in each window, per second.",
    },
];

fn over_time(lines: &[ReplayLine<'_>], measure: &ReplayQuantity) -> Plot {
    // The windows of every device carry the same figures of the recording.
    let recorded = lines.iter().find_map(|line| {
        let mut figures = line.windows(measure.recorded);
        let is_known = figures.any(|(_, figure)| figure.is_some());
        let series = PlotSeries::line("recorded", line.windows(measure.recorded));
        is_known.then(|| series.pen("@shade1", 5.0).unit(measure.unit))
    });
    let (title, note) = match recorded {
        Some(_) => (measure.title, " Broad and grey: the recording."),
        None => (measure.title_alone, ""),
    };
    let replayed = lines.iter().filter_map(|line| {
        let series = line.series(&line.name, line.windows(measure.replayed));
        series.unit(measure.unit).if_any()
    });
    let series: Vec<PlotSeries> = recorded.into_iter().chain(replayed).collect();
    let linear = view("linear", PlotAxis::from_zero(measure.axis));
    let logarithmic = view("logarithmic", PlotAxis::logarithmic(measure.axis));
    Plot::new(measure.id, title, 400)
        .note(format!("{}{note}", measure.note))
        .views([linear, logarithmic].map(|view| view.series(series.clone())))
}

/// The largest lateness of a submission in each window. The plot is empty if no submission was
/// late, as in modes without intended times.
fn lateness(lines: &[ReplayLine<'_>]) -> Plot {
    let is_late = |line: &&ReplayLine<'_>| line.trial.windows.iter().any(|w| w.latest_ns > 0);
    let series = lines.iter().filter(is_late).map(|line| {
        let late_us = |window: &ReplayWindow| window.latest_ns.max(1) as f64 * 1e-3;
        line.series(&line.name, line.windows(late_us))
            .unit("us late")
    });
    let y = PlotAxis::logarithmic_us("largest lateness");
    Plot::new("lateness", "How late is the latest submission?", 400)
        .note(
            "Largest lateness of all requests in each window, logarithmic. Where it grows and stays, the device cannot take the trace; single \
             peaks are the machine's. Windows without any are drawn at 1 ns.",
        )
        .view(view("lateness", y).series(series))
}

fn view(label: &'static str, y: PlotAxis) -> View {
    let x = PlotAxis::over_time("time from the start, s");
    View::new(label, x, y).unified_hover().legend(true)
}
