//! Options of every command that reads a recording.

use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_host::{Roots, machine};
use q2c_lab::study::{Holding, SourceOptions};
use q2c_model::{Bytes, Nanos, Op, parse_duration, parse_size};
use q2c_trace::import::{ColumnMap, FORMATS, ImportOptions, TimeUnit};
use std::path::PathBuf;

/// Held in memory where the system does not say what is free.
const MEMORY: Bytes = Bytes(1 << 30);

/// What a recording does not say itself.
#[derive(Clone, Debug, Args)]
pub struct RecordingArgs {
    /// Unit of all its times: ns, us, ms or s; never guessed
    #[arg(long)]
    unit: Option<TimeUnit>,
    /// Operation of requests that name none: read, write, flush, discard or other
    #[arg(long)]
    op: Option<Op>,
    /// csv: which header holds which field, such as submit_ns=start,latency=took
    #[arg(long, value_name = "FIELD=HEADER,...", value_parser = columns)]
    columns: Option<Columns>,
    /// csv: the character between cells [default: a comma]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Leave out lines that cannot be read, counted by reason, instead of stopping at the first
    #[arg(long)]
    skip_bad: bool,
}

impl RecordingArgs {
    /// As the library takes them, with the length of requests that have none.
    pub fn options(&self, bytes: Option<Bytes>) -> ImportOptions {
        ImportOptions {
            unit: self.unit,
            op: self.op,
            bytes,
            columns: self.columns.clone().map_or(Vec::new(), |columns| columns.0),
            delimiter: self.delimiter,
            skip_bad: self.skip_bad,
            ..ImportOptions::default()
        }
    }
}

/// A column map.
#[derive(Clone, Debug)]
struct Columns(Vec<ColumnMap>);

fn columns(text: &str) -> Result<Columns, String> {
    let map = ColumnMap::parse_list(text).map(Columns);
    map.ok_or_else(|| "expected FIELD=HEADER, several separated by commas".to_owned())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ if text == "tab" => Ok(b'\t'),
        _ => Err("expected one ASCII character, or tab".to_owned()),
    }
}

/// What an input that is no q2c trace does not say itself.
#[derive(Clone, Debug, Args)]
pub struct SourceArgs {
    /// Format of an input that is no q2c trace [default: recognised by its first bytes]
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)))]
    pub format: Option<String>,
    /// What it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Block size: of requests that have none [default: 4k], and of the calibration that is used [default: the trace's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
    /// Hold so much of the recordings in memory, 16 bytes per I/O, and the rest in unnamed files [default: half of what is free]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<Bytes>,
    /// Where these files are made [default: $TMPDIR, or /var/tmp]
    #[arg(long, value_name = "FOLDER")]
    pub spill: Option<PathBuf>,
}

impl SourceArgs {
    /// As the library takes them, for one of so many inputs.
    pub fn options(&self, inputs: usize) -> SourceOptions {
        let free = || machine::free_memory(&Roots::live()).map(|free| Bytes(free.0 / 2));
        let memory = self.memory.or_else(free).unwrap_or(MEMORY);
        let folder = || std::env::var_os("TMPDIR").map_or(PathBuf::from("/var/tmp"), PathBuf::from);
        SourceOptions {
            format: self.format.clone(),
            import: self.recording.options(self.bs),
            holding: Holding {
                memory: Bytes(memory.0 / inputs.max(1) as u64),
                folder: self.spill.clone().unwrap_or_else(folder),
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
