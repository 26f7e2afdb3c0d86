//! Reads any bytes as one to three blktrace files. No input may cause a panic, and every I/O is
//! handed out once, with times in the order of its life.
#![no_main]

use libfuzzer_sys::fuzz_target;
use q2c_trace::Span;
use q2c_trace::blktrace::{EventFile, Merge, match_events};
use q2c_trace::span::NONE;
use std::path::Path;

fuzz_target!(|data: (u8, bool, &[u8])| {
    let (limit, skip_bad, bytes) = data;
    let parts = usize::from(limit % 3) + 1;
    let files = bytes.chunks(bytes.len().div_ceil(parts).max(1));
    let files = files.map(|part| EventFile::new(Path::new("fuzz"), part, 0, skip_bad));
    let Ok(merge) = Merge::new(files) else { return };
    let mut spans: Vec<Span> = Vec::new();
    let read = match_events(merge, usize::from(limit) + 1, |batch, _| {
        spans.extend_from_slice(batch);
        Ok::<(), q2c_model::Fault>(())
    });
    let Ok(read) = read else { return };
    assert_eq!(spans.len() as u64, read.counts.ios);
    for span in &spans {
        assert!(span.end_ns == NONE || span.begin_ns == NONE || span.end_ns >= span.begin_ns);
        assert!(span.end_ns == NONE || span.issue_ns == NONE || span.end_ns >= span.issue_ns);
    }
    spans.sort_unstable_by_key(|span| span.id);
    assert!(spans.windows(2).all(|two| two[0].id < two[1].id));
});
