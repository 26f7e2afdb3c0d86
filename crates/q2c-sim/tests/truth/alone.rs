//! Every rule, formulas and several lanes in a sweep, compared with the reference simulator.

use crate::batch::{agree, any_lane, drawn_cost, plain_cost, spec};
use crate::cases::{READ, drive, think_cpu};
use proptest::prelude::*;
use q2c_model::stats::Rng;
use q2c_model::{CostModel, Nanos};
use q2c_policy::{PolicySpec, RULES};
use q2c_sim::{Configuration, Drive, LaneRecording, Waiting, simulate, sweep};

pub(crate) fn any_rule() -> impl Strategy<Value = PolicySpec> {
    let period = 1_000u64..400_000;
    let formula = prop::sample::select(vec![
        "0.7 * min",
        "if(p01 > 20us, p01 - 4us, 0)",
        "min(mean - 2 * lmd, 0.9 * p50)",
        "last / 2",
        "if(misses > count / 10, min / 2, max / 3)",
        "mean - 50us",
        "min / (count - 3)",
    ]);
    prop_oneof![
        (1u64..90_000).prop_map(|ns| format!("fixed:{ns}ns")),
        (1u32..=100, period.clone()).prop_map(|(r, p)| format!("mean:{r}%,{p}ns")),
        (1u32..=100, period.clone()).prop_map(|(r, p)| format!("min:{r}%,{p}ns")),
        (1u32..=100, 1u32..=100, period.clone())
            .prop_map(|(q, r, p)| format!("quantile:q={q}%,ratio={r}%,period={p}ns")),
        (1u32..6, period.clone()).prop_map(|(d, p)| format!("lmd:deviations={d},period={p}ns")),
        (1u64..9_000, 1u64..4_000, 1u32..9, period.clone())
            .prop_map(|(c, i, b, p)| format!("ehp:ctx={c}ns,isr={i}ns,benefit={b},period={p}ns")),
        (1u32..=100, 1u32..=100, 0usize..4, period.clone()).prop_map(|(a, b, i, p)| {
            let interrupt = ["512", "4k", "64k", "128k"][i];
            format!("hypi:4k={a}%,64k={b}%,interrupt={interrupt},period={p}ns")
        }),
        (1u32..=100, period.clone()).prop_map(|(r, p)| format!("linux410:{r}%,{p}ns")),
        (1u32..=100, 1u32..=100).prop_map(|(r, w)| format!("ewma:ratio={r}%,weight={w}%")),
        (1u32..=90).prop_map(|m| format!("qt:miss={m}%")),
        (1u32..500, 1u32..900).prop_map(|(up, down)| format!(
            "pas:up={},down={}",
            f64::from(up) / 1e4,
            f64::from(down) / 1e3
        )),
        (1u32..9, 1u32..9, 1u32..9).prop_map(|(a, b, c)| format!(
            "dpas:theta=0.5,pas={a},poll={b},overload={c},interrupt=3"
        )),
        Just("uring".to_owned()),
        (formula.clone(), 1u32..40)
            .prop_map(|(formula, n)| format!("recent:ios={n},sleep={formula}")),
        (formula, period).prop_map(|(formula, p)| format!("rule:period={p}ns,sleep={formula}")),
    ]
    .prop_map(|text| spec(&text))
}

/// A new rule must be added to [`any_rule`].
#[test]
fn every_rule_is_among_those_compared() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen: Vec<&str> = (0..2_000)
        .map(|_| any_rule().new_tree(&mut runner).expect("a rule").current())
        .map(|policy| policy.rule().name)
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, RULES.iter().map(|rule| rule.name).collect::<Vec<_>>());
}

fn compare(
    lanes: &[LaneRecording],
    policies: &[PolicySpec],
    cost: &CostModel,
    drive: Drive,
) -> Result<(), String> {
    let configuration = Configuration::closed_loop(lanes, cost, drive);
    for (policy, got) in policies.iter().zip(sweep(policies, &configuration)) {
        let rules = Waiting::rules(policy.with_new_counts().build(lanes.len()));
        let wanted = simulate(lanes, cost, rules, drive);
        agree(&got, &wanted, true).map_err(|reason| format!("{policy}\n{reason}"))?;
    }
    Ok(())
}

fn any_lanes() -> impl Strategy<Value = Vec<LaneRecording>> {
    let lane = (any::<bool>().prop_flat_map(any_lane), 0u32..50_000);
    (prop::collection::vec(lane, 1..5), think_cpu()).prop_map(|(lanes, gap_cpu)| {
        let with_times = |(lane, first): (LaneRecording, u32)| LaneRecording {
            first_at: f64::from(first),
            gap_cpu,
            ..lane
        };
        lanes.into_iter().map(with_times).collect()
    })
}

