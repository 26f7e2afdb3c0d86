//! A machine with tasks under every policy, as a result.

mod figures;
mod published;

pub use published::setups;
pub(crate) use published::{COLOCATE_OVER_SPREAD_PCT, PROPOSED_OVER_FREE_PCT};

pub(crate) use published::PROPOSED_OVER_WORST_PCT;

use crate::latency::PollTimes;
use crate::map::SmtMap;
use crate::placement::{Extremes, Placement, extremes};
use crate::rules::RunQueueCounts;
use crate::sim::{CacheTerm, Phases, Task};
use figures::{PolicyFigureSet, PolicyRunInputs};
use q2c_model::{Exit, Fault};
use q2c_result::Warning;
use q2c_result::place::{
    CTimes, Gain, PlaceSimResult, PolicyName, PublishedFigure, PublishedGain, Queues, SCHEMA,
    Setup, Speeds, SpeedsFrom,
};

/// A machine and its tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct SetupOf {
    /// Physical cores.
    pub cores: u32,
    /// Logical CPUs of each.
    pub threads: u32,
    /// Last-level caches.
    pub caches: u32,
    /// C tasks.
    pub compute: u32,
    /// P tasks.
    pub polling: u32,
    /// Work of a C task, seconds alone.
    pub work_s: f64,
    /// Phases of the C tasks.
    pub compute_phases: Option<Phases>,
    /// Phases of the P tasks.
    pub polling_phases: Option<Phases>,
    /// Published figures, and whether the speeds were fitted to them.
    pub published: Vec<(PublishedFigure, f64, bool)>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceStudyRequest {
    /// The machines.
    pub setups: Vec<SetupOf>,
    /// Speeds beside neighbours.
    pub speeds: Speeds,
    /// Where they are from.
    pub speeds_from: SpeedsFrom,
    /// The term of the last-level cache.
    pub cache: Option<CacheTerm>,
    /// Times of polled I/O.
    pub poll: PollTimes,
    /// Starts of each policy that moves tasks.
    pub starts: u32,
    /// Seed of the starts.
    pub seed: u64,
}

/// Simulates every set-up under every policy.
///
/// # Errors
/// A set-up has no C task, or one did not end.
pub fn simulate(request: &PlaceStudyRequest) -> Result<PlaceSimResult, Fault> {
    let setups = request
        .setups
        .iter()
        .map(|setup_of| setup(setup_of, request));
    Ok(PlaceSimResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: 0,
        seed: request.seed,
        starts: request.starts,
        speeds: request.speeds,
        speeds_from: request.speeds_from.clone(),
        setups: setups.collect::<Result<_, _>>()?,
        warnings: warnings(request),
    })
}

fn warnings(request: &PlaceStudyRequest) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if request.speeds_from == SpeedsFrom::Published {
        warnings.push(Warning::new(
            "speeds-not-measured",
            "the speeds beside neighbours follow from published figures of another machine"
                .to_owned(),
            "gains are those of that machine; where CPUs are idle they also rest on an assumption",
            "measure yours with q2c place calibrate, and name the file with --speeds",
        ));
    }
    warnings
}

fn setup(of: &SetupOf, request: &PlaceStudyRequest) -> Result<Setup, Fault> {
    if of.compute == 0 {
        let text = "simulate placements: expected one computing task or more, found none; their run time is what placements are compared by";
        return Err(Fault::new(Exit::Usage, text));
    }
    let map = SmtMap::regular(of.cores as usize, of.threads as usize, of.caches as usize);
    let task = |class: Task, phases| Task { phases, ..class };
    let compute = task(Task::compute(of.work_s), of.compute_phases);
    let polling = task(Task::polling(), of.polling_phases);
    let mut tasks = vec![compute; of.compute as usize];
    tasks.extend(vec![polling; of.polling as usize]);
    let runs = PolicyRunInputs {
        map: &map,
        tasks: &tasks,
        of,
        request,
    };
    let figures = runs.run_all()?;
    Ok(answer(of, request, &map, &figures))
}

