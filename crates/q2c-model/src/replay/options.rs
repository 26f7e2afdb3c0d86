//! Options of a replay that are one of several values.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A text that is no value of an option.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected one of {}, found `{found}`", expected.join(", "))]
pub struct ParseValueError {
    /// The names of the option's values.
    pub expected: &'static [&'static str],
    /// The text.
    pub found: String,
}

/// Defines enums of which each value has one name: it is what is typed, and what results hold.
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
        /// Blocks of 4 KiB; a block that is begun counts whole. Published outstanding replays count
        /// blocks.
        #[default]
        Blocks = "blocks",
    }

    /// What happens to the time in which a device of the trace had nothing in flight.
    Idle {
        /// It is kept.
        Keep = "keep",
        /// It is left out.
        #[default]
        Squeeze = "squeeze",
    }

    /// The property of requests that makes them one lane.
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

    /// How requests are shared out among the submitting threads of a target in timed mode.
    ShareBy {
        /// By their offset, in pieces of 1 MiB.
        #[default]
        Offset = "offset",
        /// By the CPU that submitted them in the trace; by offset where the trace does not tell it.
        Cpu = "cpu",
        /// By their hardware queue; by offset where the trace does not tell it.
        Hctx = "hctx",
    }

    /// What happens to a request whose offset lies beyond its device's region of the target.
    Fit {
        /// Offsets beyond the end begin again at the start of the device's region of the target.
        #[default]
        Modulo = "modulo",
        /// Requests beyond the end are left out.
        Clip = "clip",
        /// If a device of the trace is larger than its region, all its offsets shrink in
        /// proportion.
        Scale = "scale",
        /// Pieces of 1 MiB are placed one after the other, in the order of their first use.
        Dense = "dense",
    }

    /// What happens to the trace's writes.
    Writes {
        /// They are left out.
        Skip = "skip",
        /// They are read instead.
        #[default]
        AsReads = "as-reads",
        /// They are written.
        Allow = "allow",
    }

    /// What happens to the trace's discards.
    Discards {
        /// They are left out.
        #[default]
        Skip = "skip",
        /// They are done on the target.
        Allow = "allow",
    }

    /// What happens to the replay when a request fails.
    OnError {
        /// The replay ends.
        #[default]
        Stop = "stop",
        /// The replay goes on, and failures are counted.
        GoOn = "go-on",
    }
}

impl Count {
    /// The weight of a request of `bytes` in this unit.
    pub fn weight_of(self, bytes: u64) -> u64 {
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
