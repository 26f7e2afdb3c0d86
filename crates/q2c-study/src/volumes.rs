//! The results of sweeps in parts, and the choice over several such results.

use super::{answer::eligible_policies, sweep::named_params};
use q2c_model::{Fault, Nanos};
use q2c_result::volumes::{
    BestOfVolumes, CHOICE_SCHEMA, OverallPolicy, SCHEMA, VolumesCell, VolumesChoice, VolumesResult,
    WithoutFigures,
};
use q2c_sim::answers::robust;
use q2c_sim::{Drive, Limits, Objective, ResumableSweep, SimOutcome, VolumeOutcomes};
use q2c_sim::{choose, scores};

/// The result of a finished sweep in parts.
pub fn volumes_result(state: &ResumableSweep) -> VolumesResult {
    let (drive, swept) = (state.drive(), state.finish());
    let mut result = VolumesResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        volumes: swept.volumes,
        ios: swept.ios,
        warm_up_ns: drive.warm_up,
        measure_ns: Some(drive.measure).filter(|measure| *measure != Drive::ONE_PASS),
        seed: drive.seed,
        poll_ios: swept.poll.ios,
        poll: swept.poll.gives,
        ..VolumesResult::default()
    };
    for (policy, outcome) in swept.policies.iter().zip(swept.outcomes) {
        match outcome {
            Some(SimOutcome { ios, gives }) => result.cells.push(VolumesCell {
                rule: policy.rule().name.to_owned(),
                policy: policy.to_string(),
                params: named_params(policy),
                ios,
                gives,
            }),
            None => result.inexact.push(WithoutFigures {
                policy: policy.to_string(),
                reason: format!(
                    "it asked for a sleep longer than {}, which a sweep in parts cannot hand over; sweep the whole",
                    Nanos(ResumableSweep::LONGEST_SLEEP_NS)
                ),
            }),
        }
    }
    result
}

/// Chooses over the results of several volumes with the same configurations. A share is a score
/// over the highest score within the limits on that volume. The best on average has the highest
/// mean share, and the best worst case the highest smallest share. Only configurations within the
/// limits on every volume count.
///
/// # Errors
/// Returns a fault without a state, for different configurations, or if no I/O counts on a volume.
pub fn choose_over(
    states: &[ResumableSweep],
    objective: Objective,
    limits: &Limits,
) -> Result<VolumesChoice, Fault> {
    let swept: Vec<VolumeOutcomes> = states.iter().map(ResumableSweep::finish).collect();
    let refused =
        |reason: String| Fault::usage(format_args!("choose over volumes: expected {reason}"));
    let no_sweep = || refused("one sweep or more, found none".to_owned());
    let first = swept.first().ok_or_else(no_sweep)?;
    let differs = |volume: &VolumeOutcomes| volume.policies != first.policies;
    if let Some(other) = swept.iter().position(differs) {
        return Err(refused(format!(
            "the configurations of the first sweep, found others in number {other}, counted from 0; sweep all volumes alike"
        )));
    }
    if let Some(empty) = swept.iter().find(|volume| volume.poll.ios == 0) {
        return Err(refused(format!(
            "I/Os behind the warm-up on each, found none on {}; give a shorter warm-up",
            empty.volumes.join(", ")
        )));
    }
    let policies = &first.policies;
    let mut best = Vec::new();
    let mut all_scores = Vec::new();
    for (state, volume) in states.iter().zip(&swept) {
        let eligible = volume.outcomes.iter().map(Option::is_some);
        let eligible = eligible.zip(eligible_policies(policies, state.cost()));
        let eligible: Vec<bool> = eligible.map(|(exact, may)| exact && may).collect();
        let cells = volume.outcomes.iter();
        let cells: Vec<_> = cells.map(|cell| cell.unwrap_or_default()).collect();
        let choice = choose(&cells, &eligible, &volume.poll, objective, limits);
        let floor_iops = choice.floor_iops;
        all_scores.push(scores(&cells, &eligible, objective, limits, floor_iops));
        best.push(BestOfVolumes {
            volumes: volume.volumes.clone(),
            policy: choice.best.map(|c| policies[c].to_string()),
            floor_iops,
            floor: choice.floor,
        });
    }
    let winners = robust(&all_scores);
    let overall = |(c, share): (usize, f64)| OverallPolicy {
        policy: policies[c].to_string(),
        share,
        regret: regret(&all_scores, c),
    };
    Ok(VolumesChoice {
        schema: CHOICE_SCHEMA.to_owned(),
        objective: objective.to_string(),
        limits: limits.in_words(),
        best,
        on_average: winners.map(|winners| overall(winners.on_average)),
        worst_case: winners.map(|winners| overall(winners.worst_case)),
    })
}

