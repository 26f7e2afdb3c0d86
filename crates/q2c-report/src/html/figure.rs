//! Plots as plotly figures.
//!
//! Every name and text is escaped here, because plotly reads markup in them. Names of colours stay
//! names; the page's script gives them values.

mod layout;

use super::escape::chart_text;
use crate::plot::{Draw, Hover, Plot, Series, Values, View, Whiskers};
use layout::{axis_id, colours_id, layout};
use serde_json::{Map, Value, json};

/// The figure of each view.
pub(super) fn figures(plot: &Plot) -> Value {
    plot.views.iter().map(figure).collect()
}

fn figure(view: &View) -> Value {
    let traces: Vec<Value> = view
        .series
        .iter()
        .map(|series| trace(view, series).into())
        .collect();
    json!({"label": view.label, "data": traces, "layout": layout(view)})
}

/// A number with five significant digits. One that is not finite becomes null, which is a gap.
fn number(number: f64) -> Value {
    if !number.is_finite() {
        return Value::Null;
    }
    format!("{number:.4e}")
        .parse::<f64>()
        .map_or(Value::Null, Value::from)
}

fn numbers<'a>(numbers: impl IntoIterator<Item = &'a f64>, exact: bool) -> Value {
    let encode = if exact {
        |n: &f64| json!(n)
    } else {
        |n: &f64| number(*n)
    };
    numbers.into_iter().map(encode).collect()
}

/// A text for plotly, with its lines.
fn text(words: &str) -> String {
    chart_text(words).replace('\n', "<br>")
}

fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> Value {
    texts.into_iter().map(|words| text(words)).collect()
}

fn trace(view: &View, series: &Series) -> Map<String, Value> {
    let mut trace = match series.draw {
        Draw::HeatMap => heat_map(view, series),
        Draw::Bars | Draw::StackedBars => entries(json!({
            "type": "bar", "marker": {"color": series.colour},
        })),
        _ => scatter(series),
    };
    place(&mut trace, "x", series);
    place(&mut trace, "y", series);
    if !series.name.is_empty() {
        trace.insert("name".into(), text(&series.name).into());
    }
    if series.grouped {
        trace.insert("legendgroup".into(), text(&series.name).into());
    }
    if !series.in_legend {
        trace.insert("showlegend".into(), false.into());
    }
    hover(&mut trace, series);
    if series.panel > 0 {
        trace.insert("yaxis".into(), axis_id("y", series.panel).into());
        if view.has_own_x() {
            trace.insert("xaxis".into(), axis_id("x", series.panel).into());
        }
    }
    trace
}

fn entries(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(entries) => entries,
        _ => Map::new(),
    }
}

/// The places of the points along one of the axes, and how far their intervals reach.
fn place(trace: &mut Map<String, Value>, axis: &str, series: &Series) {
    let (values, reach) = match axis {
        "x" => (&series.x, &series.x_whiskers),
        _ => (&series.y, &series.y_whiskers),
    };
    match values {
        Values::Numbers(all) => {
            trace.insert(axis.into(), numbers(all, series.exact));
        }
        Values::Names(names) => {
            trace.insert(axis.into(), texts(names));
        }
        Values::Even { first, step } => {
            trace.insert(format!("{axis}0"), json!(first));
            trace.insert(format!("d{axis}"), json!(step));
        }
    }
    if let Some(reach) = reach {
        trace.insert(format!("error_{axis}"), whiskers(reach, series));
    }
}

fn whiskers(reach: &Whiskers, series: &Series) -> Value {
    let mut whiskers = json!({
        "type": "data",
        "symmetric": false,
        "array": numbers(&reach.above, false),
        "arrayminus": numbers(&reach.below, false),
        // On bars their own colour could not be seen.
        "color": if series.draw == Draw::Bars { "@ink" } else { &*series.colour },
    });
    if reach.thin {
        whiskers["thickness"] = json!(1.4);
        whiskers["width"] = json!(4);
    }
    whiskers
}

