//! Charts of replayed traces: a line per device, and the recording's own beside them.

mod latency;
mod load;

use super::Chart;
use crate::html::escape::chart_text;
use q2c_result::replay::ReplayTrial;
use serde_json::{Value, json};

const COLOURS: [&str; 8] = ["@a", "@poll", "@chosen", "@b", "@d", "@c", "@e", "@f"];

/// A device's shown trial as the charts draw it.
pub(in crate::html) struct Line<'a> {
    /// Device, safe for plotly.
    name: String,
    /// The colour it keeps through all charts.
    colour: &'static str,
    trial: &'a ReplayTrial,
    /// Whether it has the page to itself.
    alone: bool,
}

impl<'a> Line<'a> {
    /// Of a replay.
    pub fn only(trial: &'a ReplayTrial) -> Self {
        Line {
            name: "replayed".to_owned(),
            colour: COLOURS[0],
            trial,
            alone: true,
        }
    }

    /// Of the device at this place among those that are compared.
    pub fn of(at: usize, device: &str, trial: &'a ReplayTrial) -> Self {
        Line {
            name: chart_text(device),
            colour: COLOURS[at % COLOURS.len()],
            trial,
            alone: false,
        }
    }

    /// A line through points; lines of one device share the legend's entry of the first.
    fn trace(&self, x: &Value, y: &Value, hover: &str) -> Value {
        json!({
            "type": "scatter", "mode": "lines", "name": self.name, "legendgroup": self.name,
            "x": x, "y": y, "line": {"color": self.colour, "width": 1.8}, "hovertemplate": hover,
        })
    }
}

/// All charts, in reading order; those without data are left out.
pub(in crate::html) fn all(lines: &[Line<'_>]) -> Vec<Chart> {
    let mut charts = vec![
        latency::distributions(lines),
        load::in_flight(lines),
        load::iops(lines),
        load::lateness(lines),
    ];
    charts.retain(Chart::has_data);
    charts
}
