//! Interference and the methods of one job, on devices whose queue is known.

use crate::harness::{changed, claim, run, verdicts};
use q2c_result::reproduce::Verdict::{CannotJudge, DoesNotHold, Holds};
use q2c_result::reproduce::{Reason, Tick};
use q2c_testkit::alone;

/// Phases of 1 s instead of 20 s, whose first 0.25 s do not count as steady.
const SCALE: f64 = 0.05;
/// The period of the rule that goes with it: the shortest window, the first second, has five.
const PERIOD: (&str, &str) = ("period=100ms", "period=10ms");
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
        let experiment = changed("miss-rate-interference", &[PERIOD]);
        verdicts(
            || run(&experiment, WIDE, 5, SCALE),
            &[
                ("no background: the miss rate is near 0", Holds),
                ("rises for a short time", DoesNotHold),
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
        let experiment = changed("miss-rate-interference", &[PERIOD]);
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
        // 1 s in intervals of 12.5 ms: a quarter of the first second of the file, 50 ms here.
        // Intervals at the end whose threads were late are missing.
        assert!(
            four.jobs
                .iter()
                .all(|job| (60..=81).contains(&job.ticks.len())),
            "{four:?}"
        );
        let need = &claim(&result, "first above 80 %").needs[0];
        assert_eq!((need.needed.as_str(), need.present.as_str()), ("5", "2"));
        // Intervals are counted from the phase's begin and follow each other.
        let ticks = &four.jobs[0].ticks;
        let number = |tick: &Tick| tick.end_s / tick.seconds;
        let whole = |tick: &Tick| (number(tick) - number(tick).round()).abs() < 1e-6;
        assert!(
            ticks.iter().all(|tick| whole(tick) && number(tick) > 0.5),
            "{ticks:?}"
        );
        assert!(
            ticks.is_sorted_by(|one, other| one.end_s < other.end_s),
            "{ticks:?}"
        );
    });
}

/// The rule of 100 ms in phases of 1 s: the first second of the file has become 50 ms, half a
/// period, so nothing is said of it. Of the last 0.75 s, more than seven periods, a verdict is.
#[test]
fn a_window_that_is_too_short_for_the_rule_is_not_judged() {
    alone(
        "a_window_that_is_too_short_for_the_rule_is_not_judged",
        || {
            let experiment = changed("miss-rate-interference", &[]);
            let result = run(&experiment, WIDE, 5, SCALE);
            let steady = claim(&result, "no background: the miss rate is near 0");
            assert_ne!(steady.verdict, CannotJudge, "{steady:#?}");
            let first = claim(&result, "first above 80 %");
            assert_eq!(first.verdict, CannotJudge, "{first:#?}");
            let Some(Reason::ShortWindow(short)) = first.reasons.first() else {
                panic!("{:?}", first.reasons);
            };
            assert_eq!((short.period_s, short.periods), (0.1, 3));
            assert!((short.present_s - 0.05).abs() < 1e-9, "{short:?}");
            assert!(first.expects[0].measured.is_some());
        },
    );
}

/// Four jobs that end leave a mean of 50 ms behind on a device that takes 10 ms for one request at
/// a time: the foreground then sleeps 25 ms, sees 25 ms, sleeps 12.5 ms, and so on until it sleeps
/// less than the 10 ms. It misses at first and not later.
#[test]
fn a_mean_from_before_makes_misses_rise_for_a_short_time() {
    alone(
        "a_mean_from_before_makes_misses_rise_for_a_short_time",
        || {
            let before = "[[phase]]\nname = \"before\"\nlength = \"20s\"\n\
                      set.background = { threads = 4 }\n\n[[phase]]\nname = \"none\"";
            let experiment = changed(
                "miss-rate-interference",
                &[PERIOD, ("[[phase]]\nname = \"none\"", before)],
            );
            verdicts(
                || run(&experiment, NARROW, 5, SCALE),
                &[
                    ("no background: the miss rate is near 0", Holds),
                    ("rises for a short time", Holds),
                ],
            );
        },
    );
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
