//! The stages of each point in the block layer, from extra runs after all trials, since the capture
//! costs CPU time at each I/O. Such a run has a trial's warm-up, and at most two counted seconds.

use super::background::TrialBackgrounds;
use super::plan::setup_label;
use super::timetable::Timetable;
use super::trial::SLICE;
use crate::{BenchPlan, Interface, PointSetup, TrialError, TrialPlace};
use q2c_engine::{EngineSpec, LaneData, SimInterface, TimeSource};
use q2c_host::cpu_time::Helper;
use q2c_model::Fault;
use q2c_result::Warning;
use q2c_result::bench::{BenchPoint, PointStages};
use q2c_result::late::UnseenReason;
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{CellError, CellPlan, CellRuns, Context, End, Event, Plan, Runner, Settings};
use q2c_sys::Clock;
use q2c_workbench::stages::{RunPart, StageCapture};
use q2c_workbench::workload::Site;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// Most slices that count in each phase: two seconds of [`SLICE`]s.
const MAX_COUNTED_SLICES: usize = 8;
/// The prefix of these runs' keys in the journal; no trial's key begins so.
const KEY_PREFIX: &str = "stages of ";

/// Why the block layer does not see the I/O of an interface; `None` if it does. A simulated machine
/// has a block layer of its own.
pub(crate) fn unseen_reason(interface: &Interface, site: &Site) -> Option<UnseenReason> {
    let is_seen = |engine: &EngineSpec| {
        let spec = engine.simulates();
        spec.is_some_and(|spec| {
            !spec
                .interface
                .is_some_and(SimInterface::is_past_block_layer)
        })
    };
    if site.time.world().is_some() && interface.engine().is_some_and(is_seen) {
        return None;
    }
    let engine = interface.engine().filter(|engine| engine.needs_file());
    match engine {
        Some(engine) if !engine.needs_character_device() => {
            site.target_disk.is_none().then_some(UnseenReason::NoDevice)
        }
        _ => Some(UnseenReason::PastBlockLayer),
    }
}

/// Why the block layer cannot be captured; `None` if it can, or if no setup can have stages.
pub(super) fn capture_refusal(setups: &[PointSetup], site: &Site) -> Option<String> {
    let is_seen = |setup: &PointSetup| unseen_reason(&setup.path.interface, site).is_none();
    if site.time.world().is_some() || !setups.iter().any(is_seen) {
        return None;
    }
    let tried = StageCapture::begin(site, None, Duration::ZERO);
    match tried.and_then(|capture| capture.end(site)) {
        Err(UnseenReason::Refused(reason)) => Some(reason),
        _ => None,
    }
}

/// The stages of each phase of one setup, as the run's journal keeps them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PhasedStages {
    phases: Vec<PointStages>,
}

#[derive(Default)]
pub(super) struct StageRuns {
    runs: Vec<CellRuns<BenchPoint, PhasedStages>>,
    /// How these runs ended; `None` if they were not started, because the trials ended early.
    pub end: Option<End>,
    pub warnings: Vec<Warning>,
}

impl StageRuns {
    pub(crate) fn run(
        plan: &BenchPlan<'_>,
        seed: u64,
        runner: &mut Runner<'_>,
        folder: &mut RunDir,
    ) -> Result<Self, Fault> {
        let note = "stages: a run of each point with the block layer captured";
        runner.progress.event(&Event::Note(note.to_owned()));
        let settings = Settings {
            trials: 1,
            seed,
            ..Settings::default()
        };
        let mut runner = Runner {
            settings: &settings,
            progress: &mut *runner.progress,
            ..*runner
        };
        let summary = runner.run(&mut StagesPlan(plan), folder)?;
        Ok(StageRuns {
            runs: summary.cells,
            end: Some(summary.end),
            warnings: summary.warnings,
        })
    }

    pub(crate) fn phase_stages(&self, setup: usize, phase: usize) -> PointStages {
        let runs = self.runs.get(setup);
        let seen = runs.and_then(|runs| runs.outcomes().find_map(|run| run.phases.get(phase)));
        let failed = || Some(runs?.failures().next()?.to_owned());
        let unseen =
            || PointStages::Unseen(failed().map_or(UnseenReason::Stopped, UnseenReason::Failed));
        seen.cloned().unwrap_or_else(unseen)
    }
}

pub(super) struct StagesPlan<'p, 'a>(&'p BenchPlan<'a>);

impl StagesPlan<'_, '_> {
    pub(crate) fn is_key(key: &str) -> bool {
        key.starts_with(KEY_PREFIX)
    }
}

impl Plan for StagesPlan<'_, '_> {
    type Cell = BenchPoint;
    type Outcome = PhasedStages;
    const UNIT: &'static str = "IOPS";
    const MAX_NUMBER: f64 = 1e24;

