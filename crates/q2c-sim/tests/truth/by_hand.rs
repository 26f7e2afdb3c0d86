//! One lane with constant costs, where every number is calculated on paper; and the open loop and
//! the single pass.
//!
//! The device takes 30 us, a submission 2 us, the think time 0.5 us. Polling therefore takes 32.5
//! us per I/O; 10 I/Os are the warm-up, and 1000 are measured.

use crate::cases::{READ, close, delay, drive, ranks, recording, rule, run_case, wakes_late, zero};
use q2c_model::{CostModel, Curve, Nanos};
use q2c_policy::{Decision, Io, Lane, Outcome, Token};
use q2c_sim::{Arrival, Drive, SimOutcome, Waiting, simulate, simulate_with};

const WARM_UP: u64 = 325_000;
const MEASURE: u64 = 32_500_000;

fn costs() -> CostModel {
    CostModel {
        wake_clear: delay(3_000.0),
        wake_hit: delay(1_500.0),
        reap_hit_ns: 700.0,
        sleep_cpu_clear_ns: Curve::constant(2_500.0),
        sleep_cpu_hit_ns: Curve::constant(3_100.0),
        interrupt_cpu_ns: 6_000.0,
        interrupt_latency_ns: 4_000.0,
        other_cpu_poll_ns: 100.0,
        other_cpu_sleep_ns: 400.0,
        other_cpu_interrupt_ns: 1_300.0,
        ..zero()
    }
}

fn thirty_us(cost: &CostModel, method: Waiting) -> SimOutcome {
    let lane = recording(2_000, [30_000], 500);
    run_case(&lane, cost, method, drive(WARM_UP, MEASURE))
}

/// Number of I/Os that begin within the measured part, one in each `period`, the first at 0.
fn ios_begun(period: u64) -> u64 {
    (WARM_UP + MEASURE).div_ceil(period) - WARM_UP.div_ceil(period)
}

/// Checks that every I/O takes `period` of wall time, `cpu` of the thread and `other` CPU, ns.
fn check_rates(got: &SimOutcome, period: u64, cpu: f64, other: f64) {
    let ios = ios_begun(period);
    let iops = ios as f64 / 0.0325;
    assert_eq!(got.ios, ios);
    close(got.gives.rates.iops, iops);
    close(got.gives.cpu_ns_per_io, cpu);
    close(got.gives.rates.cpu_pct, iops * cpu / 1e9 * 100.0);
    close(got.gives.kiops_per_core, 1e6 / (cpu + other));
}

fn check_latency(got: &SimOutcome, ns: f64) {
    let latencies = got.gives.latencies;
    close(latencies.mean_ns, ns);
    ranks(got).into_iter().for_each(|rank| close(rank, ns));
}

/// Miss rate, effective sleep in ns, and the time over and under the device time, as shares of it.
fn shares(got: &SimOutcome) -> [f64; 4] {
    let gives = &got.gives;
    let rates = gives.rates;
    [
        rates.miss_rate,
        rates.effective_sleep_ns,
        gives.t_over,
        gives.t_under,
    ]
}

#[test]
fn polling() {
    let got = thirty_us(&costs(), Waiting::poll(1));
    assert_eq!(got.ios, 1_000);
    check_rates(&got, 32_500, 32_500.0, 100.0);
    close(got.gives.rates.cpu_pct, 100.0);
    check_latency(&got, 32_000.0);
    assert_eq!(shares(&got), [0.0, 0.0, 0.0, 1.0]);
}

fn fixed_sleep(us: u32, miss_rate: f64) -> SimOutcome {
    let got = thirty_us(&costs(), rule(&format!("fixed:{us}us"), 1));
    assert_eq!(shares(&got)[..2], [miss_rate, f64::from(us) * 1e3]);
    got
}

/// CPU = submission + sleep + (latency - wake-up) + think time.
#[test]
fn a_fixed_sleep_that_is_clear() {
    let got = fixed_sleep(20, 0.0);
    let cpu = 2_000.0 + 2_500.0 + (30_000.0 - 23_000.0) + 500.0;
    check_rates(&got, 32_500, cpu, 400.0);
    check_latency(&got, 32_000.0);
    close(got.gives.t_under, 7_000.0 / 30_000.0);
    assert_eq!(got.gives.t_over, 0.0);
}

