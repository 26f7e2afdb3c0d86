//! The modes of a replay.

use super::{Count, Idle, LaneBy};
use serde::{Deserialize, Serialize};

/// The rule that decides when a request is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Mode {
    /// Each request goes at its recorded time.
    Timed {
        /// The trace's time runs this many times as fast; above 0.
        speed: f64,
    },
    /// A request goes when no more is in flight on its device than was in the trace just before it.
    Outstanding {
        /// The unit in which the amount in flight is counted.
        count: Count,
        /// The treatment of the time in which a device had nothing in flight.
        idle: Idle,
    },
    /// A request goes a recorded think time after its lane's previous request has completed.
    Closed {
        /// The property of requests that makes them one lane.
        lane: LaneBy,
    },
}

impl Mode {
    /// The mode's name, as it is typed and as results hold it.
    pub const fn name(&self) -> &'static str {
        match self {
            Mode::Timed { .. } => "timed",
            Mode::Outstanding { .. } => "outstanding",
            Mode::Closed { .. } => "closed",
        }
    }
}

impl Default for Mode {
    /// Timed, as fast as the trace.
    fn default() -> Self {
        Mode::Timed { speed: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mode_has_the_options_that_mean_something_in_it() {
        let outstanding = Mode::Outstanding {
            count: Count::Bytes,
            idle: Idle::Keep,
        };
        let lane = LaneBy::Pid;
        for (mode, written) in [
            (Mode::default(), json!({"mode": "timed", "speed": 1.0})),
            (
                outstanding,
                json!({"mode": "outstanding", "count": "bytes", "idle": "keep"}),
            ),
            (
                Mode::Closed { lane },
                json!({"mode": "closed", "lane": "pid"}),
            ),
        ] {
            assert_eq!(serde_json::to_value(mode).unwrap(), written);
            assert_eq!(written["mode"], mode.name());
            assert_eq!(serde_json::from_value::<Mode>(written).unwrap(), mode);
        }
    }
}
