//! Series of points, and how they are drawn.

use super::Style;
use q2c_stats::Interval;
use std::borrow::Cow;

/// What a series is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    Line,
    Dots,
    DottedLine,
    /// A line that keeps each height until the next point.
    Steps,
    /// An area that stands upon those of the series before.
    Area,
    Bars,
    /// Bars that stand upon those of the series before.
    StackedBars,
    /// Cells in colours: a column for each x, a row for each y.
    HeatMap,
}

/// Places along an axis. A number that is not finite is a gap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Numbers(Vec<f64>),
    Names(Vec<String>),
    /// As many as there are cells, with the same distance between them.
    Even {
        first: f64,
        step: f64,
    },
}

impl FromIterator<f64> for Values {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Self {
        Values::Numbers(numbers.into_iter().collect())
    }
}

impl<const N: usize> From<[f64; N]> for Values {
    fn from(numbers: [f64; N]) -> Self {
        numbers.into_iter().collect()
    }
}

impl FromIterator<Option<f64>> for Values {
    fn from_iter<I: IntoIterator<Item = Option<f64>>>(numbers: I) -> Self {
        numbers
            .into_iter()
            .map(|number| number.unwrap_or(f64::NAN))
            .collect()
    }
}

impl FromIterator<String> for Values {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        Values::Names(names.into_iter().collect())
    }
}

impl<'a> FromIterator<&'a str> for Values {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        names.into_iter().map(str::to_owned).collect()
    }
}

impl Values {
    pub fn scaled(numbers: &[f64], scale: f64) -> Self {
        numbers.iter().map(|number| number * scale).collect()
    }
}

/// The reach of an interval to both sides of each point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Whiskers {
    pub above: Vec<f64>,
    pub below: Vec<f64>,
    pub thin: bool,
}

impl Whiskers {
    /// Thin whiskers from the medians to the smallest and the largest trial.
    pub fn of(intervals: &[Interval], scale: f64) -> Self {
        let side = |of: fn(&Interval) -> f64| intervals.iter().map(|i| of(i) * scale).collect();
        Whiskers {
            above: side(|i| i.max - i.median),
            below: side(|i| i.median - i.min),
            thin: true,
        }
    }

    pub fn thick(mut self) -> Self {
        self.thin = false;
        self
    }
}

/// The median, and a gap where nothing was measured.
pub(crate) fn known(interval: &Interval) -> f64 {
    if interval.trials == 0 {
        return f64::NAN;
    }
    interval.median
}

/// What the hover text of a point says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Hover {
    /// Its place and the name of the series.
    Place,
    /// The series has none.
    Nothing,
    /// Words in which `{x}`, `{y}` and `{z}` stand for the point's numbers, `{y:.1f}` for one with
    /// one decimal, and `{text}` for its text.
    Words {
        words: Cow<'static, str>,
        /// Whether the name of the series stands beside them.
        named: bool,
    },
}

/// A series of points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub draw: Draw,
    /// Empty for a series without an entry in the legend.
    pub name: String,
    /// Whether the series is shown and hidden with all others of its name.
    pub grouped: bool,
    pub in_legend: bool,
    pub x: Values,
    pub y: Values,
    /// The rows of a heat map.
    pub cells: Vec<Vec<f64>>,
    /// Whether there is some room between the cells.
    pub spaced: bool,
    pub x_whiskers: Option<Whiskers>,
    pub y_whiskers: Option<Whiskers>,
    /// A text for each point; for each cell of a heat map, row by row.
    pub texts: Vec<String>,
    pub hover: Hover,
    /// Empty for a colour that no other series of the view has.
    pub colour: Cow<'static, str>,
    /// Width of the line.
    pub width: f64,
    pub dash: &'static str,
    /// Size of the dots.
    pub size: f64,
    /// The symbol of all dots, or of each.
    pub symbols: Vec<&'static str>,
    /// Colour and width of the edge of dots.
    pub edge: Option<(Cow<'static, str>, f64)>,
    pub opacity: f64,
    /// Whether the area to the series before is filled.
    pub filled: bool,
    pub panel: usize,
    /// Whether all digits count. Five are finer than a pixel and keep a page small, but would
    /// merge I/Os late in a trace.
    pub exact: bool,
}

impl Series {
    fn new(draw: Draw, name: impl Into<String>, x: Values, y: Values) -> Self {
        Series {
            draw,
            name: name.into(),
            grouped: false,
            in_legend: true,
            x,
            y,
            cells: Vec::new(),
            spaced: false,
            x_whiskers: None,
            y_whiskers: None,
            texts: Vec::new(),
            hover: Hover::Place,
            colour: "".into(),
            width: 2.0,
            dash: "solid",
            size: 6.0,
            symbols: vec!["circle"],
            edge: None,
            opacity: 1.0,
            filled: false,
            panel: 0,
            exact: false,
        }
    }

