//! Where the jobs' I/Os spend their time in the block layer, and which queues take them.

use super::lanes::LiveTrial;
use super::series::JobTrial;
use q2c_engine::engines::SimDevice;
use q2c_engine::{Medium, World};
use q2c_result::analyze::QueueUse;
use q2c_result::bench::{PointStages, StageRun, TagWaits};
use q2c_result::late::UnseenReason;
use q2c_result::reproduce::PhaseTrial;
use q2c_run::runner::CellError;
use q2c_workbench::stages::{RunPart, StageCapture};
use q2c_workbench::workload::Site;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The figures of stages and queues, each over a whole phase.
pub(crate) const STAGE_FIGURES: [&str; 8] = [
    "q2g",           // mean time from queued to a request, ns
    "g2i",           // mean time from the request to its insertion, ns
    "i2d",           // mean time from the insertion to its issue, ns
    "d2c",           // mean time in driver and device, ns
    "q2c",           // mean time from queued to complete, ns
    "q2g_share",     // share of Q2C that is Q2G, 0..1
    "queue_spread", // reads of the fullest hardware queue less those of the emptiest, over the mean
    "request_waits", // sleeps of threads for a request or a tag, over the I/Os
];

pub(super) struct TrialCapture<'a> {
    capture: Option<StageCapture>,
    site: &'a Site,
}

impl<'a> TrialCapture<'a> {
    pub(crate) fn start(enabled: bool, trial: &LiveTrial<'a>) -> Result<Self, CellError> {
        let begin = || match simulated_device(trial)? {
            Some((device, world)) => {
                Ok(StageCapture::begin_simulated(device, world, Duration::ZERO))
            }
            None => StageCapture::begin(trial.site, trial.listener, Duration::ZERO)
                .map_err(|unseen| refusal(&unseen)),
        };
        Ok(TrialCapture {
            capture: enabled.then(begin).transpose()?,
            site: trial.site,
        })
    }

    /// Ends the capture, and adds its figures to the jobs of each phase.
    pub(crate) fn stop(
        self,
        phases: &mut [PhaseTrial],
        run: &JobTrial<'_>,
    ) -> Result<(), CellError> {
        let Some(capture) = self.capture else {
            return Ok(());
        };
        let captured = capture.end(self.site).map_err(|unseen| refusal(&unseen))?;
        let time = &self.site.time;
        for (n, phase) in phases.iter_mut().enumerate() {
            for job in &mut phase.jobs {
                let index = run.jobs.iter().position(|other| other.name == job.job);
                let spans = index.map_or_else(Vec::new, |index| run.spans(index, n));
                let thread = |&(lane, (begin, end), _): &(usize, (u64, u64), u64)| {
                    let range = time.kernel_ns_at(begin)?..time.kernel_ns_at(end)?;
                    Some((run.log.tids[lane], range))
                };
                let part = RunPart {
                    threads: spans.iter().filter_map(thread).collect(),
                    ios: spans.iter().map(|(.., ios)| ios).sum(),
                    seconds: phase.seconds,
                };
                match captured.stages(&part) {
                    PointStages::Seen(seen) => job.figures = figures(&seen),
                    PointStages::Unseen(unseen) => return Err(refusal(&unseen)),
                }
            }
        }
        Ok(())
    }
}

/// The device of the trial's first job in simulated time; `None` in real time.
fn simulated_device<'a>(
    trial: &LiveTrial<'a>,
) -> Result<Option<(Arc<SimDevice>, &'a World)>, CellError> {
    let job = trial
        .jobs
        .iter()
        .flat_map(|job| &job.phases)
        .flatten()
        .next();
    let spec = job.and_then(|job| Some((&job.medium, job.engine.simulates()?)));
    let (Some(world), Some((Medium::Simulated(devices), spec))) = (trial.site.time.world(), spec)
    else {
        return Ok(None);
    };
    let device = devices.device_for(spec);
    let device = device.map_err(|error| CellError::Cell(format!("failed to {error}")))?;
    Ok(Some((device, world)))
}

/// Why the block layer cannot be captured here; `None` if it can. Captures for a moment.
pub fn capture_refusal(site: &Site) -> Option<String> {
    let begun = StageCapture::begin(site, None, Duration::ZERO);
    let ended = begun.and_then(|capture| capture.end(site));
    ended.err().map(|unseen| unseen_reason(&unseen))
}

fn refusal(unseen: &UnseenReason) -> CellError {
    CellError::Cell(unseen_reason(unseen))
}

