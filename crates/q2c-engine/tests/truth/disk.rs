//! Tests on a real disk: a sleep with an I/O in flight is one context switch, whatever completes
//! meanwhile.

use crate::plan::{SWITCHES, alone, hybrid, job, plan, run};
use q2c_engine::measure::phase_stats;
use q2c_engine::{Activity, JobPlan, LaneData, Medium, RunError};
use q2c_model::Bytes;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

pub const SIZE: usize = 8 << 20;

/// A fully written file, open for direct I/O; `None` where the file system has none.
pub fn target() -> Option<File> {
    let mut named =
        tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary file");
    named
        .write_all(&vec![0x5a; SIZE])
        .expect("room for the target");
    named
        .as_file()
        .sync_all()
        .expect("the target on its device");
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(named.path())
        .ok()
}

/// The results of one lane under `rule` on a file, or the reason why they cannot be had here.
fn on_disk(rule: &str) -> Result<LaneData, String> {
    let Some(file) = target() else {
        return Err("the file system of the target folder has no O_DIRECT".to_owned());
    };
    let job = JobPlan {
        medium: Medium::File(Arc::new(file)),
        span: Bytes(SIZE as u64),
        ..job("io_uring", vec![Activity::Start(hybrid(rule))])
    };
    match run(plan(&[500], vec![job])) {
        Ok(mut data) => Ok(data.lanes.remove(0)),
        Err(RunError::Lane { source, .. }) => Err(source.to_string()),
        Err(e) => panic!("{e}"),
    }
}

/// With the default ring flags there were 1.98 switches here, because the completion's task work
/// ends the sleep early.
#[test]
fn one_switch_per_slept_io() {
    alone("one_switch_per_slept_io", || {
        let skip = |reason: &str| q2c_testkit::skip("one_switch_per_slept_io", reason);
        let lane = match on_disk("fixed:150us") {
            Ok(lane) => lane,
            Err(reason) => return skip(&reason),
        };
        if !lane.facts.sleeps_undisturbed {
            return skip("the kernel has no DEFER_TASKRUN (6.1 and later)");
        }
        let stats = phase_stats(&lane, 0);
        assert!(
            stats.sleeps.slept == stats.ios && stats.ios > 200,
            "{} of {}",
            stats.sleeps.slept,
            stats.ios
        );
        assert!(
            stats.switches_per_io() <= 1.05,
            "{}",
            stats.switches_per_io()
        );
        // `woke_ns` counts from the submission's return: a lane that lost its CPU before the call
        // of the sleep slept less by that time.
        let early = lane.samples.iter().find(|s| s.woke_ns < 149_800);
        assert_eq!(early, None, "a sleep was cut short");
    });
}

/// The thread is in the kernel until the completion, as with the interrupt method: one switch per
/// I/O, except for I/Os that are complete before the thread could give up the CPU.
#[test]
fn a_rule_that_answers_interrupt_waits_in_the_kernel() {
    alone("a_rule_that_answers_interrupt_waits_in_the_kernel", || {
        let skip = |reason: &str| q2c_testkit::skip("a_rule_waits_in_the_kernel", reason);
        let lane = match on_disk("hypi:interrupt=512") {
            Ok(lane) => lane,
            Err(reason) => return skip(&reason),
        };
        let stats = phase_stats(&lane, 0);
        assert!(stats.ios > 200, "{}", stats.ios);
        assert_eq!(
            (stats.sleeps.interrupted, stats.sleeps.slept),
            (stats.ios, 0)
        );
        let switches = stats.switches_per_io();
        assert!(SWITCHES.contains(&switches), "{switches}");
        assert!(stats.cpu_pct() < 90.0, "{} % CPU", stats.cpu_pct());
    });
}
