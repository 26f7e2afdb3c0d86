//! Series of points as traces of plotly.

use super::{Arrangement, Style, View, axis_name, merged, number, round, text, texts};
use q2c_model::stats::Interval;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeriesShape {
    Line,
    Dots,
    DottedLine,
    /// A line that keeps each height until the next point.
    Steps,
    /// An area that is stacked on the areas of the series before it.
    Area,
    Bars,
    /// Bars that are stacked on those of the series before.
    StackedBars,
    /// Cells in colours: a column for each x, a row for each y.
    HeatMap,
}

/// Places along an axis. A number that is not finite becomes a gap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlotPlaces {
    Each(Value),
    /// The first place and the distance between two; there are as many places as cells.
    Even(f64, f64),
}

impl<T: Into<Value>> FromIterator<T> for PlotPlaces {
    /// The places are numbers if all of them are numbers; else all become names.
    fn from_iter<I: IntoIterator<Item = T>>(places: I) -> Self {
        let places: Vec<Value> = places.into_iter().map(Into::into).collect();
        let name = |place: &Value| match place {
            Value::String(name) => text(name),
            number => number.as_f64().unwrap_or(f64::NAN).to_string(),
        };
        PlotPlaces::Each(if places.iter().any(Value::is_string) {
            places.iter().map(name).collect()
        } else {
            places.into()
        })
    }
}

/// Error bars: how far an interval reaches to both sides of each point.
pub(crate) struct Whiskers(Value);

impl Whiskers {
    /// Thin whiskers from the medians to the smallest and the largest trial.
    pub(crate) fn from_intervals(intervals: &[Interval], scale: f64) -> Self {
        let Whiskers(mut whiskers) = Whiskers::thick(intervals, scale);
        (whiskers["thickness"], whiskers["width"]) = (json!(1.4), json!(4));
        Whiskers(whiskers)
    }

    pub(crate) fn thick(intervals: &[Interval], scale: f64) -> Self {
        let reach = |i: &Interval| ((i.median - i.min) * scale, (i.max - i.median) * scale);
        Whiskers::from_reach(intervals.iter().map(reach))
    }

    /// Thick whiskers, from the lengths below and above each point.
    pub(crate) fn from_reach(reach: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let reach = reach.into_iter();
        let reach = reach.map(|(below, above)| (number(below), number(above)));
        let (below, above): (Vec<Value>, Vec<Value>) = reach.unzip();
        Whiskers(json!({"type": "data", "symmetric": false, "array": above, "arrayminus": below}))
    }
}

