//! A machine with tasks under every policy, as a result.

mod figures;
mod published;
mod sensitivity;

pub use published::{BACKGROUND, setups};
pub(crate) use published::{
    COLOCATE_OVER_SPREAD_PCT, PROPOSED_OVER_FREE_PCT, PROPOSED_OVER_WORST_PCT,
};

use crate::latency::PollTimes;
use crate::map::SmtMap;
use crate::placement::{extremes, place_tasks};
use crate::rules::RunQueueCounts;
use crate::sim::CacheTerm;
use crate::speed::c_slowdown;
use figures::{PolicyRunInputs, SetupRuns};
use q2c_model::{Exit, Fault};
use q2c_result::Warning;
use q2c_result::place::{
    Gain, Phases, PlaceSimResult, PolicyName, PublishedFigure, PublishedGain, Queues, SCHEMA,
    Setup, Speeds, SpeedsFrom,
};
use strum::VariantArray;

/// A machine and its tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct SetupRequest {
    /// Physical cores.
    pub cores: u32,
    /// Logical CPUs of each core.
    pub threads: u32,
    /// Last-level caches.
    pub caches: u32,
    /// Number of C tasks.
    pub compute: u32,
    /// Number of P tasks.
    pub polling: u32,
    /// Work of a C task, seconds alone.
    pub work_s: f64,
    /// Phases of the C tasks.
    pub compute_phases: Option<Phases>,
    /// Phases of the P tasks.
    pub polling_phases: Option<Phases>,
    /// Phases of the background tasks, as many as logical CPUs; `None` without them.
    pub background: Option<Phases>,
    /// By how many tasks loads must differ for a move of the free balancer and the published rules.
    pub threshold: u32,
    /// Published figures, and whether the speeds were fitted to them.
    pub published: Vec<(PublishedFigure, f64, bool)>,
}

/// The machines to simulate, and the parameters of the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceStudyRequest {
    /// The machines.
    pub setups: Vec<SetupRequest>,
    /// Speeds beside neighbours.
    pub speeds: Speeds,
    /// The source of these speeds.
    pub speeds_from: SpeedsFrom,
    /// The term of the last-level cache.
    pub cache: Option<CacheTerm>,
    /// The rules whose gains are wanted.
    pub rules: PolicyName,
    /// True to repeat the simulation with other rates of background tasks and thresholds.
    pub sensitivity: bool,
    /// Times of polled I/O.
    pub poll: PollTimes,
    /// Number of starts of each policy that moves tasks.
    pub starts: u32,
    /// Seed of the starts.
    pub seed: u64,
}

const ASSUMPTION: &str =
    "gains are those of that machine; where CPUs are idle they also rest on an assumption";

/// Simulates every set-up under every policy.
///
/// # Errors
/// A set-up has no C task, or one did not end.
pub fn simulate(request: &PlaceStudyRequest) -> Result<PlaceSimResult, Fault> {
    let setups = request.setups.iter();
    let setups = setups.map(|setup| simulate_setup(setup, request));
    Ok(PlaceSimResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: 0,
        seed: request.seed,
        starts: request.starts,
        speeds: request.speeds,
        speeds_from: request.speeds_from.clone(),
        rules: request.rules,
        setups: setups.collect::<Result<_, _>>()?,
        warnings: Vec::from_iter(speeds_warning(&request.speeds_from, ASSUMPTION)),
    })
}

/// Warns of speeds that follow from published figures; `means` says what that does to the result.
pub(crate) fn speeds_warning(from: &SpeedsFrom, means: &str) -> Option<Warning> {
    let origin = "the speeds beside neighbours follow from published figures of another machine";
    let todo = "measure yours with q2c place calibrate, and name the file with --speeds";
    (*from == SpeedsFrom::Published)
        .then(|| Warning::new("speeds-not-measured", origin.to_owned(), means, todo))
}

