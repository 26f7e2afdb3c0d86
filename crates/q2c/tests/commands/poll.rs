//! Tests of `q2c poll sim`.

use crate::program::*;

/// Imports three reads of 30 us, with think times of 10 us after the first two: a round takes 110
/// us.
fn three_reads() -> Place {
    let folder = Place::with_file("in.csv", "at,took\n0,30\n40,30\n80,30\n");
    let import = "trace import in.csv --format csv --unit us";
    let map = "--columns submit_ns=at,latency=took --op read";
    let out = "--bs 4k --out three.trace";
    folder.done(format!("{import} {map} {out}"));
    folder
}

fn method<'a>(result: &'a Value, name: &str) -> &'a Value {
    entry(result, "methods", "method", name)
}

/// Sleeps of 20 us end at 22 us, so 8 us are polled. The oracle polls for 1 ns.
#[test]
fn a_round_by_hand() {
    let folder = three_reads();
    let sim = "poll sim three.trace --policy fixed:20us --policy fixed:29us";
    let how = "--warm-up 0 --measure 1100ms --wake-delay 2us --json";
    let result = folder.json(format!("{sim} {how}"));
    let (rounds, think_ns) = (10_000.0, 20_000.0 / 3.0);
    let clear = [
        ("poll", 30_000.0, 0.0),
        ("oracle", 1.0, 27_999.0),
        ("hybrid:fixed:sleep=20us", 8_000.0, 20_000.0),
    ];
    for (name, polled_ns, sleep_ns) in clear {
        let row = method(&result, name);
        assert_eq!(number(row, "/ios"), 3.0 * rounds);
        assert_close(number(row, "/iops"), 3.0 / 110e-6);
        assert_close(number(row, "/cpu_ns_per_io"), polled_ns + think_ns);
        assert_close(number(row, "/t_under"), polled_ns / 30_000.0);
        assert_eq!(number(row, "/effective_sleep_ns"), sleep_ns, "{name}");
        assert_eq!(number(row, "/miss_rate"), 0.0, "{name}");
        // Percentiles are the middles of classes that are 1.6 % wide.
        assert_near(number(row, "/p99_ns"), 30_000.0, 0.008);
    }
    // Sleeps of 29 us end at 31 us: every I/O is late by 1 us, and a round takes 113 us.
    let late = method(&result, "hybrid:fixed:sleep=29us");
    assert_eq!(number(late, "/miss_rate"), 1.0);
    assert_near(number(late, "/p50_ns"), 31_000.0, 0.008);
    assert_close(number(late, "/t_over"), 1.0 / 30.0);
    assert!((number(late, "/ios") - 3.0 * 1.1 / 113e-6).abs() <= 3.0);
}

/// A fact in the recording is not reported as assumed.
#[test]
fn only_what_was_needed_is_told_as_assumed() {
    let folder = Place::with_file("times.csv", "at,took\n0,30\n40,30\n80,30\n");
    let whole = "at,took,kind,len\n0,30,read,4096\n40,30,read,4096\n80,30,read,4096\n";
    folder.put("whole.csv", whole);
    let table = |how: &str| {
        let sim = format!("poll sim {how} --policy mean --unit us --format csv");
        unwrapped(&folder.done(sim))
    };
    let times = "times.csv --columns submit_ns=at,latency=took";
    let both = "requests without operation and length as reads of 4 KiB";
    has_words(&table(times), both);
    let op = table(&format!("{times} --op read"));
    has_words(&op, "requests without length as such of 4 KiB");
    let none = table("whole.csv --columns submit_ns=at,latency=took,op=kind,bytes=len");
    assert!(!none.contains("requests without"), "{none}");
}

/// Computes the simulation a second time here: times in whole nanoseconds, one sleep after the
/// other.
#[test]
fn a_public_list_by_a_second_replay() {
    let test = "poll::a_public_list_by_a_second_replay";
    let Some(path) = shared_data(test, "zssd-983zet-randread4k-latency-us.txt") else {
        return;
    };
    let folder = Place::new();
    let list = path.display();
    let stated = "--format=latency-list --unit us --op read --bs 4k --out list.trace";
    folder.done(format!("trace import {list} {stated}"));
    let text = fs::read_to_string(&path).unwrap();
    let ns = |line: &str| (line.parse::<f64>().unwrap() * 1e3).round() as u64;
    let latencies: Vec<u64> = text.lines().map(ns).collect();
    for (asked, policy) in [(20_000, "fixed:20us"), (30_000, "fixed:30us")] {
        let sim = format!("poll sim list.trace --json --policy {policy}");
        let how = "--warm-up 10ms --measure 300ms --wake-delay 1us";
        let result = folder.json(format!("{sim} {how}"));
        let wake = asked + 1_000;
        let [mut now, mut ios, mut missed, mut late, mut device] = [0_u64; 5];
        for latency in latencies.iter().cycle() {
            if now >= 310_000_000 {
                break;
            }
            if now >= 10_000_000 {
                ios += 1;
                missed += u64::from(wake >= *latency);
                late += wake.saturating_sub(*latency);
                device += latency;
            }
            now += wake.max(*latency);
        }
        let telling = (1..ios).contains(&missed);
        assert!(telling, "{missed} of {ios}: nothing to tell apart");
        let got = &result["methods"][2];
        assert_eq!(number(got, "/ios"), ios as f64);
        assert_close(number(got, "/miss_rate"), missed as f64 / ios as f64);
        assert_close(number(got, "/t_over"), late as f64 / device as f64);
    }
}

