//! Sweeps: many configurations over the same recording, on all cores.

use crate::batch::{Batch, Machine};
use crate::closed::{Arrival, Drive, simulate_with, takes_no_time};
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::waiting::Waiting;
use q2c_model::{CostModel, Nanos};
use q2c_policy::PolicySpec;
use rayon::prelude::*;

/// The policies that a sweep simulates.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The policies, in the order of the cells.
    pub policies: Vec<PolicySpec>,
}

/// Ratios of the rules `mean` and `min`, in steps of 5 %.
const RATIOS: std::ops::RangeInclusive<u32> = 1..=19;
/// Update periods, ms.
const PERIODS_MS: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

impl Grid {
    /// The standard grid: `mean` and `min` over ratios of 5 to 95 % and periods of 1 to 200 ms,
    /// `pas` and `uring` with their defaults, and ten fixed sleeps up to the median latency `p50`.
    ///
    /// # Panics
    /// When a text of the grid is no policy, which would be a fault of q2c.
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

/// One recording, the machine's costs, and how to replay it.
pub struct Configuration<'a> {
    /// The recorded lanes, each of depth 1.
    pub lanes: &'a [Recording],
    /// The costs of the machine.
    pub cost: &'a CostModel,
    /// How long to simulate, and the seed.
    pub drive: Drive,
    /// Closed or open loop.
    pub arrival: Arrival,
}

impl Configuration<'_> {
    /// Simulates one way of waiting, by the reference simulator.
    ///
    /// # Panics
    /// When `waiting` has methods for fewer lanes than there are.
    #[must_use]
    pub fn simulate(&self, waiting: Waiting) -> Outcome {
        simulate_with(self.arrival, self.lanes, self.cost, waiting, self.drive)
    }
}

/// Simulates every policy and returns the outcomes in the same order. The outcomes do not depend on
/// the number of cores.
///
/// With one lane in a closed loop, the configurations that a [`Batch`] holds go through it in one
/// pass: their times are whole nanoseconds, and their percentiles the middles of classes 1.6 %
/// wide.
#[must_use]
pub fn sweep(policies: &[PolicySpec], on: &Configuration<'_>) -> Vec<Outcome> {
    let none = || vec![None; policies.len()];
    let mut known = together(policies, on).unwrap_or_else(none);
    at_their_own_pace(policies, on, &mut known);
    let one = |(policy, known): (&PolicySpec, Option<Outcome>)| {
        known.unwrap_or_else(|| alone(policy, on))
    };
    policies.par_iter().zip(known).map(one).collect()
}

/// Simulates the policies whose outcome is not known yet, as far as the batch can.
fn at_their_own_pace(
    policies: &[PolicySpec],
    on: &Configuration<'_>,
    known: &mut [Option<Outcome>],
) {
    let nothing = on.lanes.is_empty() || on.lanes.iter().any(takes_no_time);
    if nothing || on.arrival != Arrival::Think {
        return;
    }
    let Some(machine) = Machine::new(on.lanes, on.cost, on.drive) else {
        return;
    };
    let left = policies.iter().zip(known.iter_mut());
    let (left, places): (Vec<_>, Vec<_>) = left.filter(|(_, known)| known.is_none()).unzip();
    let outcomes = machine.simulate(&left);
    places
        .into_iter()
        .zip(outcomes)
        .for_each(|(place, outcome)| *place = outcome);
}

/// Simulates one policy with the reference simulator.
fn alone(policy: &PolicySpec, on: &Configuration<'_>) -> Outcome {
    on.simulate(Waiting::rules(policy.build(on.lanes.len())))
}

/// The outcomes of the policies that a batch holds, `None` for the others; `None` as a whole when
/// there is no batch for this machine or recording.
fn together(policies: &[PolicySpec], on: &Configuration<'_>) -> Option<Vec<Option<Outcome>>> {
    let [lane] = on.lanes else {
        return None;
    };
    if takes_no_time(lane) || on.arrival != Arrival::Think || lane.first_at != 0.0 {
        return None;
    }
    let holds = Batch::holds(policies, on.cost);
    let held = policies.iter().zip(&holds).filter(|(_, holds)| **holds);
    let held: Vec<PolicySpec> = held.map(|(policy, _)| policy.clone()).collect();
    let mut batch = Batch::new(&held, on.cost, on.drive, true).ok()?;
    batch.feed(lane).ok()?;
    while on.drive.measure != Drive::ONE_PASS && !batch.is_done() {
        batch.feed(lane).ok()?;
    }
    let mut outcomes = batch.finish().into_iter();
    let next = |holds: bool| if holds { outcomes.next() } else { None };
    Some(holds.into_iter().map(next).collect())
}
