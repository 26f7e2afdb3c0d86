//! Counts of I/Os, and the time that they span.

use crate::state::Broken;
use q2c_model::Layer;
use q2c_result::analyze::{AnalyzeResult, SCHEMA};
use q2c_trace::Span;
use q2c_trace::span::NONE;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct AnalysisCounts {
    pub(crate) requests: u64,
    bytes: u64,
    completed: u64,
    failed: u64,
    merged: u64,
    issued: u64,
    /// The first start; [`NONE`] before the first I/O.
    pub(crate) first: u64,
    last: u64,
}

impl Default for AnalysisCounts {
    fn default() -> Self {
        AnalysisCounts {
            requests: 0,
            bytes: 0,
            completed: 0,
            failed: 0,
            merged: 0,
            issued: 0,
            first: NONE,
            last: 0,
        }
    }
}

impl AnalysisCounts {
    pub(crate) fn add(&mut self, span: &Span) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(span.bytes);
        self.completed += u64::from(span.end_ns != NONE);
        self.failed += u64::from(span.error != 0);
        let merged = span.merged_into != NONE;
        self.merged += u64::from(merged);
        self.issued += u64::from(!merged && span.issue_ns != NONE);
        let (start, end) = (span.first_ns(), span.end_ns);
        self.first = self.first.min(start);
        self.last = self.last.max(if end == NONE { start } else { end });
    }

    pub(crate) fn merge(&mut self, other: &AnalysisCounts) {
        for (sum, more) in [
            (&mut self.requests, other.requests),
            (&mut self.bytes, other.bytes),
            (&mut self.completed, other.completed),
            (&mut self.failed, other.failed),
            (&mut self.merged, other.merged),
            (&mut self.issued, other.issued),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }

    pub(crate) fn check(&self) -> Result<(), Broken> {
        const MANY: u64 = 1 << 56;
        let most = self
            .completed
            .max(self.failed)
            .max(self.merged)
            .max(self.issued);
        if self.requests.max(most) <= MANY {
            Ok(())
        } else {
            Err(Broken::Counts)
        }
    }

    /// A result with these counts and no other figures.
    pub(crate) fn result(&self, layer: Layer) -> AnalyzeResult {
        let (carried, issued) = (self.merged as f64, self.issued as f64);
        AnalyzeResult {
            schema: SCHEMA.to_owned(),
            layer,
            requests: self.requests,
            bytes: self.bytes,
            completed: self.completed,
            failed: self.failed,
            merged: self.merged,
            issued: self.issued,
            span_ns: self.last.saturating_sub(self.first),
            merge_ratio: (issued > 0.0).then(|| (issued + carried) / issued),
            ..AnalyzeResult::default()
        }
    }
}
