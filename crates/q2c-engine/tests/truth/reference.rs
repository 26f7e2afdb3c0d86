//! Hybrid polling at depth 1 in a few lines of its own, which use nothing of the engine or of its
//! rules, against the engine: I/O by I/O.

use crate::plan::{BEFORE, LOOK, MS, WAKE, hybrid, once};
use q2c_engine::Sample;
use q2c_model::Nanos;
use q2c_policy::Io;
use q2c_service::{Draws, ServiceTimes};

/// A sleep, and how it follows from the times in a window. A window begins with a completion and
/// lasts for `period` at least.
struct Rule {
    sleep: u64,
    from: fn(&[u64]) -> u64,
    period: u64,
    window: Vec<u64>,
    ends: Option<u64>,
}

impl Rule {
    fn new(sleep: u64, period: u64, from: fn(&[u64]) -> u64) -> Self {
        Rule {
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
struct Waited(u64, u64, bool);

/// Waits for I/Os of these service times, one after the other.
fn waits(mut rule: Rule, services: impl Iterator<Item = u64>) -> Vec<Waited> {
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
        Waited(wait, woke, sleeps && more == 0)
    };
    services.map(one).collect()
}

fn half_of_mean(window: &[u64]) -> u64 {
    (window.iter().sum::<u64>() / window.len() as u64).div_ceil(2)
}

fn seven_tenths_of_least(window: &[u64]) -> u64 {
    let least = window.iter().min().expect("a completion began the window");
    (least * 7 + 5) / 10
}

#[test]
fn every_io_waits_as_the_rules_description_says() {
    for (text, rule) in [
        ("fixed:60us", Rule::new(60_000, MS, |_| 60_000)),
        ("mean:ratio=50%,period=1ms", Rule::new(0, MS, half_of_mean)),
        (
            "min:ratio=70%,period=2ms",
            Rule::new(0, 2 * MS, seven_tenths_of_least),
        ),
    ] {
        let lane = once("sim:lognormal(80us,0.4)", hybrid(text), 200);
        let times = ServiceTimes::Lognormal {
            median: Nanos(80_000),
            sigma: 0.4,
        };
        // The seed is that of the job.
        let mut draws = Draws::new(times, 5);
        let services = (0..lane.ios).map(|_| draws.next(Io::default()).0);
        let expected = waits(rule, services);
        let waited = |s: &Sample| Waited(s.wait_ns.into(), s.woke_ns.into(), s.is(Sample::MISSED));
        let found: Vec<Waited> = lane.samples.iter().map(waited).collect();
        assert!(found.len() > 1_500 && found == expected, "{text}");
        let misses = found.iter().filter(|io| io.2).count();
        assert!((10..1_500).contains(&misses), "{text}: {misses} misses");
    }
}