/// The median; a gap if there was no trial.
pub(crate) fn median_or_gap(interval: &Interval) -> f64 {
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
pub(crate) struct PlotSeries {
    shape: SeriesShape,
    /// Plotly's trace, to which `PlotSeries::trace` adds what the other fields say.
    trace: Value,
    /// Empty for a colour of plotly's choice, which no other series of the view has.
    colour: String,
    width: f64,
    dash: &'static str,
    size: f64,
    /// The symbol of all dots, or of each.
    symbols: Vec<&'static str>,
    edge: Value,
    opacity: f64,
    panel: usize,
    /// True if numbers keep all digits. Five digits are finer than a pixel and keep a page small,
    /// but they would merge I/Os late in a trace.
    exact: bool,
}

macro_rules! constructors {
    ($($name:ident: $shape:ident)*) => {
        $(
            pub fn $name<X: Into<Value>, Y: Into<Value>>(
                name: impl AsRef<str>,
                points: impl IntoIterator<Item = (X, Y)>,
            ) -> Self {
                let (x, y): (Vec<X>, Vec<Y>) = points.into_iter().unzip();
                let [x, y] = [x.into_iter().collect(), y.into_iter().collect()];
                PlotSeries::new(SeriesShape::$shape, x, y).name(name)
            }
        )*
    };
}

impl PlotSeries {
    fn new(shape: SeriesShape, x: PlotPlaces, y: PlotPlaces) -> Self {
        let mut trace = json!({});
        for (axis, places) in [("x", x), ("y", y)] {
            match places {
                PlotPlaces::Each(places) => trace[axis] = places,
                PlotPlaces::Even(first, step) => {
                    trace[format!("{axis}0")] = first.into();
                    trace[format!("d{axis}")] = step.into();
                }
            }
        }
        PlotSeries {
            shape,
            trace,
            colour: String::new(),
            width: 2.0,
            dash: "solid",
            size: 6.0,
            symbols: vec!["circle"],
            edge: Value::Null,
            opacity: 1.0,
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

    /// Medians over the trials, with whiskers to the smallest and the largest trial. A point
    /// without a trial is a gap.
    pub(crate) fn medians<X: Into<Value>>(
        name: impl AsRef<str>,
        points: impl IntoIterator<Item = (X, Interval)>,
        scale: f64,
    ) -> Self {
        let (x, intervals): (Vec<X>, Vec<Interval>) = points.into_iter().unzip();
        let y = intervals.iter().map(|i| median_or_gap(i) * scale);
        let whiskers = Whiskers::from_intervals(&intervals, scale);
        PlotSeries::dotted_line(name, x.into_iter().zip(y)).y_whiskers(whiskers)
    }

    /// A row of cells for each y; `None` is a cell without colour.
    pub(crate) fn heat_map(
        x: PlotPlaces,
        y: PlotPlaces,
        rows: impl IntoIterator<Item = Vec<Option<f64>>>,
    ) -> Self {
        let mut map = PlotSeries::new(SeriesShape::HeatMap, x, y);
        map.trace["z"] = rows.into_iter().collect();
        map.trace["hoverongaps"] = false.into();
        map
    }

    setters! {
        /// The name in the legend; a series without a name has no entry there.
        name(name: impl AsRef<str>) {
            trace["name"] = Some(text(name.as_ref())).filter(|name| !name.is_empty())
        }
        unlisted() { trace["showlegend"] = false }
        filled() { trace["fill"] = "tonexty" }
        x_whiskers(whiskers: Whiskers) { trace["error_x"] = whiskers.0 }
        y_whiskers(whiskers: Whiskers) { trace["error_y"] = whiskers.0 }
        without_hover() { trace["hoverinfo"] = "skip" }
        /// Sets the hover text. In it `{x}`, `{y}` and `{z}` stand for the point's numbers,
        /// `{y:.1f}` for one with one decimal, and `{text}` for its text. The name of the series
        /// stands beside it.
        hover(template: impl AsRef<str>) {
            trace["hovertemplate"] = text(template.as_ref()).replace('{', "%{")
        }
        /// Like `hover`, but without the name of the series beside the text.
        hover_alone(template: impl AsRef<str>) {
            trace["hovertemplate"] = text(template.as_ref()).replace('{', "%{") + "<extra></extra>"
        }
        shape(shape: SeriesShape) { shape = shape }
        exact() { exact = true }
        colour(colour: impl Into<String>) { colour = colour }
        width(width: f64) { width = width }
        dash(dash: &'static str) { dash = dash }
        size(size: f64) { size = size }
        symbol(symbol: &'static str) { symbols = [symbol] }
        symbols(symbols: impl IntoIterator<Item = &'static str>) {
            symbols = Vec::from_iter(symbols)
        }
        edge(colour: &str, width: f64) { edge = json!({"color": colour, "width": width}) }
        opacity(opacity: f64) { opacity = opacity }
        panel(panel: usize) { panel = panel }
        /// Draws the series in the lower panel of its view.
        lower() { panel = 1_usize }
    }

    /// Gives all series of the same name one entry in the legend.
    pub(crate) fn grouped(mut self) -> Self {
        self.trace["legendgroup"] = self.trace["name"].clone();
        self
    }

    pub(crate) fn spaced(mut self) -> Self {
        (self.trace["xgap"], self.trace["ygap"]) = (1.into(), 1.into());
        self
    }

    /// Sets the text of each point, or of each cell row by row. The hover text can include it.
    pub(crate) fn texts(mut self, labels: impl IntoIterator<Item = String>) -> Self {
        let labels: Vec<String> = labels.into_iter().collect();
        self.trace["text"] = match self.trace["z"][0].as_array() {
            _ if labels.is_empty() => Value::Null,
            Some(row) => labels.chunks(row.len()).map(texts).collect(),
            None => texts(&labels),
        };
        self
    }

    /// The series; `None` if it has no point.
    pub(crate) fn if_any(self) -> Option<Self> {
        let points = [&self.trace["x"], &self.trace["z"]];
        let mut lists = points.iter().filter_map(|points| points.as_array());
        let has_any = lists.next().is_some_and(|list| !list.is_empty());
        has_any.then_some(self)
    }

    /// Makes the hover text show a point's height and this unit.
    pub(crate) fn unit(self, unit: &str) -> Self {
        self.hover(format!("{{y}} {unit}"))
    }

    pub(crate) fn pen(self, colour: impl Into<String>, width: f64) -> Self {
        self.colour(colour).width(width)
    }

    pub(crate) fn style(self, style: &Style) -> Self {
        let coloured = self.colour(&style.colour);
        coloured.dash(style.dash).symbol(style.symbol)
    }

    pub(super) fn is_stacked(&self) -> bool {
        self.shape == SeriesShape::StackedBars
    }

    /// The series as plotly's trace within a view.
    pub(super) fn trace(&self, view: &View) -> Value {
        let (kind, mode) = match self.shape {
            SeriesShape::HeatMap => ("heatmap", ""),
            SeriesShape::Bars | SeriesShape::StackedBars => ("bar", ""),
            SeriesShape::Dots => ("scatter", "markers"),
            SeriesShape::DottedLine => ("scatter", "lines+markers"),
            SeriesShape::Line | SeriesShape::Steps | SeriesShape::Area => ("scatter", "lines"),
        };
        let has_dots = mode.contains("markers");
        let mut trace = self.trace.clone();
        if !self.exact {
            for numbers in ["x", "y", "z"] {
                round(&mut trace[numbers]);
            }
        }
        for axis in ["error_x", "error_y"] {
            if let Some(whiskers) = trace.get_mut(axis) {
                // On a bar, whiskers in the bar's own colour could not be seen.
                let is_bars = self.shape == SeriesShape::Bars;
                whiskers["color"] = json!(if is_bars { "@ink" } else { &*self.colour });
            }
        }
        let scale = self.panel.min(view.colours.len().saturating_sub(1));
        let pen = json!({
            "type": kind,
            "mode": (!mode.is_empty()).then_some(mode),
            "xaxis": (view.arrangement == Arrangement::SideBySide).then(|| axis_name("x", self.panel)),
            "yaxis": (self.panel > 0).then(|| axis_name("y", self.panel)),
            "line": mode.contains("lines").then(|| self.stroke()),
            "marker": match kind {
                "bar" => json!({"color": self.colour}),
                _ if has_dots => self.marker(),
                _ => Value::Null,
            },
            "opacity": Some(self.opacity).filter(|share| *share < 1.0 && !has_dots),
            "stackgroup": (self.shape == SeriesShape::Area).then_some("areas"),
            "coloraxis": (kind == "heatmap").then(|| axis_name("coloraxis", scale)),
        });
        merged(trace, pen)
    }

    fn stroke(&self) -> Value {
        let dash = (self.dash != "solid").then_some(self.dash);
        let shape = (self.shape == SeriesShape::Steps).then_some("hv");
        let line = json!({"color": self.colour, "width": self.width});
        merged(line, json!({"dash": dash, "shape": shape}))
    }

    fn marker(&self) -> Value {
        let symbol = match self.symbols.as_slice() {
            ["circle"] => Value::Null,
            [one] => json!(one),
            each_symbol => json!(each_symbol),
        };
        let marker = json!({
            // Without a colour, plotly chooses one that no other trace has.
            "color": Some(&self.colour).filter(|colour| !colour.is_empty()),
            "symbol": symbol,
            "line": self.edge,
            "opacity": Some(self.opacity).filter(|share| *share < 1.0),
        });
        merged(marker, json!({"size": self.size}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::PlotAxis;

    fn trace_of(series: &PlotSeries) -> Value {
        let [x, y] = ["x", "y"].map(PlotAxis::new);
        series.trace(&View::new("all", x, y))
    }

    #[test]
    fn numbers_keep_five_digits_and_gaps_stay_gaps() {
        let points = [123_456.0, 0.1, f64::NAN, f64::INFINITY].map(|y| (1.0, y));
        let line = PlotSeries::line("", points);
        assert_eq!(trace_of(&line)["y"], json!([123_460.0, 0.1, null, null]));
        let exact = trace_of(&line.exact());
        assert_eq!(exact["y"], json!([123_456.0, 0.1, null, null]));
    }

    #[test]
    fn plotly_sees_text_not_markup() {
        let series = PlotSeries::dots("<b>&amp;", [("<i>", 1.0)])
            .grouped()
            .texts(["two\n<lines>".to_owned()])
            .hover_alone("{y:.1f} < {x}");
        let trace = trace_of(&series);
        assert_eq!(trace["name"], "&lt;b&gt;&amp;amp;");
        assert_eq!(trace["legendgroup"], trace["name"]);
        assert_eq!(trace["x"], json!(["&lt;i&gt;"]));
        assert_eq!(trace["text"], json!(["two<br>&lt;lines&gt;"]));
        assert_eq!(trace["hovertemplate"], "%{y:.1f} &lt; %{x}<extra></extra>");
    }

    #[test]
    fn places_are_numbers_where_all_are() {
        let numbers: PlotPlaces = [4.0, 4.0].into_iter().collect();
        assert_eq!(numbers, PlotPlaces::Each(json!([4.0, 4.0])));
        let mixed: PlotPlaces = [json!(4.0), "auto".into()].into_iter().collect();
        assert_eq!(mixed, PlotPlaces::Each(json!(["4", "auto"])));
    }

    #[test]
    fn whiskers_reach_from_the_median_to_the_extremes() {
        let interval = Interval::from_samples(&[1000.0, 3000.0, 7000.0]);
        let points = [("a", interval), ("b", Interval::default())];
        let trace = trace_of(&PlotSeries::medians("", points, 1e-3));
        assert_eq!(trace["y"], json!([3.0, null]));
        let whiskers = &trace["error_y"];
        let reach = (&whiskers["arrayminus"][0], &whiskers["array"][0]);
        assert_eq!(reach, (&json!(2.0), &json!(4.0)));
    }
}
