//! A plot is data: views with axes, series of numbers and marks. It knows nothing of the library
//! that draws it on a page.
//!
//! Texts are as they are; who draws them makes them harmless. A text may have several lines.
//! Colours are names of the page's style sheet (`@poll`), which have values for the light and the
//! dark scheme, or fixed ones (`#e5484d`).

/// Writes functions such as `name(value) { field = expression }`, which take a value and return it
/// with the field set.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($value:ident: $kind:ty),*) { $field:ident = $set:expr })*) => {
        $(
            $(#[$doc])*
            pub fn $name(mut self $(, $value: $kind)*) -> Self {
                self.$field = $set;
                self
            }
        )*
    };
}

mod axis;
mod quantity;
mod series;
mod style;

pub(crate) use axis::{PlotAxis, Scale, round_duration};
pub(crate) use quantity::Quantity;
pub(crate) use series::{Coordinate, Hover, PlotSeries, SeriesShape, Values, Whiskers};
pub(crate) use series::{grid, known};
pub(crate) use style::{Style, hue, styles};

/// A plot with its caption. A reader switches between its views.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plot {
    /// Unique on its page.
    pub id: String,
    pub title: String,
    /// How to read the plot.
    pub note: String,
    /// In CSS pixels.
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
        note(note: impl Into<String>) { note = note.into() }
        narrow() { wide = false }
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

/// The plots that have something to draw, with an id that tells them from those of other parts of
/// the page.
pub(crate) fn with_data(plots: impl IntoIterator<Item = Plot>, suffix: &str) -> Vec<Plot> {
    let mut plots: Vec<Plot> = plots.into_iter().filter(Plot::has_data).collect();
    plots.iter_mut().for_each(|plot| plot.id += suffix);
    plots
}

/// Where the panels of a view stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// A high panel above a low one, over one x axis.
    #[default]
    Stacked,
    /// Two panels of one height and one y axis above each other, over one x axis.
    Halves,
    /// Beside each other, each with an x axis of its own.
    Beside,
}

/// The colours of a heat map, and their bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Colours {
    pub title: String,
    pub scale: &'static str,
    /// What the colours span; all values without it.
    pub range: Option<(f64, f64)>,
    pub ticks: Vec<(f64, &'static str)>,
    pub most_ticks: Option<u64>,
}

impl Colours {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Colours {
            title: title.into(),
            scale: "@scale",
            ..Colours::default()
        }
    }
}

/// Lines and words that stand in a view beside its series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlotMark {
    /// A horizontal line, with its name at the right end.
    Height(f64, &'static str),
    /// A vertical line, with its name along the lower end.
    Limit(f64, &'static str),
    /// The begin of a part of the time: a vertical line, and the name of the part.
    Begin {
        x: f64,
        name: String,
        /// The first part begins with the axis, and needs no line.
        is_first: bool,
        /// Whether the name stands upright in the plot instead of above it: names of short parts
        /// would overlap.
        is_upright: bool,
    },
    /// The heading of a panel: what panels are of, and of which this one is.
    Heading(usize, &'static str, String),
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
    /// The colours of heat maps: of all panels, or of each.
    pub colours: Vec<Colours>,
    /// Without it there is a legend where there are several names.
    pub legend: Option<bool>,
    /// Whether the hover text tells all series at one place on the x axis.
    pub hover_together: bool,
    /// The part of the room that is left free between bars.
    pub bar_gap: Option<f64>,
}

impl View {
    pub(crate) fn new(label: &'static str, x: PlotAxis, y: PlotAxis) -> Self {
        View {
            label,
            x,
            panels: vec![y],
            ..View::default()
        }
    }

    pub(crate) fn over_time(label: &'static str, y: PlotAxis) -> Self {
        View::new(label, PlotAxis::over_time("time, s"), y)
    }

    /// Adds a low panel, for the series that are [`PlotSeries::below`].
    pub(crate) fn above(mut self, lower: PlotAxis) -> Self {
        self.panels.push(lower);
        self.hover_together()
    }

    pub(crate) fn halved(mut self) -> Self {
        self.panels.push(self.panels[0].clone());
        self.arrangement = Arrangement::Halves;
        self
    }

    /// Replaces the panels by some that stand beside each other.
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
        legend(is_shown: bool) { legend = Some(is_shown) }
        hover_together() { hover_together = true }
        bar_gap(share: f64) { bar_gap = Some(share) }
    }
}
