//! Sweeps: many configurations over the same recording, all cores.

use crate::batch::Batch;
use crate::closed::{Arrival, Drive, Method, simulate_with, takes_no_time};
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
/// The configurations of one lane in a closed loop go through in one pass where they can ([`Batch`]): times are then whole
/// nanoseconds, and percentiles the middles of classes 1.6 % wide.
#[must_use]
pub fn sweep(grid: &Grid, on: &Configuration<'_>) -> Vec<SweepCell> {
    let none = || vec![None; grid.policies.len()];
    let known = together(grid, on).unwrap_or_else(none);
    let one = |(policy, known): (&PolicySpec, Option<Outcome>)| SweepCell {
        policy: policy.clone(),
        outcome: known.unwrap_or_else(|| alone(policy, on)),
    };
    grid.policies.par_iter().zip(known).map(one).collect()
}

fn alone(policy: &PolicySpec, on: &Configuration<'_>) -> Outcome {
    let rules = Method::Hybrid(policy.build(on.lanes.len()));
    simulate_with(on.arrival, on.lanes, on.cost, rules, on.drive)
}

/// What the configurations that a batch holds give; `None` when there is no batch for this machine or recording.
fn together(grid: &Grid, on: &Configuration<'_>) -> Option<Vec<Option<Outcome>>> {
    let [lane] = on.lanes else {
        return None;
    };
    if takes_no_time(lane) || on.arrival != Arrival::Think {
        return None;
    }
    let holds = Batch::holds(&grid.policies, on.cost);
    let held = grid
        .policies
        .iter()
        .zip(&holds)
        .filter(|(_, holds)| **holds);
    let policies: Vec<PolicySpec> = held.map(|(policy, _)| policy.clone()).collect();
    let mut batch = Batch::new(&policies, on.cost, on.drive, true).ok()?;
    batch.feed(lane).ok()?;
    while on.drive.measure != Drive::ONE_PASS && !batch.is_done() {
        batch.feed(lane).ok()?;
    }
    let mut outcomes = batch.finish().into_iter();
    let next = |holds: bool| if holds { outcomes.next() } else { None };
    Some(holds.into_iter().map(next).collect())
}
