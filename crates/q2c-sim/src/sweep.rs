//! Sweeps: many configurations over the same recording, on all cores.

use crate::batch::{AloneSimulator, Batch, LONGEST};
use crate::closed::{Arrival, Drive, simulate_with, takes_no_time};
use crate::outcome::SimOutcome;
use crate::recording::LaneRecording;
use crate::waiting::Waiting;
use q2c_model::{CostModel, Nanos};
use q2c_policy::PolicySpec;
use rayon::prelude::*;

/// The cells of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// In the order of the cells.
    pub policies: Vec<PolicySpec>,
}

const RATIOS: std::ops::RangeInclusive<u32> = 1..=19;
const PERIODS_MS: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

impl Grid {
    /// The standard grid: `mean` and `min` over ratios of 5 to 95 % and periods of 1 to 200 ms,
    /// `pas`, `uring`, and ten fixed sleeps up to the median latency `p50`.
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
    pub lanes: &'a [LaneRecording],
    /// The costs of the machine.
    pub cost: &'a CostModel,
    /// How long to simulate, and the seed.
    pub drive: Drive,
    /// Closed or open loop.
    pub arrival: Arrival,
}

/// The outcomes between which those of all rules lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Of classic polling.
    pub poll: SimOutcome,
    /// Of the oracle, which knows every latency.
    pub oracle: SimOutcome,
}

impl Configuration<'_> {
    /// Simulates classic polling and the oracle.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        let poll = || match machine(self) {
            Some(machine) => machine.poll(),
            None => self.simulate(Waiting::poll(self.lanes.len())),
        };
        let (poll, oracle) = rayon::join(poll, || self.simulate(Waiting::Oracle));
        Bounds { poll, oracle }
    }

    /// Simulates interrupts; `None` where the costs do not have theirs.
    #[must_use]
    pub fn interrupts(&self) -> Option<SimOutcome> {
        let known = self.cost.interrupt_cpu_ns > 0.0;
        known.then(|| self.simulate(Waiting::interrupt(self.lanes.len())))
    }

    /// Simulates one way of waiting by the reference simulator, with the panics of
    /// [`simulate_with`].
    #[must_use]
    pub fn simulate(&self, waiting: Waiting) -> SimOutcome {
        simulate_with(self.arrival, self.lanes, self.cost, waiting, self.drive)
    }
}

/// The outcomes of all policies in their order, whatever the number of cores. In a closed loop,
/// policies go through the trace by the [`Batch`] where it holds enough of them, else each alone,
/// sixteen I/Os at a time; times are whole nanoseconds, percentiles the middles of classes 1.6 %
/// wide. The reference simulator takes the rest.
#[must_use]
pub fn sweep(policies: &[PolicySpec], on: &Configuration<'_>) -> Vec<SimOutcome> {
    let holds = in_step(policies, on);
    let policies_where = |in_step: bool| -> Vec<&PolicySpec> {
        let some = policies
            .iter()
            .zip(&holds)
            .filter(|(_, holds)| **holds == in_step);
        some.map(|(policy, _)| policy).collect()
    };
    let (some, others) = (policies_where(true), policies_where(false));
    let (some, others) = rayon::join(|| together(&some, on), || apart(&others, on));
    let (mut some, mut others) = (some.into_iter(), others.into_iter());
    let next = |in_step| if in_step { some.next() } else { others.next() };
    let known: Vec<_> = holds.into_iter().map(next).collect();
    let one = |(policy, known): (&PolicySpec, Option<Option<SimOutcome>>)| {
        let known = known.flatten();
        known.unwrap_or_else(|| alone(policy, on))
    };
    policies.par_iter().zip(known).map(one).collect()
}

const ENOUGH: usize = 8;

fn in_step(policies: &[PolicySpec], on: &Configuration<'_>) -> Vec<bool> {
    let none = || vec![false; policies.len()];
    let [lane] = on.lanes else {
        return none();
    };
    if !is_plain_loop(on) || lane.first_at != 0.0 {
        return none();
    }
    let holds = Batch::holds(policies, on.cost);
    let few = holds.iter().filter(|holds| **holds).count() < ENOUGH;
    if few || may_sleep_long(lane) {
        none()
    } else {
        holds
    }
}

/// Sleeps computed from the latencies may come near the longest that a [`Batch`] holds.
fn may_sleep_long(lane: &LaneRecording) -> bool {
    let far = (LONGEST / 2) as f32;
    lane.wait.iter().any(|&wait| wait > far)
}

fn is_plain_loop(on: &Configuration<'_>) -> bool {
    let ends = !on.lanes.is_empty() && !on.lanes.iter().any(takes_no_time);
    ends && on.arrival == Arrival::Think
}

/// `None` for all of them when the recording has times that are too long for a batch.
fn together(policies: &[&PolicySpec], on: &Configuration<'_>) -> Vec<Option<SimOutcome>> {
    match batch(policies, on) {
        Some(known) => known.into_iter().map(Some).collect(),
        None => vec![None; policies.len()],
    }
}

fn batch(policies: &[&PolicySpec], on: &Configuration<'_>) -> Option<Vec<SimOutcome>> {
    let [lane] = on.lanes else {
        return None;
    };
    let policies: Vec<PolicySpec> = policies.iter().copied().cloned().collect();
    if policies.is_empty() {
        return None;
    }
    let mut batch = Batch::new(&policies, on.cost, on.drive, true).ok()?;
    batch.feed(lane).ok()?;
    while on.drive.measure != Drive::ONE_PASS && !batch.is_done() {
        batch.feed(lane).ok()?;
    }
    Some(batch.finish())
}

fn machine<'a>(on: &Configuration<'a>) -> Option<AloneSimulator<'a>> {
    is_plain_loop(on).then(|| AloneSimulator::new(on.lanes, on.cost, on.drive))?
}

fn apart(policies: &[&PolicySpec], on: &Configuration<'_>) -> Vec<Option<SimOutcome>> {
    let machine = if policies.is_empty() {
        None
    } else {
        machine(on)
    };
    let none = || vec![None; policies.len()];
    machine.map_or_else(none, |machine| machine.simulate(policies))
}

fn alone(policy: &PolicySpec, on: &Configuration<'_>) -> SimOutcome {
    on.simulate(Waiting::rules(policy.build(on.lanes.len())))
}
