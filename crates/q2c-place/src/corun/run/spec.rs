//! Which tasks run where, and for how long.

use crate::map::SmtMap;
use crate::placement::place_tasks;
use clap::Args;
use q2c_engine::EngineSpec;
use q2c_model::{Bytes, CpuId, Nanos, parse_size, parse_time};
use q2c_result::corun::Work;
use q2c_result::place::PolicyName;
use q2c_result::place_run::ComputeTask;
use serde::de::IntoDeserializer;
use serde::de::value::Error as Unknown;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which tasks run where.
#[derive(Clone, Debug, Args, Serialize)]
pub struct PlaceRunSettings {
    /// What the polling tasks read: a file, a block device or a simulated device
    #[arg(default_value = "sim:80us")]
    pub target: String,
    /// Interface of the polling tasks [default: io_uring, or what a simulated target names]
    #[arg(long)]
    pub engine: Option<EngineSpec>,
    /// Bytes of a read of the polling tasks
    #[arg(long, default_value = "4k", value_parser = parse_size)]
    pub bs: Bytes,
    /// Program that polls, in place of q2c's engine: a shell's command that runs until it is
    /// stopped
    #[arg(id = "p", long, value_name = "COMMAND")]
    #[arg(conflicts_with_all = ["target", "engine", "bs"])]
    pub polls: Option<String>,
    /// Program that computes, in place of q2c's own work: a shell's command that ends by itself
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["work", "trial"])]
    pub c: Option<String>,
    /// Own work of the computing tasks, each in all placements: integer, branchy, float, vector,
    /// memory
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = compute_work,
          default_value = "integer,branchy,float,vector,memory")]
    pub work: Vec<Work>,
    /// Computing tasks [default: half of the logical CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub compute: Option<u32>,
    /// Polling tasks [default: half of the logical CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub polling: Option<u32>,
    /// Placements that are compared, separated by commas
    ///
    /// Placements: free (the kernel's own balancing), bunch, scatter, colocate, spread, proposed
    /// (the daemon of place start)
    #[arg(id = "placements", long, value_name = "LIST", value_delimiter = ',', value_parser = measured_policy,
          default_value = "free,bunch,scatter,colocate,spread,proposed")]
    pub policies: Vec<PolicyName>,
    /// Trials of each placement
    #[arg(long, default_value_t = 5, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    pub trials: u32,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    #[serde(skip)]
    pub all_trials: bool,
    /// Counted time of a trial of q2c's own work
    #[arg(long, default_value = "3s", value_name = "DURATION", value_parser = parse_time)]
    pub trial: Nanos,
    /// Time before it, in which the placement settles
    #[arg(long, default_value = "2s", value_name = "DURATION", value_parser = parse_time)]
    pub settle: Nanos,
    /// How the daemon tells polling programs; see place start
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub hints: Option<PathBuf>,
    /// Folder of the restore journals, for the daemon [default: /var/lib/q2c/restore for root]
    #[arg(long, value_name = "FOLDER")]
    #[serde(skip)]
    pub journal: Option<PathBuf>,
    /// Folder for runs
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    #[serde(skip)]
    pub out: PathBuf,
    /// Seed of offsets and of the order of trials
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..1 << 62))]
    pub seed: u64,
    /// Print the result as JSON; q2c report draws it again
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}

fn compute_work(text: &str) -> Result<Work, String> {
    let expected = "integer, branchy, float, vector or memory";
    parse_name(text, |work: &Work| !work.polls(), expected)
}

/// Reads the name of a placement that can be measured. Literal rules are left out, as they leave
/// equal loads as they are. So are rules that always swap: they differ from `proposed` only where
/// CPUs are idle.
fn measured_policy(text: &str) -> Result<PolicyName, String> {
    let expected = "free, bunch, scatter, colocate, spread or proposed";
    use PolicyName::{ProposedLiteral, ProposedSwap};
    let is_measured = |policy: &PolicyName| !matches!(policy, ProposedLiteral | ProposedSwap);
    parse_name(text, is_measured, expected)
}

fn parse_name<T>(text: &str, fits: impl Fn(&T) -> bool, expected: &str) -> Result<T, String>
where
    T: for<'a> Deserialize<'a>,
{
    let value = T::deserialize(IntoDeserializer::<Unknown>::into_deserializer(text));
    let value = value.ok().filter(fits);
    value.ok_or_else(|| format!("expected {expected}, found `{text}`"))
}

impl PlaceRunSettings {
    /// Fills in missing numbers of tasks: half the number of logical CPUs for each kind.
    pub fn settle(&mut self, map: &SmtMap) {
        let half = (map.cpus() as u32 / 2).max(1);
        self.compute.get_or_insert(half);
        self.polling.get_or_insert(half);
    }

