//! The plan of an experiment. One trial runs all phases in one run of one thread and ring per lane.

use super::file::Experiment;
use q2c_engine::measure::PhaseStats;
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::{LaneMethod, PolicySpec};
use q2c_result::mode::Mode;
use q2c_result::reproduce::{PhaseOutcome, PhaseTrial};
use q2c_result::waits::{Switches, WaitCounts};
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_stats::percentile;
use q2c_workbench::workload::{BackgroundSpec, Span, StageId, Stages, Step, Watched, Workload};

/// The stages of a phase.
struct PhaseStages {
    /// The workload settles here, and nothing is counted.
    settling: StageId,
    counted: StageId,
}

/// An experiment as a plan for the runner, with one cell per block size.
pub struct PhasePlan<'a> {
    experiment: &'a Experiment,
    workload: &'a Workload,
    sizes: Vec<Bytes>,
    policy: PolicySpec,
    background_cpu: CpuId,
    phase: Nanos,
}

impl<'a> PhasePlan<'a> {
    /// A plan in which each phase counts for `phase`, after the experiment's settling time.
    /// Background jobs run on `background_cpu`.
    ///
    /// # Errors
    /// The experiment's rule is not valid.
    pub fn new(
        experiment: &'a Experiment,
        workload: &'a Workload,
        sizes: &[Bytes],
        background_cpu: CpuId,
        phase: Nanos,
    ) -> Result<Self, String> {
        let policy = experiment.policy()?;
        Ok(PhasePlan {
            experiment,
            workload,
            sizes: sizes.to_vec(),
            policy,
            background_cpu,
            phase,
        })
    }

    /// All stages, and those of each phase.
    fn stages(&self) -> (Stages, Vec<PhaseStages>) {
        let settle = Nanos::from_secs_f64(self.experiment.settle_s);
        let mut stages = Stages::default();
        let mut step = Step::By(self.policy.clone().into());
        let mut phase = |_| PhaseStages {
            settling: stages.then(std::mem::replace(&mut step, Step::Same), settle),
            counted: stages.then(Step::Same, self.phase),
        };
        let phases = (0..self.experiment.phases.len()).map(&mut phase).collect();
        (stages, phases)
    }

    /// The background jobs of all phases. Each job runs in both stages of its phase.
    fn background(&self, bs: Bytes, phases: &[PhaseStages]) -> Result<Vec<BackgroundSpec>, String> {
        let jobs = self.experiment.background(bs, self.background_cpu)?;
        let of_phase = |(n, job): (usize, BackgroundSpec)| BackgroundSpec {
            stages: vec![phases[n].settling, phases[n].counted],
            ..job
        };
        Ok(jobs.into_iter().map(of_phase).collect())
    }
}

/// The mode in which the foreground really waited in a phase.
fn mode(watched: &Watched, policy: &PolicySpec, stats: &PhaseStats, span: &Span) -> Mode {
    let facts = watched.data.lanes.first().map(|lane| &lane.facts);
    let seen = WaitCounts {
        ios: stats.ios,
        slept: stats.sleeps.slept,
        left_to_interrupt: stats.sleeps.interrupted,
        interrupts: span.interrupts,
        requests: span.requests,
        others: true,
        switches: Switches::PerWait(stats.switches_per_io()),
        polls_by: facts.map(|facts| facts.polls_by),
        checks_kernel: true,
        ..WaitCounts::default()
    };
    seen.mode(&LaneMethod::from(policy.clone()).into())
}

impl Plan for PhasePlan<'_> {
    type Cell = Bytes;
    type Outcome = PhaseTrial;
    const UNIT: &'static str = "IOPS";

    fn cells(&self) -> Vec<CellPlan<Bytes>> {
        let seconds = self.stages().0.seconds();
        let cell = |&bs: &Bytes| CellPlan {
            key: bs.0.to_string(),
            label: bs.to_string(),
            seconds,
            cell: bs,
        };
        self.sizes.iter().map(cell).collect()
    }

    fn metric(&self, outcome: &PhaseTrial) -> f64 {
        outcome.phases.first().map_or(0.0, |phase| phase.rates.iops)
    }

    fn run(
        &mut self,
        cell: &CellPlan<Bytes>,
        context: &mut Context<'_>,
    ) -> Result<PhaseTrial, CellError> {
        let (stages, phases) = self.stages();
        let background = self.background(cell.cell, &phases);
        let background = background.map_err(CellError::Cell)?;
        let workload = Workload {
            background,
            ..self.workload.clone()
        };
        let watched = workload
            .run(cell.cell, &stages, context.seed >> 1, None, context.cancel)
            .map_err(|e| CellError::Abort(Box::new(e)))?;
        if let Some(fault) = watched.fault {
            return Err(CellError::Abort(fault.into()));
        }
        if watched.data.stopped || context.cancelled() {
            return Err(CellError::Cancelled);
        }
        let phase = |of: &PhaseStages| {
            let stats = watched.stats(of.counted);
            let span = watched.span(of.counted);
            let per_io = |count: u64| count as f64 / stats.ios.max(1) as f64;
            PhaseOutcome {
                was: Some(mode(&watched, &self.policy, &stats, &span)),
                interrupts_per_io: span.interrupts.map(per_io),
                rates: stats.rates(),
                slept_ns: stats.mean_slept_ns(),
                p50_ns: percentile(&stats.latencies, 0.5),
                p99_ns: percentile(&stats.latencies, 0.99),
            }
        };
        Ok(PhaseTrial {
            phases: phases.iter().map(phase).collect(),
        })
    }
}
