//! Options of a replay of a trace, and the changes that it may make to requests. Option values,
//! plans and results use these types.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A difference between a request of the trace and its replay. "It" below is the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Its device has no target, so it is left out.
    NoTarget,
    /// It is a write, and is read instead.
    WriteRead,
    /// It is a write, and is left out.
    WriteLeftOut,
    /// It is a discard, and is left out.
    DiscardLeftOut,
    /// It is an operation that engines do not have, and is left out.
    OtherLeftOut,
    /// It has no data, so it is left out.
    Empty,
    /// It lies beyond the end of its device's region of the target, and is left out.
    Beyond,
    /// Its offset or length was not a multiple of the target's block size, and was aligned.
    Aligned,
    /// It was longer than the room on the target, and was shortened.
    Shortened,
    /// Its offset was scaled to the target.
    Scaled,
    /// The 1 MiB piece that contains it was moved to another place.
    Dense,
    /// Its offset was wrapped to the start of its device's region of the target.
    Modulo,
    /// It was done, but the recording of the replay lost it.
    Unrecorded,
}

impl Change {
    /// True if the device has less work than in the trace because of this change.
    pub const fn is_less_work(self) -> bool {
        !matches!(
            self,
            Change::Aligned | Change::Scaled | Change::Dense | Change::Modulo
        )
    }

    /// The change as text, which follows a number of requests in reports and warnings.
    pub const fn text(self) -> &'static str {
        match self {
            Change::NoTarget => "devices without a target, left out",
            Change::WriteRead => "writes, read instead",
            Change::WriteLeftOut => "writes, left out",
            Change::DiscardLeftOut => "discards, left out",
            Change::OtherLeftOut => "other operations, left out",
            Change::Empty => "requests of no bytes, left out",
            Change::Beyond => "requests beyond the target's end, left out",
            Change::Aligned => "requests aligned to the target's blocks",
            Change::Shortened => "requests shortened to what there is room for",
            Change::Scaled => "offsets scaled to the target",
            Change::Dense => "offsets moved together",
            Change::Modulo => "offsets begun again at the target's start (modulo)",
            Change::Unrecorded => "I/Os that the recording lost",
        }
    }
}

/// Number of requests by change. A request can count under several changes.
pub type Changes = BTreeMap<Change, u64>;

/// The rule for the time at which a request is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Mode {
    /// Each request is submitted at its recorded time.
    Timed {
        /// Factor by which the trace's time runs faster; above 0.
        speed: f64,
    },
    /// A request is submitted when its device has no more in flight than in the trace just before
    /// it.
    Outstanding {
        /// The unit in which the amount in flight is counted.
        count: Count,
        /// How a replay treats the time in which a device had nothing in flight.
        idle: Idle,
    },
    /// A request is submitted a recorded think time after its lane's previous request completed.
    Closed {
        /// The property of requests by which they form lanes.
        lane: LaneBy,
    },
}

impl Mode {
    /// The mode's name on the command line and in results.
    pub const fn name(&self) -> &'static str {
        match self {
            Mode::Timed { .. } => "timed",
            Mode::Outstanding { .. } => "outstanding",
            Mode::Closed { .. } => "closed",
        }
    }
}

impl Default for Mode {
    /// Timed replay, at the trace's speed.
    fn default() -> Self {
        Mode::Timed { speed: 1.0 }
    }
}

/// A text that is not a value of the option.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected one of {}, found `{found}`", expected.join(", "))]
pub struct ParseValueError {
    /// The names of the option's values.
    pub expected: &'static [&'static str],
    /// The text.
    pub found: String,
}

