//! The sweep of the rules `mean` and `min` as heat maps over their two parameters.

use super::{Chart, View, axis, value};
use crate::html::escape::chart_text;
use q2c_result::tune::{Prediction, Sweep, SweepCell};
use serde_json::{Value, json};

/// A view: its label, the title of its colour bar, and the function that reads the quantity.
type Quantity = (&'static str, &'static str, fn(&Prediction) -> f64);

const QUANTITIES: [Quantity; 4] = [
    ("KIOPS per core", "KIOPS<br>per core", |p| p.kiops_per_core),
    ("miss rate", "miss, %", |p| p.rates.miss_rate * 100.0),
    ("IOPS", "KIOPS", |p| p.rates.iops * 1e-3),
    ("CPU", "CPU, %", |p| p.rates.cpu_pct),
];

/// The rules that have a map: those that reduce a window of latencies to one number and have the
/// parameters ratio and period.
const RULES: [&str; 2] = ["mean", "min"];

/// A cell of the sweep with its place in the map.
struct Place<'a> {
    ratio: f64,
    period_ns: f64,
    cell: &'a SweepCell,
}

/// The maps of ratio against period for the rules `mean` and `min`.
pub(crate) fn chart(sweep: &Sweep) -> Chart {
    let maps: Vec<(&str, Vec<Place<'_>>)> = RULES
        .into_iter()
        .map(|rule| (rule, places(sweep, rule)))
        .filter(|(_, places)| !places.is_empty())
        .collect();
    Chart {
        id: "heat-map".into(),
        title: "Sweep: ratio against period".into(),
        note: "Simulated on the recording. Crosses: out of the limits or below the IOPS floor; the colours span the others. Ring: the best by the \
               objective that keeps the limits."
            .into(),
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
    let mut layout = json!({"coloraxis": colours(sweep, maps, quantity)});
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
        layout[format!("yaxis{axes}")] = y_axis(&axes, places);
        // Beside a map of the same ratios there is no need, and on a phone no room, for their
        // numbers.
        let same = maps
            .first()
            .is_some_and(|(_, first)| ratios(first) == ratios(places));
        layout[format!("yaxis{axes}")]["showticklabels"] = json!(i == 0 || !same);
        traces.push(map(places, &axes, quantity));
        traces.extend(out_of_limits(places, sweep.floor_iops, &axes));
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

/// Whether a cell keeps the limits; where it is not said, the IOPS floor alone counts.
fn keeps_limits(cell: &SweepCell, floor_iops: f64) -> bool {
    let floor = cell.gives.rates.iops >= floor_iops;
    cell.keeps_limits.unwrap_or(floor)
}

/// The colours: they span the cells that may be chosen, where there are such. Others would make
/// these look alike.
fn colours(sweep: &Sweep, maps: &[(&str, Vec<Place<'_>>)], quantity: Quantity) -> Value {
    let places = maps.iter().flat_map(|(_, places)| places);
    let kept = places.filter(|place| keeps_limits(place.cell, sweep.floor_iops));
    let (low, high) = kept
        .map(|place| quantity.2(&place.cell.gives))
        .filter(|figure| figure.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), figure| {
            (low.min(figure), high.max(figure))
        });
    let mut colours = json!({
        "colorscale": "@scale",
        "colorbar": {"title": {"text": quantity.1}, "thickness": 12, "outlinewidth": 0},
    });
    if low < high {
        colours["cmin"] = json!(low);
        colours["cmax"] = json!(high);
    }
    colours
}

fn x_axis(axes: &str, domain: [f64; 2]) -> Value {
    json!({
        "title": {"text": "period"},
        "type": "category",
        "domain": domain,
        "anchor": format!("y{axes}"),
        "showgrid": false,
    })
}

/// The axis of ratios, with half a step of room at both ends. Only the first map's axis has a
/// title.
fn y_axis(axes: &str, places: &[Place<'_>]) -> Value {
    let ratios: Vec<f64> = ratios(places).iter().map(|ratio| ratio * 100.0).collect();
    let half = |pair: Option<&[f64]>| pair.map_or(5.0, |p| (p[1] - p[0]) / 2.0);
    let low = ratios.first().copied().unwrap_or(0.0) - half(ratios.windows(2).next());
    let high = ratios.last().copied().unwrap_or(0.0) + half(ratios.windows(2).next_back());
    let name = if axes.is_empty() { "ratio, %" } else { "" };
    json!({
        "title": {"text": name},
        "range": [value(low), value(high)],
        "anchor": format!("x{axes}"),
        "showgrid": false,
        "zeroline": false,
    })
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
    let ratios = ratios(places);
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
        "x": periods.iter().map(|p| axis::round_duration(*p)).collect::<Vec<_>>(),
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
        given.rates.iops * 1e-3,
        given.rates.cpu_pct,
        given.rates.miss_rate * 100.0
    )
}

/// Crosses on the cells that are excluded from the choice: they break a limit or the IOPS floor.
fn out_of_limits(places: &[Place<'_>], floor_iops: f64, axes: &str) -> Option<Value> {
    let low: Vec<&Place<'_>> = places
        .iter()
        .filter(|p| !keeps_limits(p.cell, floor_iops))
        .collect();
    (!low.is_empty()).then(|| {
        json!({
            "type": "scatter",
            "mode": "markers",
            "xaxis": format!("x{axes}"),
            "yaxis": format!("y{axes}"),
            "x": low.iter().map(|p| axis::round_duration(p.period_ns)).collect::<Vec<_>>(),
            "y": low.iter().map(|p| value(p.ratio * 100.0)).collect::<Vec<_>>(),
            // Dark on the bright end of the scale, and with a bright edge on the dark one.
            "marker": {"symbol": "x", "size": 7, "color": "#1c2430", "line": {"width": 1, "color": "#ffffff"}},
            "showlegend": false,
            "hoverinfo": "skip",
        })
    })
}

fn ring(best: &Place<'_>, axes: &str) -> Value {
    json!({
        "type": "scatter",
        "mode": "markers",
        "xaxis": format!("x{axes}"),
        "yaxis": format!("y{axes}"),
        "x": [axis::round_duration(best.period_ns)],
        "y": [value(best.ratio * 100.0)],
        "marker": {"symbol": "circle-open", "size": 18, "color": "#ff2d6f", "line": {"width": 3}},
        "showlegend": false,
        "hoverinfo": "skip",
    })
}

fn ratios(places: &[Place<'_>]) -> Vec<f64> {
    distinct(places, |p| p.ratio)
}

fn distinct(places: &[Place<'_>], of: fn(&Place<'_>) -> f64) -> Vec<f64> {
    let mut all: Vec<f64> = places.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}
