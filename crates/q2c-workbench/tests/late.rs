//! Late time on this machine's disk: sleeps of a known length, and a polled run for comparison. The
//! test is skipped and counted if the block layer cannot be captured.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

use q2c_engine::Pattern;
use q2c_host::Roots;
use q2c_host::target::Scratch;
use q2c_model::{Bytes, Nanos};
use q2c_result::late::{LateRun, LateTime, UnseenReason};
use q2c_testkit::skip;
use q2c_workbench::late::{begin_late_capture, late_time};
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use q2c_workbench::workload::{StageId, Stages, Step, Workload, WorkloadRun};
use std::sync::atomic::AtomicBool;

/// The stop flag of a run, which is never set.
static STOP: AtomicBool = AtomicBool::new(false);

const BS: Bytes = Bytes(4096);
/// A sleep much longer than a read of 4 KiB.
const LONG_SLEEP_NS: f64 = 5e6;

fn reads(target: &str, scratch: Option<Scratch>, background: &[&str]) -> Workbench {
    let pattern = Pattern::RANDREAD;
    let request = WorkloadRequest {
        background: background.iter().map(|job| job.parse().unwrap()).collect(),
        ..WorkloadRequest::new(target, pattern, vec![BS])
    };
    Workbench::open(&Roots::live(), &request, scratch, &STOP).unwrap()
}

/// The workload on a scratch file of 16 MiB.
fn on_disk(background: &[&str]) -> (tempfile::TempDir, Workbench) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("scratch.bin");
    let scratch = Scratch::create(&path, Bytes(16 << 20), 1, &mut |_| true).unwrap();
    let bench = reads(path.to_str().unwrap(), Some(scratch), background);
    (folder, bench)
}

/// Runs `method`; the first 50 ms do not count.
fn run(workload: &Workload, method: &str, ms: u64) -> (WorkloadRun, StageId) {
    let mut stages = Stages::default();
    stages.push(Step::By(method.parse().unwrap()), Nanos::from_millis(50));
    let stage = stages.push(Step::Same, Nanos::from_millis(ms));
    let watched = workload.run(BS, &stages, 1, Some(20e3), &STOP).unwrap();
    assert_eq!(watched.fault, None);
    (watched, stage)
}

/// Late time of `method`; `None` if the test is skipped.
fn late(test: &str, workload: &Workload, method: &str) -> Option<LateRun> {
    let workload = workload.with_kernel_clock();
    let capture = match begin_late_capture(&workload.site, workload.sampler_cpu) {
        Ok(capture) => capture,
        Err(unseen) => {
            skip(test, &format!("{unseen:?}"));
            return None;
        }
    };
    let (watched, stage) = run(&workload, method, 1_000);
    match late_time(capture, &workload, &watched, stage) {
        LateTime::Seen(run) => Some(*run),
        LateTime::Unseen(unseen) => panic!("{unseen:?}"),
    }
}

/// Every I/O is matched except the few that the capture lost. The parts add up to the mean U2C by
/// the threads' clocks within 2 %.
fn assert_parts_add_up(run: &LateRun) {
    let numbers = &run.all;
    let ios = numbers.matched + numbers.unmatched.total();
    assert!(numbers.unmatched.total() <= run.lost, "{run:?}");
    assert!(numbers.matched as f64 >= 0.9 * ios as f64, "{numbers:?}");
    let parts = numbers.parts.expect("matched");
    let sum = parts.u2c_ns();
    assert!((sum / run.u2c_mean_ns - 1.0).abs() < 0.02, "{sum}: {run:?}");
}

/// A sleep that is far too long. The oversleep is the sleep less the wait of polling for a
/// completion, and nearly all of it was asked for.
#[test]
fn a_long_sleep_oversleeps_by_what_the_device_did_not_need() {
    let test = "a_long_sleep_oversleeps_by_what_the_device_did_not_need";
    let (_folder, bench) = on_disk(&[]);
    let (polled, stage) = run(&bench.workload, "poll", 300);
    let samples = polled.data.lanes[0].phase_samples(stage.index());
    let waits: f64 = samples.iter().map(|s| f64::from(s.wait_ns)).sum();
    let wait = waits / samples.len() as f64;
    let Some(run) = late(test, &bench.workload, "hybrid:fixed:5ms") else {
        return;
    };
    assert_parts_add_up(&run);
    let numbers = &run.all;
    let most_missed = numbers.misses as f64 > 0.9 * numbers.matched as f64;
    assert!(most_missed, "{numbers:?}");
    let over = numbers.parts.expect("matched").oversleep_ns;
    // Other work may take the CPU for a while, but the sleep is much longer.
    let least = LONG_SLEEP_NS - wait - 0.3 * LONG_SLEEP_NS;
    assert!(over > least, "{over} of {least}, polling waited {wait}");
    assert!(over < LONG_SLEEP_NS, "{numbers:?}");
    let lateness = run.lateness_of_misses.expect("misses");
    assert!(lateness.p50_ns > least, "{lateness:?}");
    assert!(lateness.max_ns >= lateness.p99_ns, "{lateness:?}");
    assert!(run.intervals.len() >= 9, "{}", run.intervals.len());
    let in_intervals: u64 = run.intervals.iter().map(|i| i.numbers.matched).sum();
    assert!(in_intervals as f64 > 0.85 * numbers.matched as f64);
}

/// A sleep of a microsecond asks for at most that much oversleep, even if the submitting call
/// returns only after the completion. All further oversleep is a late wake-up.
#[test]
fn a_short_sleep_asks_for_no_oversleep() {
    let test = "a_short_sleep_asks_for_no_oversleep";
    let (_folder, bench) = on_disk(&[]);
    let Some(run) = late(test, &bench.workload, "hybrid:fixed:1us") else {
        return;
    };
    assert_parts_add_up(&run);
    let parts = run.all.parts.expect("matched");
    assert!(parts.oversleep_ns <= 1_000.0, "{:?}", run.all);
    assert!(parts.device_ns > 1_000.0, "{parts:?}");
}

/// With background jobs of depth 8, the device has other requests.
#[test]
fn what_else_was_on_the_device_is_counted() {
    let test = "what_else_was_on_the_device_is_counted";
    let (_folder, bench) = on_disk(&["rw=randread,bs=64k,depth=8,jobs=1"]);
    let Some(run) = late(test, &bench.workload, "hybrid:fixed:1ms") else {
        return;
    };
    assert_parts_add_up(&run);
    let beside = run.all.beside_misses.or(run.all.beside_others);
    let beside = beside.expect("I/Os");
    assert!(beside.requests > 0.5, "{beside:?}");
    assert!(beside.requests < 32.0, "{beside:?}");
    // Another program's requests may be among them, so the mean need not be 64 KiB exactly.
    let mean_bytes = beside.bytes / beside.requests;
    assert!((32e3..1e6).contains(&mean_bytes), "{beside:?}");
    // A request without bytes is a flush of another program.
    let mut kept = run.misses_kept.iter();
    assert!(kept.all(|m| m.others > 0 || m.other_bytes == 0));
}

#[test]
fn without_a_device_there_is_none_and_the_reason_is_told() {
    let bench = reads("sim:50us", None, &[]);
    let none = begin_late_capture(&bench.workload.site, None).err();
    assert_eq!(none, Some(UnseenReason::NoDevice));
}
