//! Interference and the methods of one job, on devices whose queue is known.

use crate::harness::{changed, run, verdicts};
use q2c_result::reproduce::Verdict::{CannotJudge, DoesNotHold, Holds};
use q2c_testkit::alone;

/// Phases of 1 s instead of 20 s, whose first 0.25 s do not count as steady.
const SCALE: f64 = 0.05;
/// A device without a queue: background I/O slows nobody.
const WIDE: &str = "sim:10ms,servers=1000";
/// A device that serves one request at a time, each in 10 ms.
const NARROW: &str = "sim:10ms,servers=1";

/// A sleep of half of 10 ms never ends late, whatever the background does on a device without a
/// queue. With one server, four background jobs leave the foreground a fifth of the device. Its
/// latency is then constant, too, so that nothing is missed: the claims on misses do not hold.
#[test]
fn misses_and_throughput_follow_the_devices_queue() {
    alone("misses_and_throughput_follow_the_devices_queue", || {
        let experiment = changed("miss-rate-interference", &[]);
        verdicts(
            || run(&experiment, WIDE, 5, SCALE),
            &[
                ("no background: the miss rate is near 0", Holds),
                ("on one core: the miss rate is above 10 %", DoesNotHold),
                ("first above 80 %", DoesNotHold),
                ("about a tenth", DoesNotHold),
            ],
        );
        // The published load with a fixed sleep of 15 ms in the place of the rule: everything is
        // missed where requests take 10 ms.
        let fixed = |rule: &str| {
            changed(
                "miss-rate-interference",
                &[("mean:ratio=50%,period=100ms", rule)],
            )
        };
        let late = fixed("fixed:15ms");
        verdicts(
            || run(&late, "sim:10ms,servers=1000", 5, SCALE),
            &[
                ("no background: the miss rate is near 0", DoesNotHold),
                ("on one core: the miss rate is above 10 %", Holds),
                ("first above 80 %", Holds),
            ],
        );
    });
}

/// The same with too few CPUs: the series is there, and the claims about more jobs than CPUs are
/// not scored.
#[test]
fn too_few_cpus_are_told_and_the_series_is_shown() {
    alone("too_few_cpus_are_told_and_the_series_is_shown", || {
        let experiment = changed("miss-rate-interference", &[]);
        verdicts(
            || run(&experiment, WIDE, 2, SCALE),
            &[
                ("no background: the miss rate is near 0", Holds),
                ("on one core", DoesNotHold),
                ("first above 80 %", CannotJudge),
            ],
        );
        let result = run(&experiment, WIDE, 2, SCALE);
        let four = &result.points[0].trials[0].phases[2];
        assert!(
            four.jobs.iter().all(|job| job.ticks.len() >= 10),
            "{four:?}"
        );
        let need = &result.claims[2].needs[0];
        assert_eq!((need.needed.as_str(), need.present.as_str()), ("5", "2"));
        // Intervals begin at the phase's begin and follow each other.
        let ticks = &four.jobs[0].ticks;
        assert!((ticks[0].end_s - ticks[0].seconds).abs() < 1e-9);
        let mut pairs = ticks.windows(2);
        assert!(pairs.all(|pair| (pair[1].end_s - pair[0].end_s - pair[1].seconds).abs() < 1e-6));
    });
}

/// With one server and four background jobs the foreground gets a fifth of its IOPS.
#[test]
fn a_queue_that_is_shared_takes_its_share() {
    alone("a_queue_that_is_shared_takes_its_share", || {
        let shared = changed(
            "miss-rate-interference",
            &[(
                "ratio(steady.iops, none) ~ 0.1 +- 0.05",
                "ratio(steady.iops, none) ~ 0.2 +- 0.05",
            )],
        );
        let only_iops = [("[\"steady.miss_rate ~ 30 % +- 10 %\", ", "[")];
        let shared = only_iops.iter().fold(shared, |of, (from, to)| {
            q2c_reproduce::Experiment::parse(&of.text.replace(from, to)).unwrap()
        });
        verdicts(
            || run(&shared, NARROW, 5, SCALE),
            &[("about a tenth", Holds)],
        );
        verdicts(
            || run(&shared, WIDE, 5, SCALE),
            &[("about a tenth", DoesNotHold)],
        );
    });
}

#[test]
fn the_sleep_follows_the_ratio() {
    alone("the_sleep_follows_the_ratio", || {
        let experiment = changed("sleep-ratio-interference", &[]);
        verdicts(
            || run(&experiment, WIDE, 5, SCALE / 2.0),
            &[
                ("the effective sleep falls", Holds),
                ("considerable misses", DoesNotHold),
                ("mean IOPS stay flat", Holds),
            ],
        );
        // The ratios in reverse order.
        let turned = changed(
            "sleep-ratio-interference",
            &[
                ("ratio=50%", "ratio=X"),
                ("ratio=3%", "ratio=50%"),
                ("ratio=X", "ratio=3%"),
            ],
        );
        verdicts(
            || run(&turned, WIDE, 5, SCALE / 2.0),
            &[("the effective sleep falls", DoesNotHold)],
        );
    });
}

#[test]
fn hybrid_polling_saves_cpu_where_it_sleeps() {
    alone("hybrid_polling_saves_cpu_where_it_sleeps", || {
        let experiment = changed(
            "poll-vs-hybrid-cpu",
            &[("cpu ~ 60 % +- 10 %", "cpu ~ 55 % +- 15 %")],
        );
        verdicts(
            || run(&experiment, "sim:10ms,servers=8", 2, 0.1),
            &[("has the IOPS of polling", Holds)],
        );
        // A sleep that is longer than the request takes IOPS away, and CPU.
        let long = changed(
            "poll-vs-hybrid-cpu",
            &[("mean:ratio=50%,period=100ms", "fixed:20ms")],
        );
        verdicts(
            || run(&long, "sim:10ms,servers=8", 2, 0.1),
            &[
                ("has the IOPS of polling", DoesNotHold),
                ("about 60 % CPU", DoesNotHold),
            ],
        );
    });
}
