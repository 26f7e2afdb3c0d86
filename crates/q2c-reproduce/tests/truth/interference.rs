//! Interference and the methods of one job, on devices with a known queue.

use crate::harness::{assert_verdicts, changed, changed_text, check_all, claim, pick, run};
use q2c_result::reproduce::Reason;
use q2c_result::reproduce::ReproduceVerdict::{CannotJudge, DoesNotHold, Holds};

/// A device without a queue: background I/O delays no other request.
const WIDE: &str = "sim:10ms,servers=1000";
/// A device that serves one request at a time, each in 10 ms.
const NARROW: &str = "sim:10ms,servers=1";

/// A simulated device is its own engine, and its background has one request in flight.
const BACKGROUND: (&str, &str) = (
    "engine = \"libaio\"\nmethod = \"interrupt\"\nbs = \"4k\"\ndepth = 32\n",
    "method = \"interrupt\"\nbs = \"4k\"\n",
);

const NEAR_0: &str = "no background: the miss rate is near 0";
const RISES: &str = "rises for a short time";
const ON_ONE_CORE: &str = "on one core: the miss rate is above 10 %";
const FIRST: &str = "first above 80 %";

/// On a device without a queue, half of 10 ms is never too long, whatever the background does.
#[test]
fn misses_follow_the_sleep() {
    let experiment = changed("miss-rate-interference", &[BACKGROUND]);
    let wide = run(&experiment, WIDE, 5, 1.0);
    assert_verdicts(&wide, Holds, &[NEAR_0]);
    let says = [RISES, ON_ONE_CORE, FIRST, "about a tenth"];
    assert_verdicts(&wide, DoesNotHold, &says);
    // The published load with a fixed sleep of 15 ms in place of the rule. Every request misses,
    // since it takes 10 ms.
    let rule = ("mean:ratio=50%,period=100ms", "fixed:15ms");
    let late = changed("miss-rate-interference", &[rule, BACKGROUND]);
    let late = run(&late, WIDE, 5, 1.0);
    assert_verdicts(&late, DoesNotHold, &[NEAR_0]);
    assert_verdicts(&late, Holds, &[ON_ONE_CORE, FIRST]);
}

/// The series is shown, and claims about more jobs than CPUs are not judged.
#[test]
fn too_few_cpus_are_told_and_the_series_is_shown() {
    let experiment = changed("miss-rate-interference", &[BACKGROUND]);
    let result = run(&experiment, WIDE, 2, 1.0);
    assert_verdicts(&result, Holds, &[NEAR_0]);
    assert_verdicts(&result, DoesNotHold, &["on one core"]);
    assert_verdicts(&result, CannotJudge, &[FIRST]);
    let need = &claim(&result, FIRST).needs[0];
    assert_eq!((need.needed.as_str(), need.present.as_str()), ("5", "2"));
    // 20 s in intervals of 0.1 s, counted from the phase's start.
    for phase in &result.points[0].trials[0].phases {
        let ends = |job: &q2c_result::reproduce::JobSeries| -> Vec<f64> {
            job.ticks.iter().map(|tick| tick.end_s).collect()
        };
        let wanted: Vec<f64> = (1..=200).map(|n| f64::from(n) * 0.1).collect();
        let whole = phase.jobs.iter().all(|job| ends(job) == wanted);
        assert!(whole, "{phase:?}");
    }
}

/// The rule has a period of 100 ms, and phases last 1 s. The file's first second becomes 50 ms,
/// half a period, so it gets no verdict. The last 0.75 s have more than seven periods, and get one.
#[test]
fn a_window_that_is_too_short_for_the_rule_is_not_judged() {
    let experiment = changed("miss-rate-interference", &[BACKGROUND]);
    let result = run(&experiment, WIDE, 5, 0.05);
    let steady = claim(&result, NEAR_0);
    assert_eq!(steady.verdict, Holds, "{steady:#?}");
    let first = claim(&result, FIRST);
    assert_eq!(first.verdict, CannotJudge, "{first:#?}");
    let Some(Reason::ShortWindow(short)) = first.reasons.first() else {
        panic!("{:?}", first.reasons);
    };
    assert_eq!((short.period_s, short.periods), (0.1, 3));
    assert!((short.present_s - 0.05).abs() < 1e-9, "{short:?}");
    assert!(first.expects[0].measured.is_some());
}

