use crate::plan::{MS, STEPS, SWITCH, Scripted, WAKE, hybrid, job, plan, run, run_one};
use q2c_engine::engines::{Service, ServiceTimes, SimDevices, SimSpec};
use q2c_engine::measure::{PhaseStats, phase_stats};
use q2c_engine::{Activity, EngineSpec, JobPlan, LaneData, Sample, Wait};
use q2c_model::Nanos;
use q2c_policy::{Decision, Io, Lane, Outcome, Token};
use std::sync::{Arc, Mutex};

/// The results of one lane with four requests in flight for 200 ms.
fn four(engine: &str, wait: Wait) -> (LaneData, PhaseStats) {
    let mut job = job(engine, vec![Activity::Start(wait)]);
    job.depth = 4;
    let lane = run_one(&[200], job);
    let stats = phase_stats(&lane, 0);
    (lane, stats)
}

/// A lane of this depth, on a device with as many servers that takes these times in turn.
fn on_times(ms: &[u64], depth: u16, wait: Wait) -> JobPlan {
    let times = ms.iter().map(|&ms| Nanos::from_millis(ms)).collect();
    let service = Service::Model(ServiceTimes::Sequence(times));
    let engine = EngineSpec::Sim(SimSpec::new(service, depth.into()));
    let medium = SimDevices::default().medium(&engine);
    JobPlan {
        medium: medium.expect("its device"),
        engine,
        depth,
        ..job("null", vec![Activity::Start(wait)])
    }
}

/// On four servers of 2 ms the four requests repeat every 2 ms plus their steps. In each turn the
/// lane sleeps once, for the oldest, and looks for the rest of the time.
#[test]
fn a_lane_sleeps_for_its_oldest_and_loses_nothing() {
    let (lane, stats) = four("sim:2ms,servers=4", hybrid("fixed:1500us"));
    assert!(lane.samples.iter().all(|s| s.is(Sample::HYBRID)));
    let sleeps = stats.sleeps.slept;
    // 200 ms have 99.x turns, and the last one is finished.
    assert_eq!((stats.ios, sleeps, stats.sleeps.misses), (400, 100, 0));
    assert_eq!((stats.voluntary, stats.involuntary), (sleeps, 0));
    let in_flight = stats.iops() * q2c_model::stats::mean(&stats.latencies) / 1e9;
    assert!((3.9..=4.0).contains(&in_flight), "{in_flight} in flight");
    let slept = lane.samples.iter().filter(|s| s.is(Sample::SLEPT));
    let away: u64 = slept.map(|s| u64::from(s.slept_ns) - SWITCH).sum();
    assert_eq!(stats.cpu_ns, stats.wall_ns as u64 - away);
}

/// With a sleep of 3 ms on a device of 1 ms, every request that was slept for is complete at the
/// first look.
#[test]
fn whoever_sleeps_too_long_misses() {
    let (lane, stats) = four("sim:1ms,servers=4", hybrid("fixed:3ms"));
    assert!(stats.sleeps.slept > 60, "{stats:?}");
    assert_eq!(stats.sleeps.misses, stats.sleeps.slept);
    for sample in lane.samples.iter().filter(|s| s.is(Sample::SLEPT)) {
        assert_eq!(u64::from(sample.woke_ns), 3 * MS + WAKE);
        assert_eq!(sample.asked_ns, 3_000_000);
        assert!(sample.wait_ns > sample.woke_ns);
    }
}

/// The outcomes that a rule is told, each with the request's number from `decide`, from 0.
type OutcomeLog = Arc<Mutex<Vec<(u64, Outcome)>>>;

/// A rule that logs its outcomes. Its function turns the request's number into a sleep, ns.
struct Hears(u64, fn(u64) -> u64, OutcomeLog);

impl Lane for Hears {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        let Hears(next_number, sleep_of, _) = self;
        let number = *next_number;
        *next_number += 1;
        (Decision::Sleep(Nanos(sleep_of(number))), Token(number))
    }

    fn complete(&mut self, _: Io, token: Token, outcome: Outcome, _: Nanos) {
        let Hears(.., log) = self;
        log.lock().expect("a lock").push((token.0, outcome));
    }
}

