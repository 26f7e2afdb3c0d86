#![no_main]

mod imported;

use q2c_trace::import::ImportOptions;

libfuzzer_sys::fuzz_target!(|data: (bool, &[u8])| {
    let options = ImportOptions {
        skip_bad: data.0,
        ..ImportOptions::default()
    };
    let _ = imported::import("ftrace", &options, data.1);
});
