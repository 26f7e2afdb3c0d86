//! The patterns that q2c contains. Their README and the facts in each file say how they were
//! recorded.

use crate::source::{SimTrace, SourceOptions, read};
use q2c_model::Fault;
use q2c_trace::samples::{PATTERNS, SampleTrace};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Reads the patterns that q2c contains.
///
/// # Errors
/// Returns a fault if a pattern cannot be read (see [`read`]).
pub fn read_library(options: &SourceOptions, stop: &AtomicBool) -> Result<Vec<SimTrace>, Fault> {
    let read = |pattern: &SampleTrace| {
        let path = format!("sample:{}", pattern.name);
        let mut trace = read(Path::new(&path), options, stop)?;
        trace.input.path = format!("{}.parquet", pattern.name);
        Ok(trace)
    };
    PATTERNS.iter().map(read).collect()
}
