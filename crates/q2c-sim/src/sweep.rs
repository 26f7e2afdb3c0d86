//! Sweeps: many configurations over the same recording, on all cores.

use crate::batch::{AloneSimulator, Batch, LONGEST};
use crate::closed::{Arrival, Drive, Waiting, simulate_with, takes_no_time};
use crate::outcome::SimOutcome;
use crate::recording::LaneRecording;
use q2c_model::{CostModel, Nanos};
use q2c_policy::PolicySpec;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::error::Error as _;
use std::sync::OnceLock;
use thiserror::Error;

const RATIOS: std::ops::RangeInclusive<u32> = 1..=19;
const PERIODS_MS: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

/// The standard grid: `mean` and `min` over ratios of 5 to 95 % and periods of 1 to 200 ms, `pas`,
/// `uring`, and ten fixed sleeps in tenths of the median latency `p50`.
pub fn standard_grid(p50: Nanos) -> Vec<PolicySpec> {
    let windowed = ["mean", "min"].iter().flat_map(|rule| {
        PERIODS_MS.iter().flat_map(move |period| {
            RATIOS.map(move |step| format!("{rule}:ratio={}%,period={period}ms", step * 5))
        })
    });
    let feedback = ["pas", "uring"].map(str::to_owned);
    let fixed = (1..=10).map(|tenth| format!("fixed:{}ns", (p50.0 * tenth / 10).max(1)));
    let parse = |text: String| text.parse().expect("the grid's own texts are valid");
    windowed.chain(feedback).chain(fixed).map(parse).collect()
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

/// The outcomes of the two bounds between which the outcomes of all rules lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The outcome of classic polling.
    pub poll: SimOutcome,
    /// The outcome of the oracle, which knows every latency.
    pub oracle: SimOutcome,
}

impl<'a> Configuration<'a> {
    /// A configuration that is replayed in a closed loop.
    pub fn closed(lanes: &'a [LaneRecording], cost: &'a CostModel, drive: Drive) -> Self {
        let arrival = Arrival::Think;
        Configuration {
            lanes,
            cost,
            drive,
            arrival,
        }
    }

    /// Simulates classic polling and the oracle.
    pub fn bounds(&self) -> Bounds {
        let poll = || match machine(self) {
            Some(machine) => machine.poll(),
            None => self.simulate(Waiting::poll(self.lanes.len())),
        };
        let (poll, oracle) = rayon::join(poll, || self.simulate(Waiting::Oracle));
        Bounds { poll, oracle }
    }

    /// Simulates interrupts; `None` if the costs of interrupts are not known.
    pub fn interrupts(&self) -> Option<SimOutcome> {
        let known = self.cost.interrupt_cpu_ns > 0.0;
        known.then(|| self.simulate(Waiting::interrupt(self.lanes.len())))
    }

    /// Simulates one way of waiting with the reference simulator. Panics as [`simulate_with`] does.
    pub fn simulate(&self, waiting: Waiting) -> SimOutcome {
        simulate_with(self.arrival, self.lanes, self.cost, waiting, self.drive)
    }
}

/// Simulates all policies; the outcomes are in their order and do not depend on the number of
/// cores. In a closed loop, the [`Batch`] takes the policies if it can hold enough of them; else
/// each runs alone, sixteen I/Os at a time. Times are then whole nanoseconds, percentiles the
/// middles of classes 1.6 % wide. The reference simulator takes the rest.
pub fn sweep(policies: &[PolicySpec], on: &Configuration<'_>) -> Vec<SimOutcome> {
    let in_step = in_step(policies, on);
    let policies_where = |which: bool| -> Vec<&PolicySpec> {
        let some = policies.iter().zip(&in_step);
        let some = some.filter(|(_, in_step)| **in_step == which);
        some.map(|(policy, _)| policy).collect()
    };
    let (some, others) = (policies_where(true), policies_where(false));
    let (some, others) = rayon::join(|| together(&some, on), || apart(&others, on));
    let (mut some, mut others) = (some.into_iter().flatten(), others.into_iter().flatten());
    let next = |in_step| {
        if in_step {
            some.next()
        } else {
            others.next().flatten()
        }
    };
    let known: Vec<Option<SimOutcome>> = in_step.into_iter().map(next).collect();
    let one = |(policy, known): (&PolicySpec, Option<SimOutcome>)| {
        known.unwrap_or_else(|| on.simulate(Waiting::rules(policy.build(on.lanes.len()))))
    };
    policies.par_iter().zip(known).map(one).collect()
}

/// Fewest configurations for which a [`Batch`] is used; its groups hold sixteen.
const ENOUGH: usize = 8;

fn in_step(policies: &[PolicySpec], on: &Configuration<'_>) -> Vec<bool> {
    if let [lane] = on.lanes
        && is_plain_loop(on)
        && lane.first_at == 0.0
        && !may_sleep_long(lane)
    {
        let holds = Batch::holds(policies, on.cost);
        if holds.iter().filter(|holds| **holds).count() >= ENOUGH {
            return holds;
        }
    }
    vec![false; policies.len()]
}

/// True if sleeps computed from these latencies may come near the longest of a [`Batch`].
fn may_sleep_long(lane: &LaneRecording) -> bool {
    let far = (LONGEST / 2) as f32;
    lane.wait.iter().any(|&wait| wait > far)
}

fn is_plain_loop(on: &Configuration<'_>) -> bool {
    let ends = !on.lanes.is_empty() && !on.lanes.iter().any(takes_no_time);
    ends && on.arrival == Arrival::Think
}

/// Returns `None` if the recording has times that are too long for a batch.
fn together(policies: &[&PolicySpec], on: &Configuration<'_>) -> Option<Vec<SimOutcome>> {
    let lane = on.lanes.first().filter(|_| !policies.is_empty())?;
    let policies: Vec<PolicySpec> = policies.iter().copied().cloned().collect();
    let mut batch = Batch::new(&policies, on.cost, on.drive, true)?;
    batch.feed(lane)?;
    while on.drive.measure != Drive::ONE_PASS && !batch.is_done() {
        batch.feed(lane)?;
    }
    Some(batch.finish())
}

fn machine<'a>(on: &Configuration<'a>) -> Option<AloneSimulator<'a>> {
    is_plain_loop(on).then(|| AloneSimulator::new(on.lanes, on.cost, on.drive))?
}

fn apart(policies: &[&PolicySpec], on: &Configuration<'_>) -> Option<Vec<Option<SimOutcome>>> {
    let machine = (!policies.is_empty()).then(|| machine(on))??;
    Some(machine.simulate(policies))
}

/// The threads that simulate could not be started.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "start the threads that simulate, one for each CPU: {0}; end other programs, raise the limit of tasks (ulimit -u, \
     pids.max), or ask for fewer threads by RAYON_NUM_THREADS"
)]
pub struct ThreadsError(String);

/// Starts the threads that all simulations of the process share. Without this call the first sweep
/// starts them, and panics if the system refuses.
///
/// # Errors
/// Fails if the system refuses to start the threads.
pub fn start_threads() -> Result<(), ThreadsError> {
    static STARTED: OnceLock<Result<(), ThreadsError>> = OnceLock::new();
    let start = || match ThreadPoolBuilder::new().build_global() {
        // Errors of the system have a source. Any other error says that the threads exist already.
        Err(error) if error.source().is_some() => Err(ThreadsError(error.to_string())),
        _ => Ok(()),
    };
    STARTED.get_or_init(start).clone()
}
