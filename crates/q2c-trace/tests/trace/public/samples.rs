//! Real files, compared with a second reading by a few lines of code in this module.

use super::options;
use crate::support::{import_to_file, place, read};
use q2c_model::{IoRecord, Op};
use q2c_trace::Scan;
use q2c_trace::import::{ImportOptions, TimeUnit, sniff};
use std::fs;
use std::path::Path;

fn through_a_trace(format: &str, path: &Path, options: &ImportOptions) -> Vec<IoRecord> {
    let (_folder, trace) = place();
    import_to_file(format, path, options, &trace).unwrap();
    read(&trace, &Scan::new()).unwrap()
}

/// Time (ns), device, sector, bytes, and true for a read.
type Plain = (u64, u32, u64, u64, bool);

fn plain(records: &[IoRecord]) -> Vec<Plain> {
    let to_plain = |r: &IoRecord| {
        assert!(matches!(r.op, Op::Read | Op::Write));
        let at = r.queue_ns.unwrap().0;
        (at, r.device.minor, r.sector.0, r.bytes.0, r.op == Op::Read)
    };
    records.iter().map(to_plain).collect()
}

fn disksim(test: &str, name: &str, requests: usize, reads: usize) {
    let Some(path) = q2c_testkit::shared_data(test, name) else {
        return;
    };
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(sniff(text.as_bytes()).unwrap().name, "disksim");
    let numbers =
        |line: &str| -> Vec<u64> { line.split(' ').map(|cell| cell.parse().unwrap()).collect() };
    let lines: Vec<Vec<u64>> = text.lines().map(numbers).collect();
    let zero = lines[0][0];
    let to_plain = |n: &Vec<u64>| (n[0] - zero, n[1] as u32, n[2], n[3] * 512, n[4] == 1);
    let expected: Vec<Plain> = lines.iter().map(to_plain).collect();
    let mut options = options();
    options.unit = Some(TimeUnit::Nanoseconds);
    let imported = plain(&through_a_trace("disksim", &path, &options));
    assert!(imported == expected);
    assert_eq!(imported.len(), requests);
    let reads_found = imported.iter().filter(|(.., is_read)| *is_read).count();
    assert_eq!(reads_found, reads);
}

/// The counts are from awk.
#[test]
fn web_search() {
    disksim("web_search", "websearch-small.disksim", 24_783, 24_779);
}

#[test]
fn tpc_c() {
    disksim("tpc_c", "tpcc-small.disksim", 6_999, 4_381);
}

/// The counts and the sum come from a Python script of five lines: 66 898 writes, 46 974 reads, 4
/// 205 978 112 bytes.
#[test]
fn cloud_physics() {
    let test = "cloud_physics";
    let Some(path) = q2c_testkit::shared_data(test, "cloudphysics-sample.vscsi") else {
        return;
    };
    let file = fs::read(&path).unwrap();
    assert_eq!(sniff(&file[..4096]).unwrap().name, "vscsi");
    let imported = plain(&through_a_trace("vscsi", &path, &options()));
    let reads = imported.iter().filter(|(.., is_read)| *is_read).count();
    assert_eq!((imported.len() - reads, reads), (66_898, 46_974));
    let bytes: u64 = imported.iter().map(|(.., bytes, _)| bytes).sum();
    assert_eq!(bytes, 4_205_978_112);
    let last = (5_641_098_458_687 - 5_633_898_368_802) * 1_000;
    assert_eq!(imported.last().unwrap().0, last);
    // The first two records were read from a hexadecimal dump.
    assert_eq!(imported[0], (0, 0, 0x028f_1a09, 512, false));
    let second = (0x051f_be86_82f1 - 0x051f_be82_cf22) * 1_000;
    assert_eq!(imported[1], (second, 0, 0x028f_1a0a, 512, false));
}
