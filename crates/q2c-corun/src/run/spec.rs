//! Which tasks run where, and for how long.

use q2c_model::{CpuId, Nanos};
use q2c_place::map::SmtMap;
use q2c_place::placement::Placement;
use q2c_result::place::PolicyName;
use q2c_result::place_run::ComputeTask;
use serde::{Deserialize, Serialize};

/// What `q2c place run` is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceRunSpec {
    /// C tasks.
    pub compute: u32,
    /// P tasks.
    pub polling: u32,
    /// The kinds of C tasks; all C tasks of a trial are of one kind.
    pub tasks: Vec<ComputeTask>,
    /// The command of the P tasks; `None` for q2c's engine.
    pub polls: Option<String>,
    /// The placements.
    pub policies: Vec<PolicyName>,
    /// Trials of each placement.
    pub trials: u32,
    /// Counted time of a trial of q2c's own C tasks.
    pub trial: Nanos,
    /// Time before the counted time, in which the placement settles.
    pub settle: Nanos,
    /// Seed of the order.
    pub seed: u64,
}

/// The placements that run by default. The literal rules leave equal loads as they are, and the
/// always swapping ones differ from `proposed` only where CPUs are idle.
pub const POLICIES: [PolicyName; 6] = [
    PolicyName::Free,
    PolicyName::Bunch,
    PolicyName::Scatter,
    PolicyName::Colocate,
    PolicyName::Spread,
    PolicyName::Proposed,
];

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
pub struct Cpus {
    /// Of the C tasks.
    pub compute: Vec<Vec<CpuId>>,
    /// Of the P tasks.
    pub polling: Vec<Vec<CpuId>>,
}

impl Cpus {
    /// The CPUs in a cell. A task alone has the first CPU of the last core: the first cores have
    /// most of the kernel's own work.
    #[must_use]
    pub fn of(cell: &RunCell, map: &SmtMap, spec: &PlaceRunSpec) -> Cpus {
        let last = map.cores().checked_sub(1);
        let alone = || -> Vec<CpuId> {
            let first = last.and_then(|core| map.cpus_of(core).first());
            first.map(|cpu| map.id(*cpu)).into_iter().collect()
        };
        match cell {
            RunCell::ComputeAlone(_) => Cpus {
                compute: vec![alone()],
                polling: Vec::new(),
            },
            RunCell::PollingAlone => Cpus {
                compute: Vec::new(),
                polling: vec![alone()],
            },
            RunCell::Placed(policy, _) => match fixed(*policy) {
                Some(placement) => placed(placement, map, spec),
                None => everywhere(map, spec),
            },
        }
    }
}

/// The fixed placement of this name; `None` for policies that move tasks.
fn fixed(policy: PolicyName) -> Option<Placement> {
    match policy {
        PolicyName::Bunch => Some(Placement::Bunch),
        PolicyName::Scatter => Some(Placement::Scatter),
        PolicyName::Colocate => Some(Placement::Colocate),
        PolicyName::Spread => Some(Placement::Spread),
        PolicyName::Free
        | PolicyName::Proposed
        | PolicyName::ProposedLiteral
        | PolicyName::ProposedSwap => None,
    }
}

fn placed(placement: Placement, map: &SmtMap, spec: &PlaceRunSpec) -> Cpus {
    let placed = placement.of(map, spec.compute, spec.polling);
    let ids = |cpus: Vec<usize>| cpus.into_iter().map(|cpu| vec![map.id(cpu)]).collect();
    Cpus {
        compute: ids(placed.compute),
        polling: ids(placed.polling),
    }
}

fn everywhere(map: &SmtMap, spec: &PlaceRunSpec) -> Cpus {
    let mut all: Vec<CpuId> = (0..map.cpus()).map(|cpu| map.id(cpu)).collect();
    all.sort();
    Cpus {
        compute: vec![all.clone(); spec.compute as usize],
        polling: vec![all; spec.polling as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::corun::Work;

    fn spec() -> PlaceRunSpec {
        PlaceRunSpec {
            compute: 2,
            polling: 2,
            tasks: vec![ComputeTask::Own(Work::Integer)],
            polls: None,
            policies: POLICIES.to_vec(),
            trials: 3,
            trial: Nanos::from_millis(100),
            settle: Nanos::from_millis(10),
            seed: 1,
        }
    }

    fn numbers(cpus: &[Vec<CpuId>]) -> Vec<Vec<u32>> {
        let each = |cpus: &Vec<CpuId>| cpus.iter().map(|cpu| cpu.0).collect();
        cpus.iter().map(each).collect()
    }

    #[test]
    fn tasks_have_the_cpus_of_their_placement() {
        // CPUs 0 and 1 are one core, 2 and 3 the other.
        let map = SmtMap::regular(2, 2, 1);
        let of = |policy| {
            let task = ComputeTask::Own(Work::Integer);
            let cpus = Cpus::of(&RunCell::Placed(policy, task), &map, &spec());
            (numbers(&cpus.compute), numbers(&cpus.polling))
        };
        assert_eq!(
            of(PolicyName::Bunch),
            (vec![vec![2], vec![3]], vec![vec![0], vec![1]])
        );
        assert_eq!(
            of(PolicyName::Colocate),
            (vec![vec![1], vec![3]], vec![vec![0], vec![2]])
        );
        let all = vec![vec![0, 1, 2, 3]; 2];
        assert_eq!(of(PolicyName::Free), (all.clone(), all));
    }

    #[test]
    fn a_task_alone_has_a_core_for_itself() {
        let map = SmtMap::regular(3, 2, 1);
        let cpus = Cpus::of(&RunCell::PollingAlone, &map, &spec());
        assert_eq!(
            (numbers(&cpus.compute), numbers(&cpus.polling)),
            (vec![], vec![vec![4]])
        );
    }
}