fn unseen_reason(unseen: &UnseenReason) -> String {
    match unseen {
        UnseenReason::NoDevice => "no block device stands under the target".to_owned(),
        UnseenReason::PastBlockLayer => "the I/O does not go through the block layer".to_owned(),
        UnseenReason::Refused(error) | UnseenReason::Failed(error) => {
            format!("failed to capture the block layer: {error}")
        }
        UnseenReason::NoIo { others } => {
            format!("the capture saw none of the jobs' I/Os, and {others} of others")
        }
        UnseenReason::Stopped => "the run was stopped".to_owned(),
    }
}

fn figures(seen: &StageRun) -> BTreeMap<String, f64> {
    let stage = |name: &str| seen.stages.get(name).map(|stage| stage.mean_ns);
    let share = stage("Q2G").zip(stage("Q2C")).map(|(q2g, q2c)| q2g / q2c);
    let waits = seen.tag_waits.as_ref().and_then(TagWaits::sum);
    let waits = waits.map(|(sleeps, _)| sleeps as f64 / seen.ios as f64);
    let reads = seen.queues.first().and_then(|device| device.reads.as_ref());
    crate::figures([
        ("q2g", stage("Q2G")),
        ("g2i", stage("G2I")),
        ("i2d", stage("I2D")),
        ("d2c", stage("D2C")),
        ("q2c", stage("Q2C")),
        ("q2g_share", share),
        ("queue_spread", reads.and_then(spread)),
        ("request_waits", waits),
    ])
}

/// The fullest queue's requests less the emptiest's, over the mean; `None` below two queues. A set
/// of queues that no read used does not count, such as that for polling.
fn spread(reads: &QueueUse) -> Option<f64> {
    let unused = reads.sets.iter().filter(|set| set.requests == 0);
    let unused: Vec<u32> = unused.flat_map(|set| set.queues.clone()).collect();
    let queues = || {
        reads
            .queues
            .iter()
            .filter(|queue| !unused.contains(&queue.hctx))
    };
    let counts = || queues().map(|queue| queue.requests as f64);
    let queues = queues().count();
    let (sum, most) = (counts().sum::<f64>(), counts().fold(0.0, f64::max));
    let least = counts().fold(f64::INFINITY, f64::min);
    (queues > 1 && sum > 0.0).then(|| (most - least) / (sum / queues as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::analyze::{Hctx, QueueSet, StageStats};
    use q2c_result::bench::QueueTagWaits;

    #[test]
    fn shares_and_spreads_by_hand() {
        let stage = |mean_ns: f64| StageStats {
            n: 1,
            mean_ns,
            ..StageStats::default()
        };
        let stages = [("Q2G", 30.0), ("D2C", 60.0), ("Q2C", 100.0)];
        let seen = StageRun {
            stages: stages.map(|(name, ns)| (name.to_owned(), stage(ns))).into(),
            captured_by: q2c_result::replay::CapturedBy::Bpf,
            seconds: 1.0,
            ios: 20,
            captured: 1,
            completed: 1,
            others: 0,
            reader_cpu_pct: 0.0,
            lost: 0,
            not_kept: 0,
            unmatched: BTreeMap::new(),
            bottleneck: None,
            queues: Vec::new(),
            tag_waits: Some(TagWaits::Counted {
                queues: vec![QueueTagWaits {
                    sleeps: 5,
                    ..QueueTagWaits::default()
                }],
                lost: 0,
            }),
        };
        let figures = figures(&seen);
        assert_eq!(figures["q2g_share"], 0.3);
        assert_eq!(figures["request_waits"], 0.25);
        assert_eq!(figures.get("queue_spread"), None);
        let queue = |hctx, requests| Hctx {
            hctx,
            requests,
            ..Hctx::default()
        };
        let mut usage = QueueUse {
            queues: vec![queue(0, 90), queue(1, 110)],
            ..QueueUse::default()
        };
        assert_eq!(spread(&usage), Some(0.2));
        // An empty queue counts, unless its whole set is empty.
        usage.queues.push(queue(2, 0));
        assert_eq!(spread(&usage), Some(110.0 / (200.0 / 3.0)));
        let set = |queues: &[u32], requests| QueueSet {
            queues: queues.to_vec(),
            requests,
            even: None,
        };
        usage.sets = vec![set(&[0, 1], 200), set(&[2], 0)];
        assert_eq!(spread(&usage), Some(0.2));
        usage.queues.truncate(1);
        assert_eq!(spread(&usage), None);
    }
}
