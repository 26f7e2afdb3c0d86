//! IOPS against CPU of every configuration, with the Pareto front.

use super::line::Line;
use super::series::hue;
use super::{Chart, View, axis, value};
use crate::html::escape::chart_text;
use q2c_result::tune::{Prediction, Sweep, SweepCell};
use q2c_stats::Interval;
use serde_json::{Value, json};

/// The sweep's cells as dots, the Pareto front as a line, and the measured cells with their
/// intervals.
pub(crate) fn chart(sweep: Option<&Sweep>, lines: &[Line<'_>]) -> Chart {
    let mut traces = Vec::new();
    if let Some(sweep) = sweep {
        traces.extend(simulated(sweep));
    }
    let trials = |line: &&Line<'_>| line.cell.measured.rates.iops.trials > 0;
    traces.extend(lines.iter().filter(trials).map(measured));
    let mut layout = axis::single(
        &axis::from_zero("CPU of the jobs, % of one"),
        &axis::titled("KIOPS"),
    );
    if let Some(sweep) = sweep.filter(|sweep| sweep.floor_iops > 0.0) {
        layout["shapes"] = json!([floor_line(sweep)]);
    }
    Chart {
        id: "pareto".into(),
        title: "IOPS against CPU".into(),
        note: note(sweep, lines.iter().any(|line| trials(&line))),
        height: 480,
        wide: true,
        views: vec![View {
            label: "all",
            traces,
            layout,
        }],
    }
}

fn note(sweep: Option<&Sweep>, measured: bool) -> String {
    let mut note = "Up and to the left is better.".to_owned();
    if measured {
        note += " Large dots: measured, with [min, max] over the trials.";
    }
    if let Some(sweep) = sweep {
        note += &format!(
            " Small dots: {} configurations simulated on a recording of {} I/Os. Dashed: the IOPS floor",
            sweep.cells.len(),
            crate::quantity::count(sweep.ios),
        );
        note += &match sweep.floor.as_str() {
            "" => ".".to_owned(),
            why => format!(" ({why})."),
        };
    }
    note
}

fn simulated(sweep: &Sweep) -> Vec<Value> {
    let mut traces = by_rule(sweep);
    traces.push(front(sweep));
    if let Some(best) = sweep.best.and_then(|i| sweep.cells.get(i)) {
        let ring =
            json!({"color": "@chosen", "size": 13, "symbol": "circle-open", "line": {"width": 2}});
        traces.push(dots("best simulated", &[best], &ring));
    }
    traces.push(point("oracle (bound)", &sweep.oracle, "star"));
    traces.push(point("poll, simulated", &sweep.poll, "diamond-open"));
    traces
}

/// The configurations as dots, each rule in a colour of its own.
fn by_rule(sweep: &Sweep) -> Vec<Value> {
    let mut rules: Vec<&str> = sweep.cells.iter().map(|cell| cell.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let all = rules.len();
    let trace = |(n, rule): (usize, &str)| {
        let cells = sweep.cells.iter();
        let of_rule: Vec<&SweepCell> = cells.filter(|cell| cell.rule == rule).collect();
        let name = format!("simulated: {}", chart_text(rule));
        dots(&name, &of_rule, &marker(n, all))
    };
    rules.into_iter().enumerate().map(trace).collect()
}

/// The dots of one of so many rules: in a shade that is quiet beside measured cells, where these
/// suffice.
fn marker(n: usize, all: usize) -> Value {
    const SHADES: [&str; 4] = ["@shade1", "@shade2", "@shade3", "@shade4"];
    match SHADES.get(n).filter(|_| all <= SHADES.len()) {
        Some(shade) => json!({"color": shade, "size": 5}),
        None => {
            let style = hue(n, all);
            json!({"color": style.colour, "size": 5, "symbol": style.symbol, "opacity": 0.7})
        }
    }
}

fn front(sweep: &Sweep) -> Value {
    let cells: Vec<&SweepCell> = sweep
        .pareto
        .iter()
        .filter_map(|&i| sweep.cells.get(i))
        .collect();
    let mut front = dots("Pareto front", &cells, &json!({"color": "@ink", "size": 4}));
    front["mode"] = json!("lines+markers");
    front["line"] = json!({"color": "@ink", "width": 1});
    front
}

fn dots(name: &str, cells: &[&SweepCell], marker: &Value) -> Value {
    let of =
        |get: fn(&SweepCell) -> f64| -> Value { cells.iter().map(|c| value(get(c))).collect() };
    let about: Vec<String> = cells.iter().map(|c| about(c)).collect();
    json!({
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": of(|c| c.gives.rates.cpu_pct),
        "y": of(|c| c.gives.rates.iops * 1e-3),
        "text": about,
        "marker": marker,
        "hovertemplate": "%{text}<extra></extra>",
    })
}

fn about(cell: &SweepCell) -> String {
    let given = &cell.gives;
    format!(
        "{}<br>{:.2} KIOPS, CPU {:.1} %, missed {:.2} %<br>{:.1} KIOPS per core",
        chart_text(&cell.policy),
        given.rates.iops * 1e-3,
        given.rates.cpu_pct,
        given.rates.miss_rate * 100.0,
        given.kiops_per_core
    )
}

fn point(name: &str, at: &Prediction, symbol: &str) -> Value {
    json!({
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [value(at.rates.cpu_pct)],
        "y": [value(at.rates.iops * 1e-3)],
        "marker": {"color": "@ink", "size": 11, "symbol": symbol, "line": {"color": "@ink", "width": 1.5}},
        "hovertemplate": "%{y} KIOPS, CPU %{x} %",
    })
}

fn measured(line: &Line<'_>) -> Value {
    let measured = &line.cell.measured;
    json!({
        "type": "scatter",
        "mode": "markers",
        "name": line.name,
        "x": [value(measured.rates.cpu_pct.median)],
        "y": [value(measured.rates.iops.median * 1e-3)],
        "error_x": whiskers(&measured.rates.cpu_pct, 1.0, line.colour),
        "error_y": whiskers(&measured.rates.iops, 1e-3, line.colour),
        "marker": {
            "color": line.colour,
            "size": if line.recommended { 15 } else { 10 },
            "line": {"color": "@paper", "width": 1.5},
        },
        "hovertemplate": "%{y} KIOPS, CPU %{x} %",
    })
}

/// Error bars from the median to the smallest and the largest trial.
pub(crate) fn whiskers(interval: &Interval, scale: f64, colour: &str) -> Value {
    json!({
        "type": "data",
        "symmetric": false,
        "array": [value((interval.max - interval.median) * scale)],
        "arrayminus": [value((interval.median - interval.min) * scale)],
        "color": colour,
        "thickness": 1.4,
        "width": 4,
    })
}

fn floor_line(sweep: &Sweep) -> Value {
    let height = value(sweep.floor_iops * 1e-3);
    json!({
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": height,
        "y1": height,
        "line": {"color": "@muted", "width": 1, "dash": "dash"},
        "label": {
            "text": "IOPS floor",
            "textposition": "end",
            "yanchor": "top",
            "font": {"size": 11, "color": "@muted"},
        },
    })
}
