//! The patterns that q2c brings along; `patterns/README.md` and each file's facts say how they
//! came.

use crate::source::{SimTrace, SourceOptions, read};
use q2c_model::{Exit, Fault};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A pattern of the library: a q2c trace as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Name of its file, with the ending.
    pub file: &'static str,
    /// The file's content.
    pub bytes: &'static [u8],
}

macro_rules! library {
    ($($name:literal,)*) => {
        /// The library, by name in alphabetical order.
        pub static LIBRARY: &[Shipped] = &[$(Shipped {
            file: concat!($name, ".parquet"),
            bytes: include_bytes!(concat!("../patterns/", $name, ".parquet")),
        },)*];
    };
}

library! {
    "bimodal-30us-300us",
    "constant-50us",
    "disk-mixed-4-threads",
    "disk-mixed-4k-quiet",
    "disk-mixed-sizes",
    "disk-read-256k-quiet",
    "disk-read-4k-heavy",
    "disk-read-4k-light",
    "disk-read-4k-quiet",
    "disk-read-64k-heavy",
    "disk-read-64k-light",
    "disk-read-64k-quiet",
    "disk-write-4k-quiet",
    "heavy-tail-60us",
    "lognormal-80us",
    "loop-read-4k-heavy",
    "loop-read-4k-quiet",
    "loop-read-64k-quiet",
    "optane-p5800x",
    "p41-tlc",
    "phases-30us-120us",
    "steps-40us-100us",
    "waves-40us-140us",
    "zram-read-256k-heavy",
    "zram-read-256k-quiet",
    "zram-read-64k-quiet",
    "zssd-983zet",
}

/// Reads the library, through files that it writes into `folder`: traces are read from files.
///
/// # Errors
/// A file cannot be written, or not be read, as by [`read`].
pub fn read_library(
    folder: &Path,
    options: &SourceOptions,
    stop: &AtomicBool,
) -> Result<Vec<SimTrace>, Fault> {
    let read = |shipped: &Shipped| {
        let path = folder.join(shipped.file);
        fs::write(&path, shipped.bytes).map_err(|source| {
            let text = format!(
                "put the patterns of q2c into {}: {source}",
                folder.display()
            );
            Fault::new(Exit::of_output(&source), text).with_source(source)
        })?;
        let mut trace = read(&path, options, stop)?;
        shipped.file.clone_into(&mut trace.input.path);
        Ok(trace)
    };
    LIBRARY.iter().map(read).collect()
}
