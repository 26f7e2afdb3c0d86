//! Verdicts on trials made by hand.

use q2c_advice::{
    AdviceDecision, Carry, Estimate, Goal, MethodContender, Noise, PollingBaseline, TrialFigures,
    decide,
};
use q2c_model::{Bytes, Rates};
use q2c_result::tune::{MethodName, OpenQuestion, Verdict};
use q2c_sim::{Limits, MinIops};

/// A method with these IOPS and KIOPS/core over polling's and miss rate; IOPS vary by 0.1 %.
fn contender(
    method: &str,
    (iops, per_core, miss_rate): (f64, f64, f64),
    trials: u32,
) -> MethodContender {
    let trial = |n: u32| {
        let iops = iops * (1.0 + 0.001 * (f64::from(n % 3) - 1.0));
        TrialFigures {
            rates: Rates {
                iops: 10_000.0 * iops,
                cpu_pct: 100.0 * iops / per_core,
                miss_rate,
                effective_sleep_ns: 20_000.0,
            },
            busy_cpus: Some(iops / per_core),
            p99_ns: 100_000.0,
            polling: PollingBaseline {
                iops: 10_000.0,
                cpu_pct: 100.0,
                busy_cpus: Some(1.0),
                thinks: false,
                ..PollingBaseline::default()
            },
            ..TrialFigures::default()
        }
    };
    MethodContender {
        method: method.parse().expect(method),
        trials: (0..trials).map(trial).collect(),
        carries: Vec::new(),
        belief: None,
    }
}

fn decide_for(contenders: &[MethodContender], goal: &Goal) -> AdviceDecision {
    decide(contenders, goal, &NOISE, 5)
}

fn default_decision(contenders: &[MethodContender]) -> AdviceDecision {
    decide_for(contenders, &Goal::default())
}

/// A method with five trials, as many as an answer needs here.
fn five(method: &str, figures: (f64, f64, f64)) -> MethodContender {
    contender(method, figures, 5)
}

fn goal_within(limits: Limits) -> Goal {
    Goal {
        limits,
        ..Goal::default()
    }
}

const NOISE: Noise = Noise {
    iops: 0.01,
    per_core: 0.01,
};

const MEAN: &str = "hybrid:mean:50%,100ms";
const MIN: &str = "hybrid:min:70%,10ms";
const FIXED: &str = "hybrid:fixed:20us";

#[test]
fn the_best_that_keeps_the_floor_wins_and_what_breaks_it_never_does() {
    let decision = default_decision(&[
        five("interrupt", (0.6, 3.0, 0.0)),
        five("poll", (1.0, 1.0, 0.0)),
        five(MEAN, (0.99, 1.3, 0.02)),
        five(MIN, (0.93, 1.8, 0.2)),
    ]);
    let expected = (Verdict::Rule, Some(2));
    assert_eq!((decision.verdict, decision.chosen), expected);
    assert_eq!(decision.floor, 0.97);
    assert!(decision.open.is_empty(), "{decision:?}");
}

/// Under a floor of 90 % of polling, the rule that saves more wins.
#[test]
fn a_floor_that_is_asked_for_is_the_floor() {
    let contenders = [five(MEAN, (0.99, 1.3, 0.02)), five(MIN, (0.93, 1.8, 0.2))];
    for min_iops in [MinIops::OfPolling(0.9), MinIops::Iops(9_000.0)] {
        let min_iops = Some(min_iops);
        let goal = goal_within(Limits {
            min_iops,
            ..Limits::default()
        });
        let decision = decide_for(&contenders, &goal);
        assert!((decision.floor - 0.9).abs() < 1e-9);
        assert_eq!(decision.chosen, Some(1));
    }
}

#[test]
fn interrupts_win_where_they_keep_the_floor() {
    let decision = default_decision(&[
        five("interrupt", (0.98, 4.0, 0.0)),
        five(MEAN, (0.99, 1.3, 0.02)),
    ]);
    let expected = (Verdict::Interrupt, Some(0));
    assert_eq!((decision.verdict, decision.chosen), expected);
}

/// Neither rule keeps 97 %: the one that loses less is named, and polling is the answer.
#[test]
fn a_trade_off_names_the_nearest() {
    let decision = default_decision(&[five(MEAN, (0.94, 1.5, 0.02)), five(MIN, (0.80, 1.9, 0.2))]);
    let expected = (Verdict::TradeOff, None);
    assert_eq!((decision.verdict, decision.chosen), expected);
    assert_eq!(decision.nearest, Some(0));
}

