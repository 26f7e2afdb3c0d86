//! The figures of an interval, and the effective mode of its method.

use super::WorkloadInterval;
use q2c_model::Rates;
use q2c_model::stats::{Histogram, percentile};
use q2c_policy::LaneMethod;
use q2c_result::live::LatencyCounts;
use q2c_result::mode::{ModeKind, ModeNote, WaitMode};
use q2c_result::waits::{Switches, WaitCounts};
use q2c_result::watch::{WatchCounts, WatchNumbers};

/// The figures of an interval, over all foreground lanes together.
pub fn numbers(interval: &WorkloadInterval) -> WatchNumbers {
    let foreground = &interval.foreground;
    let sleeps = &foreground.sleeps;
    let value_if = |exists: bool, value: f64| exists.then_some(value);
    let (ios, latencies) = (foreground.ios, &foreground.latencies);
    let per_io = |interrupts: u64| interrupts as f64 / ios as f64;
    let latency = |q| value_if(!latencies.is_empty(), percentile(latencies, q));
    WatchNumbers {
        rates: Rates {
            iops: Some(foreground.iops()),
            cpu_pct: Some(foreground.cpu_pct()),
            miss_rate: value_if(sleeps.handled > 0, foreground.miss_rate()),
            effective_sleep_ns: value_if(sleeps.handled > 0, foreground.effective_sleep_ns()),
        },
        slept_ns: value_if(sleeps.slept > 0, foreground.mean_slept_ns()),
        p50_ns: latency(0.50),
        p99_ns: latency(0.99),
        switches_per_io: foreground.switches_per_io(),
        interrupts_per_io: interval.interrupts.filter(|_| ios > 0).map(per_io),
        background_iops: value_if(interval.background.lanes > 0, interval.background.iops()),
        late: interval.late,
    }
}

/// The counts from which the figures of an interval are computed.
pub fn counts(interval: &WorkloadInterval) -> WatchCounts {
    let (foreground, background) = (&interval.foreground, &interval.background);
    WatchCounts {
        ios: foreground.ios,
        handled: foreground.sleeps.handled,
        slept: foreground.sleeps.slept,
        misses: foreground.sleeps.misses,
        asked_ns: foreground.sleeps.asked_ns,
        slept_ns: foreground.sleeps.slept_ns,
        cpu_ns: foreground.cpu_ns,
        interrupts: interval.interrupts,
        background_ios: (background.lanes > 0).then_some(background.ios),
    }
}

/// The latencies of an interval, over all foreground lanes together.
pub fn latency(interval: &WorkloadInterval) -> LatencyCounts {
    let mut histogram = Histogram::default();
    for ns in &interval.foreground.latencies {
        histogram.record(ns.round() as u64);
    }
    LatencyCounts::from(&histogram)
}

