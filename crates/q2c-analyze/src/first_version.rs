//! The first version of the stored forms, which had no offsets and no throughput by direction. The
//! parts of a trace that it stored are read for good.

use crate::AnalysisState;
use crate::analyzer::{Analyzer, Head};
use crate::balance::Queues;
use crate::bottleneck::Shares;
use crate::counts::Counts;
use crate::excerpt::Excerpts;
use crate::group::Groups;
use crate::in_flight::Sweep;
use crate::load::Loads;
use crate::marks::Marks;
use crate::names::Names;
use crate::offsets::Offsets;
use crate::seeks::AllSeeks;
use crate::state::State;
use crate::tags::AllTags;
use q2c_model::Layer;
use q2c_model::stored::{StoredError, StoredForm};
use q2c_result::analyze::{Figure, InexactReason};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The number of this version.
const FIRST: u32 = 1;

/// The value of these bytes: of the first version, as `First` has it, or of the present one.
pub(crate) fn read<T, First>(form: &StoredForm, bytes: &[u8]) -> Result<T, StoredError>
where
    T: DeserializeOwned + From<First>,
    First: DeserializeOwned,
{
    match form.version_of(bytes) {
        Some(FIRST) => {
            let first = StoredForm {
                version: FIRST,
                ..*form
            };
            first.from_bytes::<First>(bytes).map(T::from)
        }
        _ => form.from_bytes(bytes),
    }
}

#[derive(Deserialize)]
pub(crate) struct FirstState {
    counts: Counts,
    groups: Groups,
    sweep: Sweep,
    seeks: AllSeeks,
    queues: Queues,
    shares: Shares,
    tags: AllTags,
    loads: Loads,
    excerpts: Excerpts,
    marks: Marks,
    apart: bool,
}

impl From<FirstState> for State {
    fn from(first: FirstState) -> Self {
        let mut marks = first.marks;
        if first.counts.requests > 0 {
            marks.add(Figure::Offsets, InexactReason::Earlier);
        }
        State {
            counts: first.counts,
            groups: first.groups,
            sweep: first.sweep,
            seeks: first.seeks,
            queues: first.queues,
            shares: first.shares,
            tags: first.tags,
            loads: first.loads,
            excerpts: first.excerpts,
            marks,
            apart: first.apart,
            offsets: Offsets::default(),
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct FirstAnalyzer {
    layer: Layer,
    head: Option<Head>,
    state: FirstState,
}

impl From<FirstAnalyzer> for Analyzer {
    fn from(first: FirstAnalyzer) -> Self {
        Analyzer {
            layer: first.layer,
            head: first.head,
            state: first.state.into(),
        }
    }
}

/// The analysis of a part of a recording in the first two versions, which did not count I/Os whose
/// times fall. They differ in the analyzer.
#[derive(Deserialize)]
struct EarlierAnalysis<Of> {
    later: bool,
    layer: Option<Layer>,
    analyzer: Option<Of>,
    other_layer: u64,
    names: Names,
}

impl<Of> From<EarlierAnalysis<Of>> for AnalysisState
where
    Analyzer: From<Of>,
{
    fn from(earlier: EarlierAnalysis<Of>) -> Self {
        AnalysisState {
            later: earlier.later,
            layer: earlier.layer,
            analyzer: earlier.analyzer.map(Analyzer::from),
            other_layer: earlier.other_layer,
            names: earlier.names,
            untimed: 0,
            spans: Vec::new(),
        }
    }
}

/// The analysis of these bytes, of any version.
pub(crate) fn read_analysis(form: &StoredForm, bytes: &[u8]) -> Result<AnalysisState, StoredError> {
    const SECOND: u32 = 2;
    if form.version_of(bytes) == Some(SECOND) {
        let second = StoredForm {
            version: SECOND,
            ..*form
        };
        let analysis = second.from_bytes::<EarlierAnalysis<Analyzer>>(bytes)?;
        return Ok(analysis.into());
    }
    read::<_, EarlierAnalysis<FirstAnalyzer>>(form, bytes)
}
