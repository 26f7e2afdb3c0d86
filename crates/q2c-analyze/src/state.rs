//! The state of an analysis: sums over the I/Os so far, and how the states of two parts are joined.
//!
//! [`AnalysisCounts`] counts I/Os and their time span. [`InexactMarks`] lists the figures that
//! joins made inexact.

use crate::balance::QueueBalance;
use crate::bottleneck::StageShares;
use crate::excerpt::Excerpts;
use crate::group::Groups;
use crate::in_flight::InFlightSweep;
use crate::load::Loads;
use crate::offsets::OffsetAnalysis;
use crate::seeks::AllSeeks;
use crate::stage::{IoStages, Stage};
use crate::tags::{AllTags, TagsTail};
use crate::windows::Mergeable;
use q2c_model::Layer;
use q2c_result::analyze::{AnalyzeResult, InexactFigure, InexactMark, InexactReason, SCHEMA};
use q2c_trace::Span;
use q2c_trace::span::NONE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::mem::take;

/// Most fields are sums, which add up in any order. The sweep, the seeks, the tags and the excerpts
/// depend on the order of the I/Os.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct AnalyzerState {
    pub(crate) counts: AnalysisCounts,
    pub(crate) groups: Groups,
    pub(crate) sweep: InFlightSweep,
    pub(crate) seeks: AllSeeks,
    pub(crate) queues: QueueBalance,
    pub(crate) shares: StageShares,
    pub(crate) tags: AllTags,
    pub(crate) loads: Loads,
    pub(crate) excerpts: Excerpts,
    pub(crate) marks: InexactMarks,
    /// True if parts of different devices were merged.
    pub(crate) devices_merged: bool,
    pub(crate) offsets: OffsetAnalysis,
}

/// The I/Os in flight where two parts meet.
#[derive(Default)]
pub(crate) struct Tail {
    ends: Vec<u64>,
    tags: TagsTail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StateError {
    #[error("expected counts of at most 2^56, found more")]
    Counts,
    #[error("expected I/Os in flight that complete later, found one that completed before")]
    InFlight,
}

impl AnalyzerState {
    /// Fails if counts are so large that further adding could overflow.
    pub(crate) fn check(&self) -> Result<(), StateError> {
        self.counts.check()?;
        self.sweep.check()
    }

    pub(crate) fn add(&mut self, layer: Layer, span: &Span) {
        self.counts.add(span);
        let gap = self.seeks.add(span);
        let stages = IoStages::from_span(span, gap);
        self.groups.add(span, &stages);
        self.tags.add(span);
        self.excerpts.add(span);
        self.offsets.add(span);
        if span.merged_into == NONE {
            self.queues.add(span);
        }
        if span.begin_ns != NONE {
            self.loads.add(span.begin_ns, span.end_ns);
        }
        if span.begin_ns != NONE && span.end_ns != NONE {
            let depth = self.sweep.add(span.begin_ns, span.end_ns);
            if layer == Layer::Block {
                self.shares.add(span.begin_ns, depth, &stages);
            }
        }
    }

    /// A state that continues after these I/Os and has counted nothing yet.
    pub(crate) fn continue_after(spans: &[Span]) -> AnalyzerState {
        let mut state = AnalyzerState::order_only(spans);
        state.sweep = state.sweep.into_next();
        state.seeks = state.seeks.into_next();
        state.tags = state.tags.into_next();
        state
    }

    /// A state with the fields that later I/Os are compared with: seeks, tags and the sweep.
    pub(crate) fn order_only(spans: &[Span]) -> AnalyzerState {
        let mut state = AnalyzerState::default();
        for span in spans {
            state.seeks.add(span);
            state.tags.add(span);
            if span.begin_ns != NONE && span.end_ns != NONE {
                state.sweep.add(span.begin_ns, span.end_ns);
            }
        }
        state
    }

    pub(crate) fn tail(&self) -> Tail {
        Tail {
            ends: self.sweep.tail(),
            tags: self.tags.tail(),
        }
    }

    /// Continues with a part that was analysed separately. This state must have counted the head of
    /// that part, which `later` did not count. `tail` holds the I/Os in flight before the head.
    pub(crate) fn join(&mut self, tail: &Tail, mut later: AnalyzerState) {
        self.merge_sums(&mut later);
        let marks = &mut self.marks;
        self.devices_merged |= later.devices_merged;
        self.groups.join(later.groups, marks);
        for (first, gap) in self.seeks.join(later.seeks, marks) {
            self.groups.add_stage(&first, Stage::Q2Q, gap);
        }
        self.tags.join(&tail.tags, later.tags, marks);
        self.sweep.join(&tail.ends, later.sweep, marks);
        self.excerpts.join(&later.excerpts, marks);
    }

