//! Replays in simulated time, whose sums of U2C are those of [`super::reference`] to the ns.

use super::reference::{self, ReferenceDevice, ReplaySums};
use super::trace::{on_trace, queued};
use super::{facts, plan};
use crate::{RecordTo, ReplayFacts, ReplayOutcome, ReplayPlan};
use q2c_engine::engines::{Service, SimDevices};
use q2c_engine::{EngineSpec, SimMachine, TimeSource, World};
use q2c_model::replay::{Count, Idle, Mode, OnError, Writes};
use q2c_model::stats::Rng;
use q2c_model::{Bytes, IoRecord, Nanos, Op, Sectors};
use q2c_service::{Empirical, EmpiricalBuilder, RecordedTimes, ServiceTimes};
use q2c_testkit::shared_data;
use q2c_trace::import::{ImportOptions, TimeUnit, to_trace};
use q2c_trace::{Scan, TraceReader};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

const TIMED: Mode = Mode::Timed { speed: 1.0 };

fn outstanding(count: Count, idle: Idle) -> Mode {
    Mode::Outstanding { count, idle }
}

fn recorded_times(wanted: &RecordedTimes) -> Result<Empirical, Box<dyn Error + Send + Sync>> {
    let mut builder = EmpiricalBuilder::new(wanted.measure);
    builder.take(&records(&wanted.path));
    Ok(builder.finish()?)
}

fn records(trace: &Path) -> Vec<IoRecord> {
    let parts = TraceReader::open(trace).unwrap();
    let parts = parts.records(&Scan::new()).unwrap();
    parts.collect::<Result<Vec<_>, _>>().unwrap().concat()
}

/// The plan of a replay of all devices on each of these simulated targets, one after another.
fn plan_on(mode: Mode, targets: &[&str], facts: &ReplayFacts) -> ReplayPlan {
    let mut plan = plan(mode);
    let unmapped = plan.targets.remove(0);
    let share = facts.devices.len().div_ceil(targets.len());
    for (nth, target) in targets.iter().enumerate() {
        let engine: EngineSpec = target.parse().unwrap();
        let mut target = unmapped.clone();
        target.medium = SimDevices::new(recorded_times).medium(&engine).unwrap();
        (target.engine, target.align) = (engine, Bytes(512));
        let devices = (0..facts.devices.len()).skip(nth * share);
        target.devices = devices.take(share).collect();
        plan.targets.push(target);
    }
    plan.permits.writes = Writes::Allow;
    (plan.in_flight, plan.memory.slots) = (1024, 1024);
    plan.memory.size = facts.largest.0.next_multiple_of(4096) as usize + 4096;
    plan
}

