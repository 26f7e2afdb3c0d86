//! The result of `q2c place sim`: schema `q2c.place-sim/1`.

use crate::Warning;
use q2c_model::parse_duration;
use q2c_model::stats::{mean, percentile, sorted};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.place-sim/1";

/// Simulated placements of polling (P) and computing (C) tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceSimResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds; 0 for the published set-ups, whose result is always the same.
    pub started_unix_s: u64,
    /// Seed of the random starts.
    pub seed: u64,
    /// Number of random starts of each policy that moves tasks.
    pub starts: u32,
    /// Share of its own speed that a task has beside each kind of neighbour.
    pub speeds: Speeds,
    /// The source of `speeds`.
    pub speeds_from: SpeedsFrom,
    /// The rules whose gains are `gain_over_free_pct` and `gain_over_worst_pct`.
    #[serde(default = "proposed")]
    pub rules: PolicyName,
    /// The set-ups.
    pub setups: Vec<Setup>,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

fn two() -> u32 {
    2
}

fn proposed() -> PolicyName {
    PolicyName::Proposed
}

/// Phases of a task, in turn. Each is drawn anew from an exponential distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Mean time on a CPU before it sleeps, seconds.
    pub runs_s: f64,
    /// Mean time of a sleep, seconds.
    pub sleeps_s: f64,
}

impl FromStr for Phases {
    type Err = String;

    /// Two durations with a slash between them, as `50ms/10ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected two durations such as 50ms/10ms, found `{text}`");
        let (runs, sleeps) = text.split_once('/').ok_or_else(wrong)?;
        let time = |text: &str| parse_duration(text.trim()).map_err(|e| e.to_string());
        let (runs, sleeps) = (time(runs)?, time(sleeps)?);
        if runs.0 == 0 || sleeps.0 == 0 {
            return Err(format!("expected durations above 0, found `{text}`"));
        }
        Ok(Phases {
            runs_s: runs.as_secs_f64(),
            sleeps_s: sleeps.as_secs_f64(),
        })
    }
}

/// Speed of a task beside another on its physical core, as a share of its speed alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speeds {
    /// A C task beside a C task.
    pub compute_beside_compute: f64,
    /// A C task beside a P task.
    pub compute_beside_polling: f64,
    /// A P task beside a C task.
    pub polling_beside_compute: f64,
    /// A P task beside a P task.
    pub polling_beside_polling: f64,
}

/// The source of the speeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeedsFrom {
    /// The published bunch and scatter figures; the speed of C beside C is assumed.
    Published,
    /// A file: written by hand or by a calibration.
    File(String),
}

/// A machine with tasks, and its figures under every policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Short name: `2c2p-2x2`.
    pub name: String,
    /// Physical cores.
    pub cores: u32,
    /// Logical CPUs of each core.
    pub threads: u32,
    /// Last-level caches.
    pub caches: u32,
    /// C tasks.
    pub compute: u32,
    /// P tasks.
    pub polling: u32,
    /// Phases of the background tasks, which compute and are as many as logical CPUs; `None`
    /// without them, as in older results.
    #[serde(default)]
    pub background: Option<Phases>,
    /// By how many tasks loads must differ for a move of the free balancer and the published rules;
    /// two with the swap step.
    #[serde(default = "two")]
    pub threshold: u32,
    /// Run times over that of the best placement; if that is unknown, over that of a lone C task.
    pub c_time: CTimes,
    /// The unit of `c_time`, as a multiple of the run time of a C task alone.
    pub c_time_unit: f64,
    /// The gain of the result's `rules` over the free balancer.
    pub gain_over_free_pct: Gain,
    /// The gain of the same rules over the worst placement; `None` if that is unknown.
    pub gain_over_worst_pct: Option<Gain>,
    /// True if the speeds were fitted to this set-up's published figures, false if predicted.
    pub fitted: bool,
    /// Figures of each policy.
    pub policies: Vec<PolicyFigures>,
    /// The best placement; `None` if there are too many to try.
    pub best: Option<Queues>,
    /// The worst placement; `None` if there are too many to try.
    pub worst: Option<Queues>,
    /// Named placements that are as bad as the worst.
    pub worst_is: Vec<PolicyName>,
    /// Published figures with the simulated ones.
    pub published: Vec<PublishedGain>,
    /// Run times by how often background tasks run and by the threshold; empty if not asked for.
    #[serde(default)]
    pub sensitivity: Vec<SensitivityPoint>,
}

/// Run times of C tasks with other rates of background tasks and another threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensitivityPoint {
    /// The rate at which background tasks run, over the set-up's.
    pub rate_factor: f64,
    /// See [`Setup::threshold`].
    pub threshold: u32,
    /// See [`CTimes::free`], in the same unit.
    pub free: f64,
    /// See [`CTimes::proposed_literal`].
    pub proposed_literal: f64,
    /// See [`CTimes::proposed`].
    pub proposed: f64,
}

/// The tasks of each logical CPU, grouped by core. A CPU's text has a `P` or `C` for each task.
pub type Queues = Vec<Vec<String>>;

