//! Series of points, and how they are drawn.

use super::Style;
use q2c_model::stats::Interval;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeriesShape {
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
    /// The first of as many as there are cells, and the distance between them.
    Even(f64, f64),
}

/// A place along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Coordinate {
    Number(f64),
    Name(String),
}

impl From<f64> for Coordinate {
    fn from(number: f64) -> Self {
        Coordinate::Number(number)
    }
}

impl From<Option<f64>> for Coordinate {
    fn from(number: Option<f64>) -> Self {
        Coordinate::Number(number.unwrap_or(f64::NAN))
    }
}

impl From<String> for Coordinate {
    fn from(name: String) -> Self {
        Coordinate::Name(name)
    }
}

impl From<&str> for Coordinate {
    fn from(name: &str) -> Self {
        Coordinate::Name(name.to_owned())
    }
}

impl<T: Into<Coordinate>> FromIterator<T> for Values {
    /// Names, unless all places are numbers.
    fn from_iter<I: IntoIterator<Item = T>>(places: I) -> Self {
        let places: Vec<Coordinate> = places.into_iter().map(Into::into).collect();
        let number = |place: &Coordinate| match place {
            Coordinate::Number(number) => Some(*number),
            Coordinate::Name(_) => None,
        };
        let name = |place: &Coordinate| match place {
            Coordinate::Number(number) => number.to_string(),
            Coordinate::Name(name) => name.clone(),
        };
        let names = || Values::Names(places.iter().map(name).collect());
        let numbers: Option<Vec<f64>> = places.iter().map(number).collect();
        numbers.map_or_else(names, Values::Numbers)
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
    pub(crate) fn from_intervals(intervals: &[Interval], scale: f64) -> Self {
        let reach = |i: &Interval| ((i.median - i.min) * scale, (i.max - i.median) * scale);
        Whiskers {
            thin: true,
            ..Whiskers::reaching(intervals.iter().map(reach))
        }
    }

    /// Thick whiskers, by their reach below and above each point.
    pub(crate) fn reaching(reach: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (below, above) = reach.into_iter().unzip();
        Whiskers {
            above,
            below,
            thin: false,
        }
    }
}

/// The median, and a gap where nothing was measured.
pub(crate) fn known(interval: &Interval) -> f64 {
    if interval.trials > 0 {
        interval.median
    } else {
        f64::NAN
    }
}

/// The cells of a heat map: a row for each of `ys`, in it a cell for each of `xs`.
pub(crate) fn grid<'a, X, Y, T>(
    xs: &'a [X],
    ys: &'a [Y],
    cell: impl Fn(&'a X, &'a Y) -> Option<T>,
) -> Vec<Vec<Option<T>>> {
    let row = |y| xs.iter().map(|x| cell(x, y)).collect();
    ys.iter().map(row).collect()
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Hover {
    /// Its place and the name of the series.
    Place,
    /// The series has none.
    Nothing,
    /// Words in which `{x}`, `{y}` and `{z}` stand for the point's numbers, `{y:.1f}` for one with
    /// one decimal, and `{text}` for its text. The name of the series stands beside them.
    Words(Cow<'static, str>),
    /// The same without the name of the series.
    WordsAlone(Cow<'static, str>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlotSeries {
    pub draw: SeriesShape,
    /// Empty for a series without an entry in the legend.
    pub name: String,
    pub grouped: bool,
    pub in_legend: bool,
    pub x: Values,
    pub y: Values,
    pub cells: Vec<Vec<Option<f64>>>,
    pub spaced: bool,
    pub x_whiskers: Option<Whiskers>,
    pub y_whiskers: Option<Whiskers>,
    /// A text for each point; for each cell of a heat map, row by row.
    pub texts: Vec<String>,
    pub hover: Hover,
    /// Empty for a colour that no other series of the view has.
    pub colour: Cow<'static, str>,
    pub width: f64,
    pub dash: &'static str,
    pub size: f64,
    /// The symbol of all dots, or of each.
    pub symbols: Vec<&'static str>,
    pub edge: Option<(Cow<'static, str>, f64)>,
    pub opacity: f64,
    pub filled: bool,
    pub panel: usize,
    /// Whether all digits count. Five are finer than a pixel and keep a page small, but would
    /// merge I/Os late in a trace.
    pub exact: bool,
}

macro_rules! constructors {
    ($($name:ident: $draw:ident)*) => {
        $(
            pub fn $name<X: Into<Coordinate>, Y: Into<Coordinate>>(
                name: impl Into<String>,
                points: impl IntoIterator<Item = (X, Y)>,
            ) -> Self {
                let (x, y): (Vec<X>, Vec<Y>) = points.into_iter().unzip();
                let [x, y] = [x.into_iter().collect(), y.into_iter().collect()];
                PlotSeries::new(SeriesShape::$draw, name, x, y)
            }
        )*
    };
}

impl PlotSeries {
    fn new(draw: SeriesShape, name: impl Into<String>, x: Values, y: Values) -> Self {
        PlotSeries {
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

    constructors! {
        line: Line
        dots: Dots
        dotted_line: DottedLine
        steps: Steps
        area: Area
        bars: Bars
        stacked_bars: StackedBars
    }

    /// Medians over trials, with whiskers to the smallest and the largest trial. Nothing stands
    /// where nothing was measured.
    pub(crate) fn medians<X: Into<Coordinate>>(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (X, Interval)>,
        scale: f64,
    ) -> Self {
        let (x, intervals): (Vec<X>, Vec<Interval>) = points.into_iter().unzip();
        let y = intervals.iter().map(|i| known(i) * scale);
        let whiskers = Whiskers::from_intervals(&intervals, scale);
        PlotSeries::dotted_line(name, x.into_iter().zip(y)).y_whiskers(whiskers)
    }

    /// A row of cells for each y; `None` is a gap.
    pub(crate) fn heat_map(
        x: Values,
        y: Values,
        rows: impl IntoIterator<Item = Vec<Option<f64>>>,
    ) -> Self {
        PlotSeries {
            cells: rows.into_iter().collect(),
            ..PlotSeries::new(SeriesShape::HeatMap, "", x, y)
        }
    }

    setters! {
        grouped() { grouped = true }
        unlisted() { in_legend = false }
        spaced() { spaced = true }
        filled() { filled = true }
        exact() { exact = true }
        x_whiskers(whiskers: Whiskers) { x_whiskers = Some(whiskers) }
        y_whiskers(whiskers: Whiskers) { y_whiskers = Some(whiskers) }
        without_hover() { hover = Hover::Nothing }
        colour(colour: impl Into<Cow<'static, str>>) { colour = colour.into() }
        width(width: f64) { width = width }
        dash(dash: &'static str) { dash = dash }
        size(size: f64) { size = size }
        symbol(symbol: &'static str) { symbols = vec![symbol] }
        symbols(symbols: impl IntoIterator<Item = &'static str>) {
            symbols = symbols.into_iter().collect()
        }
        opacity(opacity: f64) { opacity = opacity }
        panel(panel: usize) { panel = panel }
        below() { panel = 1 }
        /// Sets the text of each point, which the hover text may name.
        texts(texts: impl IntoIterator<Item = String>) { texts = texts.into_iter().collect() }
        name(name: impl Into<String>) { name = name.into() }
        hover(words: impl Into<Cow<'static, str>>) { hover = Hover::Words(words.into()) }
        hover_alone(words: impl Into<Cow<'static, str>>) {
            hover = Hover::WordsAlone(words.into())
        }
        edge(colour: impl Into<Cow<'static, str>>, width: f64) {
            edge = Some((colour.into(), width))
        }
    }

    /// The series, unless it has no point.
    pub(crate) fn if_any(self) -> Option<Self> {
        let is_empty = match &self.x {
            Values::Numbers(all) => all.is_empty(),
            Values::Names(all) => all.is_empty(),
            Values::Even(..) => self.cells.is_empty(),
        };
        (!is_empty).then_some(self)
    }

    /// Says in the hover text the height of a point in a unit.
    pub(crate) fn unit(self, unit: &str) -> Self {
        self.hover(format!("{{y}} {unit}"))
    }

    pub(crate) fn pen(self, colour: impl Into<Cow<'static, str>>, width: f64) -> Self {
        self.colour(colour).width(width)
    }

    pub(crate) fn style(self, style: &Style) -> Self {
        let coloured = self.colour(style.colour.clone());
        coloured.dash(style.dash).symbol(style.symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbers_where_all_are() {
        let numbers: Values = [4.0, 4.0].into_iter().collect();
        assert_eq!(numbers, Values::Numbers(vec![4.0, 4.0]));
        let mixed: Values = [Coordinate::from(4.0), "auto".into()].into_iter().collect();
        assert_eq!(mixed, ["4", "auto"].into_iter().collect());
    }

    #[test]
    fn whiskers_reach_from_the_median_to_the_extremes() {
        let interval = Interval::from_samples(&[1000.0, 3000.0, 7000.0]);
        let series = PlotSeries::medians("", [("a", interval), ("b", Interval::default())], 1e-3);
        let Values::Numbers(y) = &series.y else {
            panic!("{series:?}");
        };
        assert!(y[0] == 3.0 && y[1].is_nan(), "{y:?}");
        let whiskers = series.y_whiskers.expect("whiskers");
        assert_eq!((whiskers.below[0], whiskers.above[0]), (2.0, 4.0));
    }
}
