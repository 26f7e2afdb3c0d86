//! The sweep of the windowed rules over their two parameters.

use super::{Chart, View, value};
use crate::html::escape::chart_text;
use crate::quantity;
use q2c_result::tune::{Prediction, Sweep, SweepCell};
use serde_json::{Value, json};

/// A view's label, the colour bar's title, and the quantity.
type Quantity = (&'static str, &'static str, fn(&Prediction) -> f64);

const QUANTITIES: [Quantity; 4] = [
    ("KIOPS per core", "KIOPS<br>per core", |p| p.kiops_per_core),
    ("miss rate", "miss, %", |p| p.miss_rate * 100.0),
    ("IOPS", "KIOPS", |p| p.iops * 1e-3),
    ("CPU", "CPU, %", |p| p.cpu_pct),
];

/// The rules with a ratio and a period that a window of latencies is reduced to one number by.
const RULES: [&str; 2] = ["mean", "min"];

/// A cell with its place in the map.
struct Place<'a> {
    ratio: f64,
    period_ns: f64,
    cell: &'a SweepCell,
}

/// Ratio against period for the rules `mean` and `min`.
pub(super) fn chart(sweep: &Sweep) -> Chart {
    let maps: Vec<(&str, Vec<Place<'_>>)> = RULES
        .into_iter()
        .map(|rule| (rule, places(sweep, rule)))
        .filter(|(_, places)| !places.is_empty())
        .collect();
    Chart {
        id: "heat-map".into(),
        title: "Sweep: ratio against period",
        note: "Simulated on the recording. A ring marks the best cell by the objective that keeps the limits.".into(),
        height: 420,
        wide: true,
        views: QUANTITIES.map(|quantity| view(sweep, &maps, quantity)).into(),
    }
}

fn places<'a>(sweep: &'a Sweep, rule: &str) -> Vec<Place<'a>> {
    let of_rule = sweep.cells.iter().filter(|cell| cell.rule == rule);
    of_rule.filter_map(place).collect()
}

fn place(cell: &SweepCell) -> Option<Place<'_>> {
    let period = cell
        .params
        .get("period")
        .or_else(|| cell.params.get("period_ns"));
    Some(Place {
        ratio: *cell.params.get("ratio")?,
        period_ns: *period?,
        cell,
    })
}

fn view(sweep: &Sweep, maps: &[(&str, Vec<Place<'_>>)], quantity: Quantity) -> View {
    let best = sweep.best.and_then(|i| sweep.cells.get(i));
    let (mut traces, mut titles) = (Vec::new(), Vec::new());
    let mut layout = json!({"coloraxis": {
        "colorscale": "@scale",
        "colorbar": {"title": {"text": quantity.1}, "thickness": 12, "outlinewidth": 0},
    }});
    let share = 1.0 / maps.len().max(1) as f64;
    for (i, (rule, places)) in maps.iter().enumerate() {
        let axes = if i == 0 {
            String::new()
        } else {
            (i + 1).to_string()
        };
        let left = share * i as f64;
        let domain = [
            left,
            left + share * if i + 1 < maps.len() { 0.9 } else { 1.0 },
        ];
        layout[format!("xaxis{axes}")] = x_axis(&axes, domain);
        layout[format!("yaxis{axes}")] = y_axis(&axes);
        traces.push(map(places, &axes, quantity));
        traces.extend(
            best.filter(|b| b.rule == *rule)
                .and_then(place)
                .map(|b| ring(&b, &axes)),
        );
        titles.push(title(rule, (domain[0] + domain[1]) / 2.0));
    }
    layout["annotations"] = json!(titles);
    View {
        label: quantity.0,
        traces,
        layout,
    }
}

fn x_axis(axes: &str, domain: [f64; 2]) -> Value {
    json!({"title": {"text": "period"}, "type": "category", "domain": domain, "anchor": format!("y{axes}")})
}

fn y_axis(axes: &str) -> Value {
    json!({"title": {"text": "ratio, %"}, "anchor": format!("x{axes}"), "showgrid": false})
}

fn title(rule: &str, x: f64) -> Value {
    json!({
        "text": format!("rule <b>{rule}</b>"),
        "x": x, "y": 1.0, "xref": "paper", "yref": "paper",
        "xanchor": "center", "yanchor": "bottom", "showarrow": false,
    })
}

fn map(places: &[Place<'_>], axes: &str, quantity: Quantity) -> Value {
    let periods = distinct(places, |p| p.period_ns);
    let ratios = distinct(places, |p| p.ratio);
    let at = |ratio: &f64, period: &f64| {
        places
            .iter()
            .find(|p| p.ratio == *ratio && p.period_ns == *period)
    };
    let row = |ratio: &f64, of: &dyn Fn(&Place<'_>) -> Value| -> Value {
        periods
            .iter()
            .map(|period| at(ratio, period).map_or(Value::Null, of))
            .collect()
    };
    let rows =
        |of: &dyn Fn(&Place<'_>) -> Value| -> Value { ratios.iter().map(|r| row(r, of)).collect() };
    json!({
        "type": "heatmap",
        "coloraxis": "coloraxis",
        "xaxis": format!("x{axes}"),
        "yaxis": format!("y{axes}"),
        "x": periods.iter().map(|p| period_name(*p)).collect::<Vec<_>>(),
        "y": ratios.iter().map(|r| value(r * 100.0)).collect::<Vec<_>>(),
        "z": rows(&|p| value(quantity.2(&p.cell.gives))),
        "text": rows(&|p| json!(about(p.cell))),
        "xgap": 1, "ygap": 1,
        "hovertemplate": "%{text}<extra></extra>",
    })
}

fn about(cell: &SweepCell) -> String {
    let given = &cell.gives;
    format!(
        "{}<br>{:.1} KIOPS per core, {:.2} KIOPS<br>CPU {:.1} %, missed {:.2} %",
        chart_text(&cell.policy),
        given.kiops_per_core,
        given.iops * 1e-3,
        given.cpu_pct,
        given.miss_rate * 100.0
    )
}

fn ring(best: &Place<'_>, axes: &str) -> Value {
    json!({
        "type": "scatter",
        "mode": "markers",
        "xaxis": format!("x{axes}"),
        "yaxis": format!("y{axes}"),
        "x": [period_name(best.period_ns)],
        "y": [value(best.ratio * 100.0)],
        "marker": {"symbol": "circle-open", "size": 18, "color": "#ffffff", "line": {"width": 3}},
        "showlegend": false,
        "hoverinfo": "skip",
    })
}

fn period_name(ns: f64) -> String {
    let text = quantity::duration(ns, "µ");
    // Round numbers read better bare: `10 ms`, not `10.0 ms`.
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!(
                "{} {unit}",
                number.trim_end_matches('0').trim_end_matches('.')
            )
        }
        _ => text,
    }
}

fn distinct(places: &[Place<'_>], of: fn(&Place<'_>) -> f64) -> Vec<f64> {
    let mut all: Vec<f64> = places.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}