/// Run times of C tasks by policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CTimes {
    /// A balancer like Linux's, which does not know of polling: the mean over the starts.
    pub free: f64,
    /// P tasks on both threads of as few cores as possible.
    pub bunch: f64,
    /// P tasks even over the cores, on any CPUs of them.
    pub scatter: f64,
    /// P tasks even over the cores, on one logical CPU of each.
    pub colocate: f64,
    /// P tasks even over all logical CPUs.
    pub spread: f64,
    /// The worst of all placements with nearly equal loads; `None` if there are too many to try.
    pub worst: Option<f64>,
    /// The best of those placements; `None` if there are too many to try.
    pub best: Option<f64>,
    /// The rules as daemon and scheduler use them: with the swap step unless it leaves a CPU idle.
    pub proposed: f64,
    /// The published rules alone, without the swap step.
    pub proposed_literal: f64,
    /// The rules with the swap step in every case.
    pub proposed_swap: f64,
}

/// A gain from run time T' to run time T, in both usual forms, percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// T' / T - 1.
    pub t_over_t_minus_1: f64,
    /// 1 - T / T'.
    pub one_minus: f64,
    /// `one_minus` of single starts: 95 % of them lie between these two. `None` where starts do not
    /// differ, and in older results.
    #[serde(default)]
    pub one_minus_range: Option<(f64, f64)>,
}

impl Gain {
    /// The gain of a shorter run time over a longer one.
    pub fn from_times(longer: f64, shorter: f64) -> Gain {
        Gain {
            t_over_t_minus_1: 100.0 * (longer / shorter - 1.0),
            one_minus: 100.0 * (1.0 - shorter / longer),
            one_minus_range: None,
        }
    }

    /// The gain between the means over starts, with the range of single starts. One start stands
    /// for all where a placement has no more.
    pub fn from_starts(longer: &[f64], shorter: &[f64]) -> Gain {
        let of_start = |n: usize| {
            let [longer, shorter] = [longer, shorter].map(|starts| starts[n % starts.len()]);
            Gain::from_times(longer, shorter).one_minus
        };
        let starts = longer.len().max(shorter.len());
        let single = sorted(&(0..starts).map(of_start).collect::<Vec<f64>>());
        let range = (percentile(&single, 0.025), percentile(&single, 0.975));
        Gain {
            one_minus_range: (range.0 < range.1).then_some(range),
            ..Gain::from_times(mean(longer), mean(shorter))
        }
    }
}

/// The policies of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::VariantArray)]
pub enum PolicyName {
    /// See [`CTimes::free`].
    Free,
    /// See [`CTimes::bunch`].
    Bunch,
    /// See [`CTimes::scatter`].
    Scatter,
    /// See [`CTimes::colocate`].
    Colocate,
    /// See [`CTimes::spread`].
    Spread,
    /// See [`CTimes::proposed_literal`].
    ProposedLiteral,
    /// See [`CTimes::proposed_swap`].
    ProposedSwap,
    /// See [`CTimes::proposed`].
    Proposed,
}

/// The figures of the tasks under a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyFigures {
    /// The policy.
    pub policy: PolicyName,
    /// Mean run time of the C tasks over the starts, as a multiple of that of a lone C task.
    pub c_slowdown: f64,
    /// The 2.5th percentile of `c_slowdown` over the starts.
    pub c_slowdown_low: f64,
    /// The 97.5th percentile of `c_slowdown` over the starts.
    pub c_slowdown_high: f64,
    /// I/Os of a P task as a share of those of a P task alone.
    pub p_bandwidth: f64,
    /// Latency of an I/O of the P tasks; `None` without P tasks.
    pub p_latency: Option<PollLatency>,
    /// Moves of tasks from one CPU to another, per start; background tasks are left out.
    pub migrations: f64,
    /// Shares of time by where the P tasks were.
    pub states: States,
}

/// Latencies of polled I/Os, us, as seen by a task that may lose its CPU meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PollLatency {
    /// Mean.
    pub mean_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
}

/// Shares of time by where the P tasks are, 0..1. The four are exclusive and add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct States {
    /// Even over the cores (a difference of one at most), on one logical CPU of each.
    pub colocate: f64,
    /// Even over the cores, on more than one CPU of some core.
    pub spread: f64,
    /// Not even over the cores, on more than one CPU of some core.
    pub bunch: f64,
    /// Not even over the cores, on one CPU of each that has any.
    pub heap: f64,
}

/// A published figure with the simulated one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedGain {
    /// The two placements that are compared.
    pub figure: PublishedFigure,
    /// The published mean, percent.
    pub published_pct: f64,
    /// The simulated gain.
    pub simulated: Gain,
    /// The rules whose gain over a balancer or a placement this is.
    #[serde(default = "proposed")]
    pub rules: PolicyName,
    /// True if the speeds were fitted to this figure.
    pub fitted: bool,
}

/// The published figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishedFigure {
    /// Scatter over bunch.
    ScatterOverBunch,
    /// Colocate over spread.
    ColocateOverSpread,
    /// The rules over the free balancer.
    ProposedOverFree,
    /// The rules over the worst placement.
    ProposedOverWorst,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_two_durations() {
        let parsed = |text: &str| text.parse::<Phases>();
        let phases = Phases {
            runs_s: 0.05,
            sleeps_s: 0.01,
        };
        assert_eq!(parsed("50ms/10ms"), Ok(phases));
        assert!(parsed("50ms").is_err());
        assert!(parsed("50ms/0ms").unwrap_err().contains("above 0"));
        assert!(parsed("50/x").is_err());
    }
}
