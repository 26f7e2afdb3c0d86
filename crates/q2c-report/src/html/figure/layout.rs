//! The layout of a view: its axes, colours, lines and words.

use super::{filled, number, text, texts};
use crate::plot::{Arrangement, Colours, PlotAxis, PlotMark, Scale, SeriesShape, View};
use serde_json::{Map, Value, json};

/// The upper and the lower panel of a view, as shares of its height.
const STACKED: [[f64; 2]; 2] = [[0.42, 1.0], [0.0, 0.34]];
const HALVES: [[f64; 2]; 2] = [[0.54, 1.0], [0.0, 0.46]];
/// The middles of the halves.
const MIDDLES: [f64; 2] = [0.77, 0.23];
/// The part of its room that a panel takes when another one stands on its right.
const BESIDE: f64 = 0.9;

/// The name of the nth x or y axis, or scale of colours.
pub(super) fn axis_id(axis: &str, n: usize) -> String {
    match n {
        0 => axis.to_owned(),
        n => format!("{axis}{}", n + 1),
    }
}

pub(super) fn layout(view: &View) -> Value {
    let mut layout = axes(view);
    for (n, colours) in view.colours.iter().enumerate() {
        let is_half = view.colours.len() > 1;
        let scale = colour_scale(colours, is_half.then_some(n));
        layout.insert(axis_id("coloraxis", n), scale);
    }
    let mut series = view.series.iter();
    let is_stacked = series.any(|series| series.draw == SeriesShape::StackedBars);
    let marks = view.marks.iter().map(|mark| drawn(view, mark));
    let (shapes, annotations): (Vec<_>, Vec<_>) = marks.unzip();
    let some = |drawn: Vec<Option<Value>>| {
        let drawn: Vec<Value> = drawn.into_iter().flatten().collect();
        Some(drawn).filter(|drawn| !drawn.is_empty())
    };
    let mut of_all = filled(json!({
        "barmode": is_stacked.then_some("stack"),
        "bargap": view.bar_gap,
        "hovermode": view.hover_together.then_some("x unified"),
        "showlegend": view.legend,
        "shapes": some(shapes),
        "annotations": some(annotations),
    }));
    layout.append(of_all.as_object_mut().unwrap_or(&mut Map::new()));
    layout.into()
}

fn axes(view: &View) -> Map<String, Value> {
    let mut axes = Map::new();
    let count = view.panels.len();
    for (n, panel) in view.panels.iter().enumerate() {
        let (mut x, mut y) = (axis(&view.x), axis(panel));
        match view.arrangement {
            _ if count == 1 => {}
            Arrangement::Stacked => y["domain"] = json!(STACKED[n.min(1)]),
            Arrangement::Halves => y["domain"] = json!(HALVES[n.min(1)]),
            Arrangement::Beside => {
                x["domain"] = json!(room(view, n));
                y["anchor"] = json!(axis_id("x", n));
            }
        }
        if n > 0 && view.arrangement == Arrangement::Halves {
            y["matches"] = json!("y");
        }
        // The x axis of panels above each other is that of the lowest.
        x["anchor"] = json!(axis_id("y", n));
        let nth = (view.arrangement == Arrangement::Beside).then_some(n);
        axes.insert(axis_id("xaxis", nth.unwrap_or(0)), x);
        axes.insert(axis_id("yaxis", n), y);
    }
    axes
}

/// The place of one of several panels beside each other, as shares of the width.
fn room(view: &View, panel: usize) -> [f64; 2] {
    let share = 1.0 / view.panels.len() as f64;
    let left = share * panel as f64;
    let is_last = panel + 1 == view.panels.len();
    [left, left + share * if is_last { 1.0 } else { BESIDE }]
}

