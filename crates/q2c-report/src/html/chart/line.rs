//! The cells of a block size with the names and colours that they keep through all charts.

use crate::html::escape::chart_text;
use crate::label;
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::tune::{Cell, TuneResult};
use serde_json::{Value, json};

/// Colours for cells that are neither a baseline nor the recommended one.
const OTHERS: [&str; 6] = ["@a", "@b", "@c", "@d", "@e", "@f"];

/// A cell as the charts draw it.
pub(crate) struct Line<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// The cell's name, escaped for plotly.
    pub name: String,
    /// Name of the cell's colour.
    pub colour: &'static str,
    /// Whether the cell is the recommended one.
    pub recommended: bool,
}

/// The cells of one block size with their colours.
pub(crate) fn coloured(result: &TuneResult, bs: Bytes) -> Vec<Line<'_>> {
    let recommendation = label::recommendation_of(result, bs);
    let mut others = OTHERS.iter().cycle();
    let mut line = |cell| {
        let recommended = label::is_recommended(cell, recommendation);
        let colour = match cell.method {
            Method::POLL => "@poll",
            Method::INTERRUPT => "@interrupt",
            _ if recommended => "@chosen",
            _ => others.next().copied().unwrap_or("@a"),
        };
        let name = chart_text(&label::cell(cell));
        Line {
            cell,
            name,
            colour,
            recommended,
        }
    };
    label::cells_of(result, bs)
        .into_iter()
        .map(&mut line)
        .collect()
}

impl Line<'_> {
    /// A line through points; `unit` follows the number in the hover text.
    pub(crate) fn trace(&self, x: &Value, y: &Value, unit: &str) -> Value {
        json!({
            "type": "scatter",
            "mode": "lines",
            "name": self.name,
            "legendgroup": self.name,
            "x": x,
            "y": y,
            "line": {"color": self.colour, "width": if self.recommended { 2.6 } else { 1.4 }},
            "hovertemplate": format!("%{{y}} {unit}"),
        })
    }

    /// As [`Line::trace`], but in the lower plot and without an entry in the legend.
    pub(crate) fn trace_below(&self, x: &Value, y: &Value, unit: &str) -> Value {
        let mut trace = self.trace(x, y, unit);
        trace["yaxis"] = json!("y2");
        trace["showlegend"] = json!(false);
        trace
    }
}
