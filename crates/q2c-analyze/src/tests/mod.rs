//! Tests that an analysis made in parts is that of one pass.

mod by_device;
mod by_time;
mod limits;
mod made;
mod oracle;
mod recording_state;
mod samples;
mod stored;

use crate::Analyzer;
use q2c_model::{DevId, Op};
use q2c_result::analyze::{AnalyzeResult, Figure, StageStats};
use q2c_trace::Span;
use std::collections::BTreeMap;

const CASES: u32 = 40;

fn finished(analyzer: Analyzer) -> AnalyzeResult {
    analyzer.finish(&BTreeMap::from([(1, "db".to_owned())]))
}

fn fed(mut analyzer: Analyzer, spans: &[Span], batch: usize) -> Analyzer {
    spans.chunks(batch).for_each(|batch| analyzer.update(batch));
    analyzer
}

pub(crate) fn io_at(minor: u32, op: Op, sector: u64, bytes: u64, at: u64) -> Span {
    Span {
        device: DevId { major: 8, minor },
        op,
        sector,
        bytes,
        ..stored::read(at, at, at + 50)
    }
}

/// What another process makes of an analysis that it is sent.
fn sent(analyzer: &Analyzer) -> Analyzer {
    let bytes = analyzer.to_bytes().expect("an analysis has bytes");
    let back = Analyzer::from_bytes(&bytes).expect("they are an analysis");
    assert_eq!(back.to_bytes().expect("this one too"), bytes);
    back
}

fn json(result: &AnalyzeResult) -> String {
    serde_json::to_string_pretty(result).expect("results are JSON")
}

fn without(figures: &[Figure], mut result: AnalyzeResult) -> AnalyzeResult {
    for figure in figures {
        match figure {
            Figure::MostInFlight => result.in_flight.most = None,
            Figure::Activity => result.activity = None,
            Figure::OverLoad => {
                let found = result.bottleneck.iter_mut();
                found.for_each(|found| found.over_load.clear());
            }
            Figure::Tags => {
                result.tags.clear();
                let found = result.bottleneck.iter_mut();
                found.for_each(|found| found.why.clear());
            }
            Figure::Seeks => without_seeks(&mut result),
            Figure::Groups => result.groups.clear(),
            Figure::Queues => {
                result.hctx.clear();
                result.queues.clear();
                result.balance = None;
            }
            Figure::Excerpts => result.excerpts.clear(),
        }
    }
    result.inexact.clear();
    result
}

fn without_seeks(result: &mut AnalyzeResult) {
    result.seeks.clear();
    let remove = |stages: &mut BTreeMap<String, StageStats>| {
        stages.remove("Q2Q");
        stages.remove("U2U");
    };
    remove(&mut result.stages);
    let groups = result.groups.values_mut().flatten();
    groups.for_each(|group| remove(&mut group.stages));
}

/// Compares all figures but those that `merged` names as inexact, which it returns.
fn same_but_for_the_inexact(merged: AnalyzeResult, whole: AnalyzeResult) -> Vec<Figure> {
    let figures: Vec<Figure> = merged.inexact.iter().map(|mark| mark.figure).collect();
    assert!(whole.inexact.is_empty());
    let (merged, whole) = (without(&figures, merged), without(&figures, whole));
    assert_eq!(json(&merged), json(&whole), "{figures:?}");
    figures
}
