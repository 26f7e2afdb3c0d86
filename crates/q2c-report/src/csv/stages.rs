//! The columns of a benchmark's stages in the block layer.

use q2c_result::analyze::StageStats;
use q2c_result::bench::{BenchCell, PointStages, TagWaits};

/// The stages that have columns, in the order of an I/O's life.
const STAGES: [&str; 8] = ["Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D", "D2C", "Q2C"];

/// A column of a stage: the end of its name, and the figure.
type Figure = (&'static str, fn(&StageStats) -> f64);

const FIGURES: [Figure; 3] = [
    ("mean_ns", |of| of.mean_ns),
    ("p50_ns", |of| of.p50_ns),
    ("p99_ns", |of| of.p99_ns),
];

/// The heads: the bottleneck with its share in Q2C, the jobs' sleeps for a request, then three
/// columns for each stage.
pub(super) fn head() -> impl Iterator<Item = String> {
    let of_stage = |stage: &&str| {
        let stage = stage.to_lowercase();
        FIGURES.map(|(name, _)| format!("{stage}_{name}"))
    };
    let first = [
        "bottleneck",
        "bottleneck_share",
        "tag_sleeps",
        "tag_sleep_ns",
    ]
    .map(str::to_owned);
    first.into_iter().chain(STAGES.iter().flat_map(of_stage))
}

/// The fields of a point; empty where its stages are not known.
pub(super) fn fields(cell: &BenchCell) -> Vec<String> {
    let run = match &cell.stages {
        Some(PointStages::Seen(run)) => Some(run),
        _ => None,
    };
    let found = run.and_then(|run| run.bottleneck.as_ref());
    let waits = run.and_then(|run| run.tag_waits.as_ref().and_then(TagWaits::sum));
    let first = [
        found.map(|found| found.stage.clone()),
        found.map(|found| found.share.to_string()),
        waits.map(|(sleeps, _)| sleeps.to_string()),
        waits.map(|(_, ns)| ns.to_string()),
    ];
    let of_stage = |stage: &&str| {
        let stats = run.and_then(|run| run.stages.get(*stage));
        FIGURES.map(|(_, of)| stats.map(|stats| of(stats).to_string()))
    };
    let all = first.into_iter().chain(STAGES.iter().flat_map(of_stage));
    all.map(Option::unwrap_or_default).collect()
}