fn answer(
    of: &SetupOf,
    request: &PlaceStudyRequest,
    map: &SmtMap,
    figures: &PolicyFigureSet,
) -> Setup {
    let extremes = extremes_of(of, request, map);
    let best = extremes.as_ref().map(|extremes| extremes.best.1);
    let worst = extremes.as_ref().map(|extremes| extremes.worst.1);
    let unit = best.unwrap_or(1.0);
    let time = |policy| figures.slowdown(policy);
    let proposed = time(PolicyName::Proposed);
    let gains = Gains {
        scatter_over_bunch: Gain::from_times(time(PolicyName::Bunch), time(PolicyName::Scatter)),
        colocate_over_spread: Gain::from_times(
            time(PolicyName::Spread),
            time(PolicyName::Colocate),
        ),
        over_free: Gain::from_times(time(PolicyName::Free), proposed),
        over_worst: worst.map(|worst| Gain::from_times(worst, proposed)),
    };
    Setup {
        name: format!("{}c{}p-{}x{}", of.compute, of.polling, of.cores, of.threads),
        cores: of.cores,
        threads: of.threads,
        caches: of.caches,
        compute: of.compute,
        polling: of.polling,
        c_time: CTimes {
            free: time(PolicyName::Free) / unit,
            bunch: time(PolicyName::Bunch) / unit,
            scatter: time(PolicyName::Scatter) / unit,
            colocate: time(PolicyName::Colocate) / unit,
            spread: time(PolicyName::Spread) / unit,
            worst: worst.map(|worst| worst / unit),
            best: best.map(|best| best / unit),
            proposed: proposed / unit,
            proposed_literal: time(PolicyName::ProposedLiteral) / unit,
            proposed_swap: time(PolicyName::ProposedSwap) / unit,
        },
        c_time_unit: unit,
        gain_over_free_pct: gains.over_free,
        gain_over_worst_pct: gains.over_worst,
        fitted: of.published.iter().any(|(_, _, fitted)| *fitted),
        policies: figures.policies(),
        best: extremes
            .as_ref()
            .map(|extremes| drawn(map, &extremes.best.0)),
        worst: extremes
            .as_ref()
            .map(|extremes| drawn(map, &extremes.worst.0)),
        worst_is: worst.map_or_else(Vec::new, |worst| as_bad(figures, worst)),
        published: published(of, &gains),
    }
}

/// Where tasks stay awake: a closed form has no sleeps, and none of the cache's term.
fn extremes_of(of: &SetupOf, request: &PlaceStudyRequest, map: &SmtMap) -> Option<Extremes> {
    let constant = of.compute_phases.is_none() && of.polling_phases.is_none();
    let plain = constant && request.cache.is_none();
    let search = || extremes(map, of.compute, of.polling, &request.speeds);
    plain.then(search).flatten()
}

fn as_bad(figures: &PolicyFigureSet, worst: f64) -> Vec<PolicyName> {
    let as_bad = |name: &PolicyName| figures.slowdown(*name) >= worst * (1.0 - 1e-9);
    figures::POLICIES
        .into_iter()
        .filter(|name| Placement::from_policy(*name).is_some())
        .filter(as_bad)
        .collect()
}

struct Gains {
    scatter_over_bunch: Gain,
    colocate_over_spread: Gain,
    over_free: Gain,
    over_worst: Option<Gain>,
}

fn published(of: &SetupOf, gains: &Gains) -> Vec<PublishedGain> {
    let beside = |&(figure, published_pct, fitted): &(PublishedFigure, f64, bool)| {
        let simulated = match figure {
            PublishedFigure::ScatterOverBunch => gains.scatter_over_bunch,
            PublishedFigure::ColocateOverSpread => gains.colocate_over_spread,
            PublishedFigure::ProposedOverFree => gains.over_free,
            PublishedFigure::ProposedOverWorst => gains.over_worst?,
        };
        Some(PublishedGain {
            figure,
            published_pct,
            simulated,
            fitted,
        })
    };
    of.published.iter().filter_map(beside).collect()
}

fn drawn(map: &SmtMap, queues: &[RunQueueCounts]) -> Queues {
    let queue = |cpu: &usize| {
        let counts = queues[*cpu];
        "P".repeat(counts.polling as usize) + &"C".repeat(counts.compute as usize)
    };
    let core = |core| map.cpus_of(core).iter().map(queue).collect();
    (0..map.cores()).map(core).collect()
}

#[cfg(test)]
mod tests;