/// Observed = wake-up + reaping = 40 + 1.5 + 0.7 us.
#[test]
fn a_fixed_sleep_that_is_late() {
    let got = fixed_sleep(40, 1.0);
    check_rates(&got, 2_000 + 42_200 + 500, 2_000.0 + 3_100.0 + 500.0, 400.0);
    check_latency(&got, 44_200.0);
    close(got.gives.t_over, 12_200.0 / 30_000.0);
    assert_eq!(got.gives.t_under, 0.0);
}

/// A wake-up at the completion is a miss by definition, because the first poll finds the
/// completion. The first case has the hit delay of a sleep 3 us shorter than the latency: the curve
/// is 5 us up to 0, and falls to 1 us at 10 us.
#[test]
fn the_hit_delay_depends_on_the_distance() {
    let mut cost = costs();
    cost.wake_hit.base_ns = Curve {
        x: vec![0.0, 10_000.0],
        y: vec![5_000.0, 1_000.0],
    };
    for (asked, observed) in [
        (27_000, 27_000.0 + 5_000.0 + 700.0),
        (35_000, 35_000.0 + 3_000.0 + 700.0),
        (40_000, 40_000.0 + 1_000.0 + 700.0),
        (90_000, 90_000.0 + 1_000.0 + 700.0),
    ] {
        let got = thirty_us(&cost, rule(&format!("fixed:{asked}ns"), 1));
        check_latency(&got, 2_000.0 + observed);
        assert_eq!(got.gives.rates.miss_rate, 1.0, "{asked}");
    }
    // With 1 ns less, the completion comes after the wake-up.
    let got = thirty_us(&cost, rule("fixed:26999ns", 1));
    check_latency(&got, 32_000.0);
    assert_eq!(got.gives.rates.miss_rate, 0.0);
}

/// A hit delay that ends before the completion does not make the I/O faster than the device.
#[test]
fn no_completion_is_seen_before_it_is_there() {
    let got = thirty_us(&costs(), rule("fixed:28us", 1));
    // A clear sleep would wake at 31 us, a hit one wakes at 29.5 us.
    check_latency(&got, 2_000.0 + 30_000.0 + 700.0);
}

#[test]
fn interrupts() {
    let got = thirty_us(&costs(), Waiting::interrupt(1));
    check_rates(&got, 2_000 + 34_000 + 500, 6_500.0, 1_300.0);
    check_latency(&got, 36_000.0);
    let [missed, slept, _, polled] = shares(&got);
    assert_eq!([missed, slept, polled], [0.0; 3]);
}

/// A rule that sleeps, polls, sleeps for no time and waits for the interrupt in turn.
struct InTurn(u64);

impl Lane for InTurn {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        self.0 += 1;
        let decision = match self.0 % 4 {
            1 => Decision::Sleep(Nanos(20_000)),
            2 => Decision::Poll,
            3 => Decision::Sleep(Nanos::ZERO),
            _ => Decision::Interrupt,
        };
        (decision, Token(self.0))
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, _: Nanos) {
        assert_eq!((io, token.0, outcome.missed), (READ, self.0, false));
        let observed = 30_000 + 4_000 * u64::from(self.0.is_multiple_of(4));
        assert_eq!(outcome.observed.0, observed, "the submission is not in it");
    }
}

#[test]
fn a_rule_may_do_each() {
    let lane = recording(2_000, [30_000], 500);
    // Three I/Os of 32.5 us and one of 36.5 us make a turn of 134 us.
    let rules = Waiting::rules(vec![Box::new(InTurn(0))]);
    let got = run_case(&lane, &costs(), rules, drive(134_000, 1_340_000));
    assert_eq!((got.ios, got.gives.rates.effective_sleep_ns), (40, 5_000.0));
    let cpu = 12_000.0 + 32_500.0 + 32_500.0 + 6_500.0;
    close(got.gives.cpu_ns_per_io, cpu / 4.0);
    close(got.gives.latencies.mean_ns, 33_000.0);
    let all_cpu = cpu + 400.0 + 100.0 + 100.0 + 1_300.0;
    close(got.gives.kiops_per_core, 4e6 / all_cpu);
}

