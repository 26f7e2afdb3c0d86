//! The background jobs of a trial: measured alone before it, and together with its jobs.

use super::spec::{BackgroundPhase, PointSetup};
use super::timetable::{SteadyWindow, Timetable};
use super::trial::{TrialError, TrialPlace, slice_iops};
use q2c_engine::{JobPlan, LaneData, SleepCounts};
use q2c_model::CpuId;
use q2c_result::bench::TrialSlice;
use q2c_workbench::workload::{Background, BackgroundPlace};
use serde::{Deserialize, Serialize};
use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BackgroundTrial {
    pub cpus: Vec<CpuId>,
    /// True if a background job shares a CPU with a job or its helper thread.
    pub shares_cpus: bool,
    pub ios: u64,
    pub iops: f64,
    /// I/Os per second of all background jobs alone, before the trial.
    pub alone_iops: f64,
    /// Busy CPUs of the machine while the background ran alone; `None` if they cannot be read.
    pub rest_busy_cpus: Option<f64>,
    /// CPU time of the background's threads in the counted part, as a number of CPUs.
    pub own_cpus: f64,
    /// The same number while the background ran alone, before the trial.
    pub alone_cpus: f64,
}

/// Slices in which a background runs alone. The first is not counted, since its jobs start in it.
pub(super) const BACKGROUND_SLICES: usize = 5;

pub(super) struct TrialBackgrounds<'a> {
    place: &'a TrialPlace<'a>,
    setup: &'a PointSetup,
    seed: u64,
    /// The background of each phase with its CPUs; it has no job in a phase without background.
    phases: Vec<Background>,
}

impl<'a> TrialBackgrounds<'a> {
    pub fn new(
        place: &'a TrialPlace<'a>,
        setup: &'a PointSetup,
        seed: u64,
    ) -> Result<Self, TrialError> {
        let job_cpus = place.job_cpus(setup);
        let placed = |phase: &BackgroundPhase| match phase.background.placed_beside(job_cpus) {
            _ if phase.background.0.is_empty() => Ok(Background::default()),
            placed => placed.map_err(|error| TrialError::Cpus(error.to_string())),
        };
        Ok(TrialBackgrounds {
            place,
            setup,
            seed,
            phases: setup.phases.iter().map(placed).collect::<Result<_, _>>()?,
        })
    }

    /// The figures of each phase's background running alone; `None` for a phase without one.
    pub(crate) fn measure_alone(&self) -> Result<Vec<Option<BackgroundTrial>>, TrialError> {
        let run_phase = |background: &Background| {
            let has_jobs = !background.0.is_empty();
            has_jobs.then(|| self.measure_phase(background)).transpose()
        };
        self.phases.iter().map(run_phase).collect()
    }

    fn measure_phase(&self, background: &Background) -> Result<BackgroundTrial, TrialError> {
        let times = Timetable {
            background_only: 1,
            warm_up: 0,
            measured: BACKGROUND_SLICES - 1,
            phases: 1,
        };
        let jobs = self.phase_plans(0, background, &times);
        let (data, moments) = self.place.run(self.setup, jobs, times.slices())?;
        let counted = times.phase(0);
        let (begin, end) = (&moments[counted.start], &moments[counted.end]);
        Ok(BackgroundTrial {
            alone_iops: mean_iops(&data.lanes, &counted),
            alone_cpus: own_cpus(&data.lanes, &counted),
            rest_busy_cpus: end.counters.since(&begin.counters).busy_cpus,
            ..BackgroundTrial::default()
        })
    }

    pub(crate) fn plans(&self, times: &Timetable) -> Vec<JobPlan> {
        let phases = self.phases.iter().enumerate();
        let plans = phases.flat_map(|(n, background)| self.phase_plans(n, background, times));
        plans.collect()
    }

    /// The jobs of phase `n`'s background, which draw offsets by a seed of this phase.
    fn phase_plans(&self, n: usize, background: &Background, times: &Timetable) -> Vec<JobPlan> {
        let place = BackgroundPlace {
            engine: &self.setup.background_engine,
            medium: &|engine| self.place.media.medium_for(engine),
            span: self.place.span,
            seed: self.seed.wrapping_add(15_485_863 * n as u64),
        };
        background.plans(&place, &|job| times.background_job(n, job.activity()))
    }

    /// The lanes of phase `n`'s background, among those of all backgrounds.
    pub(crate) fn lanes<'l>(&self, all: &'l [LaneData], n: usize) -> &'l [LaneData] {
        let lane_count = |background: &Background| background.cpus().len();
        let before: usize = self.phases[..n].iter().map(lane_count).sum();
        &all[before..before + lane_count(&self.phases[n])]
    }

    /// The figures of phase `n`'s background beside the jobs, with those that it had `alone`.
    pub(crate) fn figures(
        &self,
        n: usize,
        alone: &BackgroundTrial,
        lanes: &[LaneData],
        window: &SteadyWindow,
    ) -> BackgroundTrial {
        let cpus = self.phases[n].cpus();
        let job_cpus = self.place.job_cpus(self.setup);
        let slices = &window.slices;
        let phases = lanes.iter().flat_map(|lane| &lane.phases[slices.clone()]);
        BackgroundTrial {
            shares_cpus: cpus.iter().any(|cpu| job_cpus.contains(cpu)),
            cpus,
            ios: phases.map(|phase| phase.ios).sum(),
            iops: mean_iops(lanes, slices),
            own_cpus: own_cpus(lanes, slices),
            ..*alone
        }
    }
}

