//! What the fuzzers started from and what they found: none of it may panic, and what is accepted keeps the fuzz targets' promises.

#[path = "../../../../fuzz/fuzz_targets/common.rs"]
mod common;

use q2c_model::{Bytes, IoRecord, Op};
use q2c_trace::import::{FORMATS, Format, ImportOptions, Source, TimeUnit};
use std::fs;
use std::path::{Path, PathBuf};

/// Those whose records are requests as they were submitted: [`common::check`] is their fuzz target.
const CHECKED: [&str; 11] = [
    "alibaba",
    "disksim",
    "fio-iolog",
    "fiu",
    "ms-etw",
    "msr",
    "nexus5",
    "spc",
    "systor17",
    "tencent",
    "vscsi",
];

/// Files of `fuzz/seeds/NAME` and `fuzz/corpus/NAME`.
fn inputs(name: &str) -> Vec<PathBuf> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let folders = ["seeds", "corpus"].map(|folder| fuzz.join(folder).join(name.replace('-', "_")));
    let files = |folder: &PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    folders
        .iter()
        .flat_map(files)
        .map(|entry| entry.path())
        .collect()
}

/// Only that it comes back.
fn import(format: &Format, skip_bad: bool, mut input: &[u8]) {
    let options = ImportOptions {
        unit: Some(TimeUnit::Microseconds),
        op: Some(Op::Read),
        bytes: Some(Bytes(4096)),
        skip_bad,
        ..ImportOptions::default()
    };
    let mut records: Vec<IoRecord> = Vec::new();
    let mut source = Source {
        path: Path::new("corpus"),
        input: &mut input,
    };
    let _ = (format.import)(&mut source, &options, &mut records);
}

#[test]
fn nothing_a_fuzzer_kept_breaks_an_importer() {
    for format in FORMATS {
        let inputs = inputs(format.name);
        assert!(!inputs.is_empty(), "no seeds of {}", format.name);
        for input in inputs {
            let bytes = fs::read(&input).expect("a file of the project");
            for skip_bad in [false, true] {
                import(format, skip_bad, &bytes);
                if CHECKED.contains(&format.name) {
                    common::check(format.name, skip_bad, &bytes);
                }
            }
        }
    }
}
