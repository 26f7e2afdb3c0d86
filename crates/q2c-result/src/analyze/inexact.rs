//! Figures that an analysis made in parts does not have, or has not exactly.

use serde::{Deserialize, Serialize};

/// A figure that would be another, or that would be there, had the trace been analysed in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inexact {
    /// The figure.
    pub figure: InexactFigure,
    /// Why it is not exact.
    pub reason: InexactReason,
    /// How often parts were joined for which this holds.
    pub joins: u64,
}

/// A part of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InexactFigure {
    /// `in_flight.most`.
    MostInFlight,
    /// `activity`.
    Activity,
    /// `bottleneck.over_load`.
    OverLoad,
    /// `tags`, and the bottleneck's explanation by them.
    Tags,
    /// `seeks`, and the stage Q2Q or U2U.
    Seeks,
    /// `groups`.
    Groups,
    /// `hctx`, `balance` and `queues`.
    Queues,
    /// `excerpts`.
    Excerpts,
}

/// Why a figure is not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InexactReason {
    /// It needs all devices in order, which the parts were not: `in_flight.most`, `activity` and
    /// `bottleneck.over_load` lack, and the slowest I/O's excerpt is of its part.
    Devices,
    /// I/Os of an earlier part were in flight longer than the later part kept its first I/Os.
    LongIo,
    /// I/Os of a later part began before the last I/O of the earlier one.
    Order,
    /// There were more groups, devices or queues than are told apart.
    Overflow,
    /// The excerpt of a window has the I/Os of the first part alone.
    Window,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::AnalyzeResult;

    /// What parts do not tell is null, and named.
    #[test]
    fn what_parts_do_not_tell_is_null_and_named() {
        let mut result = AnalyzeResult::default();
        result.inexact.push(Inexact {
            figure: InexactFigure::MostInFlight,
            reason: InexactReason::Devices,
            joins: 1,
        });
        let written = serde_json::to_string(&result).expect("JSON");
        let json = r#""inexact":[{"figure":"most-in-flight","reason":"devices","joins":1}]"#;
        assert!(written.contains(json), "{written}");
        assert!(written.contains(r#""most":null"#) && written.contains(r#""activity":null"#));
        let back: AnalyzeResult = serde_json::from_str(&written).expect("what was written");
        assert_eq!(back, result);
    }
}
