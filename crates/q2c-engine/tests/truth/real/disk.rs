//! Tests on a real disk: a sleep with an I/O in flight is one context switch, whatever completes
//! during it.

use super::{job, run_one};
use crate::plan::hybrid;
use q2c_engine::measure::{PhaseStats, phase_stats};
use q2c_engine::{Activity, JobPlan, LaneData, Medium, Wait};
use q2c_model::Bytes;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, OnceLock};

const SIZE: usize = 8 << 20;

/// A fully written file, open for direct I/O; `None` if the file system does not support that.
fn target() -> Option<File> {
    let named = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR"));
    let mut named = named.expect("a temporary file");
    let written = named.write_all(&vec![0x5a; SIZE]);
    written.expect("room for the target");
    let synced = named.as_file().sync_all();
    synced.expect("the target on its device");
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_DIRECT);
    options.open(named.path()).ok()
}

/// The results of one lane on a file in 200 ms, or the reason why there are none here.
pub(crate) fn on_disk(
    engine: &str,
    depth: u16,
    wait: Wait,
) -> Result<(LaneData, PhaseStats), String> {
    static TARGET: OnceLock<Option<Arc<File>>> = OnceLock::new();
    let Some(file) = TARGET.get_or_init(|| target().map(Arc::new)) else {
        return Err("the file system of the target folder has no O_DIRECT".to_owned());
    };
    let job = JobPlan {
        medium: Medium::File(Arc::clone(file)),
        span: Bytes(SIZE as u64),
        depth,
        ..job(engine, vec![Activity::Start(wait)])
    };
    let lane = run_one(&[200], job)?;
    let stats = phase_stats(&lane, 0);
    Ok((lane, stats))
}

/// Checks that every I/O slept its whole 150 us, by one context switch. `woke_ns` counts from the
/// submission's return: a lane that lost its CPU before the sleep began slept less by that time.
pub(crate) fn all_sleep_once(lane: &LaneData, stats: &PhaseStats) {
    assert!(lane.facts.sleeps_undisturbed);
    assert!(stats.ios > 0, "{stats:?}");
    assert_eq!(stats.sleeps.slept, stats.ios, "{stats:?}");
    assert!(stats.voluntary <= stats.ios * 11 / 10 + 3, "{stats:?}");
    let early = lane.samples.iter().find(|s| s.woke_ns < 149_800);
    assert_eq!(early, None, "a sleep was cut short");
}

/// Checks the context switches of a thread that waits for interrupts. There are fewer than one per
/// I/O, because an I/O can be complete before the thread has left its CPU. That is more frequent if
/// the hypervisor or another task takes the CPU. A thread that polls has hardly any.
pub(crate) fn assert_switched(stats: &PhaseStats) {
    let wanted = stats.ios / 5..=stats.ios * 3 / 2 + 3;
    assert!(wanted.contains(&stats.voluntary), "{stats:?}");
}

/// With the default ring flags 1.98 switches were measured here, because the completion's task work
/// ends the sleep early.
#[test]
fn one_switch_per_slept_io() {
    let skip = |reason: &str| q2c_testkit::skip("one_switch_per_slept_io", reason);
    match on_disk("io_uring", 1, hybrid("fixed:150us")) {
        Err(reason) => skip(&reason),
        Ok((lane, _)) if !lane.facts.sleeps_undisturbed => {
            skip("the kernel has no DEFER_TASKRUN (6.1 and later)");
        }
        Ok((lane, stats)) => all_sleep_once(&lane, &stats),
    }
}

/// The thread stays in the kernel until the completion, as with the interrupt method: one switch
/// per I/O, except if an I/O completes before the thread could leave the CPU.
#[test]
fn a_rule_that_answers_interrupt_waits_in_the_kernel() {
    let (_, stats) = match on_disk("io_uring", 1, hybrid("hypi:interrupt=512")) {
        Ok(done) => done,
        Err(reason) => return q2c_testkit::skip("a_rule_waits_in_the_kernel", &reason),
    };
    assert!(stats.ios > 0, "{}", stats.ios);
    let sleeps = stats.sleeps;
    assert_eq!((sleeps.interrupted, sleeps.slept), (stats.ios, 0));
    assert_switched(&stats);
    assert!(stats.cpu_pct() < 90.0, "{} % CPU", stats.cpu_pct());
}
