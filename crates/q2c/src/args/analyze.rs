//! `q2c analyze`.

use super::RecordingArgs;
use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_model::{Bytes, Nanos, parse_duration, parse_size};
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
    /// Keep the I/Os in flight in this part of the trace one by one, for the report and --json, such as 1.5s..1.6s
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub window: Option<Window>,
    /// Write a page with charts here; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Lay the figures out as btt does, in seconds
    #[arg(long, conflicts_with = "json")]
    pub btt: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Times from the first I/O's start.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// First, included.
    pub from: Nanos,
    /// Last, not included.
    pub to: Nanos,
}

fn window(text: &str) -> Result<Window, String> {
    let time = |text: &str| parse_duration(text).map_err(|error| error.to_string());
    let expected = || "expected two times, the first the smaller, such as 1.5s..1.6s".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let (from, to) = (time(from)?, time(to)?);
    match from < to {
        true => Ok(Window { from, to }),
        false => Err(expected()),
    }
}