#[test]
fn what_a_sleep_adds_to_latency_and_submission() {
    let cost = CostModel {
        added_latency_ns: Curve::constant(250.0),
        added_submit_ns: Curve::constant(120.0),
        ..costs()
    };
    let got = thirty_us(&cost, rule("fixed:20us", 1));
    let cpu = 2_120.0 + 2_500.0 + (30_250.0 - 23_000.0) + 500.0;
    check_rates(&got, 32_500 + 370, cpu, 400.0);
    check_latency(&got, 32_370.0);
    assert_eq!(got.gives.rates.miss_rate, 0.0);
    let poll = |cost| thirty_us(cost, Waiting::poll(1));
    assert_eq!(poll(&cost), poll(&costs()));
}

/// Half of the delays are 2 us, half are 4 us, so half of the sleeps of 20 us miss a latency of 23
/// us. Over 8191 draws the share has a standard deviation of 0.55 %.
#[test]
fn delays_are_drawn_evenly() {
    let mut cost = costs();
    cost.wake_clear.spread_ns = Curve::constant(1_000.0);
    cost.wake_clear.z = vec![-1.0, 1.0];
    let lane = recording(2_000, [23_000], 500);
    let got = run_case(&lane, &cost, rule("fixed:20us", 1), drive(0, 1_000_000_000));
    let missed = got.gives.rates.miss_rate;
    assert!((missed - 0.5).abs() < 0.025, "{missed}");
    // A delay is never negative: a sleep of 20 us lasts at least 20 us, however low the draw is.
    cost.wake_clear.z = vec![-9.0];
    let got = run_case(&lane, &cost, rule("fixed:20us", 1), drive(0, 1_000_000));
    close(got.gives.t_under, 3_000.0 / 23_000.0);
}

/// Sleeps of 20 us wake at 23 us. A completion at 30 us disturbs them during the `lead` before it.
/// With a lead of 7 us the two meet, which is a hit: the thread then wakes after the hit delay at
/// 21.5 us, finds the completion at 30 us and reaps it.
#[test]
fn a_completion_within_the_lead_counts_as_hit() {
    let outcome_at = |hit_lead_ns: f64| {
        let cost = CostModel {
            hit_lead_ns,
            ..costs()
        };
        thirty_us(&cost, rule("fixed:20us", 1))
    };
    let clear = outcome_at(6_999.0);
    assert_eq!(clear.gives.rates.miss_rate, 0.0);
    check_latency(&clear, 32_000.0);
    let cpu = 2_000.0 + 2_500.0 + 7_000.0 + 500.0;
    close(clear.gives.cpu_ns_per_io, cpu);
    let hit = outcome_at(7_000.0);
    check_rates(&hit, 2_000 + 30_700 + 500, 2_000.0 + 3_100.0 + 500.0, 400.0);
    check_latency(&hit, 2_000.0 + 30_000.0 + 700.0);
    assert_eq!((hit.gives.rates.miss_rate, hit.gives.t_under), (1.0, 0.0));
    close(hit.gives.t_over, 700.0 / 30_000.0);
}

/// After a hit within the lead the wake-up may come after the completion. It comes at 20 us plus
/// the hit delay of a sleep 10 us shorter than the latency.
#[test]
fn a_hit_within_the_lead_has_the_hit_delay() {
    let mut cost = costs();
    cost.hit_lead_ns = 8_000.0;
    cost.wake_hit.base_ns = Curve {
        x: vec![-20_000.0, 0.0],
        y: vec![9_000.0, 15_000.0],
    };
    let got = thirty_us(&cost, rule("fixed:20us", 1));
    check_latency(&got, 2_000.0 + 20_000.0 + 12_000.0 + 700.0);
    assert_eq!(got.gives.rates.miss_rate, 1.0);
}

/// The lead counts back from a sleeper's completion, which is 250 ns later than with polling.
#[test]
fn the_lead_counts_from_the_sleepers_completion() {
    let miss_rate = |lead: f64| {
        let cost = CostModel {
            hit_lead_ns: lead,
            added_latency_ns: Curve::constant(250.0),
            ..costs()
        };
        shares(&thirty_us(&cost, rule("fixed:20us", 1)))[0]
    };
    assert_eq!((miss_rate(7_249.0), miss_rate(7_250.0)), (0.0, 1.0));
}

