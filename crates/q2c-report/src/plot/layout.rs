//! The layout of a view: its axes, colours, lines and words.

use super::{Arrangement, PlotSeries, View, axis_name, merged, number, text, texts};
use crate::quantity;
use serde_json::{Value, json};

/// From where to where the upper and the lower panel reach, as shares of the view's height.
const STACKED_PANELS: [[f64; 2]; 2] = [[0.42, 1.0], [0.0, 0.34]];
const HALF_PANELS: [[f64; 2]; 2] = [[0.54, 1.0], [0.0, 0.46]];
/// The middles of the two halves, as shares of the view's height.
const HALF_MIDDLES: [f64; 2] = [0.77, 0.23];
/// The share of its room that a panel uses if another one stands on its right.
const PANEL_SHARE: f64 = 0.9;

pub(super) fn layout(view: &View) -> Value {
    let mut layout = axes(view);
    for (n, Colours(colours)) in view.colours.iter().enumerate() {
        let mut scale = colours.clone();
        if view.colours.len() > 1 {
            scale["colorbar"]["len"] = json!(0.5);
            scale["colorbar"]["y"] = json!(HALF_MIDDLES[n.min(1)]);
        }
        layout[axis_name("coloraxis", n)] = scale;
    }
    let [mut shapes, mut annotations] = [Vec::new(), Vec::new()];
    for PlotMark { line, annotation } in &view.marks {
        shapes.extend(line);
        annotations.extend(annotation);
    }
    let is_stacked = view.series.iter().any(PlotSeries::is_stacked);
    let shared = json!({
        "barmode": is_stacked.then_some("stack"),
        "shapes": Some(shapes).filter(|shapes| !shapes.is_empty()),
        "annotations": Some(annotations).filter(|annotations| !annotations.is_empty()),
    });
    merged(merged(layout, view.settings.clone()), shared)
}

fn axes(view: &View) -> Value {
    let mut axes = json!({});
    let count = view.panels.len();
    for (n, panel) in view.panels.iter().enumerate() {
        let (mut x, mut y) = (view.x.0.clone(), panel.0.clone());
        match view.arrangement {
            _ if count == 1 => {}
            Arrangement::Stacked => y["domain"] = json!(STACKED_PANELS[n.min(1)]),
            Arrangement::Halves => y["domain"] = json!(HALF_PANELS[n.min(1)]),
            Arrangement::SideBySide => {
                x["domain"] = json!(panel_span(n, count));
                y["anchor"] = json!(axis_name("x", n));
            }
        }
        if n > 0 && view.arrangement == Arrangement::Halves {
            y["matches"] = json!("y");
        }
        // Panels above each other share an x axis, which belongs to the lowest panel.
        x["anchor"] = json!(axis_name("y", n));
        let is_side_by_side = view.arrangement == Arrangement::SideBySide;
        axes[axis_name("xaxis", if is_side_by_side { n } else { 0 })] = x;
        axes[axis_name("yaxis", n)] = y;
    }
    axes
}

/// From where to where one of several panels beside each other reaches, as shares of the width.
fn panel_span(panel: usize, panels: usize) -> [f64; 2] {
    let share = 1.0 / panels as f64;
    let left = share * panel as f64;
    let is_last = panel + 1 == panels;
    let right = left + share * if is_last { 1.0 } else { PANEL_SHARE };
    [left, right]
}

/// The colours of a heat map, and their bar. They span all values unless a range is set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Colours(Value);

impl Colours {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        let title = json!({"text": text(&title.into())});
        let bar = json!({"title": title, "thickness": 12, "outlinewidth": 0});
        Colours(json!({"colorscale": "@scale", "colorbar": bar}))
    }

    setters! {
        scale(scale: &str) { 0["colorscale"] = scale }
        max_ticks(n: u64) { 0["colorbar"]["nticks"] = n }
    }

    pub(crate) fn spanning(mut self, range: Option<(f64, f64)>) -> Self {
        if let Some((from, to)) = range {
            (self.0["cmin"], self.0["cmax"]) = (from.into(), to.into());
        }
        self
    }

    pub(crate) fn ticks(mut self, ticks: impl IntoIterator<Item = (f64, &'static str)>) -> Self {
        let (places, names): (Vec<f64>, Vec<&str>) = ticks.into_iter().unzip();
        let bar = &mut self.0["colorbar"];
        (bar["tickvals"], bar["ticktext"]) = (places.into(), names.into());
        self
    }
}

/// A line or a text that is drawn in addition to the series of a view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlotMark {
    line: Option<Value>,
    annotation: Option<Value>,
}

impl PlotMark {
    /// A horizontal line, with its name at the right end.
    pub(crate) fn horizontal(y: f64, name: &str) -> Self {
        let line = json!({
            "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": number(y), "y1": number(y),
            "line": line_style(1.0, "dash"),
            "label": {
                "text": text(name), "textposition": "end", "yanchor": "top",
                "font": {"size": 11, "color": "@muted"},
            },
        });
        PlotMark::line(line)
    }

    /// A vertical line, with its name along the lower end.
    pub(crate) fn vertical_limit(x: f64, name: &str) -> Self {
        let mut line = vertical_line(x, 1.0);
        line["label"] = json!({"text": text(name), "textposition": "start"});
        PlotMark::line(line)
    }

