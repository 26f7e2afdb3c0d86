//! Charts of replayed traces, with a line for each device and one for the recording.

mod latency;
mod load;

use super::Chart;
use crate::html::escape::chart_text;
use q2c_result::replay::ReplayTrial;
use serde_json::{Value, json};

const COLOURS: [&str; 8] = ["@a", "@poll", "@chosen", "@b", "@d", "@c", "@e", "@f"];

/// A device's shown trial, with the name and colour that it has in all charts.
pub(crate) struct Line<'a> {
    /// Name of the device, escaped for plotly.
    name: String,
    /// Name of the device's colour.
    colour: &'static str,
    trial: &'a ReplayTrial,
    /// Whether the page has no other device.
    alone: bool,
}

impl<'a> Line<'a> {
    /// The line of a replay, which is the page's only one.
    pub fn only(trial: &'a ReplayTrial) -> Self {
        Line {
            name: "replayed".to_owned(),
            colour: COLOURS[0],
            trial,
            alone: true,
        }
    }

    /// The line of a compared device; `at` is its place among the devices.
    pub fn of(at: usize, device: &str, trial: &'a ReplayTrial) -> Self {
        Line {
            name: chart_text(device),
            colour: COLOURS[at % COLOURS.len()],
            trial,
            alone: false,
        }
    }

    /// A line through points. Lines of one device share one entry in the legend.
    fn trace(&self, x: &Value, y: &Value, hover: &str) -> Value {
        json!({
            "type": "scatter", "mode": "lines", "name": self.name, "legendgroup": self.name,
            "x": x, "y": y, "line": {"color": self.colour, "width": 1.8}, "hovertemplate": hover,
        })
    }
}

/// The charts of a replay or comparison, in reading order; those without data are left out, and
/// those over time where the lines are not `of_one_replay`.
pub(crate) fn all(lines: &[Line<'_>], of_one_replay: bool) -> Vec<Chart> {
    let mut charts = vec![latency::distributions(lines)];
    if of_one_replay {
        charts.extend([
            load::in_flight(lines),
            load::iops(lines),
            load::lateness(lines),
        ]);
    }
    charts.retain(Chart::has_data);
    charts
}
