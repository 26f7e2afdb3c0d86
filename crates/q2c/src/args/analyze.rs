//! `q2c analyze`.

use super::trace::{Columns, columns, delimiter};
use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_model::{Bytes, Op, parse_size};
use q2c_trace::import::{FORMATS, ImportOptions, TimeUnit};
use std::path::PathBuf;

/// Say where the I/Os of a trace spend their time.
#[derive(Clone, Debug, Args)]
pub struct AnalyzeArgs {
    /// A q2c trace, a recording that can be imported, or the base name of blktrace files (BASE.blktrace.N)
    pub trace: PathBuf,
    /// Format of an input that is no q2c trace [default: recognised by its first bytes]
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)))]
    pub format: Option<String>,
    /// Unit of all its times: ns, us, ms or s
    #[arg(long)]
    pub unit: Option<TimeUnit>,
    /// Operation of requests that name none: read, write, flush, discard or other
    #[arg(long)]
    pub op: Option<Op>,
    /// Length of requests that have none, such as 4k
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
    /// csv: which header holds which field, such as queue_ns=start,complete_ns=end
    #[arg(long, value_name = "FIELD=HEADER,...", value_parser = columns)]
    pub columns: Option<Columns>,
    /// csv: the character between cells [default: a comma]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Leave out what cannot be read, counted by reason, instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
    /// Lay the figures out as btt does, in seconds
    #[arg(long, conflicts_with = "json")]
    pub btt: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl AnalyzeArgs {
    /// As the importers take them.
    pub fn options(&self) -> ImportOptions {
        ImportOptions {
            unit: self.unit,
            op: self.op,
            bytes: self.bs,
            columns: self.columns.clone().map_or(Vec::new(), |columns| columns.0),
            delimiter: self.delimiter,
            skip_bad: self.skip_bad,
            ..ImportOptions::default()
        }
    }
}