    /// Number of C tasks.
    pub fn compute(&self) -> u32 {
        self.compute.unwrap_or(1)
    }

    /// Number of P tasks.
    pub fn polling(&self) -> u32 {
        self.polling.unwrap_or(1)
    }

    /// The kinds of C tasks; all C tasks of a trial are of one kind.
    pub fn tasks(&self) -> Vec<ComputeTask> {
        match &self.c {
            Some(command) => vec![ComputeTask::Program(command.clone())],
            None => self.work.iter().copied().map(ComputeTask::Own).collect(),
        }
    }
}

/// A cell of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCell {
    /// One C task with nothing beside it.
    ComputeAlone(ComputeTask),
    /// One P task with nothing beside it.
    PollingAlone,
    /// All tasks in a placement.
    Placed(PolicyName, ComputeTask),
}

/// The CPUs that each task of a trial may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskCpus {
    pub compute: Vec<Vec<CpuId>>,
    pub polling: Vec<Vec<CpuId>>,
}

impl TaskCpus {
    /// The CPUs for a cell. A task alone gets the last core, as the kernel's work is on the first.
    pub(crate) fn for_cell(cell: &RunCell, map: &SmtMap, spec: &PlaceRunSettings) -> TaskCpus {
        let last_core = map.cores().checked_sub(1);
        let first_cpu = last_core.and_then(|core| map.cpus_of(core).first());
        let alone = vec![first_cpu.map(|cpu| map.id(*cpu)).into_iter().collect()];
        let (compute, polling) = match cell {
            RunCell::ComputeAlone(_) => (alone, Vec::new()),
            RunCell::PollingAlone => (Vec::new(), alone),
            RunCell::Placed(policy, _) => {
                match place_tasks(*policy, map, spec.compute(), spec.polling()) {
                    Some(placed) => (ids(map, &placed.compute), ids(map, &placed.polling)),
                    None => all_cpus(map, spec),
                }
            }
        };
        TaskCpus { compute, polling }
    }
}

type CpuSets = Vec<Vec<CpuId>>;

fn ids(map: &SmtMap, cpus: &[usize]) -> CpuSets {
    cpus.iter().map(|cpu| vec![map.id(*cpu)]).collect()
}

fn all_cpus(map: &SmtMap, spec: &PlaceRunSettings) -> (CpuSets, CpuSets) {
    let mut cpus: Vec<CpuId> = (0..map.cpus()).map(|cpu| map.id(cpu)).collect();
    cpus.sort();
    let sets = |tasks: u32| vec![cpus.clone(); tasks as usize];
    (sets(spec.compute()), sets(spec.polling()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_run::arguments::from_words;

    fn spec() -> PlaceRunSettings {
        from_words("--compute 2 --polling 2 --work integer --trials 3").unwrap()
    }

    fn numbers(cell: &RunCell, map: &SmtMap) -> [Vec<Vec<u32>>; 2] {
        let cpus = TaskCpus::for_cell(cell, map, &spec());
        let ids = |cpus: Vec<CpuId>| cpus.iter().map(|cpu| cpu.0).collect();
        [cpus.compute, cpus.polling].map(|sets| sets.into_iter().map(ids).collect())
    }

    #[test]
    fn work_and_placements_have_names() {
        assert_eq!(compute_work("vector"), Ok(Work::Vector));
        assert!(compute_work("poll").is_err(), "polling does not compute");
        assert_eq!(measured_policy("colocate"), Ok(PolicyName::Colocate));
        assert!(measured_policy("proposed_literal").is_err());
    }

    #[test]
    fn tasks_have_the_cpus_of_their_placement() {
        // CPUs 0 and 1 are one core, 2 and 3 the other.
        let map = SmtMap::regular(2, 2, 1);
        let numbers_of = |policy| {
            let task = ComputeTask::Own(Work::Integer);
            numbers(&RunCell::Placed(policy, task), &map)
        };
        let bunch = [vec![vec![2], vec![3]], vec![vec![0], vec![1]]];
        assert_eq!(numbers_of(PolicyName::Bunch), bunch);
        let colocate = [vec![vec![1], vec![3]], vec![vec![0], vec![2]]];
        assert_eq!(numbers_of(PolicyName::Colocate), colocate);
        let every_cpu = vec![vec![0, 1, 2, 3]; 2];
        assert_eq!(numbers_of(PolicyName::Free), [every_cpu.clone(), every_cpu]);
    }

    #[test]
    fn a_task_alone_has_a_core_for_itself() {
        let alone = numbers(&RunCell::PollingAlone, &SmtMap::regular(3, 2, 1));
        assert_eq!(alone, [vec![], vec![vec![4]]]);
    }
}