/// Nine spreads of 1 us below and above 3 us would be -6 and 12 us. The bounds at a sleep of 20 us,
/// half-way between the corners, are 1.5 and 5 us.
#[test]
fn a_clear_delay_keeps_its_bounds() {
    let line = |a: f64, b: f64| Curve {
        x: vec![10_000.0, 30_000.0],
        y: vec![a, b],
    };
    let polled = |z: f64, bounded: bool| {
        let mut cost = costs();
        cost.wake_clear.spread_ns = Curve::constant(1_000.0);
        cost.wake_clear.z = vec![z];
        if bounded {
            cost.wake_clear.least_ns = line(1_000.0, 2_000.0);
            cost.wake_clear.most_ns = line(4_000.0, 6_000.0);
        }
        let got = thirty_us(&cost, rule("fixed:20us", 1));
        (got.gives.t_under * 30_000.0, got.gives.rates.miss_rate)
    };
    let check = |(got_polled, got_missed): (f64, f64), polled: f64, missed: f64| {
        close(got_polled, polled);
        assert_eq!(got_missed, missed);
    };
    check(polled(-9.0, true), 30_000.0 - 21_500.0, 0.0);
    check(polled(9.0, true), 30_000.0 - 25_000.0, 0.0);
    check(polled(1.0, true), 30_000.0 - 24_000.0, 0.0);
    check(polled(-9.0, false), 30_000.0 - 20_000.0, 0.0);
    check(polled(9.0, false), 0.0, 1.0);
}

/// A sleep of 40 us ends 10 us after the completion. Its delay is 1.5 us plus or minus 9 us, kept
/// between 1.2 and 4 us.
#[test]
fn a_hit_delay_keeps_its_bounds() {
    for (z, delay) in [(-9.0, 1_200.0), (9.0, 4_000.0), (1.0, 2_500.0)] {
        let mut cost = costs();
        cost.wake_hit.spread_ns = Curve::constant(1_000.0);
        cost.wake_hit.z = vec![z];
        cost.wake_hit.least_ns = Curve::constant(1_200.0);
        cost.wake_hit.most_ns = Curve::constant(4_000.0);
        let got = thirty_us(&cost, rule("fixed:40us", 1));
        check_latency(&got, 2_000.0 + 40_000.0 + delay + 700.0);
    }
}

/// A lower bound below zero has no effect, because no timer wakes before its time.
#[test]
fn the_least_delay_is_zero() {
    let mut cost = costs();
    cost.wake_clear.spread_ns = Curve::constant(1_000.0);
    cost.wake_clear.z = vec![-9.0];
    cost.wake_clear.least_ns = Curve::constant(-500.0);
    let got = thirty_us(&cost, rule("fixed:20us", 1));
    close(got.gives.t_under, 10_000.0 / 30_000.0);
}

/// The oracle asks for latency - lead - 1 ns - delay, and polls the lead and 1 ns.
#[test]
fn the_oracle_sleeps_up_to_the_completion() {
    for (lead, asked, polled) in [(0.0, 26_999.0, 1.0), (5_000.0, 21_999.0, 5_001.0)] {
        let cost = CostModel {
            hit_lead_ns: lead,
            ..costs()
        };
        let got = thirty_us(&cost, Waiting::Oracle);
        check_rates(&got, 32_500, 2_000.0 + 2_500.0 + polled + 500.0, 400.0);
        assert_eq!(shares(&got)[..3], [0.0, asked, 0.0]);
        check_latency(&got, 32_000.0);
    }
}

/// The oracle does not sleep if the sleep costs as much CPU as it saves, or if the latency is at
/// most the delay plus the lead.
#[test]
fn the_oracle_polls_below_the_break_even() {
    let sleeps = |lead: f64, cpu: f64, device: u32| {
        let cost = CostModel {
            sleep_cpu_clear_ns: Curve::constant(cpu),
            hit_lead_ns: lead,
            ..costs()
        };
        let lane = recording(2_000, [device], 500);
        let got = run_case(&lane, &cost, Waiting::Oracle, drive(0, 1_000_000));
        shares(&got)[1] > 0.0
    };
    // The CPU saved is 30 us less the time still polled, 1 ns or 4,001 ns.
    assert!(sleeps(0.0, 29_998.0, 30_000) && !sleeps(0.0, 29_999.0, 30_000));
    assert!(sleeps(4_000.0, 25_998.0, 30_000) && !sleeps(4_000.0, 25_999.0, 30_000));
    assert!(sleeps(0.0, 0.0, 3_002) && !sleeps(0.0, 0.0, 3_001));
    assert!(sleeps(4_000.0, 0.0, 7_002) && !sleeps(4_000.0, 0.0, 7_001));
}

