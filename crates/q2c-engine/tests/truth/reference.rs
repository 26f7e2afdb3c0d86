//! Hybrid polling in a few separate lines, which use nothing of the engine or of its rules,
//! compared with the engine I/O by I/O.

use crate::plan::{LOOK, MS, STEPS, SUBMISSION, WAKE, hybrid, job, run_one};
use q2c_engine::engines::SimDevices;
use q2c_engine::{Activity, EngineSpec, JobPlan, Sample, Wait};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};
use q2c_policy::Io;
use q2c_service::{Draws, Empirical, EmpiricalBuilder, Measure, RecordedTimes, ServiceTimes};
use std::error::Error;
use std::fs;
use std::path::Path;

/// A sleep, and how it follows from the times in a window. A window begins with a completion and
/// lasts at least for `period`, ns.
struct ReferenceRule {
    sleep: u64,
    from: fn(&[u64]) -> u64,
    period: u64,
    window: Vec<u64>,
    ends: Option<u64>,
}

impl ReferenceRule {
    fn new(sleep: u64, period: u64, from: fn(&[u64]) -> u64) -> Self {
        ReferenceRule {
            sleep,
            from,
            period,
            window: Vec::new(),
            ends: None,
        }
    }

    /// A window whose time is over ends with the next submission or completion.
    fn close_at(&mut self, now: u64) {
        if self.ends.take_if(|end| *end <= now).is_some() {
            self.sleep = (self.from)(&self.window);
            self.window.clear();
        }
    }

    fn complete(&mut self, now: u64, wait: u64) {
        self.close_at(now);
        self.ends.get_or_insert(now + self.period);
        self.window.push(wait);
    }
}

/// Times from the submission's return to the reaping and to the wake-up (0 without a sleep), ns,
/// and whether the first look after the wake-up found the completion.
#[derive(Debug, PartialEq)]
struct ReferenceWait(u64, u64, bool);

/// Waits for I/Os of these service times, ns, one after another.
fn waits(mut rule: ReferenceRule, services: impl Iterator<Item = u64>) -> Vec<ReferenceWait> {
    let mut now = 0;
    let one = |service: u64| {
        now += STEPS;
        rule.close_at(now);
        let sleeps = rule.sleep > 0;
        let woke = if sleeps { rule.sleep + WAKE } else { 0 };
        let first_look = woke + LOOK;
        let more = service.saturating_sub(first_look).div_ceil(LOOK);
        let wait = first_look + more * LOOK;
        now += wait;
        rule.complete(now, wait);
        ReferenceWait(wait, woke, sleeps && more == 0)
    };
    services.map(one).collect()
}

fn half_of_mean(window: &[u64]) -> u64 {
    (window.iter().sum::<u64>() / window.len() as u64).div_ceil(2)
}

/// Seven tenths of the window's shortest time.
fn most_of_shortest(window: &[u64]) -> u64 {
    let shortest = window.iter().min().expect("a completion began the window");
    (shortest * 7 + 5) / 10
}

/// As [`waits`] under a fixed sleep, with several requests in flight on as many servers. The thread
/// sleeps for the oldest, unless that sleep is over when the request becomes the oldest. Then it
/// looks, once more after each completion found, and replaces the requests that it found complete.
fn waits_deep(
    asked: u64,
    depth: usize,
    mut services: impl Iterator<Item = u64>,
) -> Vec<ReferenceWait> {
    /// When the submission returned, when the request completes, and when the thread woke; ns.
    type Flight = (u64, u64, Option<u64>);
    let (mut now, mut flights, mut waits): (u64, Vec<Flight>, _) = (0, Vec::new(), Vec::new());
    let mut submit = |now: &mut u64, flights: &mut Vec<Flight>| {
        *now += STEPS;
        let service = services.next()?;
        flights.push((*now, *now + service, None));
        Some(())
    };
    (0..depth).for_each(|_| submit(&mut now, &mut flights).expect("as many requests"));
    loop {
        let (woke, mut completed) = (now, Vec::new());
        loop {
            now += LOOK;
            let complete = flights.iter().enumerate().filter(|(_, f)| f.1 <= now);
            match complete.min_by_key(|(_, f)| f.1) {
                Some((first, _)) => completed.push(flights.remove(first)),
                None => break,
            }
        }
        for (from, _, slept) in &completed {
            let missed = *slept == Some(woke);
            let woke = slept.map_or(0, |at| at - from);
            waits.push(ReferenceWait(now - from, woke, missed));
            if submit(&mut now, &mut flights).is_none() {
                return waits;
            }
        }
        let (from, _, slept) = &mut flights[0];
        if completed.is_empty() && *from + asked > now {
            now = *from + asked + WAKE;
            *slept = Some(now);
        }
    }
}

/// The I/Os in 200 ms of a lane on a device with `depth` servers, and the service times drawn.
fn on_lognormal(rule: &str, depth: u16) -> (Vec<ReferenceWait>, impl Iterator<Item = u64>) {
    let engine = format!("sim:lognormal(80us,0.4),servers={depth}");
    let mut job = job(&engine, vec![Activity::Start(hybrid(rule))]);
    job.depth = depth;
    let times = ServiceTimes::Lognormal {
        median: Nanos(80_000),
        sigma: 0.4,
    };
    let mut draws = Draws::new(times, job.seed);
    let samples = run_one(&[200], job).samples;
    let waited =
        |s: &Sample| ReferenceWait(s.wait_ns.into(), s.woke_ns.into(), s.is(Sample::MISSED));
    let services = std::iter::repeat_with(move || draws.next(Io::default()).0);
    (samples.iter().map(waited).collect(), services)
}