pub(crate) fn interrupting(cost: CostModel, latency: u32, cpu: u32) -> CostModel {
    CostModel {
        interrupt_latency_ns: f64::from(latency),
        interrupt_cpu_ns: f64::from(cpu),
        other_cpu_interrupt_ns: 700.0,
        ..cost
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_rule_on_any_lanes(
        lanes in any_lanes(),
        policies in prop::collection::vec(any_rule(), 1..12),
        cost in prop_oneof![plain_cost(), drawn_cost()],
        (latency, cpu) in (0u32..4_000, 0u32..9_000),
        warm_up in 0u64..300_000,
        measure in prop_oneof![4 => 1u64..3_000_000, 1 => Just(Drive::ONE_PASS.0)],
    ) {
        let cost = interrupting(cost, latency, cpu);
        compare(&lanes, &policies, &cost, drive(warm_up, measure)).map_err(TestCaseError::fail)?;
    }
}

pub(crate) fn long_lane(seed: u64, shortest: u64) -> LaneRecording {
    let mut rng = Rng::new(seed);
    let mut lane = LaneRecording::default();
    for _ in 0..3_000 {
        let tail = if rng.below(10) == 0 { 50_000 } else { 0 };
        let wait = shortest + rng.below(9_000) + tail;
        let (submit, gap) = (600 + rng.below(300), rng.below(900));
        lane.push(READ, submit as f32, wait as f32, gap as f32);
    }
    lane
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_rule_on_long_lanes(
        seed in any::<u64>(),
        lanes in 1usize..5,
        policies in prop::collection::vec(any_rule(), 1..8),
        cost in prop_oneof![plain_cost(), drawn_cost()],
        period in prop::option::of(400_000.0..30e6f64),
        warm_up in 0u64..20_000_000,
        measure in prop_oneof![4 => 1u64..200_000_000, 1 => Just(Drive::ONE_PASS.0)],
    ) {
        let lanes: Vec<LaneRecording> = (0..lanes as u64)
            .map(|lane| long_lane(seed ^ lane, 9_000 + 11_000 * lane))
            .collect();
        let with_period = |policy: PolicySpec| match period {
            Some(ns) => policy.with_param("period", ns).unwrap_or(policy),
            None => policy,
        };
        let policies: Vec<PolicySpec> = policies.into_iter().map(with_period).collect();
        compare(&lanes, &policies, &cost, drive(warm_up, measure)).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn the_standard_grid() {
    let grid = q2c_sim::standard_grid(Nanos(14_000));
    let policies: Vec<PolicySpec> = grid.into_iter().step_by(7).collect();
    let cost = crate::cases::wakes_late(2_000.0);
    for count in [1, 3] {
        let lanes: Vec<LaneRecording> = (0..count).map(|lane| long_lane(lane, 9_000)).collect();
        let drive = drive(30_000_000, 900_000_000);
        compare(&lanes, &policies, &cost, drive).unwrap_or_else(|reason| panic!("{reason}"));
    }
}

/// Two hundred lanes submit and think at the same time, so that a window may end before any of them
/// completes. All of their events are then taken in turns.
#[test]
fn lanes_that_think_together() {
    let of_lane = |n: u16| {
        let wait = 80_000.0 + f32::from(n % 7) * 30.0;
        lane(&[(wait, 1e6), (wait + 900.0, 1e6), (wait, 2e6)])
    };
    let lanes: Vec<LaneRecording> = (0..200).map(of_lane).collect();
    let rules = [
        "mean:ratio=50%,period=100us",
        "min:ratio=80%,period=1ms",
        "mean:ratio=30%,period=10ms",
    ];
    let policies = rules.map(spec);
    let cost = crate::cases::wakes_late(2_000.0);
    let drive = drive(2_000_000, 60_000_000);
    compare(&lanes, &policies, &cost, drive).unwrap_or_else(|reason| panic!("{reason}"));
}

fn lane(ios: &[(f32, f32)]) -> LaneRecording {
    let mut lane = LaneRecording::default();
    for &(wait, gap) in ios {
        lane.push(READ, 100.0, wait, gap);
    }
    lane
}

/// Sleeps that outgrow the registers are not cut off.
#[test]
fn long_sleeps_are_not_cut() {
    let slow = lane(&[(450e6, 10.0), (520e6, 10.0), (480e6, 10.0)]);
    let fast = lane(&[(3_000.0, 10.0), (5_000.0, 10.0), (4_000.0, 10.0)]);
    let late = CostModel::delayed(Nanos(20_000_000));
    let ratios = ["mean:70%,2ms", "mean:90%,10ms", "min:70%,10ms", "pas"].map(spec);
    compare(&[slow], &ratios, &late, drive(0, 60_000_000_000)).expect("the reference's outcome");
    let runaway = [
        "linux410:100%,5ms",
        "mean:95%,1ms",
        "rule:period=50us,sleep=10s",
    ]
    .map(spec);
    compare(&[fast], &runaway, &late, drive(0, 20_000_000_000)).expect("the reference's outcome");
}

/// Think times whose sum does not fit into 64 bits.
#[test]
fn think_times_of_centuries_are_simulated() {
    let rare = lane(&[(3_000.0, 9.2e18), (5_000.0, 9.2e18), (4_000.0, 1.0)]);
    let cost = CostModel::delayed(Nanos(2_000));
    let (rules, drive) = ([spec("mean:50%,1ms")], drive(0, 1_000_000_000));
    compare(&[rare], &rules, &cost, drive).expect("the reference's outcome");
}