fn simulate_setup(machine: &SetupRequest, request: &PlaceStudyRequest) -> Result<Setup, Fault> {
    if machine.compute == 0 {
        let text = "simulate placements: expected one computing task or more, found none; their run time is what placements are compared by";
        return Err(Fault::new(Exit::Usage, text));
    }
    let sizes = [machine.cores, machine.threads, machine.caches];
    let [cores, threads, caches] = sizes.map(|n| n as usize);
    let map = SmtMap::regular(cores, threads, caches);
    let inputs = PolicyRunInputs {
        map: &map,
        machine,
        request,
    };
    let runs = SetupRuns::of_policies(&inputs, PolicyName::VARIANTS)?;
    let mut setup = setup_result(&inputs, runs);
    if request.sensitivity {
        setup.sensitivity = sensitivity::points(&inputs, setup.c_time_unit)?;
    }
    Ok(setup)
}

fn setup_result(inputs: &PolicyRunInputs<'_>, runs: SetupRuns) -> Setup {
    let &PolicyRunInputs {
        map,
        machine,
        request,
    } = inputs;
    // The closed form is for tasks that never sleep, and for a machine without the cache's term.
    let constant = machine.compute_phases.is_none() && machine.polling_phases.is_none();
    let closed_form = constant && request.cache.is_none();
    let (cores, threads) = (machine.cores, machine.threads);
    let (compute, polling) = (machine.compute, machine.polling);
    let search = || extremes(map, compute, polling, &request.speeds);
    let extremes = if closed_form { search() } else { None };
    let (best, worst) = extremes.map(|e| (e.best, e.worst)).unzip();
    let [best_time, worst_time] =
        [&best, &worst].map(|extreme| extreme.as_ref().map(|(_, time)| *time));
    let unit = best_time.unwrap_or(1.0);
    let gain = |slower, faster| Gain::from_starts(runs.slowdowns(slower), runs.slowdowns(faster));
    let over_worst = |rules| {
        let worst = worst_time.map(|time| [time]);
        worst.map(|worst| Gain::from_starts(&worst, runs.slowdowns(rules)))
    };
    let published = |&(figure, published_pct, fitted): &(PublishedFigure, f64, bool)| {
        let simulated = match figure {
            PublishedFigure::ScatterOverBunch => gain(PolicyName::Bunch, PolicyName::Scatter),
            PublishedFigure::ColocateOverSpread => gain(PolicyName::Spread, PolicyName::Colocate),
            PublishedFigure::ProposedOverFree => {
                gain(PolicyName::Free, PolicyName::ProposedLiteral)
            }
            PublishedFigure::ProposedOverWorst => over_worst(PolicyName::ProposedLiteral)?,
        };
        Some(PublishedGain {
            figure,
            published_pct,
            simulated,
            rules: PolicyName::ProposedLiteral,
            fitted,
        })
    };
    let is_worst = |name: &PolicyName| {
        let placed = place_tasks(*name, map, compute, polling);
        let time = placed.and_then(|placed| c_slowdown(&request.speeds, &placed.tally(map)));
        time.zip(worst_time)
            .is_some_and(|(time, worst)| time >= worst * (1.0 - 1e-9))
    };
    let policy_names = PolicyName::VARIANTS.iter().copied();
    Setup {
        name: format!("{compute}c{polling}p-{cores}x{threads}"),
        cores,
        threads,
        caches: machine.caches,
        compute,
        polling,
        background: machine.background,
        threshold: machine.threshold,
        c_time: runs.c_times(unit, best_time, worst_time),
        c_time_unit: unit,
        gain_over_free_pct: gain(PolicyName::Free, request.rules),
        gain_over_worst_pct: over_worst(request.rules),
        fitted: machine.published.iter().any(|(_, _, fitted)| *fitted),
        best: best.map(|(queues, _)| queue_letters(map, &queues)),
        worst: worst.map(|(queues, _)| queue_letters(map, &queues)),
        worst_is: policy_names.filter(is_worst).collect(),
        published: machine.published.iter().filter_map(published).collect(),
        policies: runs.0.into_iter().map(|run| run.figures).collect(),
        sensitivity: Vec::new(),
    }
}

fn queue_letters(map: &SmtMap, queues: &[RunQueueCounts]) -> Queues {
    let queue = |cpu: &usize| queues[*cpu].letters();
    let core = |core| map.cpus_of(core).iter().map(queue).collect();
    (0..map.cores()).map(core).collect()
}

#[cfg(test)]
mod tests;