fn assert_equal(found: &[ReferenceWait], expected: &[ReferenceWait], rule: &str) {
    assert!(found.len() > 1_500, "{}", found.len());
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "I/O {n} under {rule}");
    }
    let misses = found.iter().filter(|io| io.2).count();
    assert!((10..1_500).contains(&misses), "{rule}: {misses} misses");
}

#[test]
fn every_io_waits_as_the_rules_description_says() {
    let new = ReferenceRule::new;
    for (text, rule) in [
        ("fixed:60us", new(60_000, MS, |_| 60_000)),
        ("mean:ratio=50%,period=1ms", new(0, MS, half_of_mean)),
        ("min:ratio=70%,period=2ms", new(0, 2 * MS, most_of_shortest)),
    ] {
        let (measured, services) = on_lognormal(text, 1);
        let expected = waits(rule, services.take(measured.len()));
        assert_equal(&measured, &expected, text);
    }
}

/// At the end of the phase no more requests are submitted, so the lane's last ones have no
/// counterpart.
#[test]
fn several_in_flight_are_slept_for_one_after_the_other() {
    let (measured, services) = on_lognormal("fixed:60us", 4);
    let expected = waits_deep(60_000, 4, services.take(measured.len()));
    assert!(measured.len() - expected.len() <= 4);
    assert_equal(&measured[..expected.len()], &expected, "fixed:60us");
}

/// Reads a file with one time in ns per line.
fn read(wanted: &RecordedTimes) -> Result<Empirical, Box<dyn Error + Send + Sync>> {
    let mut builder = EmpiricalBuilder::new(Some(Measure::U2c));
    for line in fs::read_to_string(&wanted.path)?.lines() {
        let (place, length) = (Sectors(0), Bytes(4096));
        let mut record = IoRecord::new(0, Layer::User, DevId::default(), Op::Read, place, length);
        record.submit_ns = Some(Nanos(0));
        record.reap_ns = Some(Nanos(line.parse()?));
        builder.take(&[record]);
    }
    Ok(builder.finish()?)
}

/// Times from the submission's return to the reaping, on a simulated device with these times.
fn simulated(model: &[u64], file: &Path) -> Vec<u64> {
    let lines: Vec<String> = model.iter().map(u64::to_string).collect();
    fs::write(file, lines.join("\n")).expect("room for the model");
    let text = format!("sim:trace={},time=u2c", file.display());
    let spec: EngineSpec = text.parse().expect("a simulated device");
    let job = JobPlan {
        medium: SimDevices::new(read).medium(&spec).expect("its times"),
        engine: spec,
        ..job("sim:1us", vec![Activity::Start(Wait::Poll)])
    };
    let lane = run_one(&[2_500], job);
    let mut lengths = lane.samples.iter().map(|s| u64::from(s.submit_len_ns));
    assert!(lengths.all(|length| length == SUBMISSION));
    lane.samples.iter().map(|s| u64::from(s.wait_ns)).collect()
}

/// The Kolmogorov distance of two samples: the largest difference of their distribution functions.
fn distance(a: &[u64], b: &[u64]) -> f64 {
    let sorted = |times: &[u64]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times
    };
    let (a, b) = (sorted(a), sorted(b));
    let count = |times: &[u64], at: u64| times.partition_point(|&x| x <= at) as f64;
    let share = |times: &[u64], at: u64| count(times, at) / times.len() as f64;
    let apart = |&x: &u64| (share(&a, x) - share(&b, x)).abs();
    a.iter().chain(&b).map(apart).fold(0.0, f64::max)
}

/// 3,000 times from 40 us to 99.98 us and 1,000 from 400 us on, in multiples of a look: the slow
/// ones take more than half of the device's time. For `n` draws the distance is below 1.63 /
/// sqrt(n) in 99 % of all cases (Kolmogorov).
#[test]
fn a_recorded_device_takes_the_times_of_its_record() {
    let slow = (0..1_000).map(|n| 400_000 + n * 2 * LOOK);
    let fast = (0..3_000).map(|n| 40_000 + n / 3 * LOOK);
    let model: Vec<u64> = fast.chain(slow).collect();
    let folder = tempfile::tempdir().expect("a folder");
    // The lane waits from the end of its submission, and recorded U2C begins before it.
    let recorded: Vec<u64> = model.iter().map(|time| time + SUBMISSION).collect();
    let got = simulated(&recorded, &folder.path().join("model.txt"));
    assert!(got.len() > 10_000 && got.iter().all(|time| model.contains(time)));
    let near = distance(&got, &model);
    assert!(near < 1.63 / (got.len() as f64).sqrt(), "{near}");
    let slower: Vec<u64> = model.iter().map(|t| t + t / 10).collect();
    // A model that is 10 % off is recognised.
    assert!(distance(&got, &slower) > 0.05);
}
