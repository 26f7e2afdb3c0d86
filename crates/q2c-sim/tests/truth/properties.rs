//! Properties that hold for every recording and every cost model.

use crate::batch::spec;
use crate::cases::{READ, delay, drive, ranks, recording, rule, run_case, same, wakes_late, zero};
use proptest::prelude::*;
use q2c_model::{CostModel, Curve, Nanos};
use q2c_policy::{PolicySpec, RULES};
use q2c_sim::{
    Configuration, Drive, LaneRecording, SimOutcome, Waiting, simulate, standard_grid, sweep,
};

/// Each rule with the parameters of its example, and some more; windows close many times here.
fn rules() -> impl Iterator<Item = PolicySpec> {
    let more = [
        "mean:90%,100us",
        "dpas:3,10,20,10,30",
        "ehp:1us,500ns,2,100us",
    ];
    let examples = RULES.iter().map(|rule| rule.example).chain(more);
    examples.map(|text| {
        let spec = spec(text);
        spec.with_param("period", 200e3).unwrap_or(spec)
    })
}

/// True if a rule may choose the interrupt. Such an I/O is late without being a miss.
fn interrupts(spec: &PolicySpec) -> bool {
    ["dpas", "ehp", "hypi"].contains(&spec.rule().name)
}

fn lane() -> impl Strategy<Value = LaneRecording> {
    prop::collection::vec((0u32..4_000, 1u32..80_000, 0u32..4_000), 1..20).prop_map(|items| {
        let mut lane = LaneRecording::default();
        for (submit, wait, gap) in items {
            lane.push(READ, submit as f32, wait as f32, gap as f32);
        }
        lane
    })
}

fn curve(most: f64) -> impl Strategy<Value = Curve> {
    (0.0..most, 0.0..most).prop_map(|(a, b)| Curve {
        x: vec![1_000.0, 60_000.0],
        y: vec![a, b],
    })
}

fn cost() -> impl Strategy<Value = CostModel> {
    let waking = (curve(6_000.0), curve(2_000.0), curve(6_000.0), 1.0..900.0);
    let charging = (curve(9_000.0), curve(9_000.0), curve(300.0), 0.0..9_000.0);
    (waking, charging, 0.0..9_000.0).prop_map(
        |((clear, spread, hit, reap), (cpu_clear, cpu_hit, submit, interrupt), hit_lead_ns)| {
            let mut cost = CostModel {
                wake_clear: delay(0.0),
                wake_hit: delay(0.0),
                hit_lead_ns,
                reap_hit_ns: reap,
                sleep_cpu_clear_ns: cpu_clear,
                sleep_cpu_hit_ns: cpu_hit,
                added_submit_ns: submit,
                interrupt_cpu_ns: interrupt,
                interrupt_latency_ns: interrupt,
                ..zero()
            };
            (cost.wake_clear.base_ns, cost.wake_clear.spread_ns) = (clear, spread);
            (cost.wake_hit.base_ns, cost.wake_clear.z) = (hit, vec![-1.0, -0.3, 0.2, 1.1]);
            cost
        },
    )
}

