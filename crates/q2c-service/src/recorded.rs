use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The part of a recorded request's life that is taken for its service time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// D2C: from the hand-over to the driver to the completion. Records of the block layer have it.
    D2c,
    /// U2C: from just before the submission to the reaping. Records of programs have it.
    U2c,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Measure; 2] = [Measure::D2c, Measure::U2c];

    /// Its name in a device's text and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::D2c => "d2c",
            Measure::U2c => "u2c",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A recording whose times a simulated device takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTimes {
    /// Path of a q2c trace, or of any recording that can be imported.
    pub path: PathBuf,
    /// The time that is taken of each request. `None` takes D2C where the recording has it, else
    /// U2C.
    pub measure: Option<Measure>,
    /// Unit of the times of a source that does not tell it, such as a list of latencies: `ns`,
    /// `us`, `ms` or `s`.
    pub unit: Option<String>,
}

/// Writes the options as they stand in a device's text: `trace=x.parquet,time=d2c`.
impl fmt::Display for RecordedTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace={}", self.path.display())?;
        if let Some(measure) = self.measure {
            write!(f, ",time={measure}")?;
        }
        match &self.unit {
            Some(unit) => write!(f, ",unit={unit}"),
            None => Ok(()),
        }
    }
}
