//! Options of every command that reads a recording.

use super::trace::{Columns, columns, delimiter};
use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_lab::study::SourceOptions;
use q2c_model::{Bytes, Nanos, Op, parse_duration, parse_size};
use q2c_trace::import::{FORMATS, ImportOptions, TimeUnit};
use std::path::PathBuf;

/// What a recording that is no q2c trace does not say itself.
#[derive(Clone, Debug, Args)]
pub struct SourceArgs {
    /// Format of an input that is no q2c trace [default: recognised by its first bytes]
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)))]
    pub format: Option<String>,
    /// Unit of all its times: ns, us, ms or s; never guessed
    #[arg(long)]
    pub unit: Option<TimeUnit>,
    /// Operation of requests that name none [default: read]
    #[arg(long)]
    pub op: Option<Op>,
    /// Block size: of requests that have none [default: 4k], and of the calibration that is used [default: the trace's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
    /// csv: which header holds which field, such as submit_ns=start,latency=took
    #[arg(long, value_name = "FIELD=HEADER,...", value_parser = columns)]
    pub columns: Option<Columns>,
    /// csv: the character between cells [default: a comma]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Leave out lines that cannot be read and count them, instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
}

impl SourceArgs {
    /// As the library takes them.
    pub fn options(&self) -> SourceOptions {
        let columns = self.columns.clone().map_or(Vec::new(), |columns| columns.0);
        SourceOptions {
            format: self.format.clone(),
            import: ImportOptions {
                unit: self.unit,
                op: self.op,
                bytes: self.bs,
                columns,
                delimiter: self.delimiter,
                skip_bad: self.skip_bad,
                ..ImportOptions::default()
            },
        }
    }
}

/// What a simulated machine charges.
#[derive(Clone, Debug, Args)]
pub struct CostArgs {
    /// Costs from this calibration: calibration.json of a run, or what `q2c calibrate --json` prints
    #[arg(long, value_name = "FILE")]
    pub cost: Option<PathBuf>,
    /// Without --cost: every sleep ends this much late, and nothing else costs
    #[arg(long, value_name = "DURATION", default_value = "2us", value_parser = parse_duration, conflicts_with = "cost")]
    pub wake_delay: Nanos,
}
