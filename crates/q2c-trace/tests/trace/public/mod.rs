//! The formats of public traces and of other tools: golden files, recognition, and every way in
//! which a source can be wrong.

mod blkparse;
mod cases;
mod dead_ends;
mod golden;
mod packed;
mod samples;
mod wrong;

use crate::support;
use q2c_model::{Bytes, IoRecord, TraceMeta};
use q2c_trace::import::{ImportOptions, TimeUnit};

/// Options for formats that tell everything themselves.
fn options() -> ImportOptions {
    ImportOptions {
        unit: None,
        offset_unit: None,
        ..ImportOptions::default()
    }
}

/// Options for DiskSim's own files.
fn milliseconds() -> ImportOptions {
    ImportOptions {
        unit: Some(TimeUnit::Milliseconds),
        ..options()
    }
}

/// Options for logs whose name does not say what their values are.
fn nanoseconds() -> ImportOptions {
    ImportOptions {
        unit: Some(TimeUnit::Nanoseconds),
        ..options()
    }
}

/// Options for addresses in sectors.
fn in_sectors() -> ImportOptions {
    ImportOptions {
        offset_unit: Some(Bytes(512)),
        ..options()
    }
}

fn import(
    format: &str,
    input: &[u8],
    options: &ImportOptions,
) -> Result<(Vec<IoRecord>, TraceMeta), String> {
    support::import(format, "some", input, options).map_err(|error| error.to_string())
}
