//! Charts over the time of one trial.

use super::line::Line;
use super::{Chart, View, axis, values};
use q2c_result::tune::Series;
use serde_json::{Value, json};

const NS_TO_US: f64 = 1e-3;

/// A view: its label, axis title, unit, scale, and the function that reads its series.
type Quantity = (
    &'static str,
    &'static str,
    &'static str,
    f64,
    fn(&Series) -> Vec<f64>,
);

/// IOPS, CPU or latency of every cell over time, with the miss rate below.
pub(crate) fn throughput(lines: &[Line<'_>]) -> Chart {
    const QUANTITIES: [Quantity; 4] = [
        ("IOPS", "KIOPS", "KIOPS", 1e-3, |s| known(&s.rates.iops)),
        ("CPU", "CPU, % of one", "%", 1.0, |s| {
            known(&s.rates.cpu_pct)
        }),
        ("mean latency", "mean latency, us", "us", NS_TO_US, |s| {
            s.mean_ns.clone()
        }),
        ("p99 latency", "p99 latency, us", "us", NS_TO_US, |s| {
            s.p99_ns.clone()
        }),
    ];
    Chart {
        id: "over-time".into(),
        title: "Throughput and miss rate over time".into(),
        note: "The trial with the median IOPS of each cell. A miss is an I/O that was complete before \
               its sleep ended; only sleeping cells can miss."
            .into(),
        height: 460,
        wide: true,
        views: QUANTITIES.map(|quantity| throughput_view(lines, quantity)).into(),
    }
}

fn throughput_view(lines: &[Line<'_>], quantity: Quantity) -> View {
    let (label, title, unit, scale, of) = quantity;
    let mut traces = Vec::new();
    for line in measured(lines) {
        let series = &line.cell.series;
        traces.push(line.trace(&time(series), &values(&of(series), scale), unit));
    }
    traces.extend(
        measured(lines)
            .filter(|line| line.cell.sleeping)
            .map(miss_rate),
    );
    View {
        label,
        traces,
        layout: layout(title),
    }
}

/// Sleep asked and time slept of each sleeping cell over time, with the miss rate below.
pub(crate) fn sleep(lines: &[Line<'_>]) -> Chart {
    let mut traces = Vec::new();
    for line in measured(lines).filter(|line| line.cell.sleeping) {
        let series = &line.cell.series;
        let asked = values(&known(&series.rates.effective_sleep_ns), NS_TO_US);
        let slept = values(&series.slept_ns, NS_TO_US);
        traces.push(line.trace(&time(series), &asked, "us asked"));
        let mut slept = line.trace(&time(series), &slept, "us slept");
        slept["line"]["dash"] = json!("dot");
        slept["showlegend"] = json!(false);
        traces.push(slept);
        traces.push(miss_rate(line));
    }
    Chart {
        id: "sleep-over-time".into(),
        title: "Sleep and miss rate over time".into(),
        note: "Solid: effective sleep (asked, over all I/Os). Dotted: slept, from call to return, over those that \
               slept. Where every I/O slept, the wake-up delay lies between them."
            .into(),
        height: 440,
        wide: true,
        views: vec![View {
            label: "sleep",
            traces,
            layout: layout("sleep, us"),
        }],
    }
}

fn measured<'a>(lines: &'a [Line<'a>]) -> impl Iterator<Item = &'a Line<'a>> {
    lines.iter().filter(|line| !line.cell.series.t_s.is_empty())
}

fn miss_rate(line: &Line<'_>) -> Value {
    let series = &line.cell.series;
    line.trace_below(
        &time(series),
        &values(&known(&series.rates.miss_rate), 100.0),
        "% missed",
    )
}

/// The values of a series, with NaN, which is a gap in a chart, where there is no reading.
fn known(values: &[Option<f64>]) -> Vec<f64> {
    values
        .iter()
        .map(|value| value.unwrap_or(f64::NAN))
        .collect()
}

fn time(series: &Series) -> Value {
    values(&series.t_s, 1.0)
}

fn layout(upper: &str) -> Value {
    axis::stacked(
        &axis::over_time("time, s"),
        &axis::titled(upper),
        &axis::from_zero("miss rate, %"),
    )
}
