//! Several lanes on one device, and behaviour of rules that is published or follows by arithmetic
//! from their feedback.

use crate::cases::{close, drive, recording, rule, run_case, wakes_late, zero};
use q2c_model::Nanos;
use q2c_model::stats::Rng;
use q2c_sim::{Configuration, Drive, LaneRecording, SimOutcome, Waiting, simulate, sweep};

/// Simulates one lane of 10 us and one of 30 us, where nothing else takes time.
fn ten_and_thirty(text: &str, from: u64, length: u64) -> SimOutcome {
    let lanes = [recording(0, [10_000], 0), recording(0, [30_000], 0)];
    simulate(&lanes, &zero(), rule(text, 2), drive(from, length))
}

/// The window opens with the first completion at 10 us and closes at 110 us. In it are ten I/Os of
/// 10 us, at 10, 20 .. 100 us, and three of 30 us, at 30, 60 and 90 us. Their mean is 190 / 13 =
/// 14,615 ns, half of it 7,308 ns. Each lane alone would sleep 5 and 15 us.
#[test]
fn lanes_share_the_window_of_a_rule_per_device() {
    let at_first = ten_and_thirty("mean:50%,100us", 0, 110_000);
    assert_eq!(at_first.gives.rates.effective_sleep_ns, 0.0);
    let got = ten_and_thirty("mean:50%,100us", 120_000, 50_000);
    // Between 120 and 170 us five I/Os of 10 us begin, and those of 30 us at 120 and 150 us.
    assert_eq!(got.ios, 7);
    close(got.gives.rates.effective_sleep_ns, 7_308.0);
    let got = ten_and_thirty("min:50%,100us", 120_000, 50_000);
    assert_eq!((got.ios, got.gives.rates.effective_sleep_ns), (7, 5_000.0));
}

/// `uring` keeps its state per lane, and its sleep settles at a quarter of the lane's latency:
/// 2,500 and 7,500 ns.
#[test]
fn a_rule_per_lane_keeps_lanes_apart() {
    let got = ten_and_thirty("uring", 300_000, 30_000);
    assert_eq!(got.ios, 4);
    let asked = (3.0 * 2_500.0 + 7_500.0) / 4.0;
    close(got.gives.rates.effective_sleep_ns, asked);
}

/// The first lane's I/O completes after 1 ms. Until then the rule has learned only from the second
/// lane: a window from 10 to 60 us, then sleeps of 5 us.
#[test]
fn a_rule_does_not_hear_of_a_completion_before_its_time() {
    let lanes = [recording(0, [1_000_000], 0), recording(0, [10_000], 0)];
    let drive = drive(60_000, 40_000);
    let got = simulate(&lanes, &zero(), rule("mean:50%,50us", 2), drive);
    assert_eq!((got.ios, got.gives.rates.effective_sleep_ns), (4, 5_000.0));
}

/// A submission that takes 100 us moves the decision to a time when the window from 10 to 60 us is
/// known. It has completions at 10, 30 and 50 us, of 10, 20 and 20 us: mean 16,666 ns, half of it
/// 8,333 ns.
#[test]
fn a_rule_decides_when_the_submission_has_returned() {
    let waits = std::iter::once(10_000).chain(std::iter::repeat_n(20_000, 9));
    let lanes = [recording(0, waits, 0), recording(100_000, [30_000], 0)];
    let got = simulate(&lanes, &zero(), rule("mean:50%,50us", 2), drive(0, 110_000));
    // These I/Os begin before 110 us: the first lane's at 0, 10, 30 and 50 us, which poll, and at
    // 70 and 90 us, and the second lane's one.
    assert_eq!(got.ios, 7);
    close(got.gives.rates.effective_sleep_ns, 3.0 * 8_333.0 / 7.0);
}

