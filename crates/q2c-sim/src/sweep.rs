//! Sweeps: many configurations over the same recording, on all cores.

use crate::batch::{Batch, MAX_SLEEP_NS, SingleSimulator};
use crate::outcome::SimOutcome;
use crate::recording::LaneRecording;
use crate::reference::{Arrival, Drive, Waiting, simulate_with, takes_no_time};
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
    pub fn closed_loop(lanes: &'a [LaneRecording], cost: &'a CostModel, drive: Drive) -> Self {
        let arrival = Arrival::ClosedLoop;
        Configuration {
            lanes,
            cost,
            drive,
            arrival,
        }
    }

    /// Simulates classic polling and the oracle.
    pub fn bounds(&self) -> Bounds {
        let poll = || match self.single_simulator() {
            Some(simulator) => simulator.poll(),
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
/// middles of classes 1.6 % wide. The reference simulator takes all others.
pub fn sweep(policies: &[PolicySpec], configuration: &Configuration<'_>) -> Vec<SimOutcome> {
    let in_batch = configuration.fitting_batch(policies);
    let select = |batch: bool| -> Vec<&PolicySpec> {
        let indices = (0..policies.len()).filter(|&i| in_batch[i] == batch);
        indices.map(|i| &policies[i]).collect()
    };
    let (batch, singles) = rayon::join(
        || configuration.simulate_batch(&select(true)),
        || configuration.simulate_singles(&select(false)),
    );
    let (mut batch, mut singles) = (batch.into_iter().flatten(), singles.into_iter().flatten());
    let next = |&in_batch: &bool| {
        let mut single = || singles.next().flatten();
        if in_batch { batch.next() } else { single() }
    };
    let outcomes: Vec<Option<SimOutcome>> = in_batch.iter().map(next).collect();
    let complete = |(policy, outcome): (&PolicySpec, Option<SimOutcome>)| {
        let rules = || Waiting::rules(policy.build(configuration.lanes.len()));
        outcome.unwrap_or_else(|| configuration.simulate(rules()))
    };
    policies.par_iter().zip(outcomes).map(complete).collect()
}

/// Fewest configurations for which a [`Batch`] is used; its groups hold sixteen.
const MIN_BATCH: usize = 8;

impl<'a> Configuration<'a> {
    fn fitting_batch(&self, policies: &[PolicySpec]) -> Vec<bool> {
        // Sleeps computed from these latencies may come near the longest of a batch.
        let is_long = |wait: &f32| *wait > (MAX_SLEEP_NS / 2) as f32;
        if let [lane] = self.lanes
            && self.is_plain_loop()
            && lane.first_at == 0.0
            && !lane.wait.iter().any(is_long)
        {
            let fits = Batch::fits(policies, self.cost);
            if fits.iter().filter(|fits| **fits).count() >= MIN_BATCH {
                return fits;
            }
        }
        vec![false; policies.len()]
    }

    fn is_plain_loop(&self) -> bool {
        let advances = !self.lanes.is_empty() && !self.lanes.iter().any(takes_no_time);
        advances && self.arrival == Arrival::ClosedLoop
    }

    /// Returns `None` if the recording has times that are too long for a batch.
    fn simulate_batch(&self, policies: &[&PolicySpec]) -> Option<Vec<SimOutcome>> {
        let lane = self.lanes.first().filter(|_| !policies.is_empty())?;
        let policies: Vec<PolicySpec> = policies.iter().copied().cloned().collect();
        let mut batch = Batch::new(&policies, self.cost, self.drive, true)?;
        batch.feed(lane)?;
        while self.drive.measure != Drive::ONE_PASS && !batch.is_done() {
            batch.feed(lane)?;
        }
        Some(batch.finish())
    }

    fn single_simulator(&self) -> Option<SingleSimulator<'a>> {
        let simulator = || SingleSimulator::new(self.lanes, self.cost, self.drive);
        self.is_plain_loop().then(simulator)?
    }

    fn simulate_singles(&self, policies: &[&PolicySpec]) -> Option<Vec<Option<SimOutcome>>> {
        let simulator = (!policies.is_empty()).then(|| self.single_simulator())??;
        Some(simulator.simulate(policies))
    }
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
