//! Imports any bytes as a latency list. No input may cause a panic. Records form a closed loop.
#![no_main]

mod imported;

use imported::import;
use libfuzzer_sys::fuzz_target;
use q2c_model::{Bytes, Nanos, Op};
use q2c_trace::import::ImportOptions;

fuzz_target!(|data: (u8, bool, &[u8])| {
    let (unit, skip_bad, input) = data;
    let unit = ["ns", "us", "ms", "s"][usize::from(unit % 4)].parse();
    let options = ImportOptions {
        unit: Some(unit.expect("a unit")),
        op: Some(Op::Read),
        bytes: Some(Bytes(4096)),
        skip_bad,
        ..ImportOptions::default()
    };
    if let Some((records, _)) = import("latency-list", &options, input) {
        let mut now = Nanos::ZERO;
        for (id, record) in records.iter().enumerate() {
            assert_eq!(record.id, id as u64);
            assert_eq!(record.submit_ns, Some(now));
            assert!(record.reap_ns > record.submit_ns);
            now = record.reap_ns.expect("every request has its end");
        }
        assert!(!records.is_empty());
    }
});
