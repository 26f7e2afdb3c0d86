//! Hand-made I/Os. Expected figures come from hand calculation or a second implementation.

mod captured;
mod falling;
mod figures;
mod flight;
mod late;
mod live;
mod load;
mod recording;

use q2c_analyze::Analyzer;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Op, Sectors};
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::Span;
use q2c_trace::span::NONE;
use std::collections::BTreeMap;

/// A 4 KiB read with the times of Q, G, I, D and C in ns; -1 if an event is missing.
pub(crate) fn span(id: u64, times: [i64; 5]) -> Span {
    let [begin_ns, getrq_ns, insert_ns, issue_ns, end_ns] =
        times.map(|t| u64::try_from(t).unwrap_or(NONE));
    let (major, minor) = (259, 0);
    let (device, sector) = (DevId { major, minor }, Sectors(id * 8));
    let record = IoRecord::new(id, Layer::Block, device, Op::Read, sector, Bytes(4096));
    Span {
        begin_ns,
        getrq_ns,
        insert_ns,
        issue_ns,
        end_ns,
        pid: 7,
        cpu_submit: 0,
        cpu_complete: 0,
        ..Span::from_record(&record)
    }
}

/// Analyses I/Os, passed in small slices; process 7 is called `fio`.
pub(crate) fn analyze(spans: &[Span]) -> AnalyzeResult {
    let mut analyzer = Analyzer::new(Layer::Block);
    spans.chunks(3).for_each(|slice| analyzer.update(slice));
    analyzer.finish(&BTreeMap::from([(7, "fio".to_owned())]))
}