fn methods(lanes: usize) -> Vec<(String, Waiting)> {
    let fixed = [
        ("interrupt", Waiting::interrupt(lanes)),
        ("oracle", Waiting::Oracle),
    ];
    let fixed = fixed.map(|(name, method)| (name.to_owned(), method));
    let rules = rules().map(|spec| (spec.to_string(), Waiting::rules(spec.build(lanes))));
    fixed.into_iter().chain(rules).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// There is no warm-up, so that all methods have the same I/Os in the same order.
    #[test]
    fn nothing_is_faster_than_polling(lanes in prop::collection::vec(lane(), 1..4), cost in cost()) {
        let drive = drive(0, 3_000_000);
        let polled = simulate(&lanes, &cost, Waiting::poll(lanes.len()), drive);
        for (name, method) in methods(lanes.len()) {
            let got = simulate(&lanes, &cost, method, drive);
            prop_assert!(got.ios <= polled.ios && got.gives.rates.iops <= polled.gives.rates.iops, "{}", name);
        }
    }

    /// With these costs a sleep adds latency only by a miss, and reaping after a miss takes time.
    #[test]
    fn a_miss_is_late_and_nothing_else_is(lane in lane(), cost in cost()) {
        for spec in rules() {
            let method = Waiting::rules(spec.build(1));
            let got = run_case(&lane, &cost, method, drive(100_000, 3_000_000));
            prop_assert!(got.gives.rates.miss_rate == 0.0 || got.gives.t_over > 0.0, "{}: {:?}", spec, got);
            prop_assert!(got.gives.t_over == 0.0 || got.gives.rates.miss_rate > 0.0 || interrupts(&spec), "{}: {:?}", spec, got);
            prop_assert!((0.0..=1.0).contains(&got.gives.rates.miss_rate) && got.gives.t_over >= 0.0, "{}", spec);
            prop_assert!((0.0..=1.0).contains(&got.gives.t_under), "{}", spec);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_answer(lanes in prop::collection::vec(lane(), 1..4), cost in cost()) {
        let once = || methods(lanes.len()).into_iter().map(|(_, m)| simulate(&lanes, &cost, m, drive(100_000, 2_000_000)));
        prop_assert!(once().eq(once()));
    }

    #[test]
    fn the_oracle_is_never_worse_than_polling(lane in lane(), cost in cost()) {
        let drive = drive(100_000, 3_000_000);
        let (oracle, polled) = (run_case(&lane, &cost, Waiting::Oracle, drive), run_case(&lane, &cost, Waiting::poll(1), drive));
        prop_assert_eq!((oracle.gives.rates.miss_rate, oracle.gives.t_over), (0.0, 0.0));
        prop_assert_eq!((oracle.ios, oracle.gives.latencies.p99_ns), (polled.ios, polled.gives.latencies.p99_ns));
        prop_assert!(oracle.gives.cpu_ns_per_io <= polled.gives.cpu_ns_per_io * (1.0 + 1e-12));
    }

    /// Costs do not depend on the length, so at most the oracle's 1 ns of polling is saved.
    #[test]
    fn no_clear_fixed_sleep_beats_the_oracle(
        waits in prop::collection::vec(5_000u32..80_000, 1..20),
        late in 0u32..3_000,
        lead in 0u32..1_900,
        cpu in 0.0..9_000.0f64,
        share in 0.0..1.0f64,
    ) {
        let room = waits.iter().min().expect("a wait") - late - lead - 1;
        let asked = (f64::from(room) * share) as u32 + u32::from(room > 0);
        let cost = CostModel {
            wake_clear: delay(f64::from(late)),
            hit_lead_ns: f64::from(lead),
            sleep_cpu_clear_ns: Curve::constant(cpu),
            ..zero()
        };
        let lane = recording(1_000, waits, 500);
        let drive = drive(0, 3_000_000);
        let fixed = run_case(&lane, &cost, rule(&format!("fixed:{asked}ns"), 1), drive);
        let oracle = run_case(&lane, &cost, Waiting::Oracle, drive);
        prop_assert_eq!(fixed.gives.rates.miss_rate, 0.0);
        prop_assert!(oracle.gives.cpu_ns_per_io <= fixed.gives.cpu_ns_per_io + 1.0 + 1e-6, "{} {}", oracle.gives.cpu_ns_per_io, fixed.gives.cpu_ns_per_io);
    }
}

proptest! {
    #[test]
    fn more_wake_delay_never_lowers_a_latency(
        waits in prop::collection::vec(5_000u32..80_000, 2..60),
        asked in 1_000u32..90_000,
        delay in 0u32..20_000,
        added in 1u32..20_000,
    ) {
        let lanes = [recording(1_000, waits, 500)];
        let drive = Drive::one_pass(1);
        let policy = spec(&format!("fixed:{asked}ns"));
        let outcomes_with = |late: u32| {
            let cost = wakes_late(f64::from(late));
            let on = Configuration::closed_loop(&lanes, &cost, drive);
            let batch = sweep(std::slice::from_ref(&policy), &on)[0];
            [on.simulate(Waiting::rules(policy.build(1))), batch]
        };
        for (early, late) in outcomes_with(delay).iter().zip(&outcomes_with(delay + added)) {
            let figures = |o: &SimOutcome| [o.gives.latencies.mean_ns, o.gives.rates.miss_rate].into_iter().chain(ranks(o));
            for (early, late) in figures(early).zip(figures(late)) {
                prop_assert!(late >= early, "{late} < {early}");
            }
        }
    }
}

#[test]
fn the_seed_draws_the_delays() {
    let mut cost = wakes_late(3_000.0);
    cost.wake_clear.spread_ns = Curve::constant(1_000.0);
    cost.wake_clear.z = vec![-1.2, -0.4, 0.4, 1.2];
    let lane = recording(1_000, [23_000, 25_000, 22_500], 500);
    let outcomes_with = |seed| {
        let mut drive = drive(0, 500_000_000);
        drive.seed = seed;
        run_case(&lane, &cost, rule("fixed:20us", 1), drive)
    };
    let (a, b) = (outcomes_with(1), outcomes_with(2));
    let missed = [a, b].map(|outcome| outcome.gives.rates.miss_rate);
    assert!(a != b && (missed[0] - missed[1]).abs() < 0.03, "{missed:?}");
}

#[test]
fn the_number_of_threads_does_not_change_a_sweep() {
    let lanes = [
        recording(1_000, [20_000, 35_000, 27_000], 500),
        recording(900, [41_000], 100),
    ];
    let mut cost = zero();
    (cost.wake_clear.spread_ns, cost.wake_clear.z) = (Curve::constant(900.0), vec![0.1, 0.7, 2.0]);
    let grid = standard_grid(Nanos(27_000));
    let on = Configuration {
        lanes: &lanes,
        cost: &cost,
        drive: drive(1_000_000, 4_000_000),
        arrival: q2c_sim::Arrival::ClosedLoop,
    };
    let outcomes_with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool").install(|| sweep(&grid, &on))
    };
    let outcomes = outcomes_with(1);
    assert!(outcomes == outcomes_with(2) && outcomes == outcomes_with(7));
    assert_eq!(outcomes.len(), grid.len());
    for (policy, outcome) in grid.iter().zip(&outcomes).step_by(37) {
        let alone = simulate(&lanes, &cost, Waiting::rules(policy.build(2)), on.drive);
        crate::batch::agree(outcome, &alone, true)
            .unwrap_or_else(|reason| panic!("{policy}\n{reason}"));
    }
    let cpu_pct = |outcome: &SimOutcome| outcome.gives.rates.cpu_pct;
    let first = cpu_pct(&outcomes[0]);
    assert!(outcomes.iter().any(|o| !same(cpu_pct(o), first)));
}