fn axis(axis: &PlotAxis) -> Value {
    let (kind, names) = match &axis.scale {
        Scale::Linear => (None, None),
        Scale::Log => (Some("log"), None),
        Scale::Names(names) => (Some("category"), Some(names)),
    };
    let names = names.filter(|names| !names.is_empty());
    let no_grid = axis.without_grid.then_some(false);
    filled(json!({
        "title": {"text": text(&axis.title)},
        "type": kind,
        "categoryorder": names.map(|_| "array"),
        "categoryarray": names.map(|names| texts(names)),
        "rangemode": axis.from_zero.then_some("tozero"),
        // A key of the page's script: plots with it follow each other.
        "linked": axis.linked.then_some(true),
        "autorange": axis.reversed.then_some("reversed"),
        "range": axis.range.map(|(from, to)| [number(from), number(to)]),
        "tickvals": Some(&axis.ticks).filter(|ticks| !ticks.is_empty()),
        "ticktext": Some(texts(&axis.tick_names)).filter(|_| !axis.tick_names.is_empty()),
        "showticklabels": axis.is_bare.then_some(false),
        "showgrid": no_grid,
        "zeroline": no_grid,
    }))
}

/// The scale of colours of all panels, or of a half.
fn colour_scale(colours: &Colours, half: Option<usize>) -> Value {
    let ticks = || Some(colours.ticks.iter()).filter(|ticks| ticks.len() > 0);
    let bar = json!({
        "title": {"text": text(&colours.title)},
        "thickness": 12,
        "outlinewidth": 0,
        "tickvals": ticks().map(|ticks| ticks.map(|(at, _)| *at).collect::<Vec<f64>>()),
        "ticktext": ticks().map(|ticks| ticks.map(|(_, name)| *name).collect::<Vec<&str>>()),
        "nticks": colours.most_ticks,
        "len": half.map(|_| 0.5),
        "y": half.map(|n| MIDDLES[n.min(1)]),
    });
    filled(json!({
        "colorscale": colours.scale,
        "colorbar": filled(bar),
        "cmin": colours.range.map(|(from, _)| from),
        "cmax": colours.range.map(|(_, to)| to),
    }))
}

/// The line of a mark, and the words that stand beside it.
fn drawn(view: &View, mark: &PlotMark) -> (Option<Value>, Option<Value>) {
    let stroke = |width: f64, dash: &str| json!({"color": "@muted", "width": width, "dash": dash});
    let vertical = |x: f64, width: f64| {
        json!({
            "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": number(x), "x1": number(x),
            "line": stroke(width, "dot"),
        })
    };
    match mark {
        PlotMark::Height(y, name) => {
            let line = json!({
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": number(*y),
                "y1": number(*y), "line": stroke(1.0, "dash"),
                "label": {
                    "text": text(name), "textposition": "end", "yanchor": "top",
                    "font": {"size": 11, "color": "@muted"},
                },
            });
            (Some(line), None)
        }
        PlotMark::Limit(x, name) => {
            let mut line = vertical(*x, 1.0);
            line["label"] = json!({"text": text(name), "textposition": "start"});
            (Some(line), None)
        }
        PlotMark::Begin {
            x,
            name,
            is_first,
            is_upright,
        } => {
            let mut line = vertical(*x, if *is_upright { 1.0 } else { 1.5 });
            line["layer"] = json!(if *is_upright { "above" } else { "below" });
            let label = json!({
                "x": number(*x), "y": 1, "xref": "x", "yref": "paper", "xanchor": "left",
                "yanchor": if *is_upright { "top" } else { "bottom" },
                "textangle": if *is_upright { -90 } else { 0 },
                "showarrow": false, "text": text(name), "font": {"size": 11, "color": "@muted"},
            });
            ((!is_first).then_some(line), Some(label))
        }
        PlotMark::Heading(panel, kind, name) => {
            let [left, right] = room(view, *panel);
            let label = json!({
                "text": format!("{} <b>{}</b>", text(kind), text(name)),
                "x": (left + right) / 2.0, "y": 1.0, "xref": "paper", "yref": "paper",
                "xanchor": "center", "yanchor": "bottom", "showarrow": false,
            });
            (None, Some(label))
        }
    }
}