/// Four jobs that end leave a mean of 50 ms behind, on a device that takes 10 ms for one request at
/// a time. The foreground then sleeps 25 ms, sees 25 ms, sleeps 12.5 ms, and so on, until it sleeps
/// less than 10 ms. So it misses only at first.
#[test]
fn a_mean_from_before_makes_misses_rise_for_a_short_time() {
    let before = "[[phase]]\nname = \"before\"\nlength = \"20s\"\n\
                  set.background = { threads = 4 }\n\n[[phase]]\nname = \"none\"";
    let change = ("[[phase]]\nname = \"none\"", before);
    let experiment = changed("miss-rate-interference", &[change, BACKGROUND]);
    let narrow = run(&experiment, NARROW, 5, 1.0);
    assert_verdicts(&narrow, Holds, &[NEAR_0, RISES]);
}

/// With one server and four background jobs, the foreground gets a fifth of its IOPS.
#[test]
fn a_queue_that_is_shared_takes_its_share() {
    let says = "about a tenth";
    let tenth = "[\"steady.miss_rate ~ 30 % +- 10 %\", \"ratio(steady.iops, none) ~ 0.1 +- 0.05\"]";
    let change = (tenth, "\"ratio(steady.iops, none) ~ 0.2 +- 0.001\"");
    let name = "miss-rate-interference";
    let shared = changed_text(name, pick(name, &[says]), &[change, BACKGROUND]);
    check_all(&run(&shared, NARROW, 5, 1.0), &[(says, Holds)]);
    check_all(&run(&shared, WIDE, 5, 1.0), &[(says, DoesNotHold)]);
}

#[test]
fn the_sleep_follows_the_ratio() {
    let experiment = changed("sleep-ratio-interference", &[BACKGROUND]);
    let result = run(&experiment, WIDE, 5, 1.0);
    let falls = "the effective sleep falls";
    assert_verdicts(&result, Holds, &[falls, "mean IOPS stay flat"]);
    assert_verdicts(&result, DoesNotHold, &["considerable misses"]);
    // The ratios in reverse order.
    let [last, first] = [("ratio=3%", "ratio=50%"), ("ratio=X", "ratio=3%")];
    let changes = [("ratio=50%", "ratio=X"), last, first, BACKGROUND];
    let turned = changed("sleep-ratio-interference", &changes);
    check_all(&run(&turned, WIDE, 5, 1.0), &[(falls, DoesNotHold)]);
}

/// A rule that sleeps 4 of 10 ms polls for 6. A longer sleep reduces both IOPS and CPU.
#[test]
fn hybrid_polling_saves_cpu_where_it_sleeps() {
    let with = |rule: &str| {
        let rule = ("mean:ratio=50%,period=100ms", rule);
        let one_job = ("values = [1, 4, 16]", "values = [1]");
        let experiment = changed("poll-vs-hybrid-cpu", &[rule, one_job]);
        run(&experiment, "sim:10ms,servers=8", 2, 1.0)
    };
    let says = ["has the IOPS of polling", "about 60 % CPU"];
    assert_verdicts(&with("mean:ratio=40%,period=100ms"), Holds, &says);
    assert_verdicts(&with("fixed:20ms"), DoesNotHold, &says);
}

/// 16 jobs that sleep 20 ms for each I/O make 800 in a second. That is all that 8 servers of 10 ms
/// can do, and half of what 16 can.
#[test]
fn the_maximum_is_that_of_several_jobs() {
    let late = ("hybrid:mean:ratio=50%,period=100ms", "hybrid:fixed:20ms");
    let experiment = changed("poll-vs-hybrid-cpu", &[late]);
    let on = |device: &str| run(&experiment, device, 16, 0.2);
    let says = ["both reach the device's maximum"];
    assert_verdicts(&on("sim:10ms,servers=8"), Holds, &says);
    assert_verdicts(&on("sim:10ms,servers=16"), DoesNotHold, &says);
}
