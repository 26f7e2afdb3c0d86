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
    /// As many as there are cells, with the same distance between them.
    Even {
        first: f64,
        step: f64,
    },
}

pub(crate) trait Coordinate: Sized {
    fn values(all: Vec<Self>) -> Values;
}

impl Coordinate for f64 {
    fn values(all: Vec<f64>) -> Values {
        Values::Numbers(all)
    }
}

impl Coordinate for Option<f64> {
    fn values(all: Vec<Option<f64>>) -> Values {
        let numbers = all.into_iter().map(|number| number.unwrap_or(f64::NAN));
        Values::Numbers(numbers.collect())
    }
}

impl Coordinate for String {
    fn values(all: Vec<String>) -> Values {
        Values::Names(all)
    }
}

impl Coordinate for &str {
    fn values(all: Vec<&str>) -> Values {
        Values::Names(all.into_iter().map(str::to_owned).collect())
    }
}

/// A number or a name, where it is not known beforehand which.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MixedCoordinate {
    Number(f64),
    Name(String),
}

impl Coordinate for MixedCoordinate {
    /// Names, unless all places are numbers.
    fn values(all: Vec<MixedCoordinate>) -> Values {
        let number = |place: &MixedCoordinate| match place {
            MixedCoordinate::Number(number) => Some(*number),
            MixedCoordinate::Name(_) => None,
        };
        if let Some(numbers) = all.iter().map(number).collect() {
            return Values::Numbers(numbers);
        }
        let name = |place| match place {
            MixedCoordinate::Number(number) => number.to_string(),
            MixedCoordinate::Name(name) => name,
        };
        Values::Names(all.into_iter().map(name).collect())
    }
}

impl<T: Coordinate> FromIterator<T> for Values {
    fn from_iter<I: IntoIterator<Item = T>>(places: I) -> Self {
        T::values(places.into_iter().collect())
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
        let side = |get: fn(&Interval) -> f64| intervals.iter().map(|i| get(i) * scale).collect();
        Whiskers {
            above: side(|i| i.max - i.median),
            below: side(|i| i.median - i.min),
            thin: true,
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
    if interval.trials == 0 {
        f64::NAN
    } else {
        interval.median
    }
}

/// The cells of a heat map: a row for each of `ys`, in it a cell for each of `xs`.
pub(crate) fn grid<'a, X, Y>(
    xs: &'a [X],
    ys: &'a [Y],
    cell: impl Fn(&'a X, &'a Y) -> Option<f64>,
) -> Vec<Vec<Option<f64>>> {
    let row = |y| -> Vec<Option<f64>> { xs.iter().map(|x| cell(x, y)).collect() };
    ys.iter().map(row).collect()
}

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
        named: bool,
    },
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
            pub fn $name<X: Coordinate, Y: Coordinate>(
                name: impl Into<String>,
                points: impl IntoIterator<Item = (X, Y)>,
            ) -> Self {
                let (x, y) = points.into_iter().unzip();
                PlotSeries::new(SeriesShape::$draw, name, X::values(x), Y::values(y))
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
    pub(crate) fn medians<X: Coordinate>(
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
    }

    /// The series, unless it has no point.
    pub(crate) fn if_any(self) -> Option<Self> {
        let is_empty = match &self.x {
            Values::Numbers(all) => all.is_empty(),
            Values::Names(all) => all.is_empty(),
            Values::Even { .. } => self.cells.is_empty(),
        };
        (!is_empty).then_some(self)
    }

    /// Says in the hover text the height of a point in a unit.
    pub(crate) fn unit(self, unit: &str) -> Self {
        self.hover(format!("{{y}} {unit}"))
    }

    /// Sets the words of the hover text beside the name of the series; see [`Hover::Words`].
    pub(crate) fn hover(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.hover = Hover::Words {
            words: words.into(),
            named: true,
        };
        self
    }

    /// Sets the words of the hover text without the name of the series.
    pub(crate) fn hover_alone(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.hover = Hover::Words {
            words: words.into(),
            named: false,
        };
        self
    }

    pub(crate) fn pen(self, colour: impl Into<Cow<'static, str>>, width: f64) -> Self {
        self.colour(colour).width(width)
    }

    pub(crate) fn style(self, style: &Style) -> Self {
        self.colour(style.colour.clone())
            .dash(style.dash)
            .symbol(style.symbol)
    }

    pub(crate) fn edge(mut self, colour: impl Into<Cow<'static, str>>, width: f64) -> Self {
        self.edge = Some((colour.into(), width));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbers_where_all_are() {
        let (four, auto) = (
            MixedCoordinate::Number(4.0),
            MixedCoordinate::Name("auto".to_owned()),
        );
        let numbers: Values = [four.clone(), four.clone()].into_iter().collect();
        assert_eq!(numbers, Values::Numbers(vec![4.0, 4.0]));
        let names: Values = [four, auto].into_iter().collect();
        assert_eq!(names, ["4", "auto"].into_iter().collect());
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