/// I/Os per second of all `lanes`, as the mean over slices of equal length.
fn mean_iops(lanes: &[LaneData], slices: &Range<usize>) -> f64 {
    let sum: f64 = slices.clone().map(|slice| slice_iops(lanes, slice)).sum();
    sum / slices.len() as f64
}

fn own_cpus(lanes: &[LaneData], slices: &Range<usize>) -> f64 {
    let busy_share = |lane: &LaneData| {
        let phases = &lane.phases[slices.clone()];
        let cpu_ns = phases.iter().map(|p| p.end.cpu_ns - p.begin.cpu_ns);
        let wall_ns = phases.iter().map(|p| p.end.t_ns - p.begin.t_ns);
        cpu_ns.sum::<u64>() as f64 / wall_ns.sum::<u64>().max(1) as f64
    };
    lanes.iter().map(busy_share).sum()
}

/// The `slices` of a phase, with the I/Os of jobs and background in each. Their times count from
/// the begin of slice `jobs_start`.
pub(super) fn phase_slices(
    lanes: &[LaneData],
    background: &[LaneData],
    jobs_start: usize,
    slices: Range<usize>,
    window: &SteadyWindow,
) -> Vec<TrialSlice> {
    let begin_ns = lanes[0].phases[jobs_start].begin.t_ns;
    let slice = |n: usize| {
        let phase = &lanes[0].phases[n];
        let seconds = (phase.end.t_ns - phase.begin.t_ns) as f64 / 1e9;
        let cpu = lanes.iter().map(|lane| &lane.phases[n]);
        let cpu: u64 = cpu.map(|phase| phase.end.cpu_ns - phase.begin.cpu_ns).sum();
        let sleeps = slice_sleeps(lanes, n);
        let mean = |sum: u64| (sleeps.handled > 0).then(|| sum as f64 / sleeps.handled as f64);
        TrialSlice {
            begin_s: (phase.begin.t_ns as f64 - begin_ns as f64) / 1e9,
            seconds,
            counted: window.slices.contains(&n),
            iops: slice_iops(lanes, n),
            background_iops: slice_iops(background, n),
            job_cpus: cpu as f64 / 1e9 / seconds,
            miss_rate: mean(sleeps.misses),
            effective_sleep_ns: mean(sleeps.asked_ns),
        }
    };
    slices.map(slice).collect()
}

fn slice_sleeps(lanes: &[LaneData], n: usize) -> SleepCounts {
    let mut total = SleepCounts::default();
    for tally in lanes.iter().filter_map(|l| l.phases[n].tally.as_ref()) {
        total.merge(&tally.sleeps);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abilities::Abilities;
    use crate::checked::tests::settings;
    use crate::media::Media;
    use crate::spec::setups;
    use q2c_engine::Medium;
    use q2c_host::Roots;
    use q2c_model::Bytes;
    use q2c_sys::Clock;
    use q2c_workbench::workload::Site;
    use std::sync::atomic::AtomicBool;

    /// The engine that `job` gets beside points of `engine`, with each of two methods.
    fn engines(engine: &str, job: &str, polled: bool) -> Vec<String> {
        let media = Media::without_nvme(Medium::None);
        let abilities = Abilities {
            polled_requests: polled,
            ..Abilities::default()
        };
        let spec = settings(&format!("d -e {engine} --background {job}"));
        let (setups, left_out) = setups(&spec, abilities, &media).unwrap();
        assert!(left_out.is_empty(), "{left_out:?}");
        let site = Site::without_disk(Roots::live(), Clock::MONOTONIC);
        let place = TrialPlace {
            media: &media,
            span: Bytes(1 << 20),
            cpus: &[CpuId(0)],
            site: &site,
            spec: &spec,
            stop: &AtomicBool::new(false),
        };
        let engine = |setup| {
            let beside = TrialBackgrounds::new(&place, setup, 1).ok().expect("CPUs");
            let plans = beside.plans(&place.timetable(setup));
            assert_eq!(plans.len(), 1);
            plans[0].engine.to_string()
        };
        setups.iter().map(engine).collect()
    }

    /// The path is that of the table in docs/engines.md, whatever the point's method.
    #[test]
    fn background_jobs_take_the_interfaces_path() {
        let jobs = ["bs=4k,cpus=0,wait=poll", "engine=io_uring,bs=4k,cpus=0"];
        let (ring, polls) = ("io_uring:ring", "io_uring:iopoll");
        for (engine, polled, wanted) in [
            ("io_uring", true, [polls, polls]),
            ("io_uring", false, [ring, ring]),
            ("io_uring:ring", true, [ring, ring]),
            ("libaio", true, ["libaio", ring]),
        ] {
            for (job, wanted) in jobs.into_iter().zip(wanted) {
                let engines = engines(engine, job, polled);
                assert_eq!(engines, [wanted, wanted], "{job} beside {engine}");
            }
        }
    }
}
