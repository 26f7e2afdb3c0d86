//! Plots as figures of plotly: views that have axes, series of numbers, and marks.
//!
//! Every name and text is escaped here, because plotly reads markup in them. A text may have
//! several lines. A colour is fixed (`#e5484d`) or a name of the page's style sheet (`@poll`),
//! whose value the page's script sets for the light and the dark scheme. Values that are plotly's
//! defaults are left out of a figure.

use q2c_model::stats::Interval;
use serde_json::{Value, json};

/// Writes a method for each line such as `name(value: Type) { field["key"] = expression }`. It sets
/// the field, or the entry `key` of the field, to the expression, and returns `self`.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($value:ident: $kind:ty),*) {
        $field:tt $([$key:literal])* = $set:expr
    })*) => {
        $(
            $(#[$doc])*
            pub fn $name(mut self $(, $value: $kind)*) -> Self {
                self.$field$([$key])* = $set.into();
                self
            }
        )*
    };
}

mod layout;
mod series;

pub(crate) use layout::{Colours, PlotAxis, PlotMark, round_duration};
pub(crate) use series::{PlotPlaces, PlotSeries, SeriesShape, Whiskers, grid, median_or_gap};

/// A plot with its caption. A reader can switch between its views.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plot {
    /// The id, unique on its page.
    pub id: String,
    pub title: String,
    /// How to read the plot.
    pub note: String,
    /// Height in CSS pixels.
    pub height: u32,
    pub wide: bool,
    pub views: Vec<View>,
}

impl Plot {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, height: u32) -> Self {
        Plot {
            id: id.into(),
            title: title.into(),
            note: String::new(),
            height,
            wide: true,
            views: Vec::new(),
        }
    }

    setters! {
        note(note: impl Into<String>) { note = note }
        narrow() { wide = false }
    }

    /// The figures of all views, as a JSON list.
    pub(crate) fn figures(&self) -> Value {
        self.views.iter().map(View::figure).collect()
    }

    pub(crate) fn view(self, view: View) -> Self {
        self.views([view])
    }

    pub(crate) fn views(mut self, views: impl IntoIterator<Item = View>) -> Self {
        self.views.extend(views);
        self
    }
}

/// The plots that have something to draw. `suffix` makes their ids differ from those of other parts
/// of the page.
pub(crate) fn with_data(plots: impl IntoIterator<Item = Plot>, suffix: &str) -> Vec<Plot> {
    let has_data = |plot: &Plot| plot.views.iter().any(|view| !view.series.is_empty());
    let mut plots: Vec<Plot> = plots.into_iter().filter(has_data).collect();
    plots.iter_mut().for_each(|plot| plot.id += suffix);
    plots
}

/// How the panels of a view are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// A high panel above a low one, over one x axis.
    #[default]
    Stacked,
    /// Two panels of equal height, one above the other, with one y scale and one x axis.
    Halves,
    /// Panels beside each other, each with an x axis of its own.
    SideBySide,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View {
    /// Name of the button that shows the view.
    pub label: &'static str,
    pub x: PlotAxis,
    /// The y axes of the panels; most views have one.
    pub panels: Vec<PlotAxis>,
    pub arrangement: Arrangement,
    pub series: Vec<PlotSeries>,
    pub marks: Vec<PlotMark>,
    /// The colours of the heat maps: one for all panels, or one for each.
    pub colours: Vec<Colours>,
    settings: Value,
}

impl View {
    pub(crate) fn new(label: &'static str, x: PlotAxis, y: PlotAxis) -> Self {
        View {
            label,
            x,
            panels: vec![y],
            settings: json!({}),
            ..View::default()
        }
    }

    fn figure(&self) -> Value {
        let traces = self.series.iter();
        let traces: Value = traces.map(|series| series.trace(self)).collect();
        json!({"label": self.label, "data": traces, "layout": layout::layout(self)})
    }

    pub(crate) fn over_time(label: &'static str, y: PlotAxis) -> Self {
        View::new(label, PlotAxis::over_time("time, s"), y)
    }

    /// Adds a low panel for the series that are [`PlotSeries::lower`].
    pub(crate) fn with_lower(mut self, lower: PlotAxis) -> Self {
        self.panels.push(lower);
        self.unified_hover()
    }

    pub(crate) fn with_halves(mut self) -> Self {
        self.panels.push(self.panels[0].clone());
        self.arrangement = Arrangement::Halves;
        self
    }

    /// Replaces the panels by `panels`, which stand beside each other.
    pub(crate) fn side_by_side(mut self, panels: Vec<PlotAxis>) -> Self {
        (self.panels, self.arrangement) = (panels, Arrangement::SideBySide);
        self
    }

    pub(crate) fn series(mut self, series: impl IntoIterator<Item = PlotSeries>) -> Self {
        self.series.extend(series);
        self
    }

    pub(crate) fn marks(mut self, marks: impl IntoIterator<Item = PlotMark>) -> Self {
        self.marks.extend(marks);
        self
    }

    pub(crate) fn colours(mut self, colours: Colours) -> Self {
        self.colours.push(colours);
        self
    }

    setters! {
        /// Without this setting, a legend is shown if several series have names.
        legend(is_shown: bool) { settings["showlegend"] = is_shown }
        /// The hover text lists all series at one place of the x axis.
        unified_hover() { settings["hovermode"] = "x unified" }
        /// The share of the room that stays free between bars, 0 to 1.
        bar_gap(share: f64) { settings["bargap"] = share }
    }
}

