//! Stages of an I/O and their statistics.

use q2c_model::Layer;
use q2c_model::stats::Histogram;
use q2c_result::analyze::StageStats;
use q2c_trace::Span;
use q2c_trace::span::NONE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{IntoStaticStr, VariantArray};

/// A stage of an I/O: the time between two of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str)]
pub(crate) enum Stage {
    Q2G,
    G2I,
    Q2M,
    I2D,
    G2D,
    M2D,
    D2C,
    /// The part of Q2C that is in none of the stages above, because events are missing.
    #[strum(serialize = "rest")]
    Rest,
    Q2C,
    Q2Q,
}

pub(crate) const STAGES: usize = Stage::VARIANTS.len();

/// The stages that add up to Q2C. The order of the enum is: the six before the driver, D2C, and
/// [`Stage::Rest`], then sums.
pub(crate) const PARTS: [Stage; 8] = *Stage::VARIANTS
    .first_chunk()
    .expect("as many stages and more");
pub(crate) const BEFORE_DRIVER: [Stage; 6] = *Stage::VARIANTS
    .first_chunk()
    .expect("as many stages and more");

impl Stage {
    /// The name in a layer's result; `None` if the layer has no such stage.
    const fn name_in(self, layer: Layer) -> Option<&'static str> {
        match (layer, self) {
            (_, Stage::Rest) => None,
            (Layer::Block, stage) => Some(stage.into_str()),
            (Layer::User, Stage::Q2C) => Some("U2C"),
            (Layer::User, Stage::Q2Q) => Some("U2U"),
            (Layer::User, _) => None,
        }
    }
}

/// The stages of one I/O in ns, indexed by `Stage as usize`; [`NONE`] if it lacks a stage.
pub(crate) struct IoStages(pub(crate) [u64; STAGES]);

/// The time between two events; [`NONE`] if one of them is missing. It is 0 if the clocks of two
/// CPUs differ so much that the later event has the earlier time.
pub(crate) fn between(from: u64, to: u64) -> u64 {
    if from == NONE || to == NONE {
        NONE
    } else {
        to.saturating_sub(from)
    }
}

impl IoStages {
    pub(crate) fn from_span(span: &Span, q2q_ns: u64) -> IoStages {
        let mut ns = [NONE; STAGES];
        let (q, g, i) = (span.begin_ns, span.getrq_ns, span.insert_ns);
        let (d, c) = (span.issue_ns, span.end_ns);
        if span.merged_into != NONE {
            // In a merged I/O, `getrq_ns` holds the time of the merge (M).
            ns[Stage::Q2M as usize] = between(q, g);
            ns[Stage::M2D as usize] = between(g, d);
        } else {
            ns[Stage::Q2G as usize] = between(q, g);
            ns[Stage::G2I as usize] = between(g, i);
            ns[Stage::I2D as usize] = between(i, d);
            ns[Stage::G2D as usize] = if i == NONE { between(g, d) } else { NONE };
        }
        ns[Stage::D2C as usize] = between(d, c);
        ns[Stage::Q2C as usize] = between(q, c);
        ns[Stage::Q2Q as usize] = q2q_ns;
        IoStages(ns)
    }

    pub(crate) fn q2c(&self) -> u64 {
        self.0[Stage::Q2C as usize]
    }

    /// The parts of Q2C in ns, in the order of [`PARTS`]; 0 for stages that the I/O lacks.
    pub(crate) fn parts(&self) -> [u64; PARTS.len()] {
        let mut parts = [0; PARTS.len()];
        for (part, ns) in parts.iter_mut().zip(&self.0[..PARTS.len() - 1]) {
            *part = if *ns == NONE { 0 } else { *ns };
        }
        let known = parts.into_iter().fold(0, u64::saturating_add);
        parts[Stage::Rest as usize] = self.q2c().saturating_sub(known);
        parts
    }
}

/// Statistics of some I/Os. A stage's histogram (19 KB) exists once an I/O has the stage.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StageTally {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    stages: [Option<Box<Histogram>>; STAGES],
}

impl StageTally {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64, stages: &IoStages) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        for (histogram, ns) in self.stages.iter_mut().zip(stages.0) {
            if ns != NONE {
                histogram.get_or_insert_default().record(ns);
            }
        }
    }

    /// Adds a stage of an I/O that was counted before without this stage.
    pub(crate) fn add_stage(&mut self, stage: Stage, ns: u64) {
        let histogram = &mut self.stages[stage as usize];
        histogram.get_or_insert_default().record(ns);
    }

    pub(crate) fn merge(&mut self, other: &StageTally) {
        self.requests = self.requests.saturating_add(other.requests);
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (histogram, other) in self.stages.iter_mut().zip(&other.stages) {
            if let Some(other) = other {
                histogram.get_or_insert_default().merge(other);
            }
        }
    }

    pub(crate) fn stages(&self, layer: Layer) -> BTreeMap<String, StageStats> {
        let stat = |(stage, histogram): (&Stage, &Option<Box<Histogram>>)| {
            let name = stage.name_in(layer)?;
            Some((name.to_owned(), stats(histogram.as_ref()?)))
        };
        let stages = Stage::VARIANTS.iter().zip(&self.stages);
        stages.filter_map(stat).collect()
    }
}

fn stats(histogram: &Histogram) -> StageStats {
    StageStats {
        n: histogram.count(),
        min_ns: histogram.least(),
        mean_ns: histogram.mean(),
        max_ns: histogram.greatest(),
        p50_ns: histogram.percentile(0.5),
        p90_ns: histogram.percentile(0.9),
        p99_ns: histogram.percentile(0.99),
        p999_ns: histogram.percentile(0.999),
        p9999_ns: histogram.percentile(0.9999),
    }
}