fn hears(sleeps: fn(u64) -> u64) -> (Wait, OutcomeLog) {
    let heard = OutcomeLog::default();
    let rule = Hears(0, sleeps, Arc::clone(&heard));
    (Wait::Hybrid(Box::new(rule)), heard)
}

/// The rule is informed of each request once, with the request's token and time. All requests were
/// complete before their 3 ms were over, even those that were not slept for; so all are misses.
#[test]
fn a_rule_hears_of_every_request_by_its_token() {
    let (wait, heard) = hears(|_| 3_000_000);
    let (lane, stats) = four("sim:1ms,servers=4", wait);
    let heard = heard.lock().expect("a lock");
    let mut tokens: Vec<u64> = heard.iter().map(|(token, _)| *token).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, (0..stats.ios).collect::<Vec<_>>());
    assert!(heard.iter().all(|(_, outcome)| outcome.missed));
    for (sample, (_, outcome)) in lane.samples.iter().zip(heard.iter()) {
        assert_eq!(u64::from(sample.wait_ns), outcome.observed.0);
    }
}

/// The first of every five requests takes 10 ms, the others 1 ms. With two in flight the slow one
/// is nearly always the oldest. It is slept for once, 500 us. Then the lane looks, and finds the
/// four fast ones one after another without another sleep. The next request is slow again.
#[test]
fn the_oldest_is_slept_for_once() {
    let job = on_times(&[10, 1, 1, 1, 1], 2, hybrid("fixed:500us"));
    let samples = run_one(&[100], job).samples;
    // In the order of reaping the fast ones come first, and then the first slow one.
    assert!(samples[..4].iter().all(|s| s.flags == Sample::HYBRID));
    assert!(samples[..4].iter().all(|s| s.wait_ns < 1_001_000));
    let slow = samples[4];
    assert_eq!(slow.flags, Sample::HYBRID | Sample::SLEPT);
    assert!((10_000_000..10_001_000).contains(&slow.wait_ns));
    assert_eq!(slow.asked_ns, 500_000);
    assert_eq!(u64::from(slow.woke_ns), 500_000 + WAKE);
    // The second request was submitted and looked for before the sleep began.
    assert_eq!(u64::from(slow.slept_ns), 500_000 + WAKE - STEPS - 50);
}

/// A rule may give any decision at any depth. On one server of 1 ms a request becomes the oldest 3
/// ms after its submission, with half a millisecond of its sleep left.
#[test]
fn every_answer_is_carried_out() {
    let answers = |n: u64| match n % 3 {
        0 => Decision::Interrupt,
        1 => Decision::Poll,
        _ => Decision::Sleep(Nanos(3_500_000)),
    };
    let (lane, stats) = four("sim:1ms", Scripted::wait(answers));
    // The server is never idle; the requests in flight at the end are reaped.
    assert!((199..=204).contains(&stats.ios), "{}", stats.ios);
    assert_eq!(lane.faults, 0);
    let interrupted = lane.samples.iter().filter(|s| s.is(Sample::INTERRUPT));
    assert_eq!(interrupted.count() as u64, stats.ios / 3);
    let sleeps = (stats.ios + 1) / 3;
    let wanted = sleeps - 1..=sleeps;
    assert!(wanted.contains(&stats.sleeps.slept), "{stats:?}");
}

/// Three requests are in flight. The oldest is polled for and takes 10 ms; the others are due after
/// 2.5 and 3.5 ms and complete at 4 ms. From 3 to 6 ms another lane has the CPU. So there is a look
/// between the first one's due time and its completion, and none for the second.
#[test]
fn a_lane_that_lost_its_cpu_did_not_look_meanwhile() {
    let (wait, heard) = hears(|n| [0, 2_500_000, 3_500_000][n as usize % 3]);
    let looks = on_times(&[10, 4, 4], 3, wait);
    let other = job("sim:1ms", vec![Activity::Start(Wait::Poll)]);
    run(plan(&[6], vec![looks, other])).expect("a run");
    let heard = heard.lock().expect("a lock");
    let outcome = |token: u64| heard.iter().find(|(n, _)| *n == token).unwrap().1;
    assert!(!outcome(1).missed && outcome(2).missed);
}
