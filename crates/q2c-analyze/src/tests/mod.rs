//! Tests that an analysis in parts equals that of one pass.

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
use q2c_result::analyze::{AnalyzeResult, InexactFigure, StageStats};
use q2c_trace::Span;
use std::collections::BTreeMap;

const CASES: u32 = 40;

fn finished(analyzer: Analyzer) -> AnalyzeResult {
    analyzer.finish(&BTreeMap::from([(1, "db".to_owned())]))
}

fn feed(mut analyzer: Analyzer, spans: &[Span], batch: usize) -> Analyzer {
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

/// The analysis after it was serialised and restored, as another process would get it.
fn restored(analyzer: &Analyzer) -> Analyzer {
    let bytes = analyzer.to_bytes().expect("an analysis has bytes");
    let back = Analyzer::from_bytes(&bytes).expect("they are an analysis");
    assert_eq!(back.to_bytes().expect("this one too"), bytes);
    back
}

fn json(result: &AnalyzeResult) -> String {
    serde_json::to_string_pretty(result).expect("results are JSON")
}

fn without(figures: &[InexactFigure], mut result: AnalyzeResult) -> AnalyzeResult {
    for figure in figures {
        match figure {
            InexactFigure::MostInFlight => result.in_flight.most = None,
            InexactFigure::Activity => result.activity = None,
            InexactFigure::OverLoad => {
                let bottleneck = result.bottleneck.iter_mut();
                bottleneck.for_each(|bottleneck| bottleneck.over_load.clear());
            }
            InexactFigure::Tags => {
                result.tags.clear();
                let bottleneck = result.bottleneck.iter_mut();
                bottleneck.for_each(|bottleneck| bottleneck.why.clear());
            }
            InexactFigure::Seeks => without_seeks(&mut result),
            InexactFigure::Groups => result.groups.clear(),
            InexactFigure::Queues => {
                result.hctx.clear();
                result.queues.clear();
                result.balance = None;
            }
            InexactFigure::Excerpts => result.excerpts.clear(),
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

/// Compares all figures except those that `merged` lists as inexact. Returns the inexact ones.
fn same_but_for_the_inexact(merged: AnalyzeResult, whole: AnalyzeResult) -> Vec<InexactFigure> {
    let figures: Vec<InexactFigure> = merged.inexact.iter().map(|mark| mark.figure).collect();
    assert!(whole.inexact.is_empty());
    let (merged, whole) = (without(&figures, merged), without(&figures, whole));
    assert_eq!(json(&merged), json(&whole), "{figures:?}");
    figures
}
