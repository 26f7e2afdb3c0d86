//! Hybrid polling with several requests in flight, on devices of known truth.

use crate::plan::{Scripted, alone, hybrid, job, plan, run};
use q2c_engine::engines::{Service, ServiceTimes, SimDevices, SimSpec};
use q2c_engine::measure::{PhaseStats, phase_stats};
use q2c_engine::{Activity, EngineSpec, LaneData, Sample, Wait};
use q2c_model::Nanos;
use q2c_policy::{Decision, Io, Lane, Outcome, Token};
use std::sync::{Arc, Mutex};

/// The results of one lane with four requests in flight for 200 ms.
fn four(engine: &str, wait: Wait) -> (LaneData, PhaseStats) {
    let mut job = job(engine, vec![Activity::Start(wait)]);
    job.depth = 4;
    let data = run(plan(&[200], vec![job])).expect("a run");
    let lane = data.lanes.into_iter().next().expect("a lane");
    let stats = phase_stats(&lane, 0);
    (lane, stats)
}

/// On four servers of 2 ms the four requests take turns in 2 ms. The lane sleeps for most of this
/// time and needs a small part of its CPU. There are several tries, for a machine with other work.
#[test]
fn a_lane_sleeps_for_its_oldest_and_loses_nothing() {
    alone("a_lane_sleeps_for_its_oldest_and_loses_nothing", || {
        let good = (0..8).any(|_| {
            let (lane, stats) = four("sim:2ms,servers=4", hybrid("fixed:1500us"));
            assert!(lane.samples.iter().all(|s| s.is(Sample::HYBRID)));
            assert!(
                stats.sleeps.slept > 50,
                "{} of {}",
                stats.sleeps.slept,
                stats.ios
            );
            // A sleep is a context switch, and there are hardly any others: a request that was not
            // slept for causes none.
            let in_flight = stats.iops() * q2c_stats::mean(&stats.latencies) / 1e9;
            assert!((3.7..4.05).contains(&in_flight), "{in_flight} in flight");
            let switches = stats.voluntary as f64 / stats.sleeps.slept as f64;
            stats.iops() > 1_800.0
                && stats.cpu_pct() < 45.0
                && stats.miss_rate() < 0.05
                && (0.9..1.2).contains(&switches)
        });
        assert!(good);
    });
}

/// With a sleep of 3 ms on a device of 1 ms, every request that was slept for is complete at the
/// first look.
#[test]
fn whoever_sleeps_too_long_misses() {
    alone("whoever_sleeps_too_long_misses", || {
        let (lane, stats) = four("sim:1ms,servers=4", hybrid("fixed:3ms"));
        assert!(
            stats.sleeps.slept > 20 && stats.sleeps.misses == stats.sleeps.slept,
            "{stats:?}"
        );
        let slept = lane.samples.iter().filter(|s| s.is(Sample::SLEPT));
        for sample in slept {
            assert!(sample.woke_ns >= 2_990_000 && sample.wait_ns >= sample.woke_ns);
            assert_eq!(sample.asked_ns, 3_000_000);
        }
    });
}

/// A rule that keeps what it is told: the number that `decide` gave the request, and the outcome.
struct Hears(u64, Arc<Mutex<Vec<(u64, Outcome)>>>);

impl Lane for Hears {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        self.0 += 1;
        (Decision::Sleep(Nanos(3_000_000)), Token(self.0))
    }

    fn complete(&mut self, _: Io, token: Token, outcome: Outcome, _: Nanos) {
        let mut heard = self.1.lock().expect("a lock");
        heard.push((token.0, outcome));
    }
}

/// The rule is told of each request once, with its own token and time. All requests were complete
/// before their 3 ms were over, also those that were not slept for; so all are told as missed.
#[test]
fn a_rule_hears_of_every_request_by_its_token() {
    alone("a_rule_hears_of_every_request_by_its_token", || {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let rule = Box::new(Hears(0, Arc::clone(&heard)));
        let (lane, stats) = four("sim:1ms,servers=4", Wait::Hybrid(rule));
        let heard = heard.lock().expect("a lock");
        let mut tokens: Vec<u64> = heard.iter().map(|(token, _)| *token).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, (1..=stats.ios).collect::<Vec<_>>());
        assert!(heard.iter().all(|(_, outcome)| outcome.missed));
        for (sample, (_, outcome)) in lane.samples.iter().zip(heard.iter()) {
            assert_eq!(u64::from(sample.wait_ns), outcome.observed.0);
        }
    });
}

/// The first of every five requests takes 10 ms, the others 1 ms. With two in flight the slow one
/// is the oldest nearly all the time. It is slept for once, 500 us; after that the lane looks, and
/// finds the fast ones one after the other without another sleep.
#[test]
fn the_oldest_is_slept_for_once() {
    alone("the_oldest_is_slept_for_once", || {
        let times = ServiceTimes::Sequence([10, 1, 1, 1, 1].map(Nanos::from_millis).into());
        let engine = EngineSpec::Sim(SimSpec {
            service: Service::Model(times),
            servers: 2,
        });
        let mut job = job("null", vec![Activity::Start(hybrid("fixed:500us"))]);
        job.medium = SimDevices::default().medium(&engine).expect("its device");
        (job.engine, job.depth) = (engine, 2);
        let data = run(plan(&[100], vec![job])).expect("a run");
        let samples = &data.lanes[0].samples;
        // In the order of reaping the fast ones come first, and then the first slow one.
        let slow = samples.iter().position(|s| s.wait_ns > 9_000_000);
        let slow = slow.expect("a slow one");
        assert!((3..=9).contains(&slow), "{slow}");
        assert!(samples[slow].is(Sample::SLEPT) && !samples[slow].is(Sample::MISSED));
        let fast = samples[..slow].iter().filter(|s| s.is(Sample::SLEPT));
        assert_eq!(fast.count(), 0);
        assert!((500_000..5_000_000).contains(&samples[slow].slept_ns));
    });
}

/// A rule may give any decision at any depth. On one server of 1 ms a request becomes the oldest 3
/// ms after its submission, when half a millisecond of its sleep is left.
#[test]
fn every_answer_is_carried_out() {
    alone("every_answer_is_carried_out", || {
        let answers = |n: u64| match n % 3 {
            0 => Decision::Interrupt,
            1 => Decision::Poll,
            _ => Decision::Sleep(Nanos(3_500_000)),
        };
        let (lane, stats) = four("sim:1ms", Scripted::wait(answers));
        assert!(stats.ios > 50 && lane.faults == 0, "{}", stats.ios);
        let left = lane.samples.iter().filter(|s| s.is(Sample::INTERRUPT));
        let left = left.count() as u64;
        assert!(left.abs_diff(stats.ios / 3) <= 2, "{left} of {}", stats.ios);
        assert!(
            stats.sleeps.slept > stats.ios / 6,
            "{} of {}",
            stats.sleeps.slept,
            stats.ios
        );
        assert!(
            stats.sleeps.slept <= stats.ios / 3 + 2,
            "{} of {}",
            stats.sleeps.slept,
            stats.ios
        );
    });
}
