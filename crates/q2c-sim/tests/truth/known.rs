//! Behaviour of the rules that is published, or that follows from their feedback by arithmetic.

use crate::cases::{drive, recording, rule, run_case, wakes_late};
use q2c_model::stats::Rng;

fn device() -> Vec<u32> {
    let mut rng = Rng::new(9);
    let times = (0..20_000).map(|_| 30_000 + rng.below(30_000) as u32);
    times.collect()
}

/// `min` at 100 % and 1 ms, fed with device times: the shares of misses and of late time.
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
/// that of the I/O before: ds/dt = d / 2s, with d the wake-up delay, so s = sqrt(d t), 4.5 ms after
/// 10 s.
#[test]
fn min_at_100_percent_is_fine_open_loop_and_runs_away_closed_loop() {
    let times = device();
    let (misses, late) = open_loop(&times, 2_000);
    assert!(
        misses < 0.15 && late < 0.005,
        "open loop: {misses} missed, {late} late"
    );
    let (lane, cost) = (recording(0, times, 0), wakes_late(2_000.0));
    let got = run_case(
        &lane,
        &cost,
        rule("min:100%,1ms", 1),
        drive(0, 10_000_000_000),
    );
    let (missed, p99) = (got.gives.rates.miss_rate, got.gives.latencies.p99_ns);
    assert!(missed > 0.97, "closed loop: {missed} missed");
    assert!(p99 > 3e6, "closed loop: p99 {p99} ns");
}

/// It misses only at the start, within the warm-up.
#[test]
fn min_at_70_percent_does_not_run_away() {
    let (lane, cost) = (recording(0, device(), 0), wakes_late(2_000.0));
    let drive = drive(20_000_000, 1_000_000_000);
    let got = run_case(&lane, &cost, rule("min:70%,10ms", 1), drive);
    assert_eq!(got.gives.rates.miss_rate, 0.0);
    // The shortest time of a window is a little more than 30 us, so the sleep is a little more than
    // 70 % of 30 us.
    let sleep = got.gives.rates.effective_sleep_ns;
    assert!((21_000.0..21_800.0).contains(&sleep), "{sleep}");
}

/// Once overslept, a rule that sleeps the share r of mean or min with wake-up delay d has the fixed
/// point s = r d / (1 - r), and wakes at d / (1 - r). It oversleeps for ever when that is not below
/// the device's time, and recovers otherwise.
#[test]
fn oversleep_is_permanent_from_the_stability_bound_on() {
    for (percent, bound, lasting) in [
        (50, 4_000, 2_000.0),
        (75, 8_000, 6_000.0),
        (90, 20_000, 18_000.0),
    ] {
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
            let stuck = after_a_slow_spell(bound - 100);
            assert_eq!(stuck.miss_rate, 1.0, "{text} below the bound");
            // Because sleeps are whole nanoseconds, the sleep stops up to 0.5 / (1 - r) ns above
            // the limit.
            let sleep = stuck.effective_sleep_ns;
            assert!((sleep - lasting).abs() <= 6.0, "{text}: {sleep}");
            let free = after_a_slow_spell(bound + 100);
            assert_eq!(free.miss_rate, 0.0, "{text} above the bound");
        }
    }
}
