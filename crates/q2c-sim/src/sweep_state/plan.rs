//! The plan of a sweep, because only states of the same plan can be joined; and the faults
//! that several steps report.

use crate::batch::{CostTables, PolicyOrPolling};
use crate::reference::Drive;
use q2c_model::{CostModel, Exit, Fault, OrFault};
use q2c_policy::PolicySpec;
use serde::{Deserialize, Serialize};
use std::fmt::Display;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SweepPlan {
    pub policies: Vec<PolicySpec>,
    pub cost: CostModel,
    pub drive: Drive,
}

impl SweepPlan {
    pub(crate) fn new(
        policies: &[PolicySpec],
        cost: &CostModel,
        drive: Drive,
    ) -> Result<Self, Fault> {
        let plan = SweepPlan {
            policies: policies.iter().map(PolicySpec::with_new_counts).collect(),
            cost: cost.clone(),
            drive,
        };
        plan.check()?;
        Ok(plan)
    }

    /// Checks that a machine can have these costs, and that they can be swept in parts.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let costs = self.cost.check();
        costs.or_fault(Exit::Usage, "sweep in parts: costs")?;
        let tables = CostTables::new(&self.cost).map(|_| ());
        tables.ok_or_else(too_many_corners)
    }

    /// The policies and, last, classic polling.
    pub(crate) fn rules(&self) -> Vec<PolicyOrPolling<'_>> {
        self.policies.iter().map(Some).chain([None]).collect()
    }

    pub(crate) fn check_same_machine(&self, other: &SweepPlan) -> Result<(), Fault> {
        let (drive, other_drive) = (self.drive, other.drive);
        for (what, expected, given) in [
            ("warm-up", drive.warm_up, other_drive.warm_up),
            ("measured time", drive.measure, other_drive.measure),
        ] {
            if expected != given {
                let text = format!("a {what} of {expected}, found {given}");
                return Err(other_sweep(text));
            }
        }
        if drive.seed != other_drive.seed {
            let text = format!("the seed {}, found {}", drive.seed, other_drive.seed);
            return Err(other_sweep(text));
        }
        if self.cost == other.cost {
            return Ok(());
        }
        let costs = "the same costs, found others; sweep both with one calibration";
        Err(other_sweep(costs))
    }

    pub(crate) fn check_same_policies(&self, other: &SweepPlan) -> Result<(), Fault> {
        let count = self.policies.len().max(other.policies.len());
        let text = |plan: &SweepPlan, i: usize| plan.policies.get(i).map(ToString::to_string);
        let first_difference = (0..count).find(|&i| text(self, i) != text(other, i));
        first_difference.map_or(Ok(()), |i| {
            let [given, expected] =
                [other, self].map(|plan| text(plan, i).unwrap_or_else(|| "none".to_owned()));
            Err(other_sweep(format_args!(
                "the same configurations, found {given} in place of {expected} (number {i})"
            )))
        })
    }
}

pub(super) fn other_sweep(reason: impl Display) -> Fault {
    let text = format!("join states of sweeps: expected {reason}");
    Fault::new(Exit::Usage, text)
}

pub(super) fn broken_state() -> Fault {
    let text = "read the state of a sweep: expected configurations with their sums, found numbers that no I/Os give; make it anew";
    Fault::new(Exit::Input, text)
}

pub(super) fn too_many_corners() -> Fault {
    let text = "sweep in parts: expected costs with up to 15 corner points of the hit delay and 255 over the sleep, found more; sweep the whole";
    Fault::new(Exit::Usage, text)
}

pub(super) fn too_long_ios() -> Fault {
    let text = "sweep in parts: expected I/Os below 0.54 s and less than 36 years together, found more; sweep the whole";
    Fault::new(Exit::Input, text)
}

pub(super) fn several_volumes() -> Fault {
    let text = "go on with a sweep whose volumes were added up: expected one device, found the sums of several; add I/Os before beside";
    Fault::new(Exit::Usage, text)
}
