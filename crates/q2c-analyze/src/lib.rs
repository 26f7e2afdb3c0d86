//! What a trace of I/Os says, in one pass and bounded memory.
//!
//! [`Analyzer`] takes [`q2c_trace::Span`]s in the order in which they were queued and makes an [`AnalyzeResult`]. Memory: the I/Os in
//! flight, and histograms of at most 512 groups by each property.
//!
//! Stages of an I/O, each the time between two events it has: **Q2G** to its request; **Q2M** to the request of another that it was
//! merged into; **G2I** to the scheduler; **I2D** there; **G2D** from request to driver without a scheduler; **M2D** from the
//! merge to the driver; **D2C** with driver and device; **Q2C** all of it. Of an I/O with all its events the stages before Q2C add up to
//! it. **Q2Q** is the time since the I/O queued before it on its device.

mod activity;
mod balance;
mod beside;
mod bottleneck;
mod excerpt;
mod group;
mod in_flight;
mod load;
mod seeks;
mod stage;
mod tags;
mod windows;

pub use balance::{chi_square_p, verdict};
pub use beside::Beside;
pub use stage::{PARTS, Stage};

use balance::Queues;
use bottleneck::Shares;
use excerpt::Excerpts;
use group::Groups;
use in_flight::Sweep;
use load::Loads;
use q2c_model::Layer;
use q2c_result::analyze::{AnalyzeResult, SCHEMA};
use q2c_trace::Span;
use q2c_trace::span::NONE;
use seeks::AllSeeks;
use stage::{Stages, Tally};
use std::collections::BTreeMap;
use std::ops::Range;
use tags::AllTags;

/// Takes I/Os as they come.
pub struct Analyzer {
    layer: Layer,
    all: Tally,
    groups: Groups,
    sweep: Sweep,
    seeks: AllSeeks,
    queues: Queues,
    shares: Shares,
    tags: AllTags,
    loads: Loads,
    excerpts: Excerpts,
    first: u64,
    last: u64,
    result: AnalyzeResult,
}

impl Analyzer {
    /// For I/Os of this layer.
    #[must_use]
    pub fn new(layer: Layer) -> Self {
        Analyzer {
            layer,
            all: Tally::default(),
            groups: Groups::default(),
            sweep: Sweep::default(),
            seeks: AllSeeks::default(),
            queues: Queues::default(),
            shares: Shares::default(),
            tags: AllTags::default(),
            loads: Loads::default(),
            excerpts: Excerpts::default(),
            first: NONE,
            last: 0,
            result: AnalyzeResult::default(),
        }
    }

    /// Keeps the I/Os in flight between these times from the first start, ns, one by one: at most 4,096.
    pub fn window(&mut self, window: Range<u64>) {
        self.excerpts.window(window);
    }

    /// Takes I/Os. Those that come later than one queued after them are counted right, but the most in flight may be missed.
    pub fn add(&mut self, spans: &[Span]) {
        spans.iter().for_each(|span| self.one(span));
    }

    fn one(&mut self, span: &Span) {
        self.count(span);
        let gap = self.seeks.next(span);
        let stages = Stages::of(span, gap);
        self.all.add(span.bytes, &stages);
        self.groups.add(span, &stages);
        self.tags.add(span);
        self.excerpts.add(span);
        if span.merged_into == NONE {
            self.queues.add(span);
        }
        if span.queue != NONE {
            self.loads.add(span.queue, span.complete);
        }
        if span.queue != NONE && span.complete != NONE {
            let depth = self.sweep.add(span.queue, span.complete);
            if self.layer == Layer::Block {
                self.shares.add(span.queue, depth, &stages);
            }
        }
    }

    fn count(&mut self, span: &Span) {
        let result = &mut self.result;
        result.requests += 1;
        result.bytes = result.bytes.saturating_add(span.bytes);
        result.completed += u64::from(span.complete != NONE);
        result.failed += u64::from(span.error != 0);
        let merged = span.merged_into != NONE;
        result.merged += u64::from(merged);
        result.issued += u64::from(!merged && span.issue != NONE);
        let (start, end) = (span.start(), span.complete);
        self.first = self.first.min(start);
        self.last = self.last.max(if end == NONE { start } else { end });
    }

    /// What they say. `names` are those of processes. Input, lost and unmatched are for the caller to add.
    #[must_use]
    pub fn finish(mut self, names: &BTreeMap<u32, String>) -> AnalyzeResult {
        self.sweep.finish();
        let mut result = self.result;
        result.schema = SCHEMA.to_owned();
        result.layer = self.layer.name().to_owned();
        result.span_ns = self.last.saturating_sub(self.first);
        let carried = result.merged as f64;
        let issued = result.issued as f64;
        result.merge_ratio = (issued > 0.0).then(|| (issued + carried) / issued);
        result.stages = self.all.stages(self.layer);
        result.groups = self.groups.told(self.layer, names);
        result.in_flight = self.sweep.in_flight(result.span_ns);
        result.activity = self.sweep.activity();
        result.seeks = self.seeks.told();
        (result.hctx, result.balance) = self.queues.told();
        result.tags = self.tags.told();
        result.bottleneck = self.shares.told(&result.tags);
        result.over_time = self.loads.told();
        result.excerpts = self.excerpts.told(self.first);
        result
    }
}
