//! Many configurations in one pass, against the plain scalar simulator.

use crate::cases::{READ, drive, free, same};
use proptest::prelude::*;
use q2c_model::{CostModel, Curve, Direction, WakeDelay};
use q2c_policy::{Io, PolicySpec};
use q2c_sim::{Batch, Drive, Method, Outcome, Recording, simulate};

fn spec(text: &str) -> PolicySpec {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// All of them over the lane, replayed as often as it takes.
fn batch(
    lane: &Recording,
    policies: &[PolicySpec],
    cost: &CostModel,
    drive: Drive,
    percentiles: bool,
) -> Vec<Outcome> {
    let mut batch = Batch::new(policies, cost, drive, percentiles).expect("rules it holds");
    while !batch.is_done() {
        batch.feed(lane).expect("short times");
    }
    batch.finish()
}

/// Equal but for the rounding of sums; percentiles within the half width of a class.
fn agree(got: &Outcome, wanted: &Outcome, percentiles: bool) -> Result<(), String> {
    let exact = |o: &Outcome| {
        [
            o.iops,
            o.cpu_pct,
            o.cpu_ns_per_io,
            o.kiops_per_core,
            o.miss_rate,
            o.effective_sleep_ns,
            o.t_over,
            o.t_under,
            o.mean_ns,
        ]
    };
    let ranks = |o: &Outcome| [o.p50_ns, o.p99_ns, o.p999_ns];
    let near = |(a, b): (f64, f64)| (a - b).abs() <= 0.008 * b;
    let all = exact(got)
        .into_iter()
        .zip(exact(wanted))
        .all(|(a, b)| same(a, b) || (a.is_nan() && b.is_nan()));
    let ranked = !percentiles || ranks(got).into_iter().zip(ranks(wanted)).all(near);
    match got.ios == wanted.ios && all && ranked {
        true => Ok(()),
        false => Err(format!("batch {got:#?}\nalone {wanted:#?}")),
    }
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

/// Reads of 4 KiB when `alike`, else of up to 4 sizes and both directions.
fn any_lane(alike: bool) -> impl Strategy<Value = Recording> {
    let io = (
        any::<bool>(),
        prop::sample::select(vec![100u32, 512, 4096, 65_536]),
    )
        .prop_map(move |(write, bytes)| match (alike, write) {
            (true, _) => READ,
            (_, true) => Io {
                direction: Direction::Write,
                bytes,
            },
            (_, false) => Io {
                direction: Direction::Read,
                bytes,
            },
        });
    let times = (0u32..4_000, 300u32..80_000, 0u32..4_000);
    prop::collection::vec((io, times), 1..40).prop_map(|items| {
        let mut lane = Recording::default();
        for (io, (submit, wait, gap)) in items {
            lane.push(io, submit as f32, wait as f32, gap as f32);
        }
        lane
    })
}

/// Whole numbers everywhere: then both must give the same.
fn plain_cost() -> impl Strategy<Value = CostModel> {
    let n = |most: u32| (0..most).prop_map(f64::from);
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
            ..free()
        },
    )
}

fn compare(
    lane: &Recording,
    policies: &[PolicySpec],
    cost: &CostModel,
    drive: Drive,
    percentiles: bool,
) -> Result<(), TestCaseError> {
    let together = batch(lane, policies, cost, drive, percentiles);
    for (policy, got) in policies.iter().zip(&together) {
        let alone = simulate(
            std::slice::from_ref(lane),
            cost,
            Method::Hybrid(policy.build(1)),
            drive,
        );
        agree(got, &alone, percentiles)
            .map_err(|why| TestCaseError::fail(format!("{policy}\n{why}")))?;
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
        from in 0u64..300_000,
        length in 1u64..3_000_000,
    ) {
        compare(&lane, &policies, &cost, drive(from, length), false)?;
    }
}

/// Delays that are drawn, in whole steps; the hit one falls by 1 ns per ns over 4 us, and so do bounds and additions exist.
fn drawn_cost() -> impl Strategy<Value = CostModel> {
    let whole = |from: i32, to: i32| (from..to).prop_map(f64::from);
    let draws = prop::collection::vec(whole(-4, 9), 1..30);
    let delay = move || {
        (
            whole(0, 6_000),
            whole(0, 700),
            whole(-500, 3_000),
            prop::option::of(whole(3_000, 9_000)),
            draws.clone(),
        )
    };
    let added = (whole(-200, 500), whole(-100, 500));
    (
        plain_cost(),
        delay(),
        delay(),
        whole(-30_000, 30_000),
        added,
    )
        .prop_map(|(plain, clear, hit, corner, (latency, submit))| {
            let wake = |(base, spread, least, most, z): (f64, f64, f64, Option<f64>, Vec<f64>)| {
                WakeDelay {
                    base_ns: Curve::constant(base),
                    spread_ns: Curve::constant(spread),
                    least_ns: Curve::constant(least),
                    most_ns: most.map(Curve::constant).unwrap_or_default(),
                    z,
                }
            };
            let mut cost = CostModel {
                wake_clear: wake(clear),
                wake_hit: wake(hit),
                ..plain
            };
            let far = cost.wake_hit.base_ns.y[0];
            cost.wake_hit.base_ns = Curve {
                x: vec![corner, corner + 4_000.0],
                y: vec![far + 4_000.0, far],
            };
            cost.added_latency_ns = Curve::constant(latency);
            cost.added_submit_ns = Curve::constant(submit.max(0.0));
            cost
        })
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
        cost in plain_cost(),
        percentiles in any::<bool>(),
        from in 0u64..300_000,
        length in 1u64..3_000_000,
    ) {
        compare(&lane, &policies, &cost, drive(from, length), percentiles)?;
    }

    #[test]
    fn drawn_delays_of_several_buckets_and_percentiles(
        lane in any_lane(false),
        policies in prop::collection::vec(any_policy(), 1..40),
        cost in drawn_cost(),
        from in 0u64..300_000,
        length in 1u64..3_000_000,
    ) {
        compare(&lane, &policies, &cost, drive(from, length), true)?;
    }
}
