//! The analysis of a capture whose I/Os are all in memory.

use crate::Analyzer;
use crate::recording::complete_queues;
use q2c_model::Layer;
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::Span;
use q2c_trace::recording::Recorded;
use q2c_trace::span::NONE;
use std::collections::BTreeMap;

/// An I/O of a capture, with the thread that queued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedIo {
    /// It tells whether the I/O was merged into another one's request, but not into whose.
    pub span: Span,
    /// Id of the thread that queued it.
    pub tid: u32,
}

impl From<&Recorded> for CapturedIo {
    fn from(io: &Recorded) -> Self {
        // The analysis asks only whether the I/O was merged, so any id will do.
        let merged_into = if io.lead == 0 { NONE } else { 0 };
        CapturedIo {
            span: Span {
                merged_into,
                ..io.span
            },
            tid: io.tid,
        }
    }
}

/// Analyses I/Os of the block layer, in any order. `facts` are the capture's, with the maps of
/// queues. The caller fills in the result's input and its lost and unmatched events.
pub fn captured(mut spans: Vec<Span>, facts: &BTreeMap<String, String>) -> AnalyzeResult {
    spans.sort_by_key(Span::first_ns);
    let mut analyzer = Analyzer::new(Layer::Block);
    analyzer.update(&spans);
    let mut result = analyzer.finish(&BTreeMap::new());
    complete_queues(&mut result.queues, facts);
    result
}
