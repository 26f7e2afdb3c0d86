//! Arguments for recordings of other tools: their format, what a recording does not say itself, and
//! what becomes of records that cannot be read.

use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_model::{Bytes, Op, parse_size};
use q2c_trace::import::{ColumnMap, FORMATS, ImportOptions, TimeUnit};
use std::path::PathBuf;

/// The format of a recording, and what the recording does not say itself.
#[derive(Clone, Debug, Args)]
pub(crate) struct RecordingArgs {
    /// Format of an input that is no q2c trace [default: recognised by its first bytes]
    #[arg(long, value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)))]
    pub format: Option<String>,
    /// Unit of all its times: ns, us, ms or s; never guessed
    #[arg(long)]
    unit: Option<TimeUnit>,
    /// Operation of requests that name none: read, write, flush, discard or other
    #[arg(long)]
    pub op: Option<Op>,
    /// Bytes per unit of its offsets, such as 512 [default: the format's own]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = unit)]
    offset_unit: Option<Bytes>,
    /// disksim: the lowest bit of the flags of reads [default: 1]; csv: the number of a read where
    /// operations are 0 and 1
    #[arg(long, hide_short_help = true, value_name = "BIT")]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=1))]
    read_flag: Option<u8>,
    /// csv: which header holds which field, such as submit_ns=start,latency=took, with a unit where
    /// needed (bytes=length:KB)
    #[arg(long, value_name = "FIELD=HEADER,...", value_parser = columns)]
    columns: Option<ColumnMapList>,
    /// csv: the character between cells [default: detected]
    #[arg(long, hide_short_help = true, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// blkparse: the format that was given to blkparse -f [default: blkparse's own]
    #[arg(long, hide_short_help = true, value_name = "FORMAT")]
    blkparse_format: Option<String>,
    /// Sort requests that are out of order by more than 65 536, through an unnamed file in $TMPDIR
    /// or /var/tmp
    #[arg(long, hide_short_help = true)]
    sort: bool,
    /// Leave out what cannot be read, counted by reason, instead of stopping at the first
    #[arg(long, hide_short_help = true)]
    skip_bad: bool,
    /// Length of requests that have none, such as 4k
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bs: Option<Bytes>,
}

impl RecordingArgs {
    /// The options as `q2c_trace` takes them.
    pub(crate) fn options(&self) -> ImportOptions {
        ImportOptions {
            unit: self.unit,
            op: self.op,
            bytes: self.bs,
            offset_unit: self.offset_unit,
            read_flag: self.read_flag,
            sort: self.sort.then(temporary),
            columns: self.columns.clone().map_or(Vec::new(), |columns| columns.0),
            delimiter: self.delimiter,
            blkparse_format: self.blkparse_format.clone(),
            skip_bad: self.skip_bad,
            ..ImportOptions::default()
        }
    }
}

/// The folder for what memory has no room for: `$TMPDIR`, else `/var/tmp`.
pub(crate) fn temporary() -> PathBuf {
    std::env::var_os("TMPDIR").map_or(PathBuf::from("/var/tmp"), PathBuf::from)
}

/// The value of `--columns`: which header of a CSV file holds which field.
#[derive(Clone, Debug)]
struct ColumnMapList(Vec<ColumnMap>);

fn columns(text: &str) -> Result<ColumnMapList, String> {
    let map = ColumnMap::parse_list(text).map(ColumnMapList);
    map.ok_or_else(|| "expected FIELD=HEADER, several separated by commas".to_owned())
}

fn unit(text: &str) -> Result<Bytes, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    match size.0 {
        0 => Err("expected 1 or more".to_owned()),
        _ => Ok(size),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ if text == "tab" => Ok(b'\t'),
        _ => Err("expected one ASCII character, or tab".to_owned()),
    }
}
