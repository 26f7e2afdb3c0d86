//! Fewer misses and less CPU than Linux's rule, together: the open question of the published work.

use crate::poll_study::Ranked;
use crate::sweep::SimulatedCells;
use q2c_policy::{LINUX, PolicySpec};
use q2c_result::poll_search::{Both, Figures};
use q2c_sim::{SimOutcome, sweep};

/// For each pattern, those within the limits that better Linux's rule in both.
pub(super) fn by_pattern(ranked: &Ranked<'_>, cells: &SimulatedCells, held_out: bool) -> Vec<Both> {
    let on_trace = |(pattern, trace)| {
        let linux: PolicySpec = LINUX.parse().expect("Linux's rule is in the registry");
        let linux = sweep(&[linux], &ranked.study.configuration_on(trace))[0];
        Both {
            held_out,
            ..both_on(ranked, pattern, &linux, &cells.outcomes[pattern])
        }
    };
    ranked
        .study
        .traces
        .iter()
        .enumerate()
        .map(on_trace)
        .collect()
}

fn both_on(
    ranked: &Ranked<'_>,
    pattern: usize,
    linux: &SimOutcome,
    outcomes: &[SimOutcome],
) -> Both {
    let theirs = &linux.gives.rates;
    let better = |&c: &usize| {
        let rates = &outcomes[ranked.policies[c]].gives.rates;
        let kept = ranked.kept[c][pattern].is_some();
        kept && rates.miss_rate < theirs.miss_rate && rates.cpu_pct < theirs.cpu_pct
    };
    let better: Vec<usize> = (0..ranked.policies.len()).filter(better).collect();
    let cpu = |c: &usize| outcomes[ranked.policies[*c]].gives.rates.cpu_pct;
    let least = better.iter().min_by(|a, b| cpu(a).total_cmp(&cpu(b)));
    Both {
        pattern: ranked.patterns[pattern].name.clone(),
        held_out: false,
        tried: ranked.policies.len(),
        linux: linux.gives,
        configurations: better.len(),
        least: least.map(|&c| Figures {
            policy: ranked.policy(c).to_string(),
            gives: outcomes[ranked.policies[c]].gives,
        }),
    }
}
