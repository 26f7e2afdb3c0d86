//! The stages of each point in the block layer, from extra runs after all trials, since the capture
//! costs CPU time at each I/O. Such a run has a trial's warm-up, and at most two counted seconds.

use super::beside::SpotBackgrounds;
use super::plan::spot_label;
use super::timetable::Timetable;
use super::trial::SLICE;
use crate::{BenchPlan, Interface, NoTrial, Spot, TrialPlace};
use q2c_engine::{EngineSpec, LaneData, TimeSource};
use q2c_host::cpu_time::Helper;
use q2c_model::Fault;
use q2c_result::Warning;
use q2c_result::bench::{BenchPoint, PointStages};
use q2c_result::late::Unseen;
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{CellError, CellPlan, CellRuns, Context, End, Event, Plan, Runner, Settings};
use q2c_sys::Clock;
use q2c_workbench::stages::{Part, StageCapture};
use q2c_workbench::workload::Site;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// Most slices that count in each phase: two seconds of [`SLICE`]s.
const LONGEST: usize = 8;
/// The prefix of these runs' keys in the journal; no trial's key begins so.
const KEYS: &str = "stages of ";

pub(crate) fn never_seen(interface: &Interface, site: &Site) -> Option<Unseen> {
    let engine = interface.engine().filter(|engine| engine.needs_file());
    match engine {
        Some(engine) if !engine.needs_character_device() => {
            site.target_disk.is_none().then_some(Unseen::NoDevice)
        }
        _ => Some(Unseen::PastBlockLayer),
    }
}

/// Why the block layer cannot be captured; `None` if it can, or if no spot can have stages.
pub(super) fn refused(spots: &[Spot], site: &Site) -> Option<String> {
    let seen = |spot: &Spot| never_seen(&spot.way.interface, site).is_none();
    if !spots.iter().any(seen) {
        return None;
    }
    let tried = StageCapture::begin(site, None, Duration::ZERO);
    match tried.and_then(|capture| capture.end(site)) {
        Err(Unseen::Refused(reason)) => Some(reason),
        _ => None,
    }
}

/// The stages of each phase of one spot, as the run's journal keeps them.
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
        points: &BenchPlan<'_>,
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
            cancel: runner.cancel,
            clock: runner.clock,
            progress: &mut *runner.progress,
        };
        let summary = runner.run(&mut StagesPlan(points), folder)?;
        Ok(StageRuns {
            runs: summary.cells,
            end: Some(summary.end),
            warnings: summary.warnings,
        })
    }

    pub(crate) fn phase_stages(&self, spot: usize, n: usize) -> PointStages {
        let runs = self.runs.get(spot);
        let seen = runs.and_then(|runs| runs.outcomes().find_map(|run| run.phases.get(n)));
        let failed = || Some(runs?.failures().next()?.to_owned());
        let unseen = || PointStages::Unseen(failed().map_or(Unseen::Stopped, Unseen::Failed));
        seen.cloned().unwrap_or_else(unseen)
    }
}

pub(super) struct StagesPlan<'p, 'a>(&'p BenchPlan<'a>);

impl StagesPlan<'_, '_> {
    pub(crate) fn is_key(key: &str) -> bool {
        key.starts_with(KEYS)
    }
}

impl Plan for StagesPlan<'_, '_> {
    type Cell = BenchPoint;
    type Outcome = PhasedStages;
    const UNIT: &'static str = "IOPS";
    const MOST: f64 = 1e24;

    fn cells(&self) -> Vec<CellPlan<BenchPoint>> {
        let cell = |spot: &Spot| CellPlan {
            key: format!("{KEYS}{}", spot_label(spot)),
            label: format!("{KEYS}{}", spot_label(spot)),
            seconds: self.0.place.stages_s(spot),
            cell: spot.point.clone(),
        };
        self.0.spots.iter().map(cell).collect()
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
        self.0.held(&cell.cell, |spot| {
            let phases = place.stages(spot, context.seed >> 1)?;
            Ok(PhasedStages { phases })
        })
    }
}

impl TrialPlace<'_> {
    fn stages_timetable(&self, spot: &Spot) -> Timetable {
        let trial = self.timetable(spot);
        Timetable {
            measured: trial.measured.min(LONGEST),
            ..trial
        }
    }

    pub(crate) fn stages_s(&self, spot: &Spot) -> f64 {
        match never_seen(&spot.way.interface, self.site) {
            Some(_) => 0.0,
            None => self.stages_timetable(spot).slices() as f64 * SLICE.as_secs_f64() + 0.5,
        }
    }

    fn stages(&self, spot: &Spot, seed: u64) -> Result<Vec<PointStages>, NoTrial> {
        let interface = &spot.way.interface;
        let seen = match (interface, never_seen(interface, self.site)) {
            (Interface::Engine(engine), None) => self.captured(engine, spot, seed)?,
            (_, reason) => Err(reason.unwrap_or(Unseen::PastBlockLayer)),
        };
        Ok(seen.unwrap_or_else(|unseen| vec![PointStages::Unseen(unseen); spot.phases.len()]))
    }

    fn captured(
        &self,
        engine: &EngineSpec,
        spot: &Spot,
        seed: u64,
    ) -> Result<Result<Vec<PointStages>, Unseen>, NoTrial> {
        let site = &Site {
            time: Clock::monotonic().into(),
            ..self.site.clone()
        };
        let place = TrialPlace { site, ..*self };
        let times = place.stages_timetable(spot);
        let beside = SpotBackgrounds::new(&place, spot, seed)?;
        let mut jobs = place.jobs(engine, spot, seed, &times);
        jobs.extend(beside.plans(&times));
        let before = Duration::from_nanos(SLICE.0) * (times.before + times.warm_up) as u32;
        let capture = match StageCapture::begin(self.site, self.spare(spot), before) {
            Ok(capture) => capture,
            Err(unseen) => return Ok(Err(unseen)),
        };
        let (data, moments) = place.run(spot, jobs, times.slices())?;
        let lanes = data.lanes.split_at(spot.point.jobs as usize);
        let helpers = moments.iter().flat_map(|moment| &moment.helpers).flatten();
        let helpers = helpers_of(lanes, helpers);
        let parts = (0..times.phases).map(|n| {
            let phase = times.phase(n);
            let counted = phase.start + times.warm_up..phase.end;
            part(&site.time, lanes.0, &helpers, counted)
        });
        let ended = capture.end(self.site);
        Ok(ended.map(|captured| parts.map(|part| captured.stages(&part)).collect()))
    }
}