fn regret(scores: &[Vec<Option<f64>>], configuration: usize) -> f64 {
    let loss = |volume_scores: &Vec<Option<f64>>| {
        let best = volume_scores.iter().flatten().copied().fold(0.0, f64::max);
        volume_scores[configuration].map_or(1.0, |score| 1.0 - score / best)
    };
    scores.iter().map(loss).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{CostModel, Exit};
    use q2c_policy::{Io, PolicySpec};
    use q2c_sim::LaneRecording;

    /// Wake-ups take no time. A fixed sleep below the latency costs the rest of it as CPU time; a
    /// longer one makes each I/O as long as the sleep.
    fn volume(name: &str, wait: f32) -> ResumableSweep {
        let rules = ["fixed:10us", "fixed:18us", "fixed:30us"];
        let rules: Vec<PolicySpec> = rules.map(|text| text.parse().unwrap()).to_vec();
        let cost = CostModel::delayed(Nanos(0));
        let mut state = ResumableSweep::new(name, &rules, &cost, Drive::one_pass(1)).unwrap();
        let io = Io::READ_4K;
        let mut lane = LaneRecording::default();
        (0..100).for_each(|_| lane.push(io, 0.0, wait, 0.0));
        state.update(&lane).unwrap();
        state
    }

    /// At 20 us the sleeps leave 10 and 2 us of CPU, and the third misses the floor. At 40 us they
    /// leave 30, 22 and 10 us. I/Os per CPU second are the reciprocals, so the shares are 2/10 and
    /// 1, then 10/30, 10/22 and 1.
    #[test]
    fn the_shares_are_those_of_a_computation_by_hand() {
        let states = [volume("a", 20_000.0), volume("b", 40_000.0)];
        let limits = Limits::default();
        let choice = choose_over(&states, Objective::KiopsPerCore, &limits).unwrap();
        let best = choice.best.iter().map(|volume| volume.policy.as_deref());
        let best: Vec<_> = best.collect();
        assert_eq!(best, [Some("fixed:sleep=18us"), Some("fixed:sleep=30us")]);
        let (average, worst) = (choice.on_average.unwrap(), choice.worst_case.unwrap());
        assert_eq!(average.policy, "fixed:sleep=18us");
        assert!((average.share - (1.0 + 10.0 / 22.0) / 2.0).abs() < 1e-12);
        assert_eq!(worst.policy, "fixed:sleep=18us");
        assert!((worst.share - 10.0 / 22.0).abs() < 1e-12);
        assert!((worst.regret - 12.0 / 22.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let limits = Limits::default();
        let refused = |states: &[ResumableSweep], word: &str| {
            let fault = choose_over(states, Objective::Iops, &limits).unwrap_err();
            assert_eq!(fault.exit(), Exit::Usage);
            assert!(fault.message().contains(word), "{fault}");
        };
        refused(&[], "found none");
        let cost = CostModel::delayed(Nanos(0));
        let other = ResumableSweep::new("c", &["pas".parse().unwrap()], &cost, Drive::one_pass(1));
        let states = [volume("a", 20_000.0), other.unwrap()];
        refused(&states, "others in number 1");
        let rules = volume("a", 1.0).policies();
        let empty = ResumableSweep::new("d", &rules, &cost, Drive::one_pass(1)).unwrap();
        let states = [volume("a", 20_000.0), empty];
        refused(&states, "none on d");
    }
}
