#![no_main]

mod imported;

use q2c_model::{Bytes, Op};
use q2c_trace::import::ImportOptions;

libfuzzer_sys::fuzz_target!(|data: (bool, &[u8])| {
    let options = ImportOptions {
        assumed: Some((Op::Read, Bytes(4096))),
        skip_bad: data.0,
        ..ImportOptions::default()
    };
    let _ = imported::imported("biosnoop", &options, data.1);
});
