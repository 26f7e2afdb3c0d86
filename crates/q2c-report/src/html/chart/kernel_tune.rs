//! Charts of `q2c poll tune-kernel`: the shown trial of each method over time.

use super::{Chart, View, axis, values};
use crate::html::escape;
use crate::kernel_tune::name;
use q2c_result::kernel_tune::{KernelMethod, KernelTuneResult};
use q2c_result::kernel_watch::KernelInterval;
use serde_json::{Value, json};

const COLOURS: [&str; 4] = ["@poll", "@a", "@chosen", "@b"];

/// A view: its label, the title of its axis with the unit, the scale, and the figure that it shows.
type Quantity = (
    &'static str,
    &'static str,
    f64,
    fn(&KernelInterval) -> Option<f64>,
);

const QUANTITIES: [Quantity; 4] = [
    ("miss rate", "missed, %", 100.0, |i| i.rates.miss_rate),
    ("effective sleep", "effective sleep, us", 1e-3, |i| {
        i.rates.effective_sleep_ns
    }),
    ("CPU", "CPU, % of one", 1.0, |i| i.rates.cpu_pct),
    ("IOPS", "KIOPS", 1e-3, |i| i.rates.iops),
];

/// The charts of a run; none without a trial of several intervals: there is no course in one.
pub(crate) fn all(result: &KernelTuneResult) -> Vec<Chart> {
    let views = QUANTITIES.map(|quantity| view(&result.methods, quantity));
    let drawn = views.into_iter().filter(|view| !view.traces.is_empty());
    let chart = Chart {
        id: "kernel-over-time".into(),
        title: "Over time, in the kernel".into(),
        note: "The trial with the median IOPS of each method, as the kernel's probe counted it."
            .into(),
        height: 380,
        wide: true,
        views: drawn.collect(),
    };
    let mut charts = vec![chart];
    charts.retain(Chart::has_data);
    charts
}

fn view(methods: &[KernelMethod], (label, title, scale, of): Quantity) -> View {
    let shown = methods.iter().zip(COLOURS.iter().cycle());
    let known = |method: &KernelMethod| method.series.iter().filter_map(of).count();
    let shown = shown.filter(|(method, _)| known(method) > 1);
    View {
        label,
        traces: shown
            .map(|(method, colour)| trace(method, colour, scale, of))
            .collect(),
        layout: axis::single(&axis::over_time("time, s"), &axis::from_zero(title)),
    }
}

fn trace(
    method: &KernelMethod,
    colour: &str,
    scale: f64,
    of: fn(&KernelInterval) -> Option<f64>,
) -> Value {
    let times: Vec<f64> = method.series.iter().map(|i| i.end_s).collect();
    let figures = method.series.iter().map(|i| of(i).unwrap_or(f64::NAN));
    json!({
        "type": "scatter",
        "mode": "lines",
        "name": escape::chart_text(&name(&method.method)),
        "x": values(&times, 1.0),
        "y": values(&figures.collect::<Vec<_>>(), scale),
        "line": {"color": colour},
    })
}
