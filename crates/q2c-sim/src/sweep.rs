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
/// `uring`, and ten fixed sleeps up to the median latency `p50`.
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

/// The outcomes between which those of all rules lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Of classic polling.
    pub poll: SimOutcome,
    /// Of the oracle, which knows every latency.
    pub oracle: SimOutcome,
}

impl<'a> Configuration<'a> {
    /// In a closed loop.
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

    /// Simulates interrupts; `None` where the costs do not have theirs.
    pub fn interrupts(&self) -> Option<SimOutcome> {
        let known = self.cost.interrupt_cpu_ns > 0.0;
        known.then(|| self.simulate(Waiting::interrupt(self.lanes.len())))
    }

    /// Simulates one way of waiting by the reference simulator, with the panics of
    /// [`simulate_with`].
    pub fn simulate(&self, waiting: Waiting) -> SimOutcome {
        simulate_with(self.arrival, self.lanes, self.cost, waiting, self.drive)
    }
}

/// The outcomes of all policies in their order, whatever the number of cores. In a closed loop,
/// policies go through the trace by the [`Batch`] where it holds enough of them, else each alone,
/// sixteen I/Os at a time; times are whole nanoseconds, percentiles the middles of classes 1.6 %
/// wide. The reference simulator takes the rest.
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

/// Sleeps computed from the latencies may come near the longest that a [`Batch`] holds.
fn may_sleep_long(lane: &LaneRecording) -> bool {
    let far = (LONGEST / 2) as f32;
    lane.wait.iter().any(|&wait| wait > far)
}

fn is_plain_loop(on: &Configuration<'_>) -> bool {
    let ends = !on.lanes.is_empty() && !on.lanes.iter().any(takes_no_time);
    ends && on.arrival == Arrival::Think
}

/// `None` when the recording has times that are too long for a batch.
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

/// The machine gave no threads to simulate on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "start the threads that simulate, one for each CPU: {0}; end other programs, raise the limit of tasks (ulimit -u, \
     pids.max), or ask for fewer threads by RAYON_NUM_THREADS"
)]
pub struct ThreadsError(String);

/// Starts the threads, which all simulations of the process share. Without this call the first
/// sweep starts them, and panics where the machine gives none.
///
/// # Errors
/// The machine gives none.
pub fn start_threads() -> Result<(), ThreadsError> {
    static STARTED: OnceLock<Result<(), ThreadsError>> = OnceLock::new();
    let start = || match ThreadPoolBuilder::new().build_global() {
        // An error of the system has a source. Any other says that the threads are there already.
        Err(error) if error.source().is_some() => Err(ThreadsError(error.to_string())),
        _ => Ok(()),
    };
    STARTED.get_or_init(start).clone()
}
