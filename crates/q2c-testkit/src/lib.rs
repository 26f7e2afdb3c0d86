//! Helpers for tests: counted skips, checks by seed, a CPU that is kept busy, the place of the
//! shared sample data, a published curve, and strict readers of JSON and of metrics.

mod busy;
mod metrics;
mod packed;
mod seeds;
mod strict;
mod timed;

pub use busy::with_busy_cpu;
pub use metrics::{Samples, strict_metrics};
pub use packed::{ArchiveFiles, pack, unpack};
pub use seeds::for_each_seed;
pub use strict::strict_json;
pub use timed::{run_timed, run_timed_alone, run_timed_waiting};

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The scaling curve of SPDK issue 3097: jobs, one to a CPU, and million I/Os per second, single
/// runs. Its peak is at 10 jobs; its collapse and its knee are at 14.
pub const SPDK_3097: [(u32, f64); 7] = [
    (1, 2.08),
    (2, 4.37),
    (6, 12.06),
    (10, 17.78),
    (14, 7.42),
    (18, 5.61),
    (22, 6.84),
];

/// Prints why `test` does not run here, and counts the skip: it adds a line to the file that
/// `Q2C_SKIP_LOG` names. `make test` sums up that file, because cargo may capture what a test
/// prints. Panics if `Q2C_NO_SKIP` is set, for runs in which every test has to run.
#[expect(clippy::print_stdout, reason = "the convention for skips")]
pub fn skip(test: &str, reason: &str) {
    assert!(
        std::env::var_os("Q2C_NO_SKIP").is_none(),
        "{test} may not be skipped: {reason}"
    );
    let line = format!("skipped: {test}: {reason}\n");
    print!("{line}");
    if let Some(path) = std::env::var_os("Q2C_SKIP_LOG") {
        let log = OpenOptions::new().append(true).create(true).open(path);
        // One write, so that lines of tests that run at the same time stay whole.
        log.and_then(|mut log| log.write_all(line.as_bytes()))
            .expect("the skip log can be written");
    }
}

/// 1 MiB of pseudo-random bytes, the same in every call. Tests fill the file that is their target
/// with them.
pub fn random_mib() -> Vec<u8> {
    let mut x = 1_u64;
    let bytes = (0..1 << 17).flat_map(|_| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x.to_le_bytes()
    });
    bytes.collect()
}

/// The path of a file of the public sample data. Where the file is absent, `test` is skipped and
/// counted, and the result is `None`. `Q2C_SHARED_DATA` names the folder of the data. Without that
/// variable the data is looked for beside the checkout.
pub fn shared_data(test: &str, file: &str) -> Option<PathBuf> {
    // Cargo sets the variable when it runs a test. A path that was compiled in is that of another
    // checkout when the two share a folder of build results.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo when a test runs");
    let default = Path::new(&package).join("../../../shared/data");
    let folder = std::env::var_os("Q2C_SHARED_DATA").map_or(default, PathBuf::from);
    let path = folder.join(file);
    if path.exists() {
        return Some(path);
    }
    let reason = format!("the sample data {file} is absent; Q2C_SHARED_DATA names its folder");
    skip(test, &reason);
    None
}
