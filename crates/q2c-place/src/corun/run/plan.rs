//! The trials as a plan of the runner.

use super::polls::PollTrial;
use super::spec::{PlaceRunSettings, RunCell};
use q2c_model::stats::mean;
use q2c_result::place::PolicyName;
use q2c_result::place_run::ComputeTask;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use serde::{Deserialize, Serialize};

/// The figures of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTrial {
    /// Time of each C task for a unit of its work, seconds.
    pub compute_s: Vec<f64>,
    /// Figures of the P tasks; `None` without them, and for programs.
    pub polls: Option<PollTrial>,
    /// Tasks that the daemon gave other CPUs; `None` without it.
    pub moves: Option<u32>,
}

/// A place where trials run: this machine, or a fake one with known speeds.
pub trait PlaceTrialRunner {
    /// Runs one trial.
    ///
    /// # Errors
    /// A [`CellError`], which says what the failure concerns.
    fn run_trial(&mut self, cell: &RunCell, context: &Context<'_>) -> Result<RunTrial, CellError>;
}

/// The runner's plan.
pub struct PlaceRunPlan<'a, R> {
    /// The requested tasks and times.
    pub spec: &'a PlaceRunSettings,
    /// The placements that are run.
    pub policies: &'a [PolicyName],
    /// The place where trials run.
    pub runs: R,
}

impl<R: PlaceTrialRunner> Plan for PlaceRunPlan<'_, R> {
    type Cell = RunCell;
    type Outcome = RunTrial;
    const UNIT: &'static str = "units of work per second and task";

    fn cells(&self) -> Vec<CellPlan<RunCell>> {
        let mut cells = Vec::new();
        if self.spec.polls.is_none() && self.spec.polling() > 0 {
            cells.push(RunCell::PollingAlone);
        }
        for task in &self.spec.tasks() {
            cells.push(RunCell::ComputeAlone(task.clone()));
            let placed = |policy: &PolicyName| RunCell::Placed(*policy, task.clone());
            cells.extend(self.policies.iter().map(placed));
        }
        let seconds = (self.spec.settle.0 + self.spec.trial.0) as f64 / 1e9 + 0.2;
        let plan = |cell: RunCell| CellPlan {
            key: label(&cell),
            label: label(&cell),
            seconds,
            cell,
        };
        cells.into_iter().map(plan).collect()
    }

    fn metric(&self, trial: &RunTrial) -> f64 {
        match trial.polls {
            Some(polls) if trial.compute_s.is_empty() => polls.iops,
            _ => 1.0 / mean(&trial.compute_s),
        }
    }

    fn run(
        &mut self,
        cell: &CellPlan<RunCell>,
        context: &mut Context<'_>,
    ) -> Result<RunTrial, CellError> {
        self.runs.run_trial(&cell.cell, context)
    }
}

fn label(cell: &RunCell) -> String {
    match cell {
        RunCell::ComputeAlone(task) => format!("{} alone", task_name(task)),
        RunCell::PollingAlone => "polling alone".to_owned(),
        RunCell::Placed(policy, task) => format!("{} {policy:?}", task_name(task)),
    }
}

fn task_name(task: &ComputeTask) -> String {
    match task {
        ComputeTask::Own(work) => format!("{work:?}").to_lowercase(),
        ComputeTask::Program(command) => command.clone(),
    }
}