    /// The start of a part of the time: a vertical line with the part's name. The first part has no
    /// line, because it starts with the axis. Names of short parts are turned upright within the
    /// plot, because above it they would overlap.
    pub(crate) fn phase_start(x: f64, name: &str, is_first: bool, is_upright: bool) -> Self {
        let mut line = vertical_line(x, if is_upright { 1.0 } else { 1.5 });
        line["layer"] = json!(if is_upright { "above" } else { "below" });
        PlotMark {
            line: (!is_first).then_some(line),
            annotation: Some(json!({
                "x": number(x), "y": 1, "xref": "x", "yref": "paper", "xanchor": "left",
                "yanchor": if is_upright { "top" } else { "bottom" },
                "textangle": if is_upright { -90 } else { 0 },
                "showarrow": false, "text": text(name), "font": {"size": 11, "color": "@muted"},
            })),
        }
    }

    /// The heading of panel number `panel` of `panels`: `kind`, then the panel's `name` in bold.
    pub(crate) fn heading(panel: usize, panels: usize, kind: &str, name: &str) -> Self {
        let [left, right] = panel_span(panel, panels);
        PlotMark {
            line: None,
            annotation: Some(json!({
                "text": format!("{} <b>{}</b>", text(kind), text(name)),
                "x": (left + right) / 2.0, "y": 1.0, "xref": "paper", "yref": "paper",
                "xanchor": "center", "yanchor": "bottom", "showarrow": false,
            })),
        }
    }

    fn line(line: Value) -> Self {
        PlotMark {
            line: Some(line),
            annotation: None,
        }
    }
}

fn line_style(width: f64, dash: &str) -> Value {
    json!({"color": "@muted", "width": width, "dash": dash})
}

fn vertical_line(x: f64, width: f64) -> Value {
    json!({
        "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": number(x), "x1": number(x),
        "line": line_style(width, "dot"),
    })
}

/// Ticks of the axis of quantiles q: their names, and their places `1 / (1 - q)`.
const QUANTILE_NAMES: [&str; 7] = ["0", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999"];
const QUANTILE_ODDS: [f64; 7] = [1.0, 2.0, 10.0, 100.0, 1e3, 1e4, 1e5];

/// An axis. Its title names the unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlotAxis(Value);

impl PlotAxis {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        PlotAxis(json!({"title": {"text": text(&title.into())}}))
    }

    /// An axis that starts at zero, so that lengths can be compared.
    pub(crate) fn from_zero(title: impl Into<String>) -> Self {
        PlotAxis::new(title).with("rangemode", "tozero")
    }

    /// The x axis of time. Such plots of one section start at the same time and zoom together.
    pub(crate) fn over_time(title: impl Into<String>) -> Self {
        // The page's script reads this key and makes such plots zoom together.
        PlotAxis::from_zero(title).with("linked", true)
    }

    /// Names in the order of the series.
    pub(crate) fn names(title: impl Into<String>) -> Self {
        PlotAxis::new(title).with("type", "category")
    }

    pub(crate) fn names_in_order(title: impl Into<String>, names: &[String]) -> Self {
        let axis = PlotAxis::names(title).with("categoryorder", "array");
        axis.with("categoryarray", texts(names))
    }

    pub(crate) fn logarithmic(title: impl Into<String>) -> Self {
        PlotAxis::new(title).with("type", "log")
    }

    /// A logarithmic axis in microseconds, with ticks at 1, 2 and 5 of each decade from 100 ns to
    /// 50 s. The ticks show their units.
    pub(crate) fn logarithmic_us(title: &str) -> Self {
        logarithmic_with_ticks_us(title, &[1.0, 2.0, 5.0])
    }

    /// As [`Self::logarithmic_us`], with one tick per decade.
    pub(crate) fn decades_us(title: &str) -> Self {
        logarithmic_with_ticks_us(title, &[1.0])
    }

    pub(crate) fn shares() -> Self {
        PlotAxis::new("share of I/Os, %").range(0.0, 101.0)
    }

    /// The axis of quantiles q, logarithmic over `1 / (1 - q)`, so that each further nine takes the
    /// same length.
    pub(crate) fn quantiles() -> Self {
        let ticks = std::iter::zip(QUANTILE_ODDS, QUANTILE_NAMES.map(str::to_owned));
        PlotAxis::logarithmic("quantile").named_ticks(ticks)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        if !value.is_null() {
            self.0[key] = value;
        }
        self
    }

    pub(crate) fn ticks(self, ticks: impl IntoIterator<Item = u32>) -> Self {
        self.with("tickvals", Vec::from_iter(ticks.into_iter().map(f64::from)))
    }

    /// Sets ticks with names. Without any, plotly chooses the ticks.
    pub(crate) fn named_ticks(self, ticks: impl IntoIterator<Item = (f64, String)>) -> Self {
        let (places, names): (Vec<f64>, Vec<String>) = ticks.into_iter().unzip();
        if places.is_empty() {
            return self;
        }
        self.with("tickvals", places)
            .with("ticktext", texts(&names))
    }

    pub(crate) fn without_grid(self) -> Self {
        self.with("showgrid", false).with("zeroline", false)
    }

    pub(crate) fn reversed(self) -> Self {
        self.with("autorange", "reversed")
    }

    pub(crate) fn range(self, from: f64, to: f64) -> Self {
        self.with("range", [from, to].map(number))
    }

    pub(crate) fn hide_tick_labels_if(self, is_hidden: bool) -> Self {
        self.with("showticklabels", is_hidden.then_some(false))
    }
}

fn logarithmic_with_ticks_us(title: &str, steps: &[f64]) -> PlotAxis {
    let ticks = (-1..=7).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    PlotAxis::logarithmic(title).named_ticks(ticks.map(|us| (us, round_duration(us * 1e3))))
}

/// A round duration without decimals: `10 ms`, not `10.0 ms`.
pub(crate) fn round_duration(ns: f64) -> String {
    quantity::trim_zeros(&quantity::duration(ns))
}