/// Every read takes 30 us, so the sleep asked is the formula's value for 30 us. Requests are polled
/// until the first window (10 ms) is over, which happens in the warm-up.
#[test]
fn own_rules_stand_beside_the_others() {
    let folder = three_reads();
    let sim = "poll sim three.trace --wake-delay 2us --rule '0.5 * min' --rule 'mean / misses' \
        --rule 'if(p01 > 40us, p01 - 4us, 0)' --rule 'max - 31us' \
        --policy 'rule:period=5ms,if(mean == max, mean - 6us, 1us)'";
    let result = folder.json(format!("{sim} --period 20ms --json"));
    let asked = |name: &str| number(method(&result, name), "/effective_sleep_ns");
    assert_eq!(asked("hybrid:rule:period=20ms,sleep=0.5 * min"), 15_000.0);
    let short = "hybrid:rule:period=20ms,sleep=if(p01 > 40us, p01 - 4us, 0)";
    assert_eq!(asked(short), 0.0);
    let named = "hybrid:rule:period=5ms,sleep=if(mean == max, mean - 6us, 1us)";
    assert_eq!(asked(named), 24_000.0);
    let windows = |name: &str, key: &str| number(method(&result, name), &format!("/windows/{key}"));
    let divided = "hybrid:rule:period=20ms,sleep=mean / misses";
    assert_eq!(asked(divided), 0.0);
    // 2.4 s have up to 120 windows of 20 ms. The first completion after a window opens the next.
    assert!((115.0..=120.0).contains(&windows(divided, "all")));
    assert_eq!(windows(divided, "undefined"), windows(divided, "all"));
    assert_eq!(windows(divided, "negative"), 0.0);
    let negative = "hybrid:rule:period=20ms,sleep=max - 31us";
    assert_eq!(windows(negative, "negative"), windows(negative, "all"));
    let counts = ["negative", "undefined"].map(|key| windows(short, key));
    assert_eq!(counts, [0.0, 0.0]);
    assert!(method(&result, "poll").get("windows").is_none());

    let said = folder.done(sim).replace("\n  ", " ");
    let caveats = said.lines().filter(|l| l.starts_with("no time: no sleep"));
    let caveats: Vec<&str> = caveats.collect();
    assert_eq!(caveats.len(), 2, "{said}");
    has_words(caveats[0], "no number (division by zero)");
    assert!(caveats[0].ends_with("hybrid:rule:period=10ms,sleep=mean / misses"));
}

/// Half of the smallest of the last three times, on a device that takes 30, 50, 70 and 90 us in
/// turns. Of three in a row 30 is the smallest, except for 50, 70 and 90. So the sleeps are 25, 15,
/// 15 and 15 us, and the thread is never late.
#[test]
fn a_rule_of_ones_own_looks_at_the_last_ios() {
    let folder = Place::with_file("turns.txt", "30\n50\n70\n90\n".repeat(100));
    let run = |options: &str| {
        let sim = "poll sim turns.txt --unit us --policy mean";
        folder.q2c(format!("{sim} {options}"))
    };
    let rule = "--rule '0.5 * min' --ios 3";
    let result = run(&format!("{rule} --warm-up 24ms --measure 24ms --json")).json();
    let recent = method(&result, "hybrid:recent:ios=3,sleep=0.5 * min");
    let sleeps = [25e3, 15e3, 15e3, 15e3];
    let mean = sleeps.iter().sum::<f64>() / 4.0;
    assert_close(number(recent, "/effective_sleep_ns"), mean);
    assert_eq!(number(recent, "/miss_rate"), 0.0);
    assert!(method(&result, "hybrid:mean:ratio=50%,period=100ms").is_object());
    has_words(&run(rule).done(), "recent:ios=3");
    run("--rule min --ios 0").refused(2, "ios must be from 1 to 1000");
    run("--rule min --ios 3 --period 1ms").refused(2, "--period");
    run("--ios 3").refused(2, "--rule");
    // The example that the list of rules suggests.
    let rules = folder.done("poll rules");
    has_words(&rules, "--rule '0.5 * min' --ios 8");
    let sweep =
        "poll sweep turns.txt --unit us --policy 'recent:ios=4|8|16,sleep=0.5 * min' --json";
    assert_eq!(folder.json(sweep).list("cells").len(), 3);
}

#[test]
fn a_recording_of_sleeps_is_refused() {
    let folder = Place::with_file("slept.csv", "at,took,slept\n0,30,20\n");
    let import =
        "trace import slept.csv --format csv --unit us --op read --bs 4k --out slept.trace";
    let map = "--columns submit_ns=at,latency=took,slept_ns=slept";
    folder.done(format!("{import} {map}"));
    let sim = folder.q2c("poll sim slept.trace --policy mean");
    sim.refused(3, "1 of its I/Os slept");
}
