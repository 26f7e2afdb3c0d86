#![no_main]

mod common;

libfuzzer_sys::fuzz_target!(|data: (bool, &[u8])| common::check("vscsi", data));