    fn cells(&self) -> Vec<CellPlan<BenchPoint>> {
        let cell = |setup: &PointSetup| CellPlan {
            key: format!("{KEY_PREFIX}{}", setup_label(setup)),
            label: format!("{KEY_PREFIX}{}", setup_label(setup)),
            seconds: self.0.place.stages_s(setup),
            cell: setup.point.clone(),
        };
        self.0.setups.iter().map(cell).collect()
    }

    fn owns(&self, key: &str) -> bool {
        Self::is_key(key)
    }

    fn metric(&self, run: &PhasedStages) -> f64 {
        match run.phases.first() {
            Some(PointStages::Seen(run)) => run.ios as f64 / run.seconds,
            _ => f64::NAN,
        }
    }

    fn run(
        &mut self,
        cell: &CellPlan<BenchPoint>,
        context: &mut Context<'_>,
    ) -> Result<PhasedStages, CellError> {
        let place = &self.0.place;
        self.0.with_settings(&cell.cell, |setup| {
            let phases = place.stages(setup, context.seed >> 1)?;
            Ok(PhasedStages { phases })
        })
    }
}

impl TrialPlace<'_> {
    fn stages_timetable(&self, setup: &PointSetup) -> Timetable {
        let trial = self.timetable(setup);
        Timetable {
            measured: trial.measured.min(MAX_COUNTED_SLICES),
            ..trial
        }
    }

    pub(crate) fn stages_s(&self, setup: &PointSetup) -> f64 {
        match unseen_reason(&setup.path.interface, self.site) {
            Some(_) => 0.0,
            None => self.stages_timetable(setup).slices() as f64 * SLICE.as_secs_f64() + 0.5,
        }
    }

    fn stages(&self, setup: &PointSetup, seed: u64) -> Result<Vec<PointStages>, TrialError> {
        let interface = &setup.path.interface;
        let seen = match (interface, unseen_reason(interface, self.site)) {
            (Interface::Engine(engine), None) => self.capture_stages(engine, setup, seed)?,
            (_, reason) => Err(reason.unwrap_or(UnseenReason::PastBlockLayer)),
        };
        Ok(seen.unwrap_or_else(|unseen| vec![PointStages::Unseen(unseen); setup.phases.len()]))
    }

    fn capture_stages(
        &self,
        engine: &EngineSpec,
        setup: &PointSetup,
        seed: u64,
    ) -> Result<Result<Vec<PointStages>, UnseenReason>, TrialError> {
        let time = match self.site.time.world() {
            Some(world) => world.clone().into(),
            None => Clock::monotonic().into(),
        };
        let site = &Site {
            time,
            ..self.site.clone()
        };
        let place = TrialPlace { site, ..*self };
        let times = place.stages_timetable(setup);
        let backgrounds = TrialBackgrounds::new(&place, setup, seed)?;
        let mut jobs = place.jobs(engine, setup, seed, &times);
        jobs.extend(backgrounds.plans(&times));
        let before = Duration::from_nanos(SLICE.0) * (times.background_only + times.warm_up) as u32;
        let capture = match (site.time.world(), engine.simulates()) {
            (Some(world), Some(spec)) => {
                let device = self.media.simulated.device_for(spec);
                let device = device.map_err(|source| TrialError::Fault(source.to_string()))?;
                Ok(StageCapture::begin_simulated(device, world, before))
            }
            _ => StageCapture::begin(self.site, self.sampler_cpu(setup), before),
        };
        let capture = match capture {
            Ok(capture) => capture,
            Err(unseen) => return Ok(Err(unseen)),
        };
        let ran = place.run(setup, jobs, times.slices());
        // A simulated device records until the capture has ended, even after a run that failed.
        let ended = capture.end(self.site);
        let (data, moments) = ran?;
        let (job_lanes, other_lanes) = data.lanes.split_at(setup.point.jobs as usize);
        let helpers = moments.iter().flat_map(|moment| &moment.helpers).flatten();
        let helper_tids = job_helpers((job_lanes, other_lanes), helpers);
        let parts = (0..times.phases).map(|n| {
            let phase = times.phase(n);
            let counted = phase.start + times.warm_up..phase.end;
            part(&site.time, job_lanes, &helper_tids, counted)
        });
        Ok(ended.map(|capture_stages| parts.map(|part| capture_stages.stages(&part)).collect()))
    }
}

/// The kernel threads that work for the jobs, out of all `helpers` seen during the run.
/// `other_lanes` are the lanes of background jobs, whose helpers are left out.
fn job_helpers<'h>(
    (job_lanes, other_lanes): (&[LaneData], &[LaneData]),
    helpers: impl Iterator<Item = &'h Helper>,
) -> BTreeSet<u32> {
    let is_lane = |tid: u32| job_lanes.iter().any(|lane| lane.tid == tid);
    let is_background = |tid: u32| other_lanes.iter().any(|lane| lane.tid == tid);
    let helpers = helpers.filter(|helper| !helper.owner.is_some_and(is_background));
    let tids = helpers.map(|helper| helper.times.tid);
    tids.filter(|tid| !is_lane(*tid)).collect()
}

