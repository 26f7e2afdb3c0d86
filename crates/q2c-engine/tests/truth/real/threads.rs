//! Tests of how runs with threads begin and end: they begin together, end when another thread asks
//! for it, and leave no thread behind.

use super::{clock, cpu, job, on_this_machine};
use crate::ends::{bad_jobs, break_on_purpose, minute_plan, polling, with_bad};
use crate::plan::{plan, run, run_watched};
use q2c_engine::engine::EngineError;
use q2c_engine::{Activity, JobPlan, Medium, RunError, Wait};
use q2c_model::{CpuId, Nanos};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// One lane has to touch 48 MB while it is set up. No lane begins before that.
#[test]
fn no_lane_begins_before_the_common_start() {
    let jobs = (0..4).map(|n| JobPlan {
        cpu: CpuId(n),
        capacity: if n == 2 { 1_000_000 } else { 1_000 },
        ..job("sim:200us", vec![Activity::Start(Wait::Interrupt)])
    });
    let data = run(on_this_machine(plan(&[30], jobs.collect()))).unwrap();
    for lane in &data.lanes {
        assert!(lane.samples[0].submit_ns >= data.start_ns);
    }
}

/// The plan is a minute long. Even a sampler that cannot keep up with its interval checks the flag.
#[test]
fn another_thread_stops_a_run() {
    for interval in [Nanos::from_millis(20), Nanos(1)] {
        let stop = AtomicBool::new(false);
        let plan = q2c_engine::RunPlan {
            interval,
            ..on_this_machine(minute_plan())
        };
        let data = thread::scope(|scope| {
            let run = scope.spawn(|| q2c_engine::run(plan, &mut |_| {}, &stop));
            thread::sleep(Duration::from_millis(30));
            stop.store(true, Ordering::Relaxed);
            run.join().expect("no panic").expect("no error")
        });
        let ends = data.lanes.iter().map(|lane| lane.phases[0].end.t_ns);
        assert!(data.stopped && ends.max() < Some(clock().now()));
        assert!(clock().now() - data.start_ns < 20_000_000_000);
    }
}

/// The error of a run in which the second of three lanes is `bad`. Panics if the run hangs or
/// leaves a thread behind.
fn refused(bad: JobPlan) -> RunError {
    let plan = on_this_machine(with_bad(bad));
    let (sender, receiver) = mpsc::channel();
    // Threads inherit the name of the thread that starts them.
    let named = thread::Builder::new().name("q2c-refused".to_owned());
    let body = move || {
        let error = run(plan).err();
        let sent = sender.send((error, left_alone("q2c-refused")));
        sent.expect("the test waits");
    };
    named.spawn(body).expect("a thread");
    let refused = receiver.recv_timeout(Duration::from_secs(50));
    let (error, is_alone) = refused.expect("no hang");
    assert!(is_alone, "threads left behind");
    error.expect("an error")
}

/// True if the calling thread is soon the only one of this name. A joined thread may stay in /proc
/// for a moment, because the kernel wakes the joiner before it removes the thread.
fn left_alone(name: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    while tasks_named(name) != 1 {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

fn tasks_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the own tasks");
    let comm = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    let names = tasks.filter_map(comm);
    names.filter(|comm| comm.trim() == name).count()
}

/// This is a single test, because the threads of two would have the same name.
#[test]
fn a_lane_that_cannot_be_set_up_or_breaks_leaves_no_thread() {
    for (bad, is_right) in bad_jobs() {
        let error = refused(bad);
        assert!(is_right(&error), "{error}");
    }
    let mut bare = polling("fault:eio@1:io_uring");
    bare.medium = Medium::None;
    let RunError::Lane { source, .. } = refused(bare) else {
        panic!("the lane is refused");
    };
    assert!(matches!(source, EngineError::NoTarget("io_uring")));
}

#[test]
fn an_observer_that_panics_ends_the_threads() {
    let plan = on_this_machine(plan(&[60_000], vec![polling("sim:100us")]));
    let error = run_watched(plan, &mut break_on_purpose).unwrap_err();
    assert!(matches!(error, RunError::Panic(who) if who == "sampler"));
}

/// The lane's own readings and the sampler's are of one counter, so a sampler's reading that was
/// taken between two of the lane's lies between them in value. A resting lane takes hardly any CPU.
#[test]
fn the_sampler_reads_the_cpu_time_of_the_lanes() {
    let activities = vec![Activity::Start(Wait::Poll), Activity::Idle];
    let job = JobPlan {
        cpu: cpu(0),
        ..job("sim:100us", activities)
    };
    let lane = super::run_one(&[100, 100], job).expect("a run");
    let mut compared = 0;
    for phase in &lane.phases {
        let (begin, end) = (phase.begin, phase.end);
        let within = |&&(t, _): &&(u64, u64)| (begin.t_ns..=end.t_ns).contains(&t);
        let readings: Vec<_> = lane.cpu_readings.iter().filter(within).collect();
        // The sampler may lose its CPU between reading the time and reading the CPU time, which
        // matters at a phase's edges.
        for &&(_, cpu_ns) in readings.iter().skip(1).rev().skip(1) {
            assert!((begin.cpu_ns..=end.cpu_ns).contains(&cpu_ns), "{phase:?}");
            compared += 1;
        }
    }
    assert!(compared >= 2, "{:?}", lane.cpu_readings);
    let [busy, idle] = [0, 1].map(|n| lane.phases[n].end.cpu_ns - lane.phases[n].begin.cpu_ns);
    assert!(idle < busy / 2, "{idle} of {busy} ns");
}
