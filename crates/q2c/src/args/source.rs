//! Options of every command that reads a recording.

use super::trace::{Columns, columns, delimiter, temporary, unit};
use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_host::{Roots, machine};
use q2c_lab::study::{Holding, SourceOptions};
use q2c_model::{Bytes, Nanos, Op, parse_duration, parse_size};
use q2c_trace::import::{FORMATS, ImportOptions, TimeUnit};
use std::path::PathBuf;

/// Held in memory where the system does not say what is free.
const MEMORY: Bytes = Bytes(1 << 30);

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
    /// Leave out lines that cannot be read and count them, instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
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
        let columns = self.columns.clone().map_or(Vec::new(), |columns| columns.0);
        SourceOptions {
            format: self.format.clone(),
            import: ImportOptions {
                unit: self.unit,
                op: self.op,
                bytes: self.bs,
                offset_unit: self.offset_unit,
                read_flag: self.read_flag,
                sort: self.sort.then(temporary),
                columns,
                delimiter: self.delimiter,
                skip_bad: self.skip_bad,
                ..ImportOptions::default()
            },
            holding: Holding {
                memory: Bytes(memory.0 / inputs.max(1) as u64),
                folder: self.spill.clone().unwrap_or_else(temporary),
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
