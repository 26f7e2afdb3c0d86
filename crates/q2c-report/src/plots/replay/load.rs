//! Requests in flight, IOPS and lateness over time.

use super::Line;
use crate::plot::{Axis, Plot, Series, View};
use q2c_result::replay::{ReplayTrial, Window};

/// A quantity that is drawn over time, for the recording and for the replay.
struct Measure {
    id: &'static str,
    title: &'static str,
    /// The title when the quantity is not known of the recording.
    title_alone: &'static str,
    axis: &'static str,
    recorded: fn(&Window) -> Option<f64>,
    replayed: fn(&Window) -> f64,
    /// The unit behind the number in the hover text.
    unit: &'static str,
    note: &'static str,
}

const IN_FLIGHT: Measure = Measure {
    id: "in-flight",
    title: "How many requests are in flight, recorded and replayed?",
    title_alone: "How many requests are in flight?",
    axis: "requests in flight",
    recorded: |window| window.recorded_in_flight,
    replayed: |window| window.in_flight,
    unit: "in flight",
    note: "Mean over each window: by U2C in the replay; in a recording of the block layer by Q2C, \
           which lacks the time outside of it.",
};

const IOPS: Measure = Measure {
    id: "iops",
    title: "Does the replay submit when the recording did?",
    title_alone: "How many requests are submitted?",
    axis: "requests per second",
    recorded: |window| window.recorded_ios.map(|ios| ios as f64 / window.length_s),
    replayed: |window| window.ios as f64 / window.length_s,
    unit: "IOPS",
    note: "Requests submitted in each window, per second.",
};

pub(crate) fn plots(lines: &[Line<'_>]) -> [Plot; 3] {
    [plot(lines, &IN_FLIGHT), plot(lines, &IOPS), lateness(lines)]
}

/// A figure at the middle of each window.
fn windows<Y>(trial: &ReplayTrial, of: impl Fn(&Window) -> Y) -> impl Iterator<Item = (f64, Y)> {
    let windows = trial.windows.iter();
    windows.map(move |window| (window.from_s + window.length_s / 2.0, of(window)))
}

fn plot(lines: &[Line<'_>], measure: &Measure) -> Plot {
    // Any device's windows have the recording's figures.
    let recorded = lines.iter().find_map(|line| recorded(line.trial, measure));
    let (title, note) = match recorded {
        Some(_) => (
            measure.title,
            format!("{} Broad and grey: the recording.", measure.note),
        ),
        None => (measure.title_alone, measure.note.to_owned()),
    };
    let replayed = lines.iter().filter(|line| !line.trial.windows.is_empty());
    let replayed = replayed.map(|line| {
        line.series(windows(line.trial, measure.replayed))
            .unit(measure.unit)
    });
    let series: Vec<Series> = recorded.into_iter().chain(replayed).collect();
    let linear = over_time("linear", Axis::from_zero(measure.axis));
    let logarithmic = over_time("logarithmic", Axis::logarithmic(measure.axis));
    Plot::new(measure.id, title, 400)
        .note(note)
        .view(linear.series(series.clone()))
        .view(logarithmic.series(series))
}

fn recorded(trial: &ReplayTrial, measure: &Measure) -> Option<Series> {
    let is_known = windows(trial, measure.recorded).any(|(_, figure)| figure.is_some());
    let series = Series::line("recorded", windows(trial, measure.recorded))
        .pen("@shade1", 5.0)
        .unit(measure.unit);
    is_known.then_some(series)
}

/// The lateness of the latest submission in each window. The plot is empty when no submission was
/// late, as in modes without intended times.
fn lateness(lines: &[Line<'_>]) -> Plot {
    let is_late = |line: &&Line<'_>| line.trial.windows.iter().any(|w| w.latest_ns > 0);
    let series = lines.iter().filter(is_late).map(|line| {
        let late_us = |window: &Window| window.latest_ns.max(1) as f64 * 1e-3;
        line.series(windows(line.trial, late_us)).unit("us late")
    });
    let y = Axis::logarithmic_us("largest lateness");
    Plot::new("lateness", "How late is the latest submission?", 400)
        .note(
            "Largest lateness of all requests in each window, logarithmic. Where it grows and stays, the device cannot take the trace; single \
             peaks are the machine's. Windows without any are drawn at 1 ns.",
        )
        .view(over_time("lateness", y).series(series))
}

fn over_time(label: &'static str, y: Axis) -> View {
    View::new(label, Axis::over_time("time from the start, s"), y)
        .hover_together()
        .legend(true)
}