/// The effective mode, judged by the sleeps, context switches and interrupts counted.
pub fn mode(method: &LaneMethod, interval: &WorkloadInterval) -> WaitMode {
    let stats = &interval.foreground;
    if stats.ios == 0 {
        return WaitMode::from_kind(ModeKind::AtRest);
    }
    let counts = WaitCounts {
        ios: stats.ios,
        slept: stats.sleeps.slept,
        left_to_interrupt: stats.sleeps.interrupted,
        interrupts: interval.interrupts,
        requests: interval.requests,
        others: interval.background.lanes > 0,
        checks_kernel: interval.interrupts.is_some(),
        switches: Switches::PerWait(stats.switches_per_io()),
        polls_by: interval.polls_by,
        ..WaitCounts::default()
    };
    let mode = counts.mode(&method.clone().into());
    // Only a watched method is reported to have waited for interrupts without leaving its CPU.
    if mode.kind == ModeKind::Interrupt && counts.stayed_on_cpu() {
        return mode.with_note(ModeNote::StayedOnCpu);
    }
    mode
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_engine::SleepCounts;
    use q2c_engine::measure::PhaseStats;
    use q2c_policy::method::Means;

    /// Two lanes of half a second: 100 I/Os, of which 40 were handled; 20 slept and 5 missed.
    fn stats() -> PhaseStats {
        PhaseStats {
            lanes: 2,
            wall_ns: 0.5e9,
            ios: 100,
            cpu_ns: 250_000_000,
            voluntary: 15,
            sleeps: SleepCounts {
                handled: 40,
                slept: 20,
                misses: 5,
                asked_ns: 400_000,
                slept_ns: 500_000,
                ..SleepCounts::default()
            },
            latencies: (1..=100).map(f64::from).collect(),
            ..PhaseStats::default()
        }
    }

    #[test]
    fn an_interval_by_hand() {
        let interval = WorkloadInterval {
            foreground: stats(),
            interrupts: Some(20),
            ..WorkloadInterval::default()
        };
        let wanted = WatchNumbers {
            rates: Rates {
                iops: Some(200.0),
                cpu_pct: Some(25.0),
                miss_rate: Some(0.125),
                effective_sleep_ns: Some(10_000.0),
            },
            slept_ns: Some(25_000.0),
            p50_ns: Some(50.0),
            p99_ns: Some(99.0),
            // There are 15 switches on the 20 I/Os that slept.
            switches_per_io: 0.75,
            interrupts_per_io: Some(0.2),
            background_iops: None,
            late: None,
        };
        assert_eq!(numbers(&interval), wanted);
        let wanted_counts = WatchCounts {
            ios: 100,
            handled: 40,
            slept: 20,
            misses: 5,
            asked_ns: 400_000,
            slept_ns: 500_000,
            cpu_ns: 250_000_000,
            interrupts: Some(20),
            background_ios: None,
        };
        assert_eq!(counts(&interval), wanted_counts);
        let latency = latency(&interval);
        assert_eq!((latency.ios, latency.sum_ns), (100, 5_050));
        assert_eq!(latency.below(64), 63);
        let nothing = numbers(&WorkloadInterval::default());
        assert_eq!((nothing.slept_ns, nothing.p99_ns), (None, None));
        assert_eq!(nothing.rates.miss_rate, None);
    }

    #[test]
    fn a_mode_is_what_was_done_not_what_was_asked() {
        let rule = "hybrid:mean".parse().unwrap();
        let with = |slept, voluntary| {
            let mut stats = stats();
            (stats.sleeps.slept, stats.voluntary) = (slept, voluntary);
            stats
        };
        let interval = |foreground: PhaseStats, means, interrupts| WorkloadInterval {
            foreground,
            polls_by: Some(means),
            interrupts,
            ..WorkloadInterval::default()
        };
        let mode_of = |method: &LaneMethod, slept, voluntary| {
            let stats = with(slept, voluntary);
            mode(method, &interval(stats, Means::Ring, Some(100)))
        };
        let by = |kind| WaitMode::new(kind, Some(Means::Ring));
        assert_eq!(mode_of(&rule, 100, 100), by(ModeKind::Hybrid));
        let stayed = by(ModeKind::Hybrid).with_note(ModeNote::StayedOnCpu);
        assert_eq!(mode_of(&rule, 100, 10), stayed);
        let never = by(ModeKind::Poll).with_note(ModeNote::NeverSlept);
        assert_eq!(mode_of(&rule, 0, 0), never);
        assert_eq!(mode_of(&LaneMethod::Poll, 0, 0), by(ModeKind::Poll));
        let interrupt = WaitMode::from_kind(ModeKind::Interrupt);
        assert_eq!(mode_of(&LaneMethod::Interrupt, 0, 100), interrupt);
        let stayed = interrupt.with_note(ModeNote::StayedOnCpu);
        assert_eq!(mode_of(&LaneMethod::Interrupt, 0, 10), stayed);
        // A kernel that was asked to poll the device raised an interrupt for each of 100 I/Os.
        let polled = |method: &LaneMethod, interrupts| {
            mode(method, &interval(with(100, 100), Means::IoPoll, interrupts))
        };
        for method in [&rule, &LaneMethod::Poll] {
            let note = polled(method, Some(100)).note;
            let ignored = [ModeNote::Interrupted(Means::IoPoll), ModeNote::PollIgnored];
            assert!(note.is_some_and(|note| ignored.contains(&note)), "{method}");
            assert_eq!(polled(method, Some(1)).note, None, "{method}");
        }
    }
}
