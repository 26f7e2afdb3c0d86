//! Tests the analysis on hand-made I/Os. Expected figures are worked out by hand or by a second,
//! tiny implementation.

mod captured;
mod falling;
mod figures;
mod flight;
mod hostile;
mod late;
mod live;
mod load;
mod recording;

use q2c_analyze::Analyzer;
use q2c_model::{DevId, Layer, Op, OpFlags};
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::Span;
use q2c_trace::span::{NONE, NONE_32};
use std::collections::BTreeMap;

/// A read of 4 KiB with these times of Q, G, I, D and C in ns; -1 for an event that is missing.
pub fn span(id: u64, times: [i64; 5]) -> Span {
    let [begin_ns, getrq_ns, insert_ns, issue_ns, end_ns] =
        times.map(|t| u64::try_from(t).unwrap_or(NONE));
    Span {
        id,
        layer: Layer::Block,
        device: DevId {
            major: 259,
            minor: 0,
        },
        op: Op::Read,
        flags: OpFlags(0),
        sector: id * 8,
        bytes: 4096,
        begin_ns,
        submit_end_ns: NONE,
        getrq_ns,
        insert_ns,
        issue_ns,
        end_ns,
        merged_into: NONE,
        cgroup: 0,
        lane: 0,
        depth_at_submit: 1,
        pid: 7,
        cpu_submit: 0,
        cpu_complete: 0,
        hctx: NONE_32,
        tag: NONE_32,
        error: 0,
    }
}

/// Analyses I/Os, which are passed in small parts; process 7 is called `fio`.
pub fn analyze(spans: &[Span]) -> AnalyzeResult {
    let mut analyzer = Analyzer::new(Layer::Block);
    spans.chunks(3).for_each(|some| analyzer.update(some));
    analyzer.finish(&BTreeMap::from([(7, "fio".to_owned())]))
}
