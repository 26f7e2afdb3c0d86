//! The formats of public traces and of other tools: golden files, recognition, and bad sources.

mod blkparse;
mod cases;
mod dead_ends;
mod golden;
mod order;
mod samples;
mod wrong;

use crate::support::{self, ImportedRecords, stating};
use q2c_model::Bytes;
use q2c_trace::import::{ImportOptions, TimeUnit};

fn options() -> ImportOptions {
    ImportOptions::default()
}

fn skipping() -> ImportOptions {
    stating(|o| o.skip_bad = true)
}

fn in_unit(unit: TimeUnit) -> ImportOptions {
    stating(|o| o.unit = Some(unit))
}

/// Options for addresses in sectors.
fn in_sectors() -> ImportOptions {
    stating(|o| o.offset_unit = Some(Bytes(512)))
}

fn import(format: &str, input: &[u8], options: &ImportOptions) -> ImportedRecords {
    support::import(format, "some", input, options).map_err(|error| error.to_string())
}
