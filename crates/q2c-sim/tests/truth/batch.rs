//! Compares the batch, many configurations in one pass, with the reference simulator.

use crate::cases::{READ, drive, figures, ranks, same, think_cpu, zero};
use proptest::prelude::*;
use q2c_model::{CostModel, Curve, Direction, WakeDelay};
use q2c_policy::{Io, PolicySpec};
use q2c_sim::{Batch, Configuration, Drive, LaneRecording, SimOutcome, Waiting, simulate, sweep};

pub(crate) fn spec(text: &str) -> PolicySpec {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Runs all policies in one batch over the lane, which is replayed until all are done.
fn batch(
    lane: &LaneRecording,
    policies: &[PolicySpec],
    cost: &CostModel,
    drive: Drive,
    percentiles: bool,
) -> Vec<SimOutcome> {
    let mut batch = Batch::new(policies, cost, drive, percentiles).expect("rules it holds");
    while !batch.is_done() {
        batch.feed(lane).expect("short times");
    }
    batch.finish()
}

/// Outcomes are equal except for rounding of sums; percentiles are within half a class width.
pub(crate) fn agree(
    got: &SimOutcome,
    wanted: &SimOutcome,
    percentiles: bool,
) -> Result<(), String> {
    let near = |(a, b): (f64, f64)| (a - b).abs() <= 0.008 * b;
    let mut pairs = figures(got).into_iter().zip(figures(wanted));
    let figures_agree = pairs.all(|(a, b)| same(a, b) || (a.is_nan() && b.is_nan()));
    let percentiles_agree = !percentiles || ranks(got).into_iter().zip(ranks(wanted)).all(near);
    if got.ios == wanted.ios && figures_agree && percentiles_agree {
        return Ok(());
    }
    Err(format!("batch {got:#?}\nalone {wanted:#?}"))
}

fn any_policy() -> impl Strategy<Value = PolicySpec> {
    let window = || (1u64..=100, 1_000u64..400_000);
    prop_oneof![
        (1u64..90_000).prop_map(|ns| format!("fixed:{ns}ns")),
        window().prop_map(|(ratio, period)| format!("mean:{ratio}%,{period}ns")),
        window().prop_map(|(ratio, period)| format!("min:{ratio}%,{period}ns")),
    ]
    .prop_map(|text| spec(&text))
}

/// Only reads of 4 KiB if `alike`, else up to 4 sizes and both directions.
pub(crate) fn any_lane(alike: bool) -> impl Strategy<Value = LaneRecording> {
    let sizes = prop::sample::select(vec![100u32, 512, 4096, 65_536]);
    let io = (any::<bool>(), sizes).prop_map(move |(write, bytes)| match (alike, write) {
        (true, _) => READ,
        (_, true) => Io {
            direction: Direction::Write,
            bytes,
        },
        _ => Io { bytes, ..READ },
    });
    let times = (0u32..4_000, 300u32..80_000, 0u32..4_000);
    prop::collection::vec((io, times), 1..40).prop_map(|items| {
        let mut lane = LaneRecording::default();
        for (io, (submit, wait, gap)) in items {
            lane.push(io, submit as f32, wait as f32, gap as f32);
        }
        lane
    })
}

/// Costs in whole ns, for which the batch and the reference must give equal outcomes.
pub(crate) fn plain_cost() -> impl Strategy<Value = CostModel> {
    let n = |max: u32| (0..max).prop_map(f64::from);
    let delays = (n(6_000), n(6_000), n(9_000), n(900));
    (delays, n(9_000), n(30_000), n(3_000)).prop_map(
        |((clear, hit, lead, reap), cpu_clear, cpu_hit, other)| CostModel {
            wake_clear: crate::cases::delay(clear),
            wake_hit: crate::cases::delay(hit),
            hit_lead_ns: lead,
            reap_hit_ns: reap,
            sleep_cpu_clear_ns: Curve::constant(cpu_clear),
            sleep_cpu_hit_ns: Curve::constant(cpu_hit),
            other_cpu_sleep_ns: other,
            other_cpu_poll_ns: other / 4.0,
            ..zero()
        },
    )
}

fn compare(
    lane: &LaneRecording,
    policies: &[PolicySpec],
    cost: &CostModel,
    drive: Drive,
    percentiles: bool,
) -> Result<(), TestCaseError> {
    let together = batch(lane, policies, cost, drive, percentiles);
    for (policy, got) in policies.iter().zip(&together) {
        let rules = Waiting::rules(policy.build(1));
        let alone = simulate(std::slice::from_ref(lane), cost, rules, drive);
        agree(got, &alone, percentiles)
            .map_err(|reason| TestCaseError::fail(format!("{policy}\n{reason}")))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn known_delays_of_one_bucket(
        lane in any_lane(true),
        policies in prop::collection::vec(any_policy(), 1..40),
        cost in plain_cost(),
        drive in any_drive(),
    ) {
        compare(&lane, &policies, &cost, drive, false)?;
    }
}

/// Drawn delays in whole ns; the hit delay falls by 1 ns per ns over 4 us.
pub(crate) fn drawn_cost() -> impl Strategy<Value = CostModel> {
    let ns = |from: i32, to: i32| (from..to).prop_map(f64::from);
    let draws = prop::collection::vec(ns(-4, 9), 1..30);
    let delay = move || {
        let bounds = (ns(-500, 3_000), prop::option::of(ns(3_000, 9_000)));
        (ns(0, 6_000), ns(0, 700), bounds, draws.clone()).prop_map(
            |(base, spread, (least, most), z)| WakeDelay {
                base_ns: Curve::constant(base),
                spread_ns: Curve::constant(spread),
                least_ns: Curve::constant(least),
                most_ns: most.map(Curve::constant).unwrap_or_default(),
                z,
            },
        )
    };
    let added = (ns(-200, 500), ns(-100, 500));
    let corner = ns(-30_000, 30_000);
    (plain_cost(), delay(), delay(), corner, added).prop_map(
        |(plain, wake_clear, mut wake_hit, corner, (latency, submit))| {
            let far = wake_hit.base_ns.y[0];
            wake_hit.base_ns = Curve {
                x: vec![corner, corner + 4_000.0],
                y: vec![far + 4_000.0, far],
            };
            CostModel {
                wake_clear,
                wake_hit,
                added_latency_ns: Curve::constant(latency),
                added_submit_ns: Curve::constant(submit.max(0.0)),
                ..plain
            }
        },
    )
}

fn any_drive() -> impl Strategy<Value = Drive> {
    (0u64..300_000, 1u64..3_000_000).prop_map(|(from, length)| drive(from, length))
}

fn any_pas() -> impl Strategy<Value = PolicySpec> {
    (1u32..500, 1u32..900, any::<bool>()).prop_map(|(up, down, adaptive)| {
        let (up, down) = (f64::from(up) / 1e4, f64::from(down) / 1e3);
        let adaptive = if adaptive { "on" } else { "off" };
        spec(&format!("pas:up={up},down={down},adaptive={adaptive}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn pas_of_several_buckets(
        lane in any_lane(false),
        policies in prop::collection::vec(any_pas(), 1..20),
        percentiles in any::<bool>(),
        drive in any_drive(),
        cost in plain_cost(),
    ) {
        compare(&lane, &policies, &cost, drive, percentiles)?;
    }

    #[test]
    fn drawn_delays_of_several_buckets_and_percentiles(
        lane in any_lane(false),
        policies in prop::collection::vec(any_policy(), 1..40),
        drive in any_drive(),
        cost in drawn_cost(),
    ) {
        compare(&lane, &policies, &cost, drive, true)?;
    }

    #[test]
    fn known_delays_of_several_buckets_and_percentiles(
        lane in any_lane(false),
        policies in prop::collection::vec(any_policy(), 1..40),
        percentiles in any::<bool>(),
        drive in any_drive(),
        cost in plain_cost(),
    ) {
        compare(&lane, &policies, &cost, drive, percentiles)?;
    }

    #[test]
    fn a_sweep_gives_what_each_gives_alone(
        lane in any_lane(false),
        policies in prop::collection::vec(prop_oneof![any_policy(), any_pas(), Just(spec("uring"))], 1..30),
        cost in prop_oneof![plain_cost(), drawn_cost()],
        warm_up in 0u64..200_000,
        measure in prop_oneof![1u64..2_000_000, Just(Drive::ONE_PASS.0)],
        gap_cpu in think_cpu(),
    ) {
        let lanes = [LaneRecording { gap_cpu, ..lane }];
        let on = Configuration::closed_loop(&lanes, &cost, drive(warm_up, measure));
        let outcomes = sweep(&policies, &on);
        prop_assert_eq!(outcomes.len(), policies.len());
        for (policy, outcome) in policies.iter().zip(&outcomes) {
            let alone = simulate(&lanes, &cost, Waiting::rules(policy.build(1)), on.drive);
            let agreed = agree(outcome, &alone, true);
            agreed.map_err(|reason| TestCaseError::fail(format!("{policy}\n{reason}")))?;
        }
    }
}

#[test]
fn a_second_bucket_may_come_late() {
    let mut rng = q2c_model::stats::Rng::new(21);
    let mut lane = LaneRecording::default();
    for n in 0..40_000 {
        let writes = n > 20_000 && rng.below(3) == 0;
        let direction = [Direction::Read, Direction::Write][usize::from(writes)];
        let wait = 12_000 + rng.below(25_000);
        lane.push(Io { direction, ..READ }, 700.0, wait as f32, 300.0);
    }
    let mut cost = crate::cases::wakes_late(2_000.0);
    cost.sleep_cpu_clear_ns = Curve::constant(900.0);
    cost.sleep_cpu_hit_ns = Curve::constant(1_100.0);
    let texts = "mean:50%,1ms mean:85%,10ms min:70%,10ms min:95%,2ms fixed:14us pas";
    let policies: Vec<PolicySpec> = texts.split(' ').map(spec).collect();
    let drive = drive(5_000_000, 1_200_000_000);
    compare(&lane, &policies, &cost, drive, false).unwrap_or_else(|reason| panic!("{reason}"));
}

fn rotated<T: Clone>(items: &[T], places: usize) -> Vec<T> {
    let mut items = items.to_vec();
    items.rotate_left(places);
    items.reverse();
    items
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_order_of_configurations_does_not_matter(
        lane in any_lane(false),
        policies in prop::collection::vec(any_policy(), 2..60),
        cost in drawn_cost(),
        places in 0usize..60,
    ) {
        let places = places % policies.len();
        let drive = drive(100_000, 1_500_000);
        let straight = batch(&lane, &policies, &cost, drive, true);
        let other = batch(&lane, &rotated(&policies, places), &cost, drive, true);
        prop_assert_eq!(rotated(&straight, places), other);
    }
}

/// On a device of constant time L, every I/O from the second window on sleeps the share r of L,
/// wakes d later and polls the rest.
#[test]
fn a_constant_device_in_closed_form() {
    let (wait, submit, gap, late) = (30_000.0, 1_000.0, 500.0, 2_000.0);
    let mut lane = LaneRecording::default();
    (0..100).for_each(|_| lane.push(READ, submit as f32, wait as f32, gap as f32));
    let cost = CostModel {
        sleep_cpu_clear_ns: Curve::constant(700.0),
        ..crate::cases::wakes_late(late)
    };
    let ratios = || (1..=93u32).flat_map(|r| [r, r]);
    let rules = ["mean", "min"].into_iter().cycle();
    let policies = rules
        .zip(ratios())
        .map(|(rule, r)| spec(&format!("{rule}:{r}%,1ms")));
    let policies: Vec<PolicySpec> = policies.collect();
    for percentiles in [false, true] {
        let drive = drive(20_000_000, 100_000_000);
        let got = batch(&lane, &policies, &cost, drive, percentiles);
        for (got, ratio) in got.iter().zip(ratios()) {
            let (rates, gives) = (got.gives.rates, &got.gives);
            let sleep = f64::from(ratio) * wait / 100.0;
            let polled = wait - sleep - late;
            let cpu = submit + gap + (polled + 700.0).min(wait);
            assert_eq!((rates.miss_rate, gives.t_over), (0.0, 0.0), "{ratio} %");
            assert_eq!(rates.effective_sleep_ns, sleep);
            assert!(same(gives.t_under, polled / wait), "{ratio} %");
            assert!(same(gives.cpu_ns_per_io, cpu), "{ratio} %");
            // I/Os from 20 up to 120 ms count, one every 31.5 us: numbers 635 to 3809.
            assert_eq!(got.ios, 3_175, "{ratio} %");
            let u2c = submit + wait;
            let off = (gives.latencies.p99_ns - u2c).abs();
            assert!(!percentiles || off <= 0.008 * u2c, "{ratio} %");
        }
    }
}
