//! The cores of this machine, on which trials run.

use super::compute::{self, ComputeTasks};
use super::plan::{PlaceTrialRunner, RunTrial};
use super::polls::{self, PollTrial, PollingLanes};
use super::spec::{PlaceRunSettings, RunCell, TaskCpus};
use super::window::CorunWindow;
use crate::map::SmtMap;
use crate::scheduler::daemon::PlacementDaemon;
use crate::scheduler::hints::Hints;
use q2c_host::Roots;
use q2c_model::Bytes;
use q2c_result::place::PolicyName;
use q2c_run::runner::{CellError, Context};
use q2c_sys::Clock;
use q2c_workbench::workload::Workload;
use std::path::Path;
use std::time::{Duration, Instant};

const DAEMON_WINDOW: Duration = Duration::from_millis(500);

/// The cores of this machine.
pub struct Cores<'a> {
    /// The cores and their logical CPUs.
    pub map: &'a SmtMap,
    /// The tasks and times of the trials.
    pub spec: &'a PlaceRunSettings,
    /// The workload of P tasks by q2c's engine, and the size of its I/Os; `None` for programs.
    pub polls: Option<(&'a Workload, Bytes)>,
    /// The roots of sysfs and procfs.
    pub roots: &'a Roots,
    /// Folder of the restore journals, for the daemon.
    pub journal: &'a Path,
    /// How the daemon knows programs that poll.
    pub hints: &'a Hints,
    /// The clock of the trials, which is that of the workload if there is one.
    pub clock: Clock,
}

impl PlaceTrialRunner for Cores<'_> {
    fn run_trial(&mut self, cell: &RunCell, context: &Context<'_>) -> Result<RunTrial, CellError> {
        let cpus = TaskCpus::for_cell(cell, self.map, self.spec);
        let window = CorunWindow::new(self.clock);
        let tasks = ComputeTasks {
            cpus: &cpus.compute,
            settle: self.spec.settle,
            counted: self.spec.trial,
            window: &window,
            stop: context.cancel,
        };
        let mut balancer = match cell {
            RunCell::Placed(PolicyName::Proposed, _) => Some(self.balancer()?),
            _ => None,
        };
        let compute = || match cell {
            RunCell::ComputeAlone(task) | RunCell::Placed(_, task) => tasks.run(task),
            RunCell::PollingAlone => {
                tasks.wait_counted_time();
                Ok(Vec::new())
            }
        };
        let balance = || balancer.as_mut().map_or(Ok(()), DaemonBalancer::balance);
        let figures = self.run_tasks(&cpus, &window, context, compute, balance);
        let moves = balancer.map(DaemonBalancer::end).transpose();
        let (compute_s, polls) = figures?;
        if context.cancelled() {
            return Err(CellError::Cancelled);
        }
        Ok(RunTrial {
            compute_s,
            polls,
            moves: moves?,
        })
    }
}

impl Cores<'_> {
    fn run_tasks(
        &self,
        cpus: &TaskCpus,
        window: &CorunWindow,
        context: &Context<'_>,
        compute: impl FnOnce() -> Result<Vec<f64>, CellError> + Send,
        balance: impl FnMut() -> Result<(), CellError> + Send,
    ) -> Result<(Vec<f64>, Option<PollTrial>), CellError> {
        if cpus.polling.is_empty() {
            return compute().map(|times| (times, None));
        }
        match (self.polls, &self.spec.polls) {
            (Some((workload, bs)), _) => {
                let lanes = PollingLanes {
                    workload,
                    bs,
                    cpus: &cpus.polling,
                    seed: context.seed,
                    stop: context.cancel,
                };
                let figures = lanes.run(window, compute, balance);
                figures.map(|(polls, times)| (times, Some(polls)))
            }
            (None, Some(command)) => polls::run_programs(command, &cpus.polling, compute, balance)
                .map(|times| (times, None)),
            (None, None) => {
                let text = "find the polling tasks: there are none";
                Err(CellError::Cell(text.to_owned()))
            }
        }
    }

    fn balancer(&self) -> Result<DaemonBalancer, CellError> {
        let mut hints = self.hints.clone();
        hints.polling.push(polls::THREAD_NAME.to_owned());
        hints.compute.push(compute::THREAD_NAME.to_owned());
        let without_smt = false;
        let daemon = PlacementDaemon::begin(self.roots, hints, self.journal, without_smt);
        let daemon = daemon.map_err(|error| CellError::Cell(error.to_string()))?;
        Ok(DaemonBalancer {
            daemon: daemon.with_own_tasks(),
            window_end: Instant::now() + DAEMON_WINDOW,
            moves: 0,
        })
    }
}

struct DaemonBalancer {
    daemon: PlacementDaemon,
    window_end: Instant,
    moves: u32,
}

impl DaemonBalancer {
    fn balance(&mut self) -> Result<(), CellError> {
        if Instant::now() < self.window_end {
            return Ok(());
        }
        self.window_end += DAEMON_WINDOW;
        let events = self.daemon.window();
        let events = events.map_err(|error| CellError::Trial(error.to_string()))?;
        self.moves += events.iter().filter(|event| event.moved).count() as u32;
        Ok(())
    }

    fn end(self) -> Result<u32, CellError> {
        let mut outcomes = self.daemon.end().into_iter();
        let Some((task, outcome)) = outcomes.find(|(_, outcome)| !outcome.is_final()) else {
            return Ok(self.moves);
        };
        let task = task.display();
        let text = format!("give {task} its CPUs back: {outcome}; run q2c restore");
        Err(CellError::Trial(text))
    }
}
