#![no_main]

mod imported;

use q2c_model::{Bytes, Op};
use q2c_trace::import::ImportOptions;

libfuzzer_sys::fuzz_target!(|data: (bool, &[u8])| {
    let (skip_bad, input) = data;
    let options = ImportOptions {
        assumed: Some((Op::Read, Bytes(4096))),
        skip_bad,
        ..ImportOptions::default()
    };
    let _ = imported::import("biosnoop", &options, input);
});