/// Replays in simulated time, and returns the outcome and the records of it.
fn simulated(plan: &ReplayPlan, facts: &ReplayFacts, machine: SimMachine) -> ReplayedRecords {
    let mut records = Vec::new();
    let record_to = RecordTo {
        sink: &mut records,
        memory: Bytes(1 << 24),
        folder: &std::env::temp_dir(),
    };
    let time: TimeSource = World::new(machine).into();
    let (read, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let outcome = crate::replay(plan, facts, &time, Some(record_to), &read, &stop).unwrap();
    ReplayedRecords { outcome, records }
}

struct ReplayedRecords {
    outcome: ReplayOutcome,
    records: Vec<IoRecord>,
}

impl ReplayedRecords {
    fn sums(&self) -> ReplaySums {
        let counts = &self.outcome.counts;
        ReplaySums {
            requests: counts.issued,
            u2c: counts.sum_u2c_ns,
            end: counts.end_ns,
        }
    }
}

/// The same replay by the second implementation, each target with its own devices.
fn expected(plan: &ReplayPlan, facts: &ReplayFacts, records: &[IoRecord]) -> ReplaySums {
    let requests = reference::requests(records);
    let mut sums = ReplaySums::default();
    for (nth, target) in plan.targets.iter().enumerate() {
        let spec = target.engine.simulates().unwrap();
        let times = match &spec.service {
            Service::Model(times) => times.clone(),
            Service::Recorded(recorded) => {
                ServiceTimes::Empirical(Arc::new(recorded_times(recorded).unwrap()))
            }
        };
        let device = ReferenceDevice::new(spec.servers, times, plan.seed + nth as u64);
        let minors = target.devices.iter().map(|&n| facts.devices[n].dev.minor);
        let minors: Vec<u32> = minors.collect();
        let target_requests = requests.iter().filter(|r| minors.contains(&r.minor));
        let target_requests: Vec<_> = target_requests.copied().collect();
        sums = sums.join(match plan.mode {
            Mode::Timed { .. } => reference::timed(&target_requests, device, plan.in_flight.into()),
            Mode::Outstanding { count, idle } => {
                reference::outstanding(&target_requests, device, (count, idle))
            }
            Mode::Closed { .. } => unreachable!("not implemented twice"),
        });
    }
    sums
}

/// Replays the trace in simulated time and by the second implementation, compares, and returns the
/// records of the replay.
fn agree(trace: &Path, mode: Mode, targets: &[&str], most: u16) -> Vec<IoRecord> {
    let facts = facts(trace);
    let mut plan = plan_on(mode, targets, &facts);
    (plan.in_flight, plan.memory.slots) = (most, most.into());
    let done = simulated(&plan, &facts, SimMachine::free());
    let label = format!("{mode:?} on {targets:?} with {most}");
    assert_eq!(
        done.sums(),
        expected(&plan, &facts, &records(trace)),
        "{label}"
    );
    assert!(
        done.outcome.complete && done.outcome.rows_lost == 0,
        "{label}"
    );
    if done.outcome.counts.capped == 0 {
        assert_eq!(done.outcome.counts.lateness_ns.greatest(), 0, "{label}");
    }
    done.records
}

/// The published samples have no completions, so what was in flight is that of a timed replay. That
/// replay also supplies recorded service times.
fn sample_agrees(test: &str, name: &str, unit: Option<TimeUnit>) {
    let Some(path) = shared_data(test, name) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.parquet");
    let options = ImportOptions {
        unit,
        ..ImportOptions::default()
    };
    to_trace(&[path], None, &options, &trace, &AtomicBool::new(false)).unwrap();
    let profile = agree(&trace, TIMED, &["sim:exp(400us),servers=8"], 1024);
    on_trace(&profile, |profile| {
        let recorded = format!("sim:trace={},servers=3", profile.display());
        for device in ["sim:exp(300us)", &recorded] {
            agree(&trace, TIMED, &[device], 64);
            let mode = outstanding(Count::Blocks, Idle::Squeeze);
            agree(profile, mode, &[device], 8192);
        }
        agree(
            profile,
            outstanding(Count::Requests, Idle::Keep),
            &["sim:150us,servers=4"],
            8192,
        );
    });
}

#[test]
fn web_search_has_the_sums_of_a_second_implementation() {
    let unit = Some(TimeUnit::Nanoseconds);
    sample_agrees("web_search", "websearch-small.disksim", unit);
}

#[test]
fn tpc_c_has_the_sums_of_a_second_implementation() {
    let unit = Some(TimeUnit::Nanoseconds);
    sample_agrees("tpc_c", "tpcc-small.disksim", unit);
}

#[test]
fn cloud_physics_has_the_sums_of_a_second_implementation() {
    sample_agrees("cloud_physics", "cloudphysics-sample.vscsi", None);
}

/// Requests of three devices that come and last at random, in bursts and with pauses. The first 200
/// come at once, more than the reader delivers at a time.
fn made(seed: u64, requests: u64) -> Vec<IoRecord> {
    let mut rng = Rng::new(seed);
    let mut at = 0;
    let record = |id: u64| {
        let gap_ns = [0, 1, 700, 40_000, 3_000_000][rng.below(5) as usize] * rng.below(3);
        at += if id < 200 { 0 } else { gap_ns };
        let op = [Op::Read, Op::Read, Op::Write][rng.below(3) as usize];
        let bytes = Bytes(512 << rng.below(9));
        let mut record = queued(id, at, op, Sectors(id * 4096), bytes);
        record.device.minor = rng.below(3) as u32;
        record.complete_ns = Some(Nanos(at + 1_000 + rng.below(400_000)));
        record
    };
    (0..requests).map(record).collect()
}

#[test]
fn made_traces_have_the_sums_of_a_second_implementation() {
    let devices: [&[&str]; 4] = [
        &["sim:90us"],
        &["sim:exp(120us),servers=3"],
        &[
            "sim:lognormal(60us,0.8),servers=2",
            "sim:exp(200us),servers=5",
        ],
        &["sim:70us,servers=2", "sim:exp(90us)", "sim:40us"],
    ];
    for (seed, targets) in (0..).zip(devices.into_iter().cycle().take(12)) {
        on_trace(&made(seed, 700), |trace| {
            for most in [1, 7, 1024] {
                agree(trace, TIMED, targets, most);
            }
            for count in [Count::Requests, Count::Blocks, Count::Bytes] {
                for idle in [Idle::Keep, Idle::Squeeze] {
                    agree(trace, outstanding(count, idle), targets, 1024);
                }
            }
        });
    }
}

/// Several threads share a device and wait for each other where requests overlap.
#[test]
fn two_replays_are_equal() {
    let mut records = made(5, 4_000);
    for (n, record) in (0..).zip(&mut records) {
        (record.device.minor, record.sector) = (0, Sectors(n * 7919 % 97 * 512));
    }
    on_trace(&records, |trace| {
        let facts = facts(trace);
        for (mode, machine) in [
            (TIMED, SimMachine::free()),
            (outstanding(Count::Blocks, Idle::Keep), SimMachine::free()),
            (TIMED, SimMachine::default()),
        ] {
            let again = || {
                let mut plan = plan_on(mode, &["sim:exp(30us),servers=4"], &facts);
                (plan.submitters, plan.in_flight) = (3, 8);
                if machine != SimMachine::free() {
                    plan.cpus = World::new(machine.clone()).cpus();
                }
                simulated(&plan, &facts, machine.clone())
            };
            let [first, second] = [again(), again()];
            let text = |done: &ReplayedRecords| format!("{:?}", done.outcome);
            assert_eq!(text(&first), text(&second));
            assert!(first.records == second.records && first.records.len() == 4_000);
        }
    });
}

/// By hand, with one request in flight for each of two threads, which share requests by their MiB.
/// The second request, a write over both places, waits for the first one's slot until 100 us, and
/// the third, of the other thread, overlaps it: it goes at the same nanosecond.
#[test]
fn an_overlapping_request_goes_when_the_other_thread_has_submitted() {
    const MIB: u64 = 2048;
    let io = |id, us: u64, op, sector, kib: u64| {
        queued(id, us * 1_000, op, Sectors(sector), Bytes(kib << 10))
    };
    let records = [
        io(0, 0, Op::Read, 0, 4),
        io(1, 10, Op::Write, MIB - 8, 8),
        io(2, 20, Op::Read, MIB, 4),
    ];
    on_trace(&records, |trace| {
        let facts = facts(trace);
        let mut plan = plan_on(TIMED, &["sim:100us,servers=4"], &facts);
        (plan.submitters, plan.in_flight) = (2, 1);
        let done = simulated(&plan, &facts, SimMachine::free());
        let times = done
            .records
            .iter()
            .map(|r| (r.submit_ns.unwrap().0, r.reap_ns.unwrap().0));
        let expected = [(0, 100_000), (100_000, 200_000), (100_000, 200_000)];
        assert_eq!(times.collect::<Vec<_>>(), expected);
        let late_ns = done.outcome.counts.lateness_ns.greatest();
        assert!((89_000..=91_000).contains(&late_ns), "{late_ns}");
    });
}

/// By hand: two threads with two requests each, all due at once, on a device of 100 us. Each has
/// one in flight. With one request for both they go one after another; with one for each thread,
/// two at a time.
#[test]
fn threads_without_a_free_request_wait_for_one() {
    const MIB: u64 = 2048;
    let io = |n| {
        queued(
            n,
            0,
            Op::Read,
            Sectors(n % 2 * MIB + n / 2 * 8),
            Bytes(4096),
        )
    };
    let records: Vec<IoRecord> = (0..4).map(io).collect();
    on_trace(&records, |trace| {
        let facts = facts(trace);
        let reaps_us = |device: &str| {
            let mut plan = plan_on(TIMED, &[device], &facts);
            (plan.submitters, plan.in_flight) = (2, 1);
            let done = simulated(&plan, &facts, SimMachine::free());
            let reaps = done.records.iter().map(|r| r.reap_ns.unwrap().0 / 1_000);
            let mut reaps: Vec<u64> = reaps.collect();
            reaps.sort_unstable();
            reaps
        };
        let device = "sim:100us,servers=9";
        let one = reaps_us(&format!("{device},queues=1,nr_requests=1"));
        assert_eq!(one, [100, 200, 300, 400]);
        let one_each = reaps_us(&format!("{device},queues=2,nr_requests=1"));
        assert_eq!(one_each, [100, 100, 200, 200]);
    });
}

/// Requests come every 10 us and take 100 us. The third completion, at 120 us, is spoilt. Until
/// then 13 have been submitted, that of 120 us not: completions come first.
#[test]
fn an_error_ends_the_replay_or_is_counted() {
    let records: Vec<IoRecord> = (0..50)
        .map(|n| queued(n, n * 10_000, Op::Read, Sectors(n * 8), Bytes(4096)))
        .collect();
    on_trace(&records, |trace| {
        let facts = facts(trace);
        let replay = |on_error| {
            let mut plan = plan_on(TIMED, &["fault:eio@3:sim:100us,servers=64"], &facts);
            plan.on_error = on_error;
            let done = simulated(&plan, &facts, SimMachine::free());
            let ReplayOutcome {
                complete, counts, ..
            } = done.outcome;
            (complete, counts.issued, counts.errors, counts.sum_u2c_ns)
        };
        assert_eq!(replay(OnError::Stop), (false, 12, 1, 12 * 100_000));
        assert_eq!(replay(OnError::GoOn), (true, 50, 1, 50 * 100_000));
    });
}

#[test]
fn a_stop_before_the_start_submits_nothing() {
    on_trace(&made(1, 300), |trace| {
        let facts = facts(trace);
        let plan = plan_on(TIMED, &["sim:100us"], &facts);
        let time: TimeSource = World::new(SimMachine::free()).into();
        let (read, stop) = (AtomicU64::new(0), AtomicBool::new(true));
        let outcome = crate::replay(&plan, &facts, &time, None, &read, &stop).unwrap();
        assert_eq!((outcome.complete, outcome.counts.issued), (false, 0));
    });
}

/// On a machine with costs a request of 80 us takes its submission of 500 ns and 1,600 looks of
/// 50 ns. The thread wakes before the due time and looks, so it is late by two looks at most.
#[test]
fn a_replayer_with_costs_is_late_by_them() {
    let records: Vec<IoRecord> = (0..200)
        .map(|n| queued(n, n * 1_000_000, Op::Read, Sectors(n * 8), Bytes(4096)))
        .collect();
    on_trace(&records, |trace| {
        let facts = facts(trace);
        let mut plan = plan_on(TIMED, &["sim:80us"], &facts);
        let machine = SimMachine::default();
        (plan.cpus, plan.room) = (World::new(machine.clone()).cpus(), 8);
        let counts = simulated(&plan, &facts, machine).outcome.counts;
        assert_eq!(counts.sum_u2c_ns, 200 * 80_500);
        let late_ns = counts.lateness_ns.greatest();
        assert!((1..=100).contains(&late_ns), "{late_ns}");
        // Most of the time the thread sleeps.
        assert!(
            (18_000_000..60_000_000).contains(&counts.cpu_ns),
            "{}",
            counts.cpu_ns
        );
    });
}
