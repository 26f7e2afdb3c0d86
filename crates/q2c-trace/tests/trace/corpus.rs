//! Runs the fuzzers' seeds and findings. None may panic, and accepted input must have the
//! properties that the fuzz targets check.

#[path = "../../../../fuzz/fuzz_targets/common.rs"]
mod common;

use crate::support;
use q2c_model::{Bytes, Op};
use q2c_trace::import::{FORMATS, ImportFormat, ImportOptions, TimeUnit};
use std::fs;
use std::path::Path;

/// Formats whose records are requests as submitted; their fuzz target is [`common::check`].
const CHECKED: &str =
    "alibaba disksim fio-iolog fio-log fiu ms-etw msr nexus5 spc systor17 tencent vscsi";

/// The inputs in `fuzz/seeds/NAME` and in `fuzz/kept/NAME.tar.zst`.
fn inputs(name: &str) -> Vec<Vec<u8>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let name = name.replace('-', "_");
    let seeds = fs::read_dir(fuzz.join("seeds").join(&name)).into_iter();
    let seeds = seeds.flatten().flatten().map(|entry| entry.path());
    let mut inputs: Vec<Vec<u8>> = seeds.map(|path| fs::read(path).expect("a seed")).collect();
    let packed = fuzz.join("kept").join(format!("{name}.tar.zst"));
    let kept = q2c_testkit::unpack(&packed);
    assert!(!kept.is_empty(), "the corpus of {name} is empty");
    inputs.extend(kept.into_values());
    inputs
}

/// Checks only that the import returns, with success or an error.
fn import(format: &ImportFormat, skip_bad: bool, input: &[u8]) {
    let options = ImportOptions {
        unit: Some(TimeUnit::Microseconds),
        assumed: Some((Op::Read, Bytes(4096))),
        skip_bad,
        ..ImportOptions::default()
    };
    let _ = support::import(format.name, "corpus", input, &options);
}

#[test]
fn nothing_a_fuzzer_kept_breaks_an_importer() {
    for format in FORMATS {
        let inputs = inputs(format.name);
        assert!(!inputs.is_empty(), "no seeds of {}", format.name);
        for bytes in inputs {
            for skip_bad in [false, true] {
                import(format, skip_bad, &bytes);
                if CHECKED.split(' ').any(|name| name == format.name) {
                    common::check(format.name, (skip_bad, &bytes));
                }
            }
        }
    }
}
