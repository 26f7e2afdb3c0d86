//! Throughput, CPU and throughput per CPU over the number of jobs, with a line for each interface
//! and method.

use super::pareto::whiskers;
use super::series::{Style, styles};
use super::{Chart, View, axis, known, value};
use crate::bench::{Section, name};
use crate::html::escape::chart_text;
use crate::mode;
use q2c_result::bench::{BenchCell, BenchResult, Curve};
use q2c_stats::Interval;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A quantity that is drawn over the number of jobs.
struct Measure {
    label: &'static str,
    axis: &'static str,
    scale: f64,
    of: fn(&BenchCell) -> Interval,
    /// Whether knee and collapse are marked, which are found in this quantity.
    marked: bool,
}

const MEASURES: [Measure; 6] = [
    Measure {
        label: "IOPS",
        axis: "KIOPS",
        scale: 1e-3,
        of: |cell| cell.iops,
        marked: true,
    },
    Measure {
        label: "p50",
        axis: "median latency, us",
        scale: 1e-3,
        of: |cell| cell.lat_ns.p50,
        marked: false,
    },
    Measure {
        label: "p99",
        axis: "p99 latency, us",
        scale: 1e-3,
        of: |cell| cell.lat_ns.p99,
        marked: false,
    },
    Measure {
        label: "CPU",
        axis: "busy CPUs of the machine",
        scale: 1.0,
        of: |cell| cell.cpu.busy_s,
        marked: false,
    },
    Measure {
        label: "KIOPS per core",
        axis: "KIOPS per busy CPU",
        scale: 1.0,
        of: |cell| cell.kiops_per_core,
        marked: false,
    },
    Measure {
        label: "CPU per I/O",
        axis: "us of jobs and helpers per I/O",
        scale: 1e-3,
        of: |cell| cell.cpu.ns_per_io,
        marked: false,
    },
];

/// `None` where there is one number of jobs alone: its points would stand above each other.
pub(crate) fn chart(result: &BenchResult, section: &Section, id: usize) -> Option<Chart> {
    let own = result.cells.iter().filter(|c| section.holds(&c.point));
    let jobs: BTreeSet<u32> = own.map(|c| c.point.jobs).collect();
    if jobs.len() < 2 {
        return None;
    }
    let mut over = axis::from_zero("jobs");
    over["tickvals"] = json!(jobs);
    let view = |measure: &Measure| View {
        label: measure.label,
        traces: traces(result, section, measure),
        layout: axis::single(&over, &axis::from_zero(measure.axis)),
    };
    Some(Chart {
        id: format!("jobs-{id}"),
        title: "Over the number of jobs".into(),
        note: "Medians with [min, max] over the trials. Open squares: knee, further jobs add less than a tenth of the first. Crosses: \
               collapse, throughput has fallen for sure."
            .into(),
        height: 460,
        wide: true,
        views: MEASURES.iter().map(view).collect(),
    })
}

fn traces(result: &BenchResult, section: &Section, measure: &Measure) -> Vec<Value> {
    let cells: Vec<&BenchCell> = result
        .cells
        .iter()
        .filter(|c| section.holds(&c.point) && c.iops.trials > 0)
        .collect();
    let mut names: Vec<String> = cells.iter().map(|c| name(&c.point)).collect();
    names.dedup();
    let mut traces = Vec::new();
    for (line, style) in names.iter().zip(&styles(names.len())) {
        let own: Vec<&BenchCell> = cells
            .iter()
            .copied()
            .filter(|c| name(&c.point) == *line)
            .collect();
        traces.push(trace(line, style, &own, measure));
        let curve = result
            .scaling
            .iter()
            .find(|c| name(&c.first) == *line && section.holds(&c.first));
        if let (true, Some(curve)) = (measure.marked, curve) {
            traces.extend(marks(curve, &style.colour, &own));
        }
    }
    traces
}

fn trace(line: &str, style: &Style, cells: &[&BenchCell], measure: &Measure) -> Value {
    let intervals: Vec<Interval> = cells.iter().map(|c| (measure.of)(c)).collect();
    let medians: Vec<Value> = intervals
        .iter()
        .map(|i| value(known(i) * measure.scale))
        .collect();
    let side = |of: fn(&Interval) -> f64| -> Value {
        intervals
            .iter()
            .map(|i| value(of(i) * measure.scale))
            .collect()
    };
    let colour = style.colour.as_str();
    let mut bars = whiskers(&Interval::default(), 1.0, colour);
    bars["array"] = side(|i| i.max - i.median);
    bars["arrayminus"] = side(|i| i.median - i.min);
    let was: Vec<String> = cells
        .iter()
        .map(|c| chart_text(&mode::words(&c.effective_mode.was)))
        .collect();
    json!({
        "type": "scatter",
        "mode": "lines+markers",
        "name": chart_text(line),
        "x": cells.iter().map(|c| c.point.jobs).collect::<Vec<_>>(),
        "y": medians,
        "text": was,
        "error_y": bars,
        "line": {"color": colour, "width": 2, "dash": style.dash},
        "marker": {"color": colour, "size": 7, "symbol": style.symbol},
        "hovertemplate": "%{y} at %{x} jobs; was %{text}",
    })
}

fn marks(curve: &Curve, colour: &str, cells: &[&BenchCell]) -> Vec<Value> {
    let at = |jobs: Option<u32>, symbol: &str, what: &str| {
        let cell = cells.iter().find(|c| Some(c.point.jobs) == jobs)?;
        Some(json!({
            "type": "scatter",
            "mode": "markers",
            "name": what,
            "showlegend": false,
            "x": [cell.point.jobs],
            "y": [value(cell.iops.median * 1e-3)],
            "marker": {"color": colour, "size": 15, "symbol": symbol, "line": {"width": 2, "color": colour}},
            "hovertemplate": format!("{what} at %{{x}} jobs<extra></extra>"),
        }))
    };
    let knee = at(curve.knee, "square-open", "knee");
    let collapse = at(curve.collapse, "x-thin", "collapse");
    knee.into_iter().chain(collapse).collect()
}