/// Interrupts keep 60 % at 1.3 times. A rule at 55 % and 1.15 times is not named; one at 94 % is.
#[test]
fn a_trade_off_names_interrupts_where_they_lose_less() {
    let interrupt = five("interrupt", (0.60, 1.3, 0.0));
    let worse = default_decision(&[interrupt.clone(), five(MEAN, (0.55, 1.15, 0.9))]);
    assert_eq!((worse.verdict, worse.nearest), (Verdict::TradeOff, Some(0)));
    let better = default_decision(&[interrupt, five(MEAN, (0.94, 1.15, 0.02))]);
    assert_eq!(better.nearest, Some(1));
}

/// Interrupts keep 70 % at 1.5 times, and are named whether the only rule gains 6 % or nothing.
#[test]
fn interrupts_that_gain_are_a_trade_off_beside_any_rule() {
    for per_core in [0.8, 1.06] {
        let rule = five(MEAN, (0.48, per_core, 1.0));
        let decision = default_decision(&[five("interrupt", (0.70, 1.5, 0.0)), rule]);
        let expected = (Verdict::TradeOff, Some(0));
        assert_eq!((decision.verdict, decision.nearest), expected);
    }
}

#[test]
fn without_gain_there_is_no_room() {
    let none = default_decision(&[five(MEAN, (0.99, 1.01, 0.02)), five(MIN, (0.5, 0.9, 1.0))]);
    assert_eq!((none.verdict, none.chosen), (Verdict::NoRoom, None));
    assert_eq!(default_decision(&[]).verdict, Verdict::Unverified);
}

/// 1 % better loses to a rule that follows the device; 30 % better wins, but names that rule.
#[test]
fn a_fixed_sleep_wins_only_where_it_is_plainly_better() {
    let rule = five(MEAN, (0.99, 1.30, 0.0));
    let near = default_decision(&[rule.clone(), five(FIXED, (0.99, 1.31, 0.0))]);
    assert_eq!(near.chosen, Some(0));
    let far = default_decision(&[rule, five(FIXED, (0.99, 1.7, 0.0))]);
    assert_eq!((far.chosen, far.following), (Some(1), Some(0)));
}

/// Every sleep costs 5 % here: a trade-off, and the floor is not lowered.
#[test]
fn what_any_sleep_costs_is_a_trade_off() {
    let decision = default_decision(&[
        five(MEAN, (0.95, 1.3, 0.0005)),
        five(MIN, (0.935, 1.8, 0.02)),
    ]);
    let expected = (Verdict::TradeOff, 0.97);
    assert_eq!((decision.verdict, decision.floor), expected);
    assert_eq!(decision.nearest, Some(1));
}

#[test]
fn limits_on_latency_and_cpu_are_kept() {
    let contenders = [five(MEAN, (0.99, 1.3, 0.02))];
    let verdict_under = |ns| {
        let max_p99_ns = Some(ns);
        let limits = Limits {
            max_p99_ns,
            ..Limits::default()
        };
        decide_for(&contenders, &goal_within(limits)).verdict
    };
    assert_eq!(verdict_under(150_000.0), Verdict::Rule);
    assert_eq!(verdict_under(50_000.0), Verdict::Limits);
}

/// Simulation outweighs one lucky trial, but not five trials that agree.
#[test]
fn simulation_lends_weight_but_does_not_outvote() {
    let known = |ratio: f64| Estimate {
        log: ratio.ln(),
        se: 0.003,
    };
    let believed = |trials| MethodContender {
        belief: Some((known(0.94), known(1.5))),
        ..contender(MIN, (0.98, 1.5, 0.1), trials)
    };
    let rule = five(MEAN, (0.985, 1.3, 0.0));
    for (trials, chosen) in [(1, 0), (5, 1)] {
        let decision = default_decision(&[rule.clone(), believed(trials)]);
        assert_eq!(decision.chosen, Some(chosen));
    }
}

/// 98.5 % times 0.94 for a missed state is 92.6 %: below the floor, so it is named, but not chosen.
#[test]
fn the_floor_is_kept_over_all_states_of_the_run() {
    let (iops, per_core) = (0.94, 1.0);
    let missed = MethodContender {
        carries: vec![Carry { iops, per_core }; 5],
        ..five(MEAN, (0.985, 1.5, 0.0))
    };
    let decision = default_decision(&[missed, five(MIN, (0.98, 1.3, 0.0))]);
    assert_eq!(decision.chosen, Some(1));
    let (index, [in_trials, over_run]) = decision.elsewhere.unwrap();
    assert_eq!((index, in_trials), (0, 0.985));
    assert!((over_run - 0.985 * 0.94).abs() < 1e-12, "{over_run}");
}