/// Two I/Os of 10 us and one of 40 us repeat; nearest ranks are found by hand.
#[test]
fn percentiles_are_nearest_ranks() {
    let lane = recording(0, [10_000, 10_000, 40_000], 0);
    let got = run_case(&lane, &zero(), Waiting::poll(1), drive(0, 600_000));
    let latencies = got.gives.latencies;
    assert_eq!((got.ios, latencies.mean_ns), (30, 20_000.0));
    assert_eq!((latencies.p50_ns, latencies.p99_ns), (10_000.0, 40_000.0));
}

#[test]
fn nothing_to_replay_gives_nothing() {
    let cost = zero();
    let run = |lanes: &[_], drive: Drive| simulate(lanes, &cost, Waiting::poll(lanes.len()), drive);
    let nothing = SimOutcome::default();
    assert_eq!(run(&[], drive(0, 1_000)), nothing);
    assert_eq!(run(&[recording(0, [], 0)], drive(0, 1_000)), nothing);
    // With I/Os of no time, simulated time would stand still.
    assert_eq!(run(&[recording(0, [0], 0)], drive(0, 1_000)), nothing);
    assert_eq!(run(&[recording(0, [5], 0)], drive(1_000, 0)), nothing);
}

/// Three I/Os of 10 us, submitted every 25 us, under a fixed sleep of 28 us that ends 2 us late, so
/// that each takes 30 us. In the closed loop the period is 30 + 15 = 45 us. In the open loop they
/// are due at 0, 25 and 50 us and begin at 0, 30 and 60 us, so the latencies from the intended time
/// are 30, 35 and 40 us.
#[test]
fn late_completions_delay_what_follows_or_queue_it() {
    let lane = recording(0, [10_000; 3], 15_000);
    let fixed = || rule("fixed:28us", 1);
    let cost = wakes_late(2_000.0);
    let lanes = [lane];
    let closed = simulate(&lanes, &cost, fixed(), Drive::one_pass(1));
    assert_eq!((closed.ios, closed.gives.latencies.mean_ns), (3, 30_000.0));
    assert!((closed.gives.rates.iops - 3.0 / 135e-6).abs() < 1e-6 * closed.gives.rates.iops);

    let open = simulate_with(
        Arrival::OpenLoop,
        &lanes,
        &cost,
        fixed(),
        Drive::one_pass(1),
    );
    assert_eq!((open.ios, open.gives.latencies.mean_ns), (3, 35_000.0));
    let latencies = open.gives.latencies;
    assert_eq!((latencies.p50_ns, latencies.p99_ns), (35_000.0, 40_000.0));
}

#[test]
fn both_are_the_recording_when_nothing_is_late() {
    let lanes = [recording(500, [10_000, 30_000, 20_000], 5_000)];
    let cost = wakes_late(0.0);
    let simulated =
        |arrival| simulate_with(arrival, &lanes, &cost, Waiting::poll(1), Drive::one_pass(1));
    let (closed, open) = (simulated(Arrival::ClosedLoop), simulated(Arrival::OpenLoop));
    assert_eq!(closed.gives.rates.iops, open.gives.rates.iops);
    assert_eq!(closed.gives.latencies.mean_ns, open.gives.latencies.mean_ns);
    assert!((closed.gives.rates.iops - 3.0 / 76.5e-6).abs() < 1e-6 * closed.gives.rates.iops);
}

#[test]
fn one_pass_counts_each_once() {
    let lanes = [
        recording(0, [10_000; 100], 0),
        recording(0, [20_000; 10], 0),
    ];
    let poll = |drive| simulate(&lanes, &wakes_late(0.0), Waiting::poll(2), drive);
    assert_eq!(poll(Drive::one_pass(1)).ios, 110);
    let later = poll(Drive {
        warm_up: Nanos(500_000),
        ..Drive::one_pass(1)
    });
    assert_eq!(later.ios, 50, "the first lane's second half");
    assert!((later.gives.rates.iops - 50.0 / 500e-6).abs() < 1.0);
}
