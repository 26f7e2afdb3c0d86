//! Small cases of the newer rules, with numbers calculated on paper.

use super::closed_loop::{INTERRUPT, IoResult, run_one};
use super::latencies::synthetic;
use q2c_model::{Direction, Nanos};
use q2c_policy::{Decision, Io, Lane, Outcome, PolicySpec, Token};

fn lane(spec: &str) -> Box<dyn Lane> {
    let spec: PolicySpec = spec.parse().unwrap_or_else(|e| panic!("{e}"));
    spec.build(1).remove(0)
}

fn add_window(lane: &mut dyn Lane, io: Io, start: u64, times: &[u64], misses: usize) {
    for (n, &observed) in times.iter().enumerate() {
        let outcome = Outcome::new(observed, n < misses);
        lane.complete(io, Token::default(), outcome, Nanos(start + n as u64));
    }
}

fn asked(lane: &mut dyn Lane, io: Io, now: u64) -> Decision {
    lane.decide(io, Nanos(now)).0
}

fn sleep(ns: u64) -> Decision {
    Decision::Sleep(Nanos(ns))
}

/// With a minimum of 30 us the sleep is 30,000 - 4,050 ns. From 40.5 us on the rule uses
/// interrupts, whose delay is part of the next minimum; up to 4.05 us it polls.
#[test]
fn ehp_takes_its_costs_off_or_interrupts() {
    for (time, expected) in [
        (30_000, 25_950),
        (40_499, 36_449),
        (40_500, INTERRUPT),
        (4_051, 1),
        (4_050, 0),
    ] {
        let ios = run_one("ehp:period=200us", &vec![time; 500], 2_000);
        let first_decided = ios.iter().position(|r| r.asked == expected);
        let from = first_decided.expect("the decision");
        assert!(ios[..from].iter().all(|r| r.asked == 0), "{time}");
        assert!(ios[from..].iter().all(|r| r.asked == expected), "{time}");
        assert!(ios.iter().all(|r| !r.missed), "{time}");
        // The first completion opens a window of 200 us; the decision follows soon after its end.
        assert!(from as u64 <= 2 + 200_000 / time, "{time} {from}");
    }
    // The benefit and the costs are parameters: interrupts begin at 5 x (2 x 1000 + 500) ns.
    let ios = run_one("ehp:1us,500ns,5,200us", &[12_500; 100], 2_000);
    assert_eq!(ios[99].asked, INTERRUPT);
}

/// Window 1 has the mean 100,000 and none before it: the sleep is half. Window 2 has 64 times, half
/// at 90,000, half at 100,000: LMD = 10,000 / 2 = 5,000, the mean is 95,000, and the sleep 95,000 -
/// 4 x 5,000 = 75,000. One miss in 64 (2^6) takes a quarter off, 56,250; so do two (2^5). Three
/// (2^4.4, rounded down 2^4) give half the mean, 47,500. Misses at 100,000 do not count.
#[test]
fn lmd_is_held_back_by_misses() {
    let mut times = vec![90_000; 32];
    times.resize(64, 100_000);
    let late_first: Vec<u64> = times.iter().rev().copied().collect();
    for (times, misses, expected) in [
        (&times, 0, 75_000),
        (&times, 1, 56_250),
        (&times, 2, 56_250),
        (&times, 3, 47_500),
        (&times, 4, 47_500),
        (&late_first, 32, 75_000),
    ] {
        let mut lane = lane("lmd:period=1us");
        add_window(&mut *lane, Io::READ_4K, 0, &[100_000; 10], 0);
        assert_eq!(asked(&mut *lane, Io::READ_4K, 2_000), sleep(50_000));
        add_window(&mut *lane, Io::READ_4K, 3_000, times, misses);
        let got = asked(&mut *lane, Io::READ_4K, 5_000);
        assert_eq!(got, sleep(expected), "{misses}");
    }
    // 95,000 <= 24 x 5,000.
    let mut lane = lane("lmd:deviations=24,period=1us");
    add_window(&mut *lane, Io::READ_4K, 0, &[100_000], 0);
    add_window(&mut *lane, Io::READ_4K, 3_000, &times, 0);
    assert_eq!(asked(&mut *lane, Io::READ_4K, 5_000), sleep(47_500));
}

