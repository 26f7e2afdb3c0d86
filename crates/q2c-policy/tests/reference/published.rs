//! Numbers that others have published, or that follow from a rule by arithmetic.

use super::closed_loop::{IoResult, run_one};
use super::latencies::{synthetic, zssd};

struct Shares {
    over: f64,
    under: f64,
    miss_rate: f64,
    asleep: f64,
}

fn summary(ios: &[IoResult], wake_delay: u64) -> Shares {
    let share = |time: &dyn Fn(&IoResult) -> u64| -> f64 {
        let device: u64 = ios.iter().map(|r| r.latency).sum();
        ios.iter().map(time).sum::<u64>() as f64 / device as f64
    };
    let wake = |r: &IoResult| r.asked + wake_delay * u64::from(r.asked > 0);
    Shares {
        over: share(&|r| r.observed - r.latency),
        under: share(&|r| r.latency.saturating_sub(wake(r))),
        miss_rate: miss_rate(ios),
        asleep: share(&|r| r.asked),
    }
}

fn miss_rate(ios: &[IoResult]) -> f64 {
    ios.iter().filter(|r| r.missed).count() as f64 / ios.len() as f64
}

/// The publications on PAS give T_over / T_under as 0.029 / 0.309 on the whole trace and 0.021 /
/// 0.283 on its first half. Fixed steps without a wake-up delay give these figures.
#[test]
fn pas_on_zssd_gives_the_published_shares() {
    let Some(times) = zssd() else { return };
    for (times, over, under) in [(&times[..], 0.029, 0.309), (&times[..500], 0.021, 0.283)] {
        let s = summary(&run_one("pas:adaptive=off", times, 0), 0);
        assert!((s.over - over).abs() < 0.0005, "over {}", s.over);
        assert!((s.under - under).abs() < 0.0005, "under {}", s.under);
    }
}

/// With 2 us of wake-up delay the shares stay near the published ones, in either mode.
#[test]
fn pas_on_zssd_with_wake_delay_stays_near() {
    let Some(times) = zssd() else { return };
    for spec in ["pas:adaptive=off", "pas"] {
        let s = summary(&run_one(spec, &times, 2_000), 2_000);
        assert!((s.over - 0.029).abs() < 0.006, "{spec}: over {}", s.over);
        assert!((s.under - 0.309).abs() < 0.006, "{spec}: under {}", s.under);
        let near = (s.miss_rate - 0.20).abs() < 0.015;
        assert!(near, "{spec}: {}", s.miss_rate);
    }
}

/// The paper says that PAS "pins the miss rate near 20 % whatever the device". That holds for noise
/// of any width.
#[test]
fn pas_pins_the_miss_rate() {
    for (name, times) in synthetic() {
        if matches!(name, "noisy" | "two peaks" | "heavy tail" | "jumps") {
            let rate = miss_rate(&run_one("pas:adaptive=off", &times, 2_000)[500..]);
            assert!((0.17..0.23).contains(&rate), "{name}: {rate}");
        }
    }
}

#[test]
fn uring_ends_at_a_quarter_of_a_constant_time() {
    for time in [400, 30_000, 90_004] {
        let ios = run_one("uring", &[time; 10], 50);
        let asked: Vec<u64> = ios[..3].iter().map(|r| r.asked).collect();
        assert_eq!(asked, [0, time / 2, time / 4]);
        assert!(ios[3..].iter().all(|r| r.asked == time / 4));
    }
}

/// One fast completion lowers the sleep for good: the effective sleep on the public trace is only 2
/// %.
#[test]
fn uring_on_zssd_hardly_sleeps() {
    let Some(times) = zssd() else { return };
    let s = summary(&run_one("uring", &times.repeat(20), 2_000), 2_000);
    assert!((0.015..0.025).contains(&s.asleep), "{}", s.asleep);
}

/// The whole trace takes 54 ms, but a window of Linux takes 100 ms.
#[test]
fn linux_learns_nothing_from_54_ms() {
    let Some(times) = zssd() else { return };
    assert!(run_one("mean", &times, 2_000).iter().all(|r| r.asked == 0));
    let thrice = run_one("mean", &times.repeat(3), 2_000);
    assert!(thrice.iter().any(|r| r.asked > 0));
}

/// At 100 % the shortest observed time is the last sleep plus the wake-up delay, so the sleep grows
/// by the delay in every window.
#[test]
fn min_at_100_percent_runs_away() {
    let ios = run_one("min:100%,1ms", &[30_000; 60_000], 2_000);
    let mut sleeps: Vec<u64> = ios.iter().map(|r| r.asked).collect();
    sleeps.dedup();
    let grown = std::iter::once(0).chain((0..).map(|k| 30_000 + 2_000 * k));
    assert_eq!(sleeps, grown.take(sleeps.len()).collect::<Vec<u64>>());
    assert!(miss_rate(&ios) > 0.998, "{}", miss_rate(&ios));
    assert!(ios[59_999].observed > 10_000_000, "{:?}", ios[59_999]);
}

/// The results on a device of constant `time`, ns, long after a slow spell of 50 I/Os of 200 us.
fn after_a_slow_spell(spec: &str, time: u64) -> Vec<IoResult> {
    let mut times = vec![200_000; 50];
    times.resize(20_000, time);
    run_one(spec, &times, 2_000).split_off(15_000)
}

/// Once overslept, a rule that sleeps the share r of a mean, a minimum or a quantile with wake-up
/// delay d has a bound: d / (1 - r). If it reaches the device's time, the rule oversleeps for ever
/// and sleeps r d / (1 - r); otherwise it recovers.
#[test]
fn oversleep_lasts_beyond_the_stability_bound() {
    for (percent, bound, limit) in [(50, 4_000, 2_000), (75, 8_000, 6_000), (90, 20_000, 18_000)] {
        for spec in [
            format!("mean:{percent}%,200us"),
            format!("min:{percent}%,200us"),
            format!("quantile:5%,{percent}%,200us"),
            format!("linux410:{percent}%,200us"),
            format!("ewma:{percent}%"),
        ] {
            let stuck = after_a_slow_spell(&spec, bound - 100);
            assert!(stuck.iter().all(|r| r.missed), "{spec} below the bound");
            // Sleeps are whole ns, so the sleep stops up to 0.5 / (1 - r) ns above the limit.
            let off = |r: &IoResult| r.asked.abs_diff(limit);
            assert!(stuck.iter().all(|r| off(r) <= 6), "{spec}: {:?}", stuck[0]);
            let free = after_a_slow_spell(&spec, bound + 100);
            assert!(free.iter().all(|r| !r.missed), "{spec} above the bound");
        }
    }
}
