//! The trials, as a plan on the runner.

use super::Tune;
use super::cells::{CellSpec, cells};
use super::kernel;
use super::method::CellMethod;
use super::outcome::{TrialOutcome, measured};
use super::predict::{predict, settling};
use super::record::of_stages;
use super::search::Searched;
use crate::runner::{CellError, CellPlan, Context, Plan};
use crate::workload::{Stage, Step, Watched};
use q2c_model::{CostModel, Direction, Nanos};
use q2c_policy::Io;
use q2c_result::tune::{Calibration, Prediction};
use q2c_sim::Recording;

/// Settling before interrupts and polling count: nothing learns there.
const SHORT: Nanos = Nanos::from_millis(50);
/// Thread and ring set up and torn down, seconds.
const OVERHEAD_S: f64 = 0.1;

pub(super) struct TunePlan<'a> {
    tune: &'a Tune<'a>,
    sizes: Vec<Size<'a>>,
}

/// A trial's stages: polled slices and parts of the trial by turns, so that a device that drifts within a second is the
/// same for both.
#[derive(Default)]
struct Timetable {
    stages: Vec<Stage>,
    slices: Vec<usize>,
    parts: Vec<usize>,
}

impl Timetable {
    fn slice(&mut self, stage: Stage) {
        self.slices.push(self.stages.len());
        self.stages.push(stage);
    }

    fn measure(&mut self, stage: Stage) {
        self.parts.push(self.stages.len());
        self.stages.push(stage);
    }

    /// Its length when nothing is late.
    fn seconds(&self) -> f64 {
        self.stages.iter().map(|s| s.length.as_secs_f64()).sum()
    }
}

struct Size<'a> {
    calibration: &'a Calibration,
    cells: Vec<CellSpec>,
    iops_hint: f64,
}

impl<'a> TunePlan<'a> {
    pub fn new(
        tune: &'a Tune<'a>,
        calibration: &'a [Calibration],
        recordings: &[Vec<Recording>],
        searched: &[Searched],
        kernel: bool,
    ) -> Self {
        let own = tune.spec.rules();
        let each = calibration.iter().zip(recordings).zip(searched);
        let size = |((calibration, recording), searched): (
            (&'a Calibration, &Vec<Recording>),
            &Searched,
        )| Size {
            calibration,
            cells: cells(calibration.bs, &calibration.cost, searched, &own, kernel),
            iops_hint: searched.sweep.poll.iops / recording.len().max(1) as f64,
        };
        TunePlan {
            tune,
            sizes: each.map(size).collect(),
        }
    }

    fn timetable(&self, method: &CellMethod) -> Timetable {
        let spec = self.tune.spec;
        let (step, settle) = match method {
            CellMethod::Interrupt => (Step::Interrupt, SHORT),
            CellMethod::Poll | CellMethod::Kernel(_) => (Step::Poll, SHORT),
            CellMethod::Hybrid(policy) => (Step::Policy(policy.clone()), settling(policy)),
        };
        let slice = Stage::new(Step::Poll, Nanos::from_secs_f64(spec.slice_seconds));
        let part = Nanos::from_secs_f64(spec.seconds / f64::from(spec.parts));
        let mut timetable = Timetable::default();
        timetable.slice(slice.clone());
        timetable.stages.push(Stage::new(step, settle));
        for n in 0..spec.parts {
            let step = if n == 0 { Step::Same } else { Step::Resume };
            timetable.measure(Stage::new(step, part));
            timetable.slice(slice.clone());
        }
        timetable
    }

    fn outcome(
        &self,
        watched: &Watched,
        timetable: &Timetable,
        cell: &CellSpec,
        cost: &CostModel,
        seed: u64,
    ) -> TrialOutcome {
        let direction = if self.tune.workload.pattern.write {
            Direction::Write
        } else {
            Direction::Read
        };
        let io = Io {
            direction,
            bytes: cell.bs.0 as u32,
        };
        let lanes = watched.data.lanes.iter();
        let slices: Vec<Recording> = lanes
            .map(|lane| of_stages(lane, &timetable.slices, io))
            .collect();
        let polled = watched.stats_over(&timetable.slices);
        let measure = Nanos::from_secs_f64(self.tune.spec.seconds);
        let cpus = &self.tune.workload.cpus;
        let predicted = predict(&cell.parsed(), &slices, cpus, cost, measure, seed);
        TrialOutcome {
            poll_iops: polled.iops(),
            poll_cpu_pct: polled.cpu_pct(),
            predicted: predicted.map(|p| as_much_of_a_cpu(p, polled.cpu_pct() / 100.0)),
            ..measured(
                watched,
                &timetable.parts,
                cell.bs.0,
                self.tune.workload.site.idle_busy_cpus,
            )
        }
    }
}

/// Polling that got less than a whole CPU (steal, a neighbour) tells that the trial between got no more.
fn as_much_of_a_cpu(prediction: Prediction, polled_cpu: f64) -> Prediction {
    Prediction {
        cpu_pct: prediction.cpu_pct * polled_cpu.min(1.0),
        ..prediction
    }
}

impl Plan for TunePlan<'_> {
    type Cell = CellSpec;
    type Outcome = TrialOutcome;

    fn cells(&self) -> Vec<CellPlan<CellSpec>> {
        let cell = |cell: &CellSpec| CellPlan {
            key: format!("{} {}", cell.bs.0, cell.method),
            label: format!("{} {}", cell.bs, cell.method),
            seconds: OVERHEAD_S
                + match cell.parsed() {
                    CellMethod::Kernel(_) => kernel::seconds(self.tune),
                    method => self.timetable(&method).seconds(),
                },
            cell: cell.clone(),
        };
        self.sizes
            .iter()
            .flat_map(|size| size.cells.iter().map(cell))
            .collect()
    }

    fn metric(&self, outcome: &TrialOutcome) -> f64 {
        outcome.iops
    }

    fn run(
        &mut self,
        cell: &CellPlan<CellSpec>,
        context: &mut Context<'_>,
    ) -> Result<TrialOutcome, CellError> {
        let spec = &cell.cell;
        let size = self
            .sizes
            .iter()
            .find(|size| size.calibration.bs == spec.bs);
        let size =
            size.ok_or_else(|| CellError::Cell(format!("no calibration for {}", spec.bs)))?;
        let method = spec.parsed();
        if let CellMethod::Kernel(delay) = method {
            return kernel::trial(self.tune, spec, delay, size.iops_hint, context);
        }
        let timetable = self.timetable(&method);
        // Seeds in run folders are TOML integers: below 2^63.
        let seed = context.seed >> 1;
        let watched = self
            .tune
            .workload
            .run(
                spec.bs,
                &timetable.stages,
                seed,
                Some(size.iops_hint),
                context.cancel,
            )
            .map_err(|e| CellError::Abort(Box::new(e)))?;
        if let Some(fault) = &watched.fault {
            return Err(CellError::Abort(fault.clone().into()));
        }
        if watched.data.stopped || context.cancelled() {
            return Err(CellError::Cancelled);
        }
        let outcome = self.outcome(&watched, &timetable, spec, &size.calibration.cost, seed);
        Ok(TrialOutcome {
            windows: method.windows(),
            ..outcome
        })
    }
}