/// Defines enums whose values have one name each, on the command line and in results.
macro_rules! named_values {
    ($(
        $(#[$doc:meta])*
        $option:ident { $($(#[$each:meta])* $value:ident = $name:literal),* $(,)? }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $option {
            $($(#[$each])* #[serde(rename = $name)] $value),*
        }

        impl $option {
            /// The names of all values.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The value's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($option::$value => $name),*
                }
            }
        }

        impl fmt::Display for $option {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $option {
            type Err = ParseValueError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($name => Ok($option::$value),)*
                    _ => Err(ParseValueError {
                        expected: $option::NAMES,
                        found: text.to_owned(),
                    }),
                }
            }
        }
    )*};
}

named_values! {
    /// The unit in which the amount in flight is counted.
    Count {
        /// Requests.
        Requests = "requests",
        /// Bytes.
        Bytes = "bytes",
        /// Blocks of 4 KiB, where a partial block counts as one. Published outstanding replays
        /// count blocks.
        #[default]
        Blocks = "blocks",
    }

    /// How a replay treats the time in which a device of the trace had nothing in flight.
    Idle {
        /// The time is kept.
        Keep = "keep",
        /// The time is left out.
        #[default]
        Squeeze = "squeeze",
    }

    /// The property of requests by which they form lanes.
    LaneBy {
        /// The trace's own lane: one submitting thread's stream of requests.
        #[default]
        Lane = "lane",
        /// The process.
        Pid = "pid",
        /// The CPU that submitted them.
        Cpu = "cpu",
        /// The device.
        Device = "device",
    }

    /// How timed mode distributes requests over the submitting threads of a target.
    ShareBy {
        /// By their offset, in pieces of 1 MiB.
        #[default]
        Offset = "offset",
        /// By the CPU that submitted them in the trace; by offset if the trace lacks it.
        Cpu = "cpu",
        /// By their hardware queue; by offset if the trace lacks it.
        Hctx = "hctx",
    }

    /// How a replay treats a request whose offset lies beyond its device's region of the target.
    Fit {
        /// Offsets beyond the end wrap to the start of the device's region of the target.
        #[default]
        Modulo = "modulo",
        /// Requests beyond the end are left out.
        Clip = "clip",
        /// If a device of the trace is larger than its region, all its offsets shrink in
        /// proportion.
        Scale = "scale",
        /// Pieces of 1 MiB are placed next to each other, in the order of their first use.
        Dense = "dense",
    }

    /// How a replay treats the trace's writes.
    Writes {
        /// Writes are left out.
        Skip = "skip",
        /// Reads take the place of writes.
        #[default]
        AsReads = "as-reads",
        /// Writes are done on the target.
        Allow = "allow",
    }

    /// How a replay treats the trace's discards.
    Discards {
        /// Discards are left out.
        #[default]
        Skip = "skip",
        /// Discards are done on the target.
        Allow = "allow",
    }

    /// How a replay reacts to a failed request.
    OnError {
        /// The replay ends.
        #[default]
        Stop = "stop",
        /// The replay goes on, and failures are counted.
        GoOn = "go-on",
    }
}

impl Count {
    /// The number by which a request of `bytes` counts in this unit.
    pub fn amount_of(self, bytes: u64) -> u64 {
        match self {
            Count::Requests => 1,
            Count::Bytes => bytes,
            Count::Blocks => bytes.div_ceil(4096),
        }
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

    #[test]
    fn a_name_is_typed_shown_and_kept_alike() {
        assert_eq!(Writes::NAMES, ["skip", "as-reads", "allow"]);
        for name in Writes::NAMES {
            let writes: Writes = name.parse().unwrap();
            assert_eq!([writes.name(), &writes.to_string()], [*name; 2]);
            let json = serde_json::to_value(writes).unwrap();
            assert_eq!(json, *name);
            assert_eq!(serde_json::from_value::<Writes>(json).unwrap(), writes);
        }
    }

    #[test]
    fn another_text_is_refused_with_the_names() {
        let error = "as_reads".parse::<Writes>().unwrap_err();
        let says = "expected one of skip, as-reads, allow, found `as_reads`";
        assert_eq!(error.to_string(), says);
    }
}
