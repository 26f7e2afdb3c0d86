//! Sweeps: many configurations over the same recording, all cores.

use crate::batch::{Batch, BatchError};
use crate::closed::{Arrival, Drive, Method, simulate_with};
use crate::outcome::Outcome;
use crate::recording::Recording;
use q2c_model::{CostModel, Nanos};
use q2c_policy::PolicySpec;
use rayon::prelude::*;

/// What a sweep tries.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Rules, each with its parameters set.
    pub policies: Vec<PolicySpec>,
}

/// Ratios of the mean and the minimum, in percent.
const RATIOS: std::ops::RangeInclusive<u32> = 1..=19;
/// Update periods, ms.
const PERIODS_MS: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

impl Grid {
    /// The standard grid: mean and min over ratios 5..95 % and periods 1..200 ms, the other rules as they come, and
    /// fixed sleeps up to the median latency `p50`.
    ///
    /// # Panics
    /// When a rule of the registry does not take its own text: a fault of q2c.
    #[must_use]
    pub fn standard(p50: Nanos) -> Self {
        let windowed = ["mean", "min"].iter().flat_map(|rule| {
            PERIODS_MS.iter().flat_map(move |period| {
                RATIOS.map(move |step| format!("{rule}:ratio={}%,period={period}ms", step * 5))
            })
        });
        let feedback = ["pas", "uring"].map(str::to_owned);
        let fixed = (1..=10).map(|tenth| format!("fixed:{}ns", (p50.0 * tenth / 10).max(1)));
        let parse = |text: String| text.parse().expect("the grid's own texts are valid");
        Grid {
            policies: windowed.chain(feedback).chain(fixed).map(parse).collect(),
        }
    }
}

/// One configuration and what it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepCell {
    /// The rule with its parameters.
    pub policy: PolicySpec,
    /// What it gives.
    pub outcome: Outcome,
}

/// One recording and how to replay it.
pub struct Configuration<'a> {
    /// The lanes.
    pub lanes: &'a [Recording],
    /// Costs.
    pub cost: &'a CostModel,
    /// How long.
    pub drive: Drive,
    /// When submissions come.
    pub arrival: Arrival,
}

/// Simulates every policy of the grid, in the grid's order. The answer does not depend on the number of cores.
///
/// A single lane replayed once in a closed loop goes through the batch engine, where it holds the rule; everything else through
/// the reference simulator. The two agree as the batch's tests say.
#[must_use]
pub fn sweep(grid: &Grid, on: &Configuration<'_>) -> Vec<SweepCell> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; grid.policies.len()];
    in_one_pass(grid, on, &mut outcomes);
    let one = |(policy, outcome): (&PolicySpec, Option<Outcome>)| SweepCell {
        policy: policy.clone(),
        outcome: outcome.unwrap_or_else(|| alone(policy, on)),
    };
    let each = grid.policies.par_iter().zip(outcomes);
    each.map(one).collect()
}

fn alone(policy: &PolicySpec, on: &Configuration<'_>) -> Outcome {
    let rules = Method::Hybrid(policy.build(on.lanes.len()));
    simulate_with(on.arrival, on.lanes, on.cost, rules, on.drive)
}

/// Fills in what the batch engine can do; leaves everything to the reference simulator when it refuses.
fn in_one_pass(grid: &Grid, on: &Configuration<'_>, outcomes: &mut [Option<Outcome>]) {
    let once = on.drive.measure == Drive::ONE_PASS && on.arrival == Arrival::Think;
    let ([lane], true) = (on.lanes, once) else {
        return;
    };
    let held = (0..outcomes.len()).filter(|&i| Batch::holds(&grid.policies[i], on.cost));
    let held: Vec<usize> = held.collect();
    let policies: Vec<PolicySpec> = held.iter().map(|&i| grid.policies[i].clone()).collect();
    let run = || -> Result<Vec<Outcome>, BatchError> {
        let mut batch = Batch::new(&policies, on.cost, on.drive, true)?;
        batch.feed(lane)?;
        Ok(batch.finish())
    };
    for (i, outcome) in held.into_iter().zip(run().into_iter().flatten()) {
        outcomes[i] = Some(outcome);
    }
}