/// Constant times have no deviation, so the sleep is half the mean, as in Linux.
#[test]
fn lmd_of_a_constant_is_half() {
    let ios = run_one("lmd:period=100us", &[30_001; 200], 2_000);
    assert!(ios[100..].iter().all(|r| r.asked == 15_001));
}

#[test]
fn hypi_goes_by_size() {
    let io = |bytes, direction| Io { direction, bytes };
    let mut lane = lane("hypi:4k=60%,64k=75%,interrupt=128k,period=1us");
    let sizes = [4_096, 8_191, 8_192, 131_071, 131_072];
    for bytes in sizes {
        // The largest size is left to interrupts, so its time must not count.
        let time = if bytes == 131_072 { 900_000 } else { 10_000 };
        add_window(&mut *lane, io(bytes, Direction::Write), 0, &[time], 0);
    }
    let got = sizes.map(|bytes| asked(&mut *lane, io(bytes, Direction::Write), 2_000));
    let expected = [6_000, 6_000, 5_000, 7_500].map(sleep);
    assert_eq!(got[..4], expected);
    assert_eq!(got[4], Decision::Interrupt);
    // There was no read so far.
    assert_eq!(asked(&mut *lane, Io::READ_4K, 2_000), Decision::Poll);
}

/// The mean is that of the running window, which lasts 2^27 ns = 134.2 ms. Reads and writes are
/// separate, sizes are not.
#[test]
fn linux410_reads_the_running_window() {
    let mut lane = lane("linux410");
    let big = Io {
        bytes: 1 << 20,
        ..Io::READ_4K
    };
    assert_eq!(asked(&mut *lane, Io::READ_4K, 0), Decision::Poll);
    add_window(&mut *lane, Io::READ_4K, 100, &[10_000], 0);
    assert_eq!(asked(&mut *lane, big, 200), sleep(5_000));
    add_window(&mut *lane, big, 134_217_727, &[30_001], 0);
    // (40,001 / 2 + 1) / 2, also in the next window until it has a sample.
    for now in [134_217_727, 134_217_728] {
        assert_eq!(asked(&mut *lane, Io::READ_4K, now), sleep(10_000));
    }
    add_window(&mut *lane, Io::READ_4K, 134_217_728, &[2_000], 0);
    assert_eq!(asked(&mut *lane, Io::READ_4K, 134_217_729), sleep(1_000));
    let write = Io {
        direction: Direction::Write,
        ..Io::READ_4K
    };
    assert_eq!(asked(&mut *lane, write, 134_217_730), Decision::Poll);
}

/// With a weight of one half the means are 8,000, 8,000 + 4,000, 12,000 - 5,000.
#[test]
fn ewma_moves_by_its_weight() {
    let mut lane = lane("ewma:50%,50%");
    let got = [8_000, 16_000, 2_000].map(|time| {
        add_window(&mut *lane, Io::READ_4K, 0, &[time], 0);
        asked(&mut *lane, Io::READ_4K, 1)
    });
    assert_eq!(got, [4_000, 6_000, 3_500].map(sleep));
}

/// Among twenty times, the 5 % quantile is the shortest time and the 10 % quantile the second
/// shortest.
#[test]
fn quantile_is_the_nearest_rank() {
    for (q, expected) in [
        ("5%", 20),
        ("5.1%", 21),
        ("10%", 21),
        ("50%", 29),
        ("100%", 39),
    ] {
        let mut lane = lane(&format!("quantile:{q},100%,1us"));
        let times: Vec<u64> = (20..40).rev().collect();
        add_window(&mut *lane, Io::READ_4K, 0, &times, 0);
        let got = asked(&mut *lane, Io::READ_4K, 2_000);
        assert_eq!(got, sleep(expected), "{q}");
    }
}

/// One fast I/O in twenty sets the sleep of `min`, but not that of the median.
#[test]
fn quantile_overlooks_a_rare_fast_io() {
    let times = (0..2_000).map(|i| if i % 20 == 0 { 3_000 } else { 20_000 });
    let times: Vec<u64> = times.collect();
    let last_sleep = |spec: &str| run_one(spec, &times, 100)[1_999].asked;
    assert_eq!(last_sleep("min:70%,2ms"), 2_100);
    // 20,000 lies in a bin of 256 ns whose middle is 20,095; clamping to the window's times still
    // allows that value.
    assert!(last_sleep("quantile:50%,70%,2ms").abs_diff(14_000) <= 110);
}

