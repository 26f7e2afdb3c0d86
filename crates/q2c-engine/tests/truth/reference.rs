//! Hybrid polling in a few lines of its own, which use nothing of the engine or of its rules,
//! against the engine: I/O by I/O.

use crate::plan::{BEFORE, LOOK, MS, WAKE, hybrid, job, run_one};
use q2c_engine::{Activity, Sample};
use q2c_model::Nanos;
use q2c_policy::Io;
use q2c_service::{Draws, ServiceTimes};

/// A sleep, and how it follows from the times in a window. A window begins with a completion and
/// lasts for `period` at least.
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

    /// A window that is over ends with the first submission or completion behind it.
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

/// From the submission's return to the reaping and to the wake-up (0 without a sleep), and whether
/// the first look after it found the completion.
#[derive(Debug, PartialEq)]
struct ReferenceWait(u64, u64, bool);

/// Waits for I/Os of these service times, one after the other.
fn waits(mut rule: ReferenceRule, services: impl Iterator<Item = u64>) -> Vec<ReferenceWait> {
    let mut now = 0;
    let one = |service: u64| {
        now += BEFORE;
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

/// Seven tenths.
fn most_of_least(window: &[u64]) -> u64 {
    let least = window.iter().min().expect("a completion began the window");
    (least * 7 + 5) / 10
}

/// As [`waits`] under a fixed sleep, with several requests in flight on as many servers. The thread
/// sleeps for the oldest, whose sleep may be over when it has become that. Then it looks, once more
/// after each completion that it finds, and submits as many requests as it has found complete.
fn waits_deep(
    asked: u64,
    depth: usize,
    mut services: impl Iterator<Item = u64>,
) -> Vec<ReferenceWait> {
    /// When the submission returned, when the request is complete, and when the thread woke.
    type Flight = (u64, u64, Option<u64>);
    let (mut now, mut flights, mut waits): (u64, Vec<Flight>, _) = (0, Vec::new(), Vec::new());
    let mut submit = |now: &mut u64, flights: &mut Vec<Flight>| {
        *now += BEFORE;
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

/// The I/Os of a lane on a device of these servers in 200 ms, and the service times that it drew.
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
        ("min:ratio=70%,period=2ms", new(0, 2 * MS, most_of_least)),
    ] {
        let (measured, services) = on_lognormal(text, 1);
        let expected = waits(rule, services.take(measured.len()));
        assert_equal(&measured, &expected, text);
    }
}

/// Where the phase ends, no requests are submitted any more, so the last ones of the lane have no
/// counterpart.
#[test]
fn several_in_flight_are_slept_for_one_after_the_other() {
    let (measured, services) = on_lognormal("fixed:60us", 4);
    let expected = waits_deep(60_000, 4, services.take(measured.len()));
    assert!(measured.len() - expected.len() <= 4);
    assert_equal(&measured[..expected.len()], &expected, "fixed:60us");
}
