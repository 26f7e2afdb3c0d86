//! Analyses a trace of I/Os in one pass and bounded memory.
//!
//! [`recording()`] makes an [`AnalyzeResult`] from a file in one call. [`Analyzer`] takes
//! [`q2c_trace::Span`]s in the order in which they were queued and makes the figures of the result;
//! it keeps the I/Os in flight, and histograms of at most 512 groups by each property.
//! [`LiveAnalysis`] analyses a capture at intervals while it runs, and [`captured()`] one that has
//! ended.
//!
//! A stage of an I/O is the time between two of its events:
//!
//! - **Q2G**: from queued until it has a request;
//! - **Q2M**: from queued until it is merged into another's request;
//! - **G2I**: from the request to the scheduler;
//! - **I2D**: in the scheduler;
//! - **G2D**: from the request to the driver, where there is no scheduler;
//! - **M2D**: from the merge to the driver;
//! - **D2C**: in driver and device;
//! - **Q2C**: from queued to complete.
//!
//! The stages of an I/O that has all its events add up to Q2C. **Q2Q** is the time since the I/O
//! that was queued before it on the same device.

mod activity;
mod analyzer_thread;
mod balance;
mod bottleneck;
mod captured;
mod error;
mod excerpt;
mod group;
mod in_flight;
pub mod late;
mod live;
mod load;
mod not_whole;
mod queue_map;
mod recording;
mod seeks;
mod stage;
mod tags;
mod warnings;
mod windows;

pub use analyzer_thread::AnalyzerThread;
pub use balance::{chi_square_p, verdict};
pub use captured::{CapturedIo, captured};
pub use error::AnalyzeError;
pub use live::{LiveAnalysis, RecorderCounts};
pub use recording::{Options, RecordingAnalysis, recording};
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
use stage::Stages;
use std::collections::BTreeMap;
use std::ops::Range;
use tags::AllTags;

/// Analyses I/Os while they are read.
///
/// Order of calls: [`Analyzer::new`], [`Analyzer::window`] if an excerpt is wanted,
/// [`Analyzer::add`] for all I/Os in the order in which they were queued, [`Analyzer::finish`].
pub struct Analyzer {
    layer: Layer,
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
    /// An analysis of I/Os of this layer. I/Os of the user layer have the stages U2C and U2U and no
    /// bottleneck.
    #[must_use]
    pub fn new(layer: Layer) -> Self {
        Analyzer {
            layer,
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

    /// Asks for an excerpt: the I/Os that are in flight between these times, ns from the first
    /// start. At most 4,096 are kept. Call it before the first I/O is added.
    pub fn window(&mut self, window: Range<u64>) {
        self.excerpts.window(window);
    }

    /// Takes the next I/Os. An I/O that comes after one that was queued later is counted in full,
    /// but the largest number in flight may be too small then.
    pub fn add(&mut self, spans: &[Span]) {
        spans.iter().for_each(|span| self.one(span));
    }

    fn one(&mut self, span: &Span) {
        self.count(span);
        let gap = self.seeks.next(span);
        let stages = Stages::of(span, gap);
        self.groups.add(span, &stages);
        self.tags.add(span);
        self.excerpts.add(span);
        if span.merged_into == NONE {
            self.queues.add(span);
        }
        if span.begin_ns != NONE {
            self.loads.add(span.begin_ns, span.end_ns);
        }
        if span.begin_ns != NONE && span.end_ns != NONE {
            let depth = self.sweep.add(span.begin_ns, span.end_ns);
            if self.layer == Layer::Block {
                self.shares.add(span.begin_ns, depth, &stages);
            }
        }
    }

    fn count(&mut self, span: &Span) {
        let result = &mut self.result;
        result.requests += 1;
        result.bytes = result.bytes.saturating_add(span.bytes);
        result.completed += u64::from(span.end_ns != NONE);
        result.failed += u64::from(span.error != 0);
        let merged = span.merged_into != NONE;
        result.merged += u64::from(merged);
        result.issued += u64::from(!merged && span.issue_ns != NONE);
        let (start, end) = (span.first_ns(), span.end_ns);
        self.first = self.first.min(start);
        self.last = self.last.max(if end == NONE { start } else { end });
    }

    /// The result of all I/Os that were added. `names` are the names of processes by id. The caller
    /// fills in the result's input and its lost and unmatched events.
    #[must_use]
    pub fn finish(mut self, names: &BTreeMap<u32, String>) -> AnalyzeResult {
        self.sweep.finish();
        let mut result = self.result;
        result.schema = SCHEMA.to_owned();
        result.layer = self.layer;
        result.span_ns = self.last.saturating_sub(self.first);
        let carried = result.merged as f64;
        let issued = result.issued as f64;
        result.merge_ratio = (issued > 0.0).then(|| (issued + carried) / issued);
        result.stages = self.groups.sum_up().stages(self.layer);
        result.groups = self.groups.told(self.layer, names);
        result.in_flight = self.sweep.in_flight(result.span_ns);
        result.activity = self.sweep.activity();
        result.seeks = self.seeks.told();
        (result.hctx, result.balance) = self.queues.told();
        result.queues = self.queues.by_device();
        result.tags = self.tags.told();
        result.bottleneck = self.shares.told(&result.tags);
        result.over_time = self.loads.told();
        result.excerpts = self.excerpts.told(self.first);
        result
    }
}
