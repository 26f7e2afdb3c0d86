//! Plots as plotly figures.
//!
//! Every name and text is escaped here, because plotly reads markup in them. Names of colours stay
//! names; the page's script gives them values. Where plotly's own value is the wanted one, the
//! figure leaves it out.

mod layout;

use crate::plot::{Arrangement, Hover, Plot, PlotSeries, SeriesShape, Values, View, Whiskers};
use layout::{axis_id, layout};
use serde_json::{Value, json};

/// The figure of each view.
pub(super) fn figures(plot: &Plot) -> Value {
    plot.views.iter().map(figure).collect()
}

fn figure(view: &View) -> Value {
    json!({"label": view.label, "data": view.series.iter().map(|series| trace(view, series)).collect::<Value>(), "layout": layout(view)})
}

/// An object without its empty entries.
fn filled(mut object: Value) -> Value {
    if let Some(entries) = object.as_object_mut() {
        entries.retain(|_, value| !value.is_null());
    }
    object
}

/// A number with five significant digits. One that is not finite becomes null, which is a gap.
fn number(number: f64) -> Value {
    // JSON has no numbers that are not finite: they become null as well.
    format!("{number:.4e}").parse::<f64>().ok().into()
}

fn numbers(numbers: impl IntoIterator<Item = f64>, is_exact: bool) -> Value {
    let encode = |n| if is_exact { json!(n) } else { number(n) };
    numbers.into_iter().map(encode).collect()
}

/// A text for plotly, with its lines. Plotly reads `<b>`, `<a href>` and entities in texts.
fn text(words: &str) -> String {
    let escaped = words.replace('&', "&amp;").replace('<', "&lt;");
    escaped.replace('>', "&gt;").replace('\n', "<br>")
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(|words| text(words)).collect()
}

fn trace(view: &View, series: &PlotSeries) -> Value {
    let (kind, mode) = match series.draw {
        SeriesShape::HeatMap => ("heatmap", ""),
        SeriesShape::Bars | SeriesShape::StackedBars => ("bar", ""),
        SeriesShape::Dots => ("scatter", "markers"),
        SeriesShape::DottedLine => ("scatter", "lines+markers"),
        SeriesShape::Line | SeriesShape::Steps | SeriesShape::Area => ("scatter", "lines"),
    };
    let has_dots = mode.contains("markers");
    let cells = (kind == "heatmap").then_some(&series.cells);
    let name = (!series.name.is_empty()).then(|| text(&series.name));
    let gap = series.spaced.then_some(1);
    let (x, x0, dx) = places(&series.x, series.exact);
    let (y, y0, dy) = places(&series.y, series.exact);
    let row = |cells: &Vec<Option<f64>>| {
        let cells = cells.iter().map(|cell| cell.unwrap_or(f64::NAN));
        numbers(cells, series.exact)
    };
    filled(json!({
        "type": kind,
        "mode": (!mode.is_empty()).then_some(mode),
        "legendgroup": name.as_ref().filter(|_| series.grouped),
        "name": name,
        "showlegend": (!series.in_legend).then_some(false),
        "x": x, "x0": x0, "dx": dx,
        "y": y, "y0": y0, "dy": dy,
        "error_x": series.x_whiskers.as_ref().map(|reach| whiskers(reach, series)),
        "error_y": series.y_whiskers.as_ref().map(|reach| whiskers(reach, series)),
        "xaxis": (view.arrangement == Arrangement::Beside).then(|| axis_id("x", series.panel)),
        "yaxis": (series.panel > 0).then(|| axis_id("y", series.panel)),
        "text": point_texts(series),
        "hovertemplate": hover(&series.hover),
        "hoverinfo": (series.hover == Hover::Nothing).then_some("skip"),
        "line": mode.contains("lines").then(|| line(series)),
        "marker": match kind {
            "bar" => json!({"color": series.colour}),
            _ if has_dots => marker(series),
            _ => Value::Null,
        },
        "opacity": Some(series.opacity).filter(|share| *share < 1.0 && !has_dots),
        "stackgroup": (series.draw == SeriesShape::Area).then_some("areas"),
        "fill": series.filled.then_some("tonexty"),
        "z": cells.map(|rows| rows.iter().map(row).collect::<Value>()),
        "coloraxis": cells.map(|_| {
            axis_id("coloraxis", series.panel.min(view.colours.len().saturating_sub(1)))
        }),
        "hoverongaps": cells.map(|_| false),
        "xgap": gap, "ygap": gap,
    }))
}