    pub fn line(name: impl Into<String>, x: Values, y: Values) -> Self {
        Series::new(Draw::Line, name, x, y)
    }

    pub fn dots(name: impl Into<String>, x: Values, y: Values) -> Self {
        Series::new(Draw::Dots, name, x, y)
    }

    pub fn dotted_line(name: impl Into<String>, x: Values, y: Values) -> Self {
        Series::new(Draw::DottedLine, name, x, y)
    }

    /// Medians over trials, with whiskers to the smallest and the largest trial. Nothing stands
    /// where nothing was measured.
    pub fn medians(name: impl Into<String>, x: Values, intervals: &[Interval], scale: f64) -> Self {
        let y = intervals.iter().map(|i| known(i) * scale).collect();
        Series::dotted_line(name, x, y).y_whiskers(Whiskers::of(intervals, scale))
    }

    pub fn steps(name: impl Into<String>, x: Values, y: Values) -> Self {
        Series::new(Draw::Steps, name, x, y)
    }

    pub fn area(name: impl Into<String>, x: Values, y: Values) -> Self {
        Series::new(Draw::Area, name, x, y)
    }

    pub fn bars(name: impl Into<String>, x: Values, y: Values) -> Self {
        Series::new(Draw::Bars, name, x, y)
    }

    pub fn stacked_bars(name: impl Into<String>, x: Values, y: Values) -> Self {
        Series::new(Draw::StackedBars, name, x, y)
    }

    pub fn heat_map(x: Values, y: Values, cells: Vec<Vec<f64>>) -> Self {
        Series {
            cells,
            ..Series::new(Draw::HeatMap, "", x, y)
        }
    }

    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    pub fn grouped(mut self) -> Self {
        self.grouped = true;
        self
    }

    pub fn unlisted(mut self) -> Self {
        self.in_legend = false;
        self
    }

    pub fn spaced(mut self) -> Self {
        self.spaced = true;
        self
    }

    pub fn x_whiskers(mut self, whiskers: Whiskers) -> Self {
        self.x_whiskers = Some(whiskers);
        self
    }

    pub fn y_whiskers(mut self, whiskers: Whiskers) -> Self {
        self.y_whiskers = Some(whiskers);
        self
    }

    /// A text for each point, which the hover text may name.
    pub fn texts(mut self, texts: impl IntoIterator<Item = String>) -> Self {
        self.texts = texts.into_iter().collect();
        self
    }

    /// Says in the hover text the height of a point in a unit.
    pub fn unit(self, unit: &str) -> Self {
        self.hover(format!("{{y}} {unit}"))
    }

    /// Sets the words of the hover text beside the name of the series; see [`Hover::Words`].
    pub fn hover(self, words: impl Into<Cow<'static, str>>) -> Self {
        Series {
            hover: Hover::Words {
                words: words.into(),
                named: true,
            },
            ..self
        }
    }

    /// Sets the words of the hover text without the name of the series.
    pub fn hover_alone(self, words: impl Into<Cow<'static, str>>) -> Self {
        Series {
            hover: Hover::Words {
                words: words.into(),
                named: false,
            },
            ..self
        }
    }

    pub fn without_hover(mut self) -> Self {
        self.hover = Hover::Nothing;
        self
    }

    pub fn colour(mut self, colour: impl Into<Cow<'static, str>>) -> Self {
        self.colour = colour.into();
        self
    }

    pub fn style(self, style: &Style) -> Self {
        self.colour(style.colour.clone())
            .dash(style.dash)
            .symbol(style.symbol)
    }

    pub fn width(self, width: f64) -> Self {
        Series { width, ..self }
    }

    pub fn dash(self, dash: &'static str) -> Self {
        Series { dash, ..self }
    }

    pub fn size(self, size: f64) -> Self {
        Series { size, ..self }
    }

    pub fn symbol(self, symbol: &'static str) -> Self {
        self.symbols([symbol])
    }

    pub fn symbols(mut self, symbols: impl IntoIterator<Item = &'static str>) -> Self {
        self.symbols = symbols.into_iter().collect();
        self
    }

    pub fn edge(mut self, colour: impl Into<Cow<'static, str>>, width: f64) -> Self {
        self.edge = Some((colour.into(), width));
        self
    }

    pub fn opacity(self, opacity: f64) -> Self {
        Series { opacity, ..self }
    }

    pub fn filled(mut self) -> Self {
        self.filled = true;
        self
    }

    pub fn panel(self, panel: usize) -> Self {
        Series { panel, ..self }
    }

    /// Puts the series into the lower panel.
    pub fn below(self) -> Self {
        self.panel(1)
    }

    pub fn exact(mut self) -> Self {
        self.exact = true;
        self
    }
}
