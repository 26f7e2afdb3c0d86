//! The analysis of a part of a recording, with everything that its result needs.

use crate::Analyzer;
use crate::analyzer::same_layer;
use crate::recording::{RecordIntake, no_request};
use q2c_model::stored::StoredForm;
use q2c_model::{Exit, Fault, IoRecord, Layer, OrFault, TraceMeta};
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::import::RecordSink;
use q2c_trace::{Span, TraceError};
use serde::{Deserialize, Serialize};
use std::path::Path;

const FORM: StoredForm = StoredForm {
    letters: "q2canlys",
    version: 3,
    what: "the state of a recording's analysis",
};

/// Analyses the records of a part of a recording, in the order of time. The first record sets the
/// layer; records of the other layer are counted and left out. Names of processes without an id are
/// not kept: their stand-in numbers would differ from part to part.
#[derive(Clone, Serialize, Deserialize)]
pub struct PartialAnalysis {
    pub(crate) is_later: bool,
    pub(crate) layer: Option<Layer>,
    pub(crate) analyzer: Option<Analyzer>,
    pub(crate) intake: RecordIntake,
}

impl PartialAnalysis {
    /// Without a `layer`, the first record sets it. `is_later` is true if parts come before it.
    pub fn new(layer: Option<Layer>, is_later: bool) -> Self {
        PartialAnalysis {
            is_later,
            layer,
            analyzer: None,
            intake: RecordIntake::default(),
        }
    }

    /// Number of I/Os that were added.
    pub fn requests(&self) -> u64 {
        self.analyzer.as_ref().map_or(0, Analyzer::requests)
    }

    /// The requested layer, else that of the first record; `None` before the first record.
    pub fn layer(&self) -> Option<Layer> {
        let first_layer = self.analyzer.as_ref().map(|analyzer| analyzer.layer);
        self.layer.or(first_layer)
    }

    /// Continues with the part that comes next in time, as [`Analyzer::append`] does.
    pub fn append(self, later: PartialAnalysis) -> Result<PartialAnalysis, Fault> {
        self.join(later, Analyzer::append)
    }

    /// Adds a part of other devices over the same time, as [`Analyzer::merge_devices`] does.
    pub fn merge_devices(self, other: PartialAnalysis) -> Result<PartialAnalysis, Fault> {
        self.join(other, Analyzer::merge_devices)
    }

    fn join(
        mut self,
        mut other: PartialAnalysis,
        join_analyzers: fn(Analyzer, Analyzer) -> Result<Analyzer, Fault>,
    ) -> Result<PartialAnalysis, Fault> {
        if let (Some(layer), Some(other_layer)) = (self.layer(), other.layer()) {
            same_layer(layer, other_layer)?;
        }
        let layer = self.layer().or(other.layer());
        if let Some(layer) = layer {
            // Creates a missing analyzer: `zip` below would drop the other one.
            self.analyzer_mut(layer);
            other.analyzer_mut(layer);
        }
        let both = self.analyzer.zip(other.analyzer);
        let both = both.map(|(first, second)| join_analyzers(first, second));
        self.analyzer = both.transpose()?;
        self.intake.merge(other.intake);
        Ok(PartialAnalysis { layer, ..self })
    }

    fn analyzer_mut(&mut self, layer: Layer) -> &mut Analyzer {
        let later = self.is_later;
        let start = if later { Analyzer::part } else { Analyzer::new };
        self.analyzer.get_or_insert_with(|| start(layer))
    }

    /// Returns the result of all records. `meta` describes the recording, and `path` names it.
    pub fn finish(self, path: &Path, meta: TraceMeta) -> Result<AnalyzeResult, Fault> {
        let has_requests = self.requests() + self.intake.untimed > 0;
        let Some(analyzer) = self.analyzer.filter(|_| has_requests) else {
            return Err(no_request(path));
        };
        let result = analyzer.finish(&self.intake.names.by_id());
        self.intake.complete(result, path, meta)
    }

    /// Serialises the whole state.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Fault> {
        FORM.to_bytes(self).or_exit(Exit::Internal)
    }

    /// Restores a state from the bytes of [`PartialAnalysis::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<PartialAnalysis, Fault> {
        let state: PartialAnalysis = FORM.from_bytes(bytes).or_exit(Exit::Input)?;
        if let Some(analyzer) = &state.analyzer {
            analyzer.check()?;
        }
        Ok(state)
    }
}

impl RecordSink for PartialAnalysis {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        let Some(first) = records.first() else {
            return Ok(());
        };
        let layer = self.layer().unwrap_or(first.layer);
        let mut spans = std::mem::take(&mut self.intake.spans);
        spans.clear();
        for record in records {
            let span = Span::from_record(record);
            if !self.intake.admit(&span, layer) {
                continue;
            }
            if let (Some(pid), Some(name)) = (record.pid, &record.comm) {
                self.intake.names.add(pid, span.first_ns(), name);
            }
            spans.push(span);
        }
        self.analyzer_mut(layer).update(&spans);
        self.intake.spans = spans;
        Ok(())
    }
}