/// Places one by one, or the first of them and the distance between them.
fn places(values: &Values, is_exact: bool) -> (Value, Option<f64>, Option<f64>) {
    match values {
        Values::Numbers(places) => (numbers(places.iter().copied(), is_exact), None, None),
        Values::Names(names) => (texts(names), None, None),
        Values::Even(first, step) => (Value::Null, Some(*first), Some(*step)),
    }
}

fn whiskers(reach: &Whiskers, series: &PlotSeries) -> Value {
    filled(json!({
        "type": "data",
        "symmetric": false,
        "array": numbers(reach.above.iter().copied(), false),
        "arrayminus": numbers(reach.below.iter().copied(), false),
        // On bars their own colour could not be seen.
        "color": if series.draw == SeriesShape::Bars { "@ink" } else { &*series.colour },
        "thickness": reach.thin.then_some(1.4),
        "width": reach.thin.then_some(4),
    }))
}

fn hover(hover: &Hover) -> Option<String> {
    let (words, name) = match hover {
        Hover::Words(words) => (words, ""),
        Hover::WordsAlone(words) => (words, "<extra></extra>"),
        Hover::Place | Hover::Nothing => return None,
    };
    Some(text(words).replace('{', "%{") + name)
}

/// The texts of the points; those of cells by row.
fn point_texts(series: &PlotSeries) -> Option<Value> {
    (!series.texts.is_empty()).then(|| match series.cells.first() {
        Some(row) => series.texts.chunks(row.len()).map(texts).collect(),
        None => texts(&series.texts),
    })
}

fn line(series: &PlotSeries) -> Value {
    filled(json!({
        "color": series.colour,
        "width": series.width,
        "dash": (series.dash != "solid").then_some(series.dash),
        "shape": (series.draw == SeriesShape::Steps).then_some("hv"),
    }))
}

fn marker(series: &PlotSeries) -> Value {
    let edge = series.edge.as_ref();
    filled(json!({
        "size": series.size,
        // Without a colour plotly takes one that no other trace has.
        "color": Some(&series.colour).filter(|colour| !colour.is_empty()),
        "symbol": match series.symbols.as_slice() {
            ["circle"] => Value::Null,
            [all] => json!(all),
            each => json!(each),
        },
        "line": edge.map(|(colour, width)| json!({"color": colour, "width": width})),
        "opacity": Some(series.opacity).filter(|share| *share < 1.0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::PlotAxis;

    fn trace_of(series: PlotSeries) -> Value {
        let view = View::new("all", PlotAxis::new("x"), PlotAxis::new("y")).series([series]);
        figure(&view)["data"][0].clone()
    }

    #[test]
    fn numbers_keep_five_digits_and_gaps_stay_gaps() {
        let points = [123_456.0, 0.1, f64::NAN, f64::INFINITY].map(|y| (1.0, y));
        let rounded = trace_of(PlotSeries::line("", points));
        assert_eq!(rounded["y"], json!([123_460.0, 0.1, null, null]));
        let exact = trace_of(PlotSeries::line("", points).exact());
        assert_eq!(exact["y"], json!([123_456.0, 0.1, null, null]));
    }

    #[test]
    fn plotly_sees_text_not_markup() {
        let series = PlotSeries::dots("<b>&amp;", [("<i>", 1.0)])
            .grouped()
            .texts(["two\n<lines>".to_owned()])
            .hover_alone("{y:.1f} < {x}");
        let trace = trace_of(series);
        assert_eq!(trace["name"], "&lt;b&gt;&amp;amp;");
        assert_eq!(trace["legendgroup"], trace["name"]);
        assert_eq!(trace["x"], json!(["&lt;i&gt;"]));
        assert_eq!(trace["text"], json!(["two<br>&lt;lines&gt;"]));
        assert_eq!(trace["hovertemplate"], "%{y:.1f} &lt; %{x}<extra></extra>");
    }

    #[test]
    fn a_panel_has_axes_of_its_own() {
        let view = View::new("all", PlotAxis::new("x"), PlotAxis::new("upper"))
            .above(PlotAxis::new("lower"));
        let figure = figure(&view.series([PlotSeries::line("", [(0.0, 1.0)]).below()]));
        assert_eq!(figure["data"][0]["yaxis"], "y2");
        assert_eq!(figure["layout"]["yaxis2"]["title"]["text"], "lower");
        assert_eq!(figure["layout"]["xaxis"]["anchor"], "y2");
    }
}
