//! The traces that q2c contains, named `sample:NAME` wherever a trace is named. A file of that name
//! comes first. `samples/README.md` and `patterns/README.md` say where they come from.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;

const PREFIX: &str = "sample:";

/// A trace that q2c contains.
#[derive(Clone, Copy, Debug)]
pub struct SampleTrace {
    /// Its name behind `sample:`.
    pub name: &'static str,
    /// The bytes of its file.
    pub bytes: &'static [u8],
}

macro_rules! samples {
    ($folder:literal: $($name:literal,)*) => {
        &[$(SampleTrace {
            name: $name,
            bytes: include_bytes!(concat!("../", $folder, "/", $name, ".parquet")),
        },)*]
    };
}

/// Public traces.
static TRACES: &[SampleTrace] = samples! {
    "samples":
    "tpcc",
    "websearch",
};

/// Latencies of devices, in alphabetical order of their names.
pub static PATTERNS: &[SampleTrace] = samples! {
    "patterns":
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
};

/// The name of the sample that `path` means; `None` if it means a file.
fn name(path: &Path) -> Option<&str> {
    path.to_str()?
        .strip_prefix(PREFIX)
        .filter(|_| !path.exists())
}

/// True if `path` means a sample, known or not.
pub fn is_sample(path: &Path) -> bool {
    name(path).is_some()
}

/// Opens a file, or the sample that `path` means, in a file without a name.
pub fn open(path: &Path) -> io::Result<File> {
    let Some(name) = name(path) else {
        return File::open(path);
    };
    let mut samples = TRACES.iter().chain(PATTERNS);
    let Some(sample) = samples.find(|sample| sample.name == name) else {
        let names: Vec<&str> = TRACES
            .iter()
            .chain(PATTERNS)
            .map(|sample| sample.name)
            .collect();
        let message = format!("expected a sample of q2c: {}", names.join(", "));
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    };
    let mut file = tempfile::tempfile()?;
    file.write_all(sample.bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceReader;

    #[test]
    fn samples_are_traces_and_files_come_first() {
        for (name, rows) in [("tpcc", 6_999), ("websearch", 24_783)] {
            let trace = TraceReader::open(format!("{PREFIX}{name}")).unwrap();
            assert_eq!(trace.rows(), rows);
        }
        let error = TraceReader::open("sample:none").unwrap_err();
        assert!(error.to_string().contains("tpcc, websearch, "), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sample:tpcc");
        assert!(!is_sample(&file));
        assert!(is_sample(Path::new("sample:tpcc")) && !is_sample(Path::new("tpcc")));
    }
}