/// The counted slices `span` of the jobs, for the capture. `tids` are the jobs' helper threads.
fn part(time: &TimeSource, jobs: &[LaneData], tids: &BTreeSet<u32>, span: Range<usize>) -> RunPart {
    let at = |ns| time.kernel_ns_at(ns).expect("CLOCK_MONOTONIC");
    let (first, last) = (span.start, span.end - 1);
    let lane_time = |lane: &LaneData| {
        let (begin, end) = (&lane.phases[first].begin, &lane.phases[last].end);
        at(begin.t_ns)..at(end.t_ns)
    };
    let times: Vec<Range<u64>> = jobs.iter().map(lane_time).collect();
    let length: u64 = times.iter().map(|time| time.end - time.start).sum();
    let begin = times.iter().map(|time| time.start).min().unwrap_or(0);
    let end = times.iter().map(|time| time.end).max().unwrap_or(0);
    let lanes = jobs.iter().map(|lane| lane.tid).zip(times.iter().cloned());
    let helpers = tids.iter().map(|tid| (*tid, begin..end));
    let slices = jobs.iter().flat_map(|lane| &lane.phases[span.clone()]);
    RunPart {
        threads: lanes.chain(helpers).collect(),
        ios: slices.map(|phase| phase.ios).sum(),
        seconds: length as f64 / 1e9 / jobs.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::tests::{point, site};
    use q2c_engine::{SimMachine, World};
    use q2c_run::runner::{Trial, TrialResult};

    #[test]
    fn interfaces_that_the_block_layer_never_sees() {
        let reasons = |name: &str| {
            let interface: Interface = name.parse().unwrap();
            [Some("nvme0n1"), None].map(|disk| unseen_reason(&interface, &site(disk)))
        };
        for name in ["io_uring", "libaio", "fault:eio@5:pvsync2"] {
            assert_eq!(
                reasons(name),
                [None, Some(UnseenReason::NoDevice)],
                "{name}"
            );
        }
        for name in ["io_uring_cmd", "sim:50us", "null", "spdk"] {
            let past = Some(UnseenReason::PastBlockLayer);
            assert_eq!(reasons(name), [past.clone(), past], "{name}");
        }
        let simulated = Site {
            time: World::new(SimMachine::default()).into(),
            ..site(None)
        };
        let reason = |name: &str| unseen_reason(&name.parse().unwrap(), &simulated);
        assert_eq!(reason("sim:50us"), None);
        assert_eq!(reason("null"), Some(UnseenReason::PastBlockLayer));
    }

    fn helper(tid: u32, owner: Option<u32>) -> Helper {
        Helper {
            owner,
            ..crate::trial::tests::worker(tid, 0)
        }
    }

    /// Jobs run in threads 11 and 12, a background job in 20. Worker 21 belongs to the background.
    /// The owner of 31 is unknown, so it may work for the jobs.
    #[test]
    fn threads_that_work_for_the_jobs_are_theirs() {
        let lane = |tid| LaneData {
            tid,
            ..LaneData::default()
        };
        let lanes = [lane(11), lane(12), lane(20)];
        let seen = [
            vec![helper(21, Some(20))],
            vec![helper(13, Some(11)), helper(21, Some(20))],
            vec![helper(31, None)],
        ];
        let helpers = seen.iter().flatten();
        let tids = job_helpers(lanes.split_at(2), helpers);
        assert_eq!(tids, BTreeSet::from([13, 31]));
    }

    #[test]
    fn a_setup_without_a_run_says_why() {
        let setup = |result: Option<TrialResult<PhasedStages>>| CellRuns {
            plan: CellPlan {
                key: format!("{KEY_PREFIX}a point"),
                label: String::new(),
                seconds: 1.0,
                cell: point("d -e io_uring -m poll"),
            },
            trials: Vec::from_iter(result.map(|result| Trial {
                trial: 0,
                session: 1,
                ended_unix_s: 0.0,
                seconds: 1.0,
                result,
            })),
        };
        let gone = PointStages::Unseen(UnseenReason::PastBlockLayer);
        let done = PhasedStages {
            phases: vec![gone.clone()],
        };
        let runs = StageRuns {
            runs: vec![
                setup(Some(TrialResult::Ok(done))),
                setup(Some(TrialResult::Failed("do I/O: EIO".to_owned()))),
                setup(Some(TrialResult::Impossible("make a ring".to_owned()))),
                setup(None),
            ],
            ..StageRuns::default()
        };
        let failed = |reason: &str| PointStages::Unseen(UnseenReason::Failed(reason.to_owned()));
        assert_eq!(runs.phase_stages(0, 0), gone);
        assert_eq!(runs.phase_stages(1, 0), failed("do I/O: EIO"));
        assert_eq!(runs.phase_stages(2, 0), failed("make a ring"));
        for setup in [3, 4] {
            let stopped = PointStages::Unseen(UnseenReason::Stopped);
            assert_eq!(runs.phase_stages(setup, 0), stopped);
        }
    }
}