fn hover(trace: &mut Map<String, Value>, series: &Series) {
    match &series.hover {
        Hover::Place => {}
        Hover::Nothing => {
            trace.insert("hoverinfo".into(), "skip".into());
        }
        Hover::Words { words, named } => {
            let name = if *named { "" } else { "<extra></extra>" };
            let template = text(words).replace('{', "%{") + name;
            trace.insert("hovertemplate".into(), template.into());
        }
    }
    if series.texts.is_empty() {
        return;
    }
    let all = match series.cells.first() {
        Some(row) => series.texts.chunks(row.len()).map(texts).collect(),
        None => texts(&series.texts),
    };
    trace.insert("text".into(), all);
}

fn scatter(series: &Series) -> Map<String, Value> {
    let (mode, has_line, has_dots) = match series.draw {
        Draw::Dots => ("markers", false, true),
        Draw::DottedLine => ("lines+markers", true, true),
        _ => ("lines", true, false),
    };
    let mut trace = entries(json!({"type": "scatter", "mode": mode}));
    if has_line {
        trace.insert("line".into(), line(series));
    }
    if has_dots {
        trace.insert("marker".into(), marker(series));
    } else if series.opacity < 1.0 {
        trace.insert("opacity".into(), series.opacity.into());
    }
    if series.draw == Draw::Area {
        trace.insert("stackgroup".into(), "areas".into());
    }
    if series.filled {
        trace.insert("fill".into(), "tonexty".into());
    }
    trace
}

fn line(series: &Series) -> Value {
    let mut line = json!({"color": series.colour, "width": series.width});
    if series.dash != "solid" {
        line["dash"] = json!(series.dash);
    }
    if series.draw == Draw::Steps {
        line["shape"] = json!("hv");
    }
    line
}

fn marker(series: &Series) -> Value {
    let mut marker = json!({"size": series.size});
    // Without a colour plotly takes one that no other trace has.
    if !series.colour.is_empty() {
        marker["color"] = json!(series.colour);
    }
    match series.symbols.as_slice() {
        ["circle"] => {}
        [all] => marker["symbol"] = json!(all),
        each => marker["symbol"] = json!(each),
    }
    if let Some((colour, width)) = &series.edge {
        marker["line"] = json!({"color": colour, "width": width});
    }
    if series.opacity < 1.0 {
        marker["opacity"] = json!(series.opacity);
    }
    marker
}

fn heat_map(view: &View, series: &Series) -> Map<String, Value> {
    let rows = series.cells.iter();
    let rows: Value = rows.map(|row| numbers(row, series.exact)).collect();
    let colours = series.panel.min(view.colours.len().saturating_sub(1));
    let mut trace = entries(json!({
        "type": "heatmap",
        "z": rows,
        "coloraxis": colours_id(colours),
        "hoverongaps": false,
    }));
    if series.spaced {
        trace.insert("xgap".into(), 1.into());
        trace.insert("ygap".into(), 1.into());
    }
    trace
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Axis;

    fn trace_of(series: Series) -> Value {
        let view = View::new("all", Axis::new("x"), Axis::new("y")).series([series]);
        figure(&view)["data"][0].clone()
    }

    #[test]
    fn numbers_keep_five_digits_and_gaps_stay_gaps() {
        let y = || {
            [123_456.0, 0.1, f64::NAN, f64::INFINITY]
                .into_iter()
                .collect()
        };
        let x = || ["a", "b", "c", "d"].into_iter().collect();
        let rounded = trace_of(Series::line("", x(), y()));
        assert_eq!(rounded["y"], json!([123_460.0, 0.1, null, null]));
        let exact = trace_of(Series::line("", x(), y()).exact());
        assert_eq!(exact["y"], json!([123_456.0, 0.1, null, null]));
    }

    #[test]
    fn plotly_sees_text_not_markup() {
        let x = ["<i>"].into_iter().collect();
        let y = [1.0].into_iter().collect();
        let series = Series::dots("<b>&amp;", x, y)
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
}