    /// Adds the fields that do not depend on the order of the I/Os.
    fn merge_sums(&mut self, other: &mut AnalyzerState) {
        self.marks.merge(&other.marks);
        self.counts.merge(&other.counts);
        self.queues.merge(&other.queues);
        self.shares.merge(take(&mut other.shares));
        self.loads.0.join(take(&mut other.loads.0));
        self.offsets.merge(take(&mut other.offsets));
    }

    pub(crate) fn merge_devices(&mut self, mut other: AnalyzerState) {
        if other.counts.requests == 0 {
            self.marks.merge(&other.marks);
            return;
        }
        if self.counts.requests == 0 {
            let marks = take(&mut self.marks);
            *self = other;
            self.marks.merge(&marks);
            return;
        }
        self.merge_sums(&mut other);
        let marks = &mut self.marks;
        self.devices_merged = true;
        self.groups.merge_devices(other.groups, marks);
        self.seeks.join(other.seeks, marks);
        self.tags.join(&TagsTail::new(), other.tags, marks);
        self.sweep.merge_devices(other.sweep);
        self.excerpts.merge_devices(other.excerpts);
        for figure in [
            InexactFigure::MostInFlight,
            InexactFigure::Activity,
            InexactFigure::OverLoad,
            InexactFigure::Excerpts,
        ] {
            marks.add(figure, InexactReason::Devices);
        }
    }

    pub(crate) fn shares_device(&self, other: &AnalyzerState) -> bool {
        !self.groups.devices().is_disjoint(&other.groups.devices())
    }

    pub(crate) fn into_result(
        mut self,
        layer: Layer,
        names: &BTreeMap<u32, String>,
    ) -> AnalyzeResult {
        self.sweep.finish();
        if self.queues.full {
            self.marks
                .add(InexactFigure::Queues, InexactReason::Overflow);
        }
        if self.tags.full {
            self.marks.add(InexactFigure::Tags, InexactReason::Overflow);
        }
        let origin = self.counts.first;
        let mut result = self.counts.result(layer);
        result.stages = self.groups.sum_up().stages(layer);
        result.groups = self.groups.groups_by_property(layer, names);
        result.in_flight = self.sweep.in_flight(result.span_ns);
        result.activity = self.sweep.activity();
        result.seeks = self.seeks.seeks();
        (result.hctx, result.balance) = self.queues.queues_and_balance();
        result.queues = self.queues.by_device();
        result.tags = self.tags.tags();
        result.bottleneck = self.shares.bottleneck(&result.tags, origin);
        result.over_time = self.loads.loads(origin);
        result.excerpts = self.excerpts.excerpts(origin);
        result.throughput = self.offsets.throughput(origin);
        result.offsets = self.offsets.offset_maps(origin);
        result.inexact = self.marks.inexact_figures();
        if self.devices_merged {
            (result.in_flight.most, result.activity) = (None, None);
            if let Some(bottleneck) = &mut result.bottleneck {
                bottleneck.over_load.clear();
            }
        }
        result
    }
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct AnalysisCounts {
    pub(crate) requests: u64,
    bytes: u64,
    completed: u64,
    failed: u64,
    merged: u64,
    issued: u64,
    /// The earliest start of an I/O, ns; [`NONE`] before the first I/O.
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

    pub(crate) fn check(&self) -> Result<(), StateError> {
        /// Far above any real count; leaves room to add further parts.
        const MAX_COUNT: u64 = 1 << 56;
        let counts = [
            self.requests,
            self.completed,
            self.failed,
            self.merged,
            self.issued,
        ];
        let all_fit = counts.iter().all(|count| *count <= MAX_COUNT);
        all_fit.then_some(()).ok_or(StateError::Counts)
    }

    /// Returns a result with these counts and no other figures.
    pub(crate) fn result(&self, layer: Layer) -> AnalyzeResult {
        let (merged, issued) = (self.merged as f64, self.issued as f64);
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
            merge_ratio: (issued > 0.0).then(|| (issued + merged) / issued),
            ..AnalyzeResult::default()
        }
    }
}

/// Inexact figures with their reasons, each with the number of joins that caused it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct InexactMarks(BTreeMap<(InexactFigure, InexactReason), u64>);

impl InexactMarks {
    pub(crate) fn add(&mut self, figure: InexactFigure, reason: InexactReason) {
        self.add_joins(figure, reason, 1);
    }

    fn add_joins(&mut self, figure: InexactFigure, reason: InexactReason, joins: u64) {
        let sum = self.0.entry((figure, reason)).or_default();
        *sum = sum.saturating_add(joins);
    }

    pub(crate) fn merge(&mut self, other: &InexactMarks) {
        for ((figure, reason), joins) in &other.0 {
            self.add_joins(*figure, *reason, *joins);
        }
    }

    pub(crate) fn inexact_figures(&self) -> Vec<InexactMark> {
        let inexact = |(&(figure, reason), &joins): (&(_, _), &u64)| InexactMark {
            figure,
            reason,
            joins,
        };
        self.0.iter().map(inexact).collect()
    }
}