#[test]
fn the_answer_is_open_until_it_has_its_trials() {
    let few = default_decision(&[contender(MEAN, (0.99, 1.3, 0.02), 2)]);
    assert_eq!(few.open, [0]);
    let enough = default_decision(&[five(MEAN, (0.99, 1.3, 0.02))]);
    assert!(enough.open.is_empty());
}

/// With one trial each nothing has an interval. If no method is named, the answer concerns all
/// methods that sleep, and two trials of one of them settle it.
#[test]
fn single_trials_settle_nothing() {
    let with_trials = |trials: [u32; 3]| {
        [
            contender("interrupt", (0.98, 4.0, 0.0), trials[0]),
            contender("poll", (1.0, 1.0, 0.0), trials[1]),
            contender(MEAN, (0.99, 1.3, 0.02), trials[2]),
        ]
    };
    let outcome = |contenders: &[MethodContender]| {
        let decision = decide(contenders, &Goal::default(), &NOISE, 1);
        let result = decision.recommendation(Bytes(4096), contenders, &NOISE, "");
        (result.is_settled(), result.open.len(), result.undecided)
    };
    let single = |single, tried| vec![OpenQuestion::SingleTrials { single, tried }];
    assert_eq!(outcome(&with_trials([1, 1, 1])), (false, 1, single(2, 2)));
    assert_eq!(outcome(&with_trials([1, 1, 2])), (false, 1, single(1, 2)));
    assert_eq!(outcome(&with_trials([2, 1, 1])), (true, 0, vec![]));
    let no_room = |trials| [contender(MEAN, (0.99, 1.0, 0.02), trials)];
    assert_eq!(outcome(&no_room(1)).2, single(1, 1));
    assert!(outcome(&no_room(2)).2.is_empty());
}

/// Interrupts have between 62 and 151 % of polling's IOPS, so their share is unknown.
#[test]
fn a_floor_within_the_interval_settles_nothing() {
    let scattered = |ratios: &[f64]| {
        let trial = |iops| contender("interrupt", (iops, 14.0, 0.0), 2).trials[1];
        let contenders = [MethodContender {
            trials: ratios.iter().copied().map(trial).collect(),
            ..contender("interrupt", (1.0, 14.0, 0.0), 1)
        }];
        let decision = decide_for(&contenders, &Goal::default());
        let result = decision.recommendation(Bytes(4096), &contenders, &NOISE, "");
        (result.verdict, result.is_settled(), result.undecided)
    };
    let (verdict, settled, undecided) = scattered(&[0.62, 0.99, 1.2, 1.51, 1.1]);
    assert_eq!((verdict, settled), (Verdict::Interrupt, false));
    let [OpenQuestion::FloorWithin { min, max }] = undecided[..] else {
        panic!("{undecided:?}");
    };
    assert!((min - 0.62).abs() < 1e-9 && (max - 1.51).abs() < 1e-9);
    let settled = (Verdict::Interrupt, true, vec![]);
    assert_eq!(scattered(&[0.98, 0.99, 1.2, 1.51, 1.1]), settled);
    // One of eight is below the median by chance in 9 of 256 cases, one of seven in 16 of 256.
    let with_one_below = [0.62, 0.99, 1.2, 1.51, 1.1, 1.0, 1.0, 1.0];
    assert_eq!(scattered(&with_one_below), settled);
    assert!(!scattered(&with_one_below[..7]).1);
}

/// A run was stopped. Polling needs no trial, because it is measured in each trial's slices.
#[test]
fn methods_without_a_trial_are_named() {
    let contenders = [
        contender("interrupt", (0.98, 4.0, 0.0), 0),
        contender("poll", (1.0, 1.0, 0.0), 0),
        contender(MEAN, (0.99, 1.3, 0.02), 5),
        contender(MIN, (0.99, 1.3, 0.02), 0),
    ];
    let decision = decide_for(&contenders, &Goal::default());
    let result = decision.recommendation(Bytes(4096), &contenders, &NOISE, "");
    let named = ["interrupt", MIN].map(|name| MethodName(name.parse().unwrap()));
    assert_eq!(result.undecided, [OpenQuestion::Untried(named.to_vec())]);
    assert!(!result.is_settled());
}