/// A quantity of `T`: the label of its view, the title of its axis, the factor for its numbers, and
/// the function that reads them.
pub(crate) struct Quantity<T, V = f64> {
    pub label: &'static str,
    pub axis: &'static str,
    pub scale: f64,
    pub value: fn(&T) -> V,
}

impl<T, V> Quantity<T, V> {
    pub(crate) const fn new(
        label: &'static str,
        axis: &'static str,
        scale: f64,
        value: fn(&T) -> V,
    ) -> Self {
        Quantity {
            label,
            axis,
            scale,
            value,
        }
    }

    /// The unit: the first word after the comma in the axis title, or the title's first word.
    pub(crate) fn unit(&self) -> &'static str {
        let (_, unit) = self.axis.split_once(", ").unwrap_or(("", self.axis));
        unit.split(' ').next().unwrap_or_default()
    }

    pub(crate) fn view(&self, x: PlotAxis) -> View {
        View::new(self.label, x, PlotAxis::from_zero(self.axis))
    }
}

impl<T> Quantity<T> {
    pub(crate) fn figure(&self, item: &T) -> f64 {
        (self.value)(item) * self.scale
    }
}

impl<'a, T: 'a> Quantity<T, Interval> {
    pub(crate) fn medians<X: Into<Value>>(
        &self,
        name: &str,
        points: impl Iterator<Item = (X, &'a T)>,
    ) -> PlotSeries {
        let points = points.map(|(x, item)| (x, (self.value)(item)));
        PlotSeries::medians(name, points, self.scale)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub colour: String,
    pub dash: &'static str,
    pub symbol: &'static str,
}

/// Colours that are easy to tell apart; with more series than these, all get hues instead.
const COLOURS: [&str; 9] = [
    "@interrupt",
    "@poll",
    "@chosen",
    "@a",
    "@b",
    "@c",
    "@d",
    "@e",
    "@f",
];

/// With more series than named colours, hues come close to each other, so dashes and symbols differ
/// too.
const DASHES: [&str; 3] = ["solid", "dash", "dot"];
const SYMBOLS: [&str; 5] = ["circle", "square", "diamond", "triangle-up", "cross"];

/// One style for each of `series` series. Those with a named colour have solid lines and circles.
pub(crate) fn styles(series: usize) -> Vec<Style> {
    let style = |n: usize| match COLOURS.get(n).filter(|_| series <= COLOURS.len()) {
        Some(named) => Style {
            colour: (*named).to_owned(),
            ..hue(0, 1)
        },
        None => hue(n, series),
    };
    (0..series).map(style).collect()
}

/// The style of series number `n` of many, whose hues are spread over the circle of colours.
pub(crate) fn hue(n: usize, series: usize) -> Style {
    Style {
        colour: format!("@hue{}", 360 * n / series.max(1)),
        dash: DASHES[n % DASHES.len()],
        symbol: SYMBOLS[n % SYMBOLS.len()],
    }
}

/// An object with the entries of both, without those that are null.
fn merged(mut object: Value, mut other: Value) -> Value {
    if let (Some(entries), Some(others)) = (object.as_object_mut(), other.as_object_mut()) {
        entries.append(others);
        entries.retain(|_, value| !value.is_null());
    }
    object
}

/// A number with five significant digits; null, which is a gap, if it is not finite.
fn number(number: f64) -> Value {
    // JSON has no infinity or NaN: they become null.
    format!("{number:.4e}").parse::<f64>().ok().into()
}

/// Rounds all numbers in a list, or in lists within it, like [`number`].
fn round(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Number(exact) => *value = number(exact.as_f64().unwrap_or(f64::NAN)),
        _ => {}
    }
}

/// A text for plotly, escaped because plotly reads `<b>`, `<a href>` and entities; it keeps its
/// lines.
fn text(raw: &str) -> String {
    let escaped = raw.replace('&', "&amp;").replace('<', "&lt;");
    escaped.replace('>', "&gt;").replace('\n', "<br>")
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(|raw| text(raw)).collect()
}

/// The name of an axis or colour scale with the number `n`, counted from 0: `x`, `x2`, `x3`.
fn axis_name(axis: &str, n: usize) -> String {
    match n {
        0 => axis.to_owned(),
        n => format!("{axis}{}", n + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_panel_has_axes_of_its_own() {
        let view = View::new("all", PlotAxis::new("x"), PlotAxis::new("upper"))
            .with_lower(PlotAxis::new("lower"))
            .series([PlotSeries::line("", [(0.0, 1.0)]).lower()]);
        let figure = view.figure();
        assert_eq!(figure["data"][0]["yaxis"], "y2");
        assert_eq!(figure["layout"]["yaxis2"]["title"]["text"], "lower");
        assert_eq!(figure["layout"]["xaxis"]["anchor"], "y2");
    }

    #[test]
    fn the_unit_stands_in_the_title_of_the_axis() {
        let unit = |axis| Quantity::new("", axis, 1.0, |number: &f64| *number).unit();
        let axes = [
            "KIOPS of the background",
            "CPU, % of one",
            "mean latency, us",
        ];
        assert_eq!(axes.map(unit), ["KIOPS", "%", "us"]);
    }

    #[test]
    fn no_two_series_have_one_colour() {
        for series in [1, 9, 10, 40] {
            let styles = styles(series);
            let colours: BTreeSet<&str> = styles.iter().map(|s| s.colour.as_str()).collect();
            assert_eq!(colours.len(), series, "{colours:?}");
        }
        assert_eq!(styles(10)[1].colour, "@hue36");
    }
}
