//! Imports any bytes as blkparse's text, in its default format or a given one. No input may cause a
//! panic. Accepted input is in the order of time from zero, and every exporter takes it.
#![no_main]

mod imported;

use imported::import;
use libfuzzer_sys::fuzz_target;
use q2c_model::Nanos;
use q2c_trace::export::{self, Export, ExportOptions};
use q2c_trace::import::ImportOptions;
use std::collections::BTreeSet;
use std::path::Path;

/// Formats as `blkparse -f` takes them; the empty one stands for blkparse's default format.
const FORMATS: [&str; 4] = [
    "",
    "%D %2c %8s %5T.%9t %5p %2a %3d %S %n [%C]\\n",
    "%T.%t|%a|%d|%S+%N|%M:%m|%e|%p\\n",
    "%a%d%S %n %T %t %C",
];

fuzz_target!(|data: (u8, bool, &[u8])| {
    let (format, skip_bad, input) = data;
    let format_text = FORMATS[usize::from(format) % FORMATS.len()];
    let options = ImportOptions {
        blkparse_format: (!format_text.is_empty()).then(|| format_text.to_owned()),
        skip_bad,
        ..ImportOptions::default()
    };
    let Some((records, meta)) = import("blkparse", &options, input) else {
        return;
    };
    let starts = records.iter().map(|r| {
        let times = [r.queue_ns, r.getrq_ns, r.insert_ns, r.issue_ns, r.complete_ns];
        times.into_iter().flatten().next()
    });
    let starts: Vec<Option<Nanos>> = starts.collect();
    assert_eq!(starts.first(), Some(&Some(Nanos::ZERO)));
    assert!(starts.is_sorted());
    let ids: BTreeSet<u64> = records.iter().map(|record| record.id).collect();
    assert_eq!(ids.len(), records.len());
    for record in &records {
        assert!(record.complete_ns.is_none_or(|end| record.issue_ns.is_none_or(|issue| issue <= end)));
    }
    for format in export::FORMATS {
        let mut once = std::iter::once(Ok(records.clone()));
        let exported = (format.export)(Export {
            path: Path::new("fuzz"),
            meta: &meta,
            records: &mut once,
            options: &ExportOptions::default(),
            out: &mut Vec::new(),
        });
        let exported = exported.expect("memory takes all");
        let left_out: u64 = exported.left_out.values().sum();
        assert_eq!(exported.written + left_out, records.len() as u64);
    }
});
