//! The lines that live views write with `--json`.

use serde::{Deserialize, Serialize};

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// An interval that has ended.
    Interval,
    /// The result of the whole, which is the last line.
    Summary,
}

/// A line of an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalLine<T> {
    /// [`LineKind::Interval`].
    pub kind: LineKind,
    /// The schema of the interval.
    pub schema: String,
    /// The device or target that is watched.
    pub device: String,
    /// The figures of the interval.
    #[serde(flatten)]
    pub interval: T,
}

impl<T> IntervalLine<T> {
    /// The line of an interval.
    pub fn new(schema: &str, device: &str, interval: T) -> Self {
        IntervalLine {
            kind: LineKind::Interval,
            schema: schema.to_owned(),
            device: device.to_owned(),
            interval,
        }
    }
}

/// The last line: a result, with its own schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryLine<T> {
    /// [`LineKind::Summary`].
    pub kind: LineKind,
    /// The result.
    #[serde(flatten)]
    pub result: T,
}

impl<T> SummaryLine<T> {
    /// The line of a result.
    pub fn new(result: T) -> Self {
        SummaryLine {
            kind: LineKind::Summary,
            result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{LiveInterval, ProcessIos, SCHEMA};

    #[test]
    fn a_line_comes_back_as_it_was() {
        let interval = LiveInterval {
            end_s: 1.0,
            processes: vec![ProcessIos {
                pid: Some(7),
                ..ProcessIos::default()
            }],
            ..LiveInterval::default()
        };
        let line = IntervalLine::new(SCHEMA, "sda", interval);
        let text = serde_json::to_string(&line).unwrap();
        let head =
            r#"{"kind":"interval","schema":"q2c.live-interval/1","device":"sda","end_s":1.0,"#;
        assert!(text.starts_with(head), "{text}");
        let read: IntervalLine<LiveInterval> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, line);
    }
}
