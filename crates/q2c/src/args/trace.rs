//! `q2c trace`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use q2c_model::{Bytes, Op, parse_size};
use q2c_trace::import::{ColumnMap, FORMATS, TimeUnit};
use std::path::PathBuf;

/// Bring recordings in, and look into them.
#[derive(Clone, Debug, Args)]
pub struct TraceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// The commands of `q2c trace`.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceCommand {
    /// Turn a recording of another tool into a q2c trace (Parquet)
    #[command(after_help = formats())]
    Import(ImportArgs),
    /// Say what a trace holds
    Info(InfoArgs),
}

/// What to import, and what it does not say itself.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// The recording
    pub input: PathBuf,
    /// Its format [default: recognised by its first bytes]
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
    /// Bytes per unit of its offsets, such as 512 [default: the format's own]
    #[arg(long, value_name = "SIZE", value_parser = unit)]
    pub offset_unit: Option<Bytes>,
    /// disksim: the lowest bit of the flags of reads [default: 1]
    #[arg(long, value_name = "BIT", value_parser = clap::value_parser!(u8).range(0..=1))]
    pub read_flag: Option<u8>,
    /// csv: which header holds which field, such as submit_ns=start,latency=took
    #[arg(long, value_name = "FIELD=HEADER,...", value_parser = columns)]
    pub columns: Option<Columns>,
    /// csv: the character between cells [default: a comma]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Sort requests that are out of order by more than 65 536, through an unnamed file in $TMPDIR or /var/tmp
    #[arg(long)]
    pub sort: bool,
    /// Leave out lines that cannot be read, counted by reason, instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
    /// The trace to make; a name that is not taken yet
    #[arg(long, value_name = "TRACE")]
    pub out: PathBuf,
    /// Print the trace's description as JSON
    #[arg(long)]
    pub json: bool,
}

/// Which trace.
#[derive(Clone, Debug, Args)]
pub struct InfoArgs {
    /// The trace
    pub trace: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A column map.
#[derive(Clone, Debug)]
pub struct Columns(pub Vec<ColumnMap>);

pub(super) fn columns(text: &str) -> Result<Columns, String> {
    let map = ColumnMap::parse_list(text).map(Columns);
    map.ok_or_else(|| "expected FIELD=HEADER, several separated by commas".to_owned())
}

/// Bytes per unit of offsets.
pub(super) fn unit(text: &str) -> Result<Bytes, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    match size.0 {
        0 => Err("expected 1 or more".to_owned()),
        _ => Ok(size),
    }
}

pub(super) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ if text == "tab" => Ok(b'\t'),
        _ => Err("expected one ASCII character, or tab".to_owned()),
    }
}

/// The folder of files that memory has no room for.
pub fn temporary() -> PathBuf {
    std::env::var_os("TMPDIR").map_or(PathBuf::from("/var/tmp"), PathBuf::from)
}

fn formats() -> String {
    let line =
        |format: &q2c_trace::import::Format| format!("  {:<13} {}", format.name, format.help);
    let lines: Vec<String> = FORMATS.iter().map(line).collect();
    format!(
        "Formats:\n{}\n\nInputs packed with gzip or Zstandard are unpacked as they are read. Columns and units: docs/formats.md",
        lines.join("\n")
    )
}
