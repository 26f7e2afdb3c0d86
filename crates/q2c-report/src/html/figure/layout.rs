//! The layout of a view: its axes, colours, lines and words.

use super::{entries, number, numbers, text, texts};
use crate::plot::{Arrangement, Axis, Colours, Draw, Mark, Scale, View};
use serde_json::{Map, Value, json};

/// The upper and the lower panel of a view, as shares of its height.
const STACKED: [[f64; 2]; 2] = [[0.42, 1.0], [0.0, 0.34]];
const HALVES: [[f64; 2]; 2] = [[0.54, 1.0], [0.0, 0.46]];
/// The middles of the halves.
const MIDDLES: [f64; 2] = [0.77, 0.23];
/// The part of its width that a panel takes when another one stands on its right.
const BESIDE: f64 = 0.9;

/// The name of the nth x or y axis in a trace.
pub(super) fn axis_id(axis: &str, n: usize) -> String {
    match n {
        0 => axis.to_owned(),
        n => format!("{axis}{}", n + 1),
    }
}

/// The name of the nth scale of colours.
pub(super) fn colours_id(n: usize) -> String {
    axis_id("coloraxis", n)
}

pub(super) fn layout(view: &View) -> Value {
    let mut layout = axes(view);
    for (n, colours) in view.colours.iter().enumerate() {
        let mut scale = colour_scale(colours);
        if view.colours.len() > 1 {
            scale["colorbar"]["len"] = json!(0.5);
            scale["colorbar"]["y"] = json!(MIDDLES[n.min(1)]);
        }
        layout.insert(colours_id(n), scale);
    }
    if view.series.iter().any(|of| of.draw == Draw::StackedBars) {
        layout.insert("barmode".into(), "stack".into());
    }
    if let Some(gap) = view.bar_gap {
        layout.insert("bargap".into(), gap.into());
    }
    if view.hover_together {
        layout.insert("hovermode".into(), "x unified".into());
    }
    if let Some(is_shown) = view.legend {
        layout.insert("showlegend".into(), is_shown.into());
    }
    let shapes: Vec<Value> = view.marks.iter().filter_map(shape).collect();
    if !shapes.is_empty() {
        layout.insert("shapes".into(), shapes.into());
    }
    let words: Vec<Value> = view.marks.iter().filter_map(|of| words(view, of)).collect();
    if !words.is_empty() {
        layout.insert("annotations".into(), words.into());
    }
    layout.into()
}