#[test]
fn lanes_without_a_shared_rule_do_not_touch_each_other() {
    let lane = |n: u32| recording(1_000, [10_000 * (n + 1), 7_000], 300 * n);
    let lanes: Vec<LaneRecording> = (0..4).map(lane).collect();
    let method = |n: usize, which: usize| match which {
        0 => Waiting::poll(n),
        1 => Waiting::interrupt(n),
        2 => Waiting::Oracle,
        _ => rule("fixed:12us", n),
    };
    for which in 0..4 {
        let run = |lanes: &[LaneRecording]| {
            let method = method(lanes.len(), which);
            simulate(lanes, &zero(), method, drive(50_000, 3_000_000))
        };
        let together = run(&lanes);
        let alone: Vec<SimOutcome> = lanes.chunks(1).map(run).collect();
        let sum = |value: fn(&SimOutcome) -> f64| alone.iter().map(value).sum::<f64>();
        assert_eq!(together.ios, alone.iter().map(|o| o.ios).sum::<u64>());
        close(together.gives.rates.iops, sum(|o| o.gives.rates.iops));
        let cpu_pct = sum(|o| o.gives.rates.cpu_pct) / 4.0;
        close(together.gives.rates.cpu_pct, cpu_pct);
    }
}

/// One lane begins at 100 us with two reads of 20 us; the other begins at 0 with ten of 10 us, and
/// ends at 100 us. Replayed once, the whole takes 140 us. Repeated, the second round begins at the
/// end of the first: the lanes never overlap.
#[test]
fn a_lane_that_begins_later_does_so_in_every_round() {
    let early = LaneRecording {
        // The lane thinks until the end of the trace.
        gap: vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 40_000.0].into(),
        ..recording(0, [10_000; 10], 0)
    };
    let late = LaneRecording {
        first_at: 100_000.0,
        ..recording(0, [20_000; 2], 0)
    };
    let lanes = [early, late];
    let once = simulate(&lanes, &zero(), Waiting::poll(2), Drive::one_pass(1));
    assert_eq!(once.ios, 12);
    close(once.gives.rates.iops, 12.0 / 140e-6);
    let poll = |from, length| simulate(&lanes, &zero(), Waiting::poll(2), drive(from, length)).ios;
    assert_eq!((poll(140_000, 100_000), poll(240_000, 40_000)), (10, 2));
}

/// A round has 30 us of device time and 70 us of think time. All, nothing or 5 us of that time use
/// the CPU; a limit of 200 us means all. Without any costs, a sleep of 10 or 20 us leaves 20 or 10
/// us to poll. Lanes share nothing here, so two have the CPU per I/O of one. The reference
/// simulator counts the same.
#[test]
fn think_time_takes_the_cpu_that_the_recording_says() {
    let cpu = |most_us: Option<u64>, lanes: usize, policy: &str| {
        let lane = LaneRecording {
            gap_cpu: most_us.map(Nanos::from_micros),
            ..recording(0, [30_000], 70_000)
        };
        let (lanes, cost) = (vec![lane; lanes], zero());
        let on = Configuration::closed_loop(&lanes, &cost, drive(0, 1_000_000));
        let one_by_one = on.simulate(rule(policy, lanes.len())).gives;
        let together = sweep(&[policy.parse().unwrap()], &on)[0].gives;
        close(one_by_one.cpu_ns_per_io, together.cpu_ns_per_io);
        together.cpu_ns_per_io
    };
    for lanes in [1, 2] {
        for (most_us, thought) in [(None, 70_000.0), (Some(0), 0.0), (Some(5), 5_000.0)] {
            close(cpu(most_us, lanes, "fixed:10us"), 20_000.0 + thought);
            close(cpu(most_us, lanes, "fixed:20us"), 10_000.0 + thought);
        }
        close(cpu(Some(200), lanes, "fixed:10us"), 90_000.0);
    }
}

fn device() -> Vec<u32> {
    let mut rng = Rng::new(9);
    let times = (0..20_000).map(|_| 30_000 + rng.below(30_000) as u32);
    times.collect()
}