/// The kernel threads that work for the jobs, out of all `helpers` seen during the run.
/// `other_lanes` are the lanes of background jobs, whose helpers are left out.
fn helpers_of<'h>(
    (job_lanes, other_lanes): (&[LaneData], &[LaneData]),
    helpers: impl Iterator<Item = &'h Helper>,
) -> BTreeSet<u32> {
    let is_lane = |tid: u32| job_lanes.iter().any(|lane| lane.tid == tid);
    let owned = |tid: u32| other_lanes.iter().any(|lane| lane.tid == tid);
    let helpers = helpers.filter(|helper| !helper.owner.is_some_and(owned));
    let tids = helpers.map(|helper| helper.times.tid);
    tids.filter(|tid| !is_lane(*tid)).collect()
}

fn part(time: &TimeSource, own: &[LaneData], helpers: &BTreeSet<u32>, range: Range<usize>) -> Part {
    let at = |ns| time.since_boot(ns).expect("CLOCK_MONOTONIC");
    let (first, last) = (range.start, range.end - 1);
    let time = |lane: &LaneData| {
        let (begin, end) = (&lane.phases[first].begin, &lane.phases[last].end);
        at(begin.t_ns)..at(end.t_ns)
    };
    let times: Vec<Range<u64>> = own.iter().map(time).collect();
    let length: u64 = times.iter().map(|time| time.end - time.start).sum();
    let begin = times.iter().map(|time| time.start).min().unwrap_or(0);
    let end = times.iter().map(|time| time.end).max().unwrap_or(0);
    let lanes = own.iter().map(|lane| lane.tid).zip(times.iter().cloned());
    let helpers = helpers.iter().map(|tid| (*tid, begin..end));
    let slices = own.iter().flat_map(|lane| &lane.phases[range.clone()]);
    Part {
        threads: lanes.chain(helpers).collect(),
        ios: slices.map(|phase| phase.ios).sum(),
        seconds: length as f64 / 1e9 / own.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::tests::{point, site};
    use q2c_run::runner::{Trial, TrialResult};

    #[test]
    fn interfaces_that_the_block_layer_never_sees() {
        let reasons = |name: &str| {
            let interface: Interface = name.parse().unwrap();
            [Some("nvme0n1"), None].map(|disk| never_seen(&interface, &site(disk)))
        };
        for name in ["io_uring", "libaio", "fault:eio@5:pvsync2"] {
            assert_eq!(reasons(name), [None, Some(Unseen::NoDevice)], "{name}");
        }
        for name in ["io_uring_cmd", "sim:50us", "null", "spdk"] {
            let past = Some(Unseen::PastBlockLayer);
            assert_eq!(reasons(name), [past.clone(), past], "{name}");
        }
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
        let tids = helpers_of(lanes.split_at(2), helpers);
        assert_eq!(tids, BTreeSet::from([13, 31]));
    }

    #[test]
    fn a_spot_without_a_run_says_why() {
        let spot = |result: Option<TrialResult<PhasedStages>>| CellRuns {
            plan: CellPlan {
                key: format!("{KEYS}a point"),
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
        let gone = PointStages::Unseen(Unseen::PastBlockLayer);
        let done = PhasedStages {
            phases: vec![gone.clone()],
        };
        let runs = StageRuns {
            runs: vec![
                spot(Some(TrialResult::Ok(done))),
                spot(Some(TrialResult::Failed("do I/O: EIO".to_owned()))),
                spot(Some(TrialResult::Impossible("make a ring".to_owned()))),
                spot(None),
            ],
            ..StageRuns::default()
        };
        let failed = |reason: &str| PointStages::Unseen(Unseen::Failed(reason.to_owned()));
        assert_eq!(runs.phase_stages(0, 0), gone);
        assert_eq!(runs.phase_stages(1, 0), failed("do I/O: EIO"));
        assert_eq!(runs.phase_stages(2, 0), failed("make a ring"));
        for spot in [3, 4] {
            let stopped = PointStages::Unseen(Unseen::Stopped);
            assert_eq!(runs.phase_stages(spot, 0), stopped);
        }
    }
}