fn axes(view: &View) -> Map<String, Value> {
    let mut axes = Map::new();
    let several = view.panels.len() > 1;
    for (n, panel) in view.panels.iter().enumerate() {
        let mut y = axis(panel);
        match view.arrangement {
            _ if !several => {}
            Arrangement::Stacked => y["domain"] = json!(STACKED[n.min(1)]),
            Arrangement::Halves => {
                y["domain"] = json!(HALVES[n.min(1)]);
                if n > 0 {
                    y["matches"] = json!("y");
                }
            }
            Arrangement::Beside => {
                let mut x = axis(&view.x);
                x["domain"] = json!(room(view, n));
                x["anchor"] = json!(axis_id("y", n));
                y["anchor"] = json!(axis_id("x", n));
                axes.insert(axis_id("xaxis", n), x);
            }
        }
        axes.insert(axis_id("yaxis", n), y);
    }
    if !axes.contains_key("xaxis") {
        let mut x = axis(&view.x);
        if several {
            x["anchor"] = json!(axis_id("y", view.panels.len() - 1));
        }
        axes.insert("xaxis".into(), x);
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

impl View {
    /// Whether each panel has an x axis of its own.
    pub(super) fn has_own_x(&self) -> bool {
        self.arrangement == Arrangement::Beside
    }
}

fn axis(of: &Axis) -> Value {
    let mut axis = entries(json!({"title": {"text": text(&of.title)}}));
    let mut set = |is_so: bool, key: &str, value: Value| {
        if is_so {
            axis.insert(key.into(), value);
        }
    };
    match &of.scale {
        Scale::Linear => {}
        Scale::Log => set(true, "type", json!("log")),
        Scale::Names(names) => {
            set(true, "type", json!("category"));
            set(!names.is_empty(), "categoryorder", json!("array"));
            set(!names.is_empty(), "categoryarray", texts(names));
        }
    }
    set(of.from_zero, "rangemode", json!("tozero"));
    // The page's own key: charts with it follow each other.
    set(of.linked, "linked", json!(true));
    set(of.reversed, "autorange", json!("reversed"));
    if let Some((from, to)) = of.range {
        set(true, "range", json!([number(from), number(to)]));
    }
    set(!of.ticks.is_empty(), "tickvals", numbers(&of.ticks, true));
    set(!of.tick_names.is_empty(), "ticktext", texts(&of.tick_names));
    set(!of.labelled, "showticklabels", json!(false));
    set(!of.grid, "showgrid", json!(false));
    set(!of.grid, "zeroline", json!(false));
    axis.into()
}

fn colour_scale(of: &Colours) -> Value {
    let mut bar = json!({
        "title": {"text": text(&of.title)}, "thickness": 12, "outlinewidth": 0,
    });
    if !of.ticks.is_empty() {
        bar["tickvals"] = of.ticks.iter().map(|(at, _)| *at).collect();
        bar["ticktext"] = of.ticks.iter().map(|(_, name)| *name).collect();
    }
    if let Some(most) = of.most_ticks {
        bar["nticks"] = json!(most);
    }
    let mut scale = json!({"colorscale": of.scale, "colorbar": bar});
    if let Some((from, to)) = of.range {
        scale["cmin"] = json!(from);
        scale["cmax"] = json!(to);
    }
    scale
}

/// The line of a mark.
fn shape(mark: &Mark) -> Option<Value> {
    let vertical = |x: f64, width: f64| {
        json!({
            "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": number(x), "x1": number(x),
            "line": {"color": "@muted", "width": width, "dash": "dot"},
        })
    };
    match mark {
        Mark::Height { y, name } => Some(json!({
            "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": number(*y), "y1": number(*y),
            "line": {"color": "@muted", "width": 1, "dash": "dash"},
            "label": {
                "text": text(name), "textposition": "end", "yanchor": "top",
                "font": {"size": 11, "color": "@muted"},
            },
        })),
        Mark::Limit { x, name } => {
            let mut line = vertical(*x, 1.0);
            line["label"] = json!({"text": text(name), "textposition": "start"});
            Some(line)
        }
        Mark::Begin { is_first: true, .. } | Mark::Heading { .. } => None,
        Mark::Begin {
            x,
            is_upright: true,
            ..
        } => Some(vertical(*x, 1.0)),
        Mark::Begin { x, .. } => {
            let mut line = vertical(*x, 1.5);
            line["layer"] = json!("below");
            Some(line)
        }
    }
}

/// The words of a mark that stand beside its line.
fn words(view: &View, mark: &Mark) -> Option<Value> {
    match mark {
        Mark::Height { .. } | Mark::Limit { .. } => None,
        Mark::Begin {
            x,
            name,
            is_upright,
            ..
        } => {
            let (turn, anchor) = if *is_upright {
                (-90, "top")
            } else {
                (0, "bottom")
            };
            Some(json!({
                "x": number(*x), "y": 1, "xref": "x", "yref": "paper", "xanchor": "left",
                "yanchor": anchor, "textangle": turn, "showarrow": false, "text": text(name),
                "font": {"size": 11, "color": "@muted"},
            }))
        }
        Mark::Heading { panel, kind, name } => {
            let [left, right] = room(view, *panel);
            Some(json!({
                "text": format!("{} <b>{}</b>", text(kind), text(name)),
                "x": (left + right) / 2.0, "y": 1.0, "xref": "paper", "yref": "paper",
                "xanchor": "center", "yanchor": "bottom", "showarrow": false,
            }))
        }
    }
}
