//! Runs without a planned end: how their listener affects threads, and what the kernel shows of
//! them.

use super::{clock, job};
use crate::live::{hear, live_plan, starting, to_the_end};
use crate::plan::{MS, hybrid};
use q2c_engine::{Activity, JobPlan, Live, Medium, RunData, Wait, live};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn listen<T: Send>(
    job: JobPlan,
    stop: &AtomicBool,
    listen: impl FnOnce(&mut Live<'_>) -> T + Send,
) -> (T, RunData) {
    let job = JobPlan {
        cpu: super::cpu(0),
        ..job
    };
    live(live_plan(vec![job], clock().into()), stop, listen).expect("a run that can be done")
}

/// If the listener does not listen, slices become longer: the lane has three spare buffers, for 60
/// of the 400 ms. Every I/O is counted, but samples without room are not kept.
#[test]
fn who_does_not_listen_gets_longer_slices() {
    let mut job = starting("sim:100us", Wait::Poll);
    job.capacity = 300;
    let (slices, _) = listen(job, &AtomicBool::new(false), |live| {
        let before = hear(live, 1);
        std::thread::sleep(Duration::from_millis(400));
        [before, hear(live, 6)].concat()
    });
    for pair in slices.windows(2) {
        assert_eq!(pair[0].span.1, pair[1].span.0, "a gap");
    }
    let longest = slices.iter().max_by_key(|s| s.span.1 - s.span.0).unwrap();
    let length = longest.span.1 - longest.span.0;
    assert!(length > 100 * MS, "{length} ns");
    let kept = longest.stats.latencies.len() as u64;
    assert_eq!(kept, longest.stats.ios.min(300));
}

/// The ids of the lanes' threads are those that the kernel lists, and a flag raised by another
/// thread ends the run.
#[test]
fn the_kernel_knows_the_lanes_and_another_thread_stops_them() {
    let stop = AtomicBool::new(false);
    let (exists, data) = listen(starting("sim:1ms", Wait::Interrupt), &stop, |live| {
        let exists = Path::new(&format!("/proc/self/task/{}", live.tids()[0])).exists();
        std::thread::scope(|scope| {
            scope.spawn(|| stop.store(true, Ordering::Relaxed));
            to_the_end(live);
        });
        exists
    });
    assert!(exists && data.stopped);
}

/// The kernel says where the thread of a lane may run.
#[test]
fn a_lane_stays_on_its_cpu_or_roams_on_the_cpus_that_it_is_given() {
    let cpus = q2c_sys::thread::allowed_cpus().expect("the own CPUs");
    for (roams_on, wanted) in [(vec![], cpus[..1].to_vec()), (cpus.clone(), cpus.clone())] {
        let mut job = starting("sim:1ms", Wait::Interrupt);
        job.roams_on = roams_on;
        let (allowed, _) = listen(job, &AtomicBool::new(false), |live| {
            q2c_sys::thread::allowed_cpus_of(live.tids()[0])
        });
        assert_eq!(allowed.expect("the thread lives"), wanted);
    }
}

#[test]
fn an_order_that_the_engine_cannot_carry_out_is_refused() {
    let mut one_call = job("pvsync2", vec![Activity::Start(Wait::Interrupt)]);
    one_call.medium = Medium::File(Arc::new(File::open("/dev/zero").unwrap()));
    let (refused, _) = listen(one_call, &AtomicBool::new(false), |live| {
        let asleep = live.order(vec![Activity::Start(hybrid("fixed:1us"))]);
        asleep.unwrap_err().to_string()
    });
    assert!(refused.contains("no time to sleep in"), "{refused}");
}
