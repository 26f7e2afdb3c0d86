//! Plots of replayed traces, with a line for each device and one for the recording.

mod latency;
mod load;

use crate::plot::{Plot, Series, with_data};
use q2c_result::replay::ReplayTrial;

const COLOURS: [&str; 8] = ["@a", "@poll", "@chosen", "@b", "@d", "@c", "@e", "@f"];

/// A device's shown trial, with the name and colour that it has in all plots.
pub(crate) struct Line<'a> {
    name: String,
    colour: &'static str,
    trial: &'a ReplayTrial,
    /// Whether the page has no other device.
    is_alone: bool,
}

impl<'a> Line<'a> {
    /// The line of a replay, which is the page's only one.
    pub fn only(trial: &'a ReplayTrial) -> Self {
        Line {
            name: "replayed".to_owned(),
            colour: COLOURS[0],
            trial,
            is_alone: true,
        }
    }

    /// The line of a compared device; `at` is its place among the devices.
    pub fn compared(at: usize, device: &str, trial: &'a ReplayTrial) -> Self {
        Line {
            name: device.to_owned(),
            colour: COLOURS[at % COLOURS.len()],
            trial,
            is_alone: false,
        }
    }

    /// A line through points. Lines of one device share one entry in the legend.
    fn series(&self, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series::line(&self.name, points)
            .grouped()
            .pen(self.colour, 1.8)
    }
}

/// The plots of a replay or comparison, in reading order; those without data are left out, and
/// those over time where the lines are not `of_one_replay`.
pub(crate) fn plots(lines: &[Line<'_>], of_one_replay: bool) -> Vec<Plot> {
    let mut plots = vec![latency::distributions(lines)];
    if of_one_replay {
        plots.extend(load::plots(lines));
    }
    with_data(plots, "")
}
