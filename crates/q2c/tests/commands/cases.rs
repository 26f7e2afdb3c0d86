//! Small recordings that were once read wrongly. `cases.json` holds the right values, which the
//! README of each case derives by hand.

use crate::program::*;
use q2c_model::{IoRecord, Nanos};
use q2c_trace::{Scan, TraceReader};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A row of the table: how a file is imported, and the expected result. A missing value is not
/// checked. Lists are in the order of starts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptCase {
    file: String,
    args: Vec<String>,
    /// Words of the error; `None` if the file can be read.
    refused: Option<Vec<String>>,
    ios: Option<usize>,
    /// Starts relative to the first start.
    start_ns: Option<Vec<u64>>,
    /// From the first time to the last; -1 if an I/O has no end.
    latency_ns: Option<Vec<i64>>,
    sectors: Option<Vec<u64>>,
    bytes: Option<Vec<u64>>,
    ops: Option<Vec<String>>,
    comms: Option<Vec<String>>,
    lost: Option<u64>,
    #[serde(default)]
    facts: BTreeMap<String, String>,
}

/// The earliest known time of an I/O.
fn start(io: &IoRecord) -> Nanos {
    let block = [io.queue_ns, io.getrq_ns, io.insert_ns, io.issue_ns];
    let mut known = [io.submit_ns].into_iter().chain(block).flatten();
    known.next().unwrap()
}

fn latency(io: &IoRecord) -> i64 {
    let end = io.reap_ns.or(io.complete_ns);
    end.map_or(-1, |end| (end - start(io)).0 as i64)
}

fn check<T: PartialEq + std::fmt::Debug>(
    case: &KeptCase,
    wanted: &Option<Vec<T>>,
    ios: &[IoRecord],
    read_field: impl Fn(&IoRecord) -> T,
) {
    if let Some(wanted) = wanted {
        let values: Vec<T> = ios.iter().map(read_field).collect();
        assert_eq!(values, *wanted, "{case:?}");
    }
}

fn read(case: &KeptCase, trace: &Path) {
    let reader = TraceReader::open(trace).unwrap();
    let meta = reader.meta().clone();
    let ios: Result<Vec<_>, _> = reader.records(&Scan::new()).unwrap().collect();
    let ios = ios.unwrap().concat();
    let first = start(&ios[0]);
    assert_eq!(case.ios.unwrap_or(ios.len()), ios.len(), "{case:?}");
    check(case, &case.start_ns, &ios, |io| (start(io) - first).0);
    check(case, &case.latency_ns, &ios, latency);
    check(case, &case.sectors, &ios, |io| io.sector.0);
    check(case, &case.bytes, &ios, |io| io.bytes.0);
    check(case, &case.ops, &ios, |io| io.op.name().to_owned());
    check(case, &case.comms, &ios, |io| {
        io.comm.clone().unwrap_or_default()
    });
    assert_eq!(case.lost.unwrap_or(meta.lost), meta.lost, "{case:?}");
    for (name, value) in &case.facts {
        assert_eq!(meta.facts.get(name), Some(value), "{case:?}: {name}");
    }
}

#[test]
fn what_was_read_wrongly_once_is_read_right() {
    let cases: Vec<KeptCase> = serde_json::from_str(include_str!("cases.json")).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../q2c-trace/tests/trace/cases");
    let out = tempfile::tempdir().unwrap();
    for (at, case) in cases.iter().enumerate() {
        let (file, trace) = (folder.join(&case.file), format!("{at}.trace"));
        let mut arguments = vec!["trace", "import", file.to_str().unwrap(), "-o", &trace];
        arguments.extend(case.args.iter().map(String::as_str));
        let ran = q2c(out.path(), &arguments);
        match &case.refused {
            None => {
                assert_eq!(ran.code, 0, "{case:?}: {}", ran.stderr);
                read(case, &out.path().join(&trace));
            }
            Some(phrases) => {
                assert_ne!(ran.code, 0, "{case:?}");
                for word in phrases {
                    assert!(ran.stderr.contains(word), "{case:?}: {}", ran.stderr);
                }
            }
        }
    }
}
