//! The charts of an experiment: ours beside the published points, on the published axes.

use super::series::{Style, styles};
use super::{Chart, View, axis, values};
use crate::html::escape::chart_text;
use crate::reproduce::{factor_of, unit_of};
use q2c_result::reproduce::{ChartAsked, OurCurve, PublishedCurve, ReproduceResult};
use q2c_stats::Interval;
use serde_json::{Value, json};

/// The charts that have something to draw.
pub(crate) fn charts(result: &ReproduceResult) -> Vec<Chart> {
    let charts = result.charts.iter().enumerate();
    let mut all: Vec<Chart> = charts.map(|(n, asked)| chart(n, asked, result)).collect();
    all.retain(Chart::has_data);
    all
}

fn chart(n: usize, asked: &ChartAsked, result: &ReproduceResult) -> Chart {
    let unit = unit_of(&asked.figure);
    let x = match asked.over.as_str() {
        "time" => axis::over_time("seconds since the start"),
        over => axis::titled(over),
    };
    let styles = styles(asked.ours.len());
    let ours = asked.ours.iter().zip(&styles);
    let mut traces: Vec<Value> = ours
        .map(|(curve, style)| our(style, curve, asked, unit))
        .collect();
    traces.extend(
        asked
            .published
            .iter()
            .map(|curve| theirs(curve, asked, unit, result.scale)),
    );
    let mut layout = axis::single(&x, &axis::from_zero(unit));
    if asked.over == "time" {
        (layout["shapes"], layout["annotations"]) = borders(result);
    }
    let figure = &asked.figure;
    Chart {
        id: format!("reproduce-{n}"),
        title: asked.title.clone().into(),
        note: format!(
            "{figure} over {}. Lines: here, the median over the trials with [min, max].{}",
            asked.over,
            diamonds(asked, result.scale)
        ),
        height: 420,
        wide: true,
        views: vec![View {
            label: "all",
            traces,
            layout,
        }],
    }
}

/// What the marks of published points are. Published times are shortened as ours are, so that both
/// lie in the same phases.
fn diamonds(asked: &ChartAsked, scale: f64) -> String {
    match (
        asked.published.is_empty(),
        asked.over == "time" && scale != 1.0,
    ) {
        (true, _) => String::new(),
        (false, false) => " Diamonds: published.".to_owned(),
        (false, true) => {
            format!(" Diamonds: published, with their times multiplied by {scale} as well.")
        }
    }
}

/// A line at the begin of each phase but the first, and the phase's name beside it: upright, so
/// that the names of short phases do not overlap.
fn borders(result: &ReproduceResult) -> (Value, Value) {
    let trial = result.points.iter().find_map(|point| point.trials.first());
    let phases = trial
        .map(|trial| trial.phases.as_slice())
        .unwrap_or_default();
    let labels = result.phases.iter().map(|phase| phase.label.as_str());
    let begins = phases.iter().map(|phase| phase.begin_s).zip(labels).skip(1);
    let line = |(at, _): (f64, &str)| {
        json!({
            "type": "line", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1,
            "line": {"color": "@muted", "width": 1, "dash": "dot"},
        })
    };
    let name = |(at, label): (f64, &str)| {
        json!({
            "x": at, "y": 1, "xref": "x", "yref": "paper", "xanchor": "left", "yanchor": "top",
            "textangle": -90, "showarrow": false,
            "text": chart_text(label), "font": {"size": 11, "color": "@muted"},
        })
    };
    (
        begins.clone().map(line).collect(),
        begins.map(name).collect(),
    )
}

fn xs(points: impl Iterator<Item = String>, asked: &ChartAsked) -> Value {
    let number = |text: String| match text.parse::<f64>() {
        Ok(number) if asked.over != "phase" => json!(number),
        _ => json!(text),
    };
    points.map(number).collect()
}

fn our(style: &Style, curve: &OurCurve, asked: &ChartAsked, unit: &str) -> Value {
    let over = |of: fn(&Interval) -> f64| {
        let all: Vec<f64> = curve.points.iter().map(|(_, value)| of(value)).collect();
        values(&all, 1.0 / factor_of(unit))
    };
    let lines = if asked.over == "time" {
        "lines"
    } else {
        "lines+markers"
    };
    json!({
        "type": "scatter",
        "mode": lines,
        "name": chart_text(&curve.name),
        "x": xs(curve.points.iter().map(|(at, _)| at.clone()), asked),
        "y": over(|value| value.median),
        "line": {"color": style.colour, "width": 1.6, "dash": style.dash},
        "marker": {"color": style.colour, "symbol": style.symbol},
        "error_y": {
            "type": "data",
            "visible": asked.over != "time",
            "symmetric": false,
            "array": over(|value| value.max - value.median),
            "arrayminus": over(|value| value.median - value.min),
        },
        "hovertemplate": format!("%{{y}} {unit}, here"),
    })
}

fn theirs(curve: &PublishedCurve, asked: &ChartAsked, unit: &str, scale: f64) -> Value {
    let place = |at: &String| match at.parse::<f64>() {
        Ok(seconds) if asked.over == "time" => (seconds * scale).to_string(),
        _ => at.clone(),
    };
    let all: Vec<f64> = curve.points.iter().map(|(_, value)| *value).collect();
    json!({
        "type": "scatter",
        "mode": "markers",
        "name": chart_text(&curve.name),
        "x": xs(curve.points.iter().map(|(at, _)| place(at)), asked),
        "y": values(&all, 1.0 / factor_of(unit)),
        "marker": {"size": 10, "symbol": "diamond", "color": "@muted"},
        "hovertemplate": format!("%{{y}} {unit}, published"),
    })
}
