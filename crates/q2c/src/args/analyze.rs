//! `q2c analyze`.

use super::RecordingArgs;
use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_model::{Bytes, parse_size};
use q2c_trace::import::FORMATS;
use std::path::PathBuf;

/// Say where the I/Os of a trace spend their time.
#[derive(Clone, Debug, Args)]
pub struct AnalyzeArgs {
    /// A q2c trace, a recording that can be imported, or the base name of blktrace files (BASE.blktrace.N)
    pub trace: PathBuf,
    /// Format of an input that is no q2c trace [default: recognised by its first bytes]
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)))]
    pub format: Option<String>,
    /// What it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Length of requests that have none, such as 4k
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
    /// Lay the figures out as btt does, in seconds
    #[arg(long, conflicts_with = "json")]
    pub btt: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
