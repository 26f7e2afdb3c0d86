//! The stages of a point's I/Os in the block layer, from a run of its own after the point's trials.

use super::tag_waits::TagWaits;
use crate::analyze::{Bottleneck, DeviceQueues, StageStats};
use crate::late::Unseen;
use crate::replay::CapturedBy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The stages of a point's I/Os, or why they are not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointStages {
    /// The block layer was captured.
    Seen(Box<StageRun>),
    /// There are no stages.
    Unseen(Unseen),
}

/// A run of a point with the block layer captured. The capture costs CPU time at each I/O, so the
/// speed of this run is not that of the trials.
///
/// Stages, bottleneck and queues are of the I/Os that the point's jobs queued in the counted part,
/// which comes after the warm-up. They mean what they mean in
/// [`AnalyzeResult`](crate::analyze::AnalyzeResult).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRun {
    /// Who captured the block layer.
    pub captured_by: CapturedBy,
    /// Length of the counted part, seconds.
    pub seconds: f64,
    /// I/Os of all jobs in the counted part, as the jobs counted them when they reaped.
    pub ios: u64,
    /// I/Os of the jobs that the capture saw. A split I/O is several here. There are fewer than
    /// `ios` where the capture lost some, or where a file's holes need no I/O.
    pub captured: u64,
    /// Those of them with a completion.
    pub completed: u64,
    /// I/Os of background jobs and other programs on the same disks in the counted part, which are
    /// left out.
    pub others: u64,
    /// CPU time of the thread that read the capture, percent of one CPU.
    pub reader_cpu_pct: f64,
    /// I/Os that the capture lost, of all threads, in the whole run; by tracefs, events.
    pub lost: u64,
    /// I/Os of all threads for which there was no memory.
    pub not_kept: u64,
    /// I/Os and events of all threads in the whole run that are in no stage, counted by reason. The
    /// lost ones are among them.
    pub unmatched: BTreeMap<String, u64>,
    /// Latencies by stage.
    pub stages: BTreeMap<String, StageStats>,
    /// The stage that takes most time; `None` without a completed I/O. It has no shares over time:
    /// the run is short.
    pub bottleneck: Option<Bottleneck>,
    /// The hardware queues of each device, reads apart from writes; empty where the capture does
    /// not tell queues, as that by tracefs.
    pub queues: Vec<DeviceQueues>,
    /// Sleeps of the jobs for a request; `None` where they were not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_waits: Option<TagWaits>,
}