fn miss_count(ios: &[IoResult]) -> f64 {
    ios.iter().filter(|r| r.missed).count() as f64
}

/// Each I/O adds gain x (miss - m) to the logarithm of the sleep, where m is 1 for a miss, else 0.
/// So over n I/Os, misses = n x miss - (ln s_n - ln s_0) / gain, exactly.
#[test]
fn qt_misses_as_often_as_was_said() {
    for (name, times) in synthetic().into_iter().filter(|(name, _)| *name != "tiny") {
        for (miss, gain) in [(0.01, 0.1), (0.05, 0.1), (0.1, 0.02)] {
            let ios = run_one(&format!("qt:{miss},{gain}"), &times.repeat(5), 2_000);
            let started = ios.iter().position(|r| r.missed).expect("a miss");
            let (from, to) = (started + 1, ios.len() - 1);
            let (first, last) = (ios[from].asked as f64, ios[to].asked as f64);
            let expected = (to - from) as f64 * miss - (last / first).ln() / gain;
            let got = miss_count(&ios[from..to]);
            let near = (got - expected).abs() < 0.01;
            assert!(near, "{name} {miss}: {got} of {expected}");
        }
    }
}

/// On times that keep their level the first and the last sleep differ little, so the rule meets its
/// miss rate.
#[test]
fn qt_holds_its_rate() {
    for (name, times) in synthetic() {
        for miss in [0.01, 0.05, 0.1] {
            if matches!(name, "noisy" | "two peaks" | "heavy tail") {
                let ios = &run_one(&format!("qt:{miss}"), &times.repeat(10), 2_000)[2_000..];
                let rate = miss_count(ios) / ios.len() as f64;
                assert!((rate / miss - 1.0).abs() < 0.05, "{name}: {rate} of {miss}");
            }
        }
    }
}

/// While one thread has its CPU alone, 100 I/Os of PAS alternate with 1,000 polled ones.
#[test]
fn dpas_polls_when_it_is_alone() {
    let ios = run_one("dpas", &[30_000; 5_000], 2_000);
    for (n, result) in ios.iter().enumerate() {
        assert_eq!(result.asked > 0, n % 1_100 < 100, "I/O {n}");
    }
}

/// One lane always has `depth` I/Os in flight, and every one is late. PAS is held at its shortest
/// sleep at once, so overload follows the first 100 I/Os. With n asleep at once on average, the
/// next 100 lead to pas (n = 1), to interrupts (n > theta), or the mode stays.
#[test]
fn dpas_interrupts_when_its_cpu_is_contended() {
    for (depth, theta, after_overload) in [
        (1, "1", sleep(100)),
        (2, "1", Decision::Interrupt),
        (3, "3", sleep(100)),
        (4, "3", Decision::Interrupt),
    ] {
        let mut lane = lane(&format!("dpas:{theta}"));
        let mut in_flight = std::collections::VecDeque::new();
        let late = Outcome::new(1_000, true);
        let mut next = |n: u64| {
            let (decision, token) = lane.decide(Io::READ_4K, Nanos(n));
            in_flight.push_back((decision, token));
            if in_flight.len() == depth {
                let (decision, token) = in_flight.pop_front().expect("not empty");
                let missed = matches!(decision, Decision::Sleep(_));
                lane.complete(Io::READ_4K, token, Outcome { missed, ..late }, Nanos(n));
            }
            decision
        };
        let decisions: Vec<Decision> = (0..10_400).map(&mut next).collect();
        let sleeps = |d: &Decision| matches!(d, Decision::Sleep(_));
        assert!(decisions[..200].iter().all(sleeps), "depth {depth}");
        let case = format!("depth {depth}, theta {theta}");
        assert_eq!(decisions[200], after_overload, "{case}");
        if after_overload == Decision::Interrupt {
            let interrupts = &decisions[200..10_200];
            assert!(interrupts.iter().all(|d| *d == Decision::Interrupt));
            assert!(decisions[10_200..10_299].iter().all(sleeps), "again");
        }
    }
}
