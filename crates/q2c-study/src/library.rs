//! The patterns that q2c contains. `patterns/README.md` and the facts in each file say how they
//! were recorded.

use crate::source::{SimTrace, SourceOptions, read};
use q2c_model::{Exit, Fault};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A pattern of the library: a q2c trace as the bytes of its file.
#[derive(Clone, Copy, Debug)]
pub struct LibraryPattern {
    /// Name of the file, with its ending.
    pub file: &'static str,
    /// Content of the file.
    pub bytes: &'static [u8],
}

macro_rules! library {
    ($($name:literal,)*) => {
        /// The patterns of the library, in alphabetical order of their names.
        pub static LIBRARY: &[LibraryPattern] = &[$(LibraryPattern {
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

/// Reads the library. Traces are read from files, so it writes the patterns into `folder` first.
///
/// # Errors
/// Returns a fault if a file cannot be written, or cannot be read (see [`read`]).
pub fn read_library(
    folder: &Path,
    options: &SourceOptions,
    stop: &AtomicBool,
) -> Result<Vec<SimTrace>, Fault> {
    let read = |pattern: &LibraryPattern| {
        let path = folder.join(pattern.file);
        fs::write(&path, pattern.bytes).map_err(|source| {
            let text = format!(
                "put the patterns of q2c into {}: {source}",
                folder.display()
            );
            Fault::new(Exit::from_output_error(&source), text).with_source(source)
        })?;
        let mut trace = read(&path, options, stop)?;
        pattern.file.clone_into(&mut trace.input.path);
        Ok(trace)
    };
    LIBRARY.iter().map(read).collect()
}
