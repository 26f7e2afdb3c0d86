//! Plots as figures of plotly: views that have axes, series of numbers, and marks.
//!
//! Every name and text is escaped here, because plotly reads markup in them. A text may have
//! several lines. A colour is fixed (`#e5484d`) or a name of the page's style sheet (`@poll`),
//! whose value the page's script sets for the light and the dark scheme. Values that are plotly's
//! defaults are left out of a figure.

/// Writes functions such as `name(value) { field["key"] = expression }`, which take a value and
/// return it with the field, or an entry of it, set.
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

mod axis;
mod layout;
mod quantity;
mod series;
mod style;
mod value;

pub(crate) use axis::{PlotAxis, round_duration};
pub(crate) use layout::{Colours, PlotMark};
pub(crate) use quantity::Quantity;
pub(crate) use series::{PlotPlaces, PlotSeries, SeriesShape, Whiskers, grid, known};
pub(crate) use style::{Style, hue, styles};

use serde_json::{Value, json};

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

    pub(crate) fn has_data(&self) -> bool {
        self.views.iter().any(|view| !view.series.is_empty())
    }
}

/// The plots that have something to draw. `suffix` makes their ids differ from those of other parts
/// of the page.
pub(crate) fn with_data(plots: impl IntoIterator<Item = Plot>, suffix: &str) -> Vec<Plot> {
    let mut plots: Vec<Plot> = plots.into_iter().filter(Plot::has_data).collect();
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
    Beside,
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

    /// Adds a low panel for the series that are [`PlotSeries::below`].
    pub(crate) fn above(mut self, lower: PlotAxis) -> Self {
        self.panels.push(lower);
        self.hover_together()
    }

    pub(crate) fn halved(mut self) -> Self {
        self.panels.push(self.panels[0].clone());
        self.arrangement = Arrangement::Halves;
        self
    }

    /// Replaces the panels by `panels`, which stand beside each other.
    pub(crate) fn side_by_side(mut self, panels: Vec<PlotAxis>) -> Self {
        (self.panels, self.arrangement) = (panels, Arrangement::Beside);
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
        hover_together() { settings["hovermode"] = "x unified" }
        /// The share of the room that stays free between bars, 0 to 1.
        bar_gap(share: f64) { settings["bargap"] = share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_has_axes_of_its_own() {
        let view = View::new("all", PlotAxis::new("x"), PlotAxis::new("upper"))
            .above(PlotAxis::new("lower"))
            .series([PlotSeries::line("", [(0.0, 1.0)]).below()]);
        let figure = view.figure();
        assert_eq!(figure["data"][0]["yaxis"], "y2");
        assert_eq!(figure["layout"]["yaxis2"]["title"]["text"], "lower");
        assert_eq!(figure["layout"]["xaxis"]["anchor"], "y2");
    }
}
