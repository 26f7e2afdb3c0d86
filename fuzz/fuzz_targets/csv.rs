//! Imports any bytes as CSV under several column maps. No input may cause a panic. Accepted records
//! are sorted and begin at time zero.
#![no_main]

mod imported;

use imported::import;
use libfuzzer_sys::fuzz_target;
use q2c_model::{Bytes, Nanos, Op};
use q2c_trace::import::{ColumnMap, ImportOptions, TimeUnit};

/// Column maps for the headers `a` to `f`.
const MAPS: [&str; 4] = [
    "submit_ns=a,latency=b,lane=c,op=d,offset=e,bytes=f",
    "queue_ns=a,issue_ns=b,complete_ns=c,device=d,flags=e,error=f",
    "submit_ns=a,submit_end_ns=b,reap_ns=c,sleep_asked_ns=d,slept_ns=e,missed=f",
    "submit_ns=a,cpu_submit=b,comm=c,sector=d,depth_at_submit=e,cgroup=f",
];

fuzz_target!(|data: (u8, bool, &[u8])| {
    let (map, skip_bad, rows) = data;
    let text = [&b"a,b,c,d,e,f\n"[..], rows].concat();
    // When the high bit is set, the input has its own header.
    let input = if map & 0x80 == 0 { &text[..] } else { rows };
    let map = MAPS[usize::from(map) % MAPS.len()];
    let options = ImportOptions {
        unit: Some(TimeUnit::Microseconds),
        assumed: Some((Op::Read, Bytes(4096))),
        columns: ColumnMap::parse_list(map).expect("the maps are well formed"),
        skip_bad,
        ..ImportOptions::default()
    };
    if let Some((records, _)) = import("csv", &options, input) {
        let starts: Vec<Option<Nanos>> =
            records.iter().map(|r| r.submit_ns.or(r.queue_ns)).collect();
        assert_eq!(starts.first(), Some(&Some(Nanos::ZERO)));
        assert!(starts.is_sorted());
        assert!(records.iter().all(|r| r.u2c() != Some(Nanos::ZERO)));
        assert!(records.iter().all(|r| r.q2c() != Some(Nanos::ZERO)));
    }
});
