//! The check that every importer of public traces must pass.

#[path = "imported.rs"]
mod imported;

use imported::import;
use q2c_model::{Bytes, Nanos};
use q2c_trace::import::{ImportOptions, TimeUnit};

/// Imports any bytes. No input may cause a panic. Accepted records are numbered and in the order of
/// time from zero, and no request ends before it starts.
pub fn check(format: &str, (skip_bad, input): (bool, &[u8])) {
    let options = ImportOptions {
        unit: Some(TimeUnit::Microseconds),
        offset_unit: Some(Bytes(512)),
        skip_bad,
        ..ImportOptions::default()
    };
    let Some((records, _)) = import(format, &options, input) else {
        return;
    };
    let starts: Vec<Option<Nanos>> = records.iter().map(|r| r.submit_ns.or(r.queue_ns)).collect();
    assert_eq!(starts.first(), Some(&Some(Nanos::ZERO)));
    assert!(starts.is_sorted());
    for (id, record) in (0..).zip(&records) {
        assert_eq!(record.id, id);
        assert!(record.depth_at_submit >= 1);
        assert!(record.complete_ns.is_none() || record.complete_ns >= record.queue_ns);
    }
}