/// `min` at 100 % and 1 ms, fed with device times: returns the shares of misses and late time.
fn open_loop(times: &[u32], wake_delay: u32) -> (f64, f64) {
    let (mut sleep, mut window, mut now, mut misses, mut late) = (0, Vec::new(), 0, 0u32, 0u64);
    for &time in times {
        let wake = if sleep == 0 { 0 } else { sleep + wake_delay };
        misses += u32::from(wake >= time);
        late += u64::from(wake.saturating_sub(time));
        now += time;
        window.push(time);
        if now >= 1_000_000 {
            sleep = window.drain(..).min().expect("a time");
            now = 0;
        }
    }
    let device: u64 = times.iter().map(|&t| u64::from(t)).sum();
    (
        f64::from(misses) / times.len() as f64,
        late as f64 / device as f64,
    )
}

/// The published pitfall: without the feedback of its own oversleep the rule looks fine. With it
/// the sleep grows by the wake-up delay in every window, and nearly every I/O is late by
/// milliseconds. Once the sleep s exceeds the period, a window lasts one I/O and its statistic is
/// that of the previous I/O. Then ds/dt = d / 2s, with d the wake-up delay, so s = sqrt(d t): 4.5
/// ms after 10 s.
#[test]
fn min_at_100_percent_is_fine_open_loop_and_runs_away_closed_loop() {
    let times = device();
    let (misses, late) = open_loop(&times, 2_000);
    let is_fine = misses < 0.15 && late < 0.005;
    assert!(is_fine, "open loop: {misses} missed, {late} late");
    let (lane, cost) = (recording(0, times, 0), wakes_late(2_000.0));
    let drive = drive(0, 10_000_000_000);
    let got = run_case(&lane, &cost, rule("min:100%,1ms", 1), drive);
    let (missed, p99) = (got.gives.rates.miss_rate, got.gives.latencies.p99_ns);
    assert!(missed > 0.97, "closed loop: {missed} missed");
    assert!(p99 > 3e6, "closed loop: p99 {p99} ns");
}

/// The rule misses only at the start, within the warm-up.
#[test]
fn min_at_70_percent_does_not_run_away() {
    let (lane, cost) = (recording(0, device(), 0), wakes_late(2_000.0));
    let drive = drive(20_000_000, 1_000_000_000);
    let got = run_case(&lane, &cost, rule("min:70%,10ms", 1), drive);
    assert_eq!(got.gives.rates.miss_rate, 0.0);
    // A window's shortest time is a little above 30 us, so the sleep is a little above 21 us.
    let sleep = got.gives.rates.effective_sleep_ns;
    assert!((21_000.0..21_800.0).contains(&sleep), "{sleep}");
}

/// Once overslept, a rule that sleeps the share r of mean or min with wake-up delay d has the fixed
/// point s = r d / (1 - r), and wakes at d / (1 - r). If the device's time is above that, the rule
/// recovers; otherwise it oversleeps for ever.
#[test]
fn oversleep_is_permanent_from_the_stability_bound_on() {
    for (percent, bound, limit) in [(50, 4e3, 2e3), (75, 8e3, 6e3), (90, 20e3, 18e3)] {
        for name in ["mean", "min"] {
            let text = format!("{name}:{percent}%,200us");
            let after_a_slow_spell = |time: u32| {
                // The recording is not repeated: 200,000 I/Os take longer than the drive.
                let slow = std::iter::repeat_n(200_000, 50);
                let times = slow.chain(std::iter::repeat_n(time, 200_000));
                let (lane, cost) = (recording(0, times, 0), wakes_late(2_000.0));
                let drive = drive(200_000_000, 50_000_000);
                run_case(&lane, &cost, rule(&text, 1), drive).gives.rates
            };
            let stuck = after_a_slow_spell(bound as u32 - 100);
            assert_eq!(stuck.miss_rate, 1.0, "{text} below the bound");
            // Sleeps are whole ns, so the sleep stops up to 0.5 / (1 - r) ns above the limit.
            let sleep = stuck.effective_sleep_ns;
            assert!((sleep - limit).abs() <= 6.0, "{text}: {sleep}");
            let free = after_a_slow_spell(bound as u32 + 100);
            assert_eq!(free.miss_rate, 0.0, "{text} above the bound");
        }
    }
}
