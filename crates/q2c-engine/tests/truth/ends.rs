//! Tests of how a run ends: by its stop flag, by a lane that cannot start, by one that breaks. It
//! never hangs.

use crate::plan::{BLOCK, Scripted, alone, clock, cpu, hybrid, job, plan, run};
use q2c_engine::engine::EngineError;
use q2c_engine::floor;
use q2c_engine::{Activity, JobPlan, Medium, Observer, RunError, RunPlan, Wait};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::Decision;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A plan of many seconds in which lanes rest, sleep, poll and wait.
fn long() -> RunPlan {
    let lane = |engine: &str, n, activities| {
        let mut job = job(engine, activities);
        job.cpu = cpu(n);
        job
    };
    let start = Activity::Start;
    let mut deep = lane(
        "sim:1ms,servers=2",
        1,
        vec![start(Wait::Interrupt), Activity::Idle, Activity::Idle],
    );
    deep.depth = 8;
    let jobs = vec![
        lane(
            "sim:1ms",
            0,
            vec![
                start(hybrid("fixed:500us")),
                Activity::Idle,
                start(Wait::Poll),
            ],
        ),
        lane(
            "sim:1ms",
            1,
            vec![Activity::Idle, Activity::Idle, start(Wait::Interrupt)],
        ),
        deep,
    ];
    plan(&[60, 60, 60_000], jobs)
}

/// The time from raising the flag, `after_ms` into a long run, to the run's return.
fn taken_to_stop(after_ms: u64) -> Duration {
    let stop = AtomicBool::new(after_ms == 0);
    thread::scope(|scope| {
        let run = scope.spawn(|| {
            let data = q2c_engine::run(long(), &mut (), &stop);
            (data.expect("a stopped run is no error"), Instant::now())
        });
        thread::sleep(Duration::from_millis(after_ms));
        stop.store(true, Ordering::Relaxed);
        let raised = Instant::now();
        let (data, ended) = run.join().expect("no panic");
        assert!(data.stopped && data.lanes.len() == 3);
        ended - raised
    })
}

/// The flag is raised at many moments: before the start, in work, at rest, at the edges of phases.
/// There are three tries, for a machine with other work.
#[test]
fn stop_ends_a_run_within_a_fifth_of_a_second() {
    alone("stop_ends_a_run_within_a_fifth_of_a_second", || {
        for after_ms in [0, 1, 4, 40, 62, 95, 123, 180] {
            let mut tries = (0..3).map(|_| taken_to_stop(after_ms));
            assert!(
                tries.any(|taken| taken < Duration::from_millis(200)),
                "stop after {after_ms} ms"
            );
        }
    });
}

/// A sampler that cannot keep up with its interval still looks at the flag.
#[test]
fn stop_is_seen_with_a_very_short_interval() {
    alone("stop_is_seen_with_a_very_short_interval", || {
        let stop = AtomicBool::new(false);
        let mut plan = long();
        plan.interval = Nanos(1);
        thread::scope(|scope| {
            let run = scope.spawn(|| q2c_engine::run(plan, &mut (), &stop).map(|_| Instant::now()));
            thread::sleep(Duration::from_millis(30));
            stop.store(true, Ordering::Relaxed);
            let raised = Instant::now();
            let taken = run.join().unwrap().unwrap() - raised;
            assert!(taken < Duration::from_millis(500), "{taken:?}");
        });
    });
}

struct Ends(Vec<usize>);

impl Observer for Ends {
    fn boundary(&mut self, phase: usize) {
        self.0.push(phase);
    }
}

#[test]
fn a_stopped_run_tells_its_end_and_no_phase_that_never_began() {
    alone(
        "a_stopped_run_tells_its_end_and_no_phase_that_never_began",
        || {
            let mut failing = job(
                "fault:eio@3:sim:100us",
                vec![Activity::Start(Wait::Poll), Activity::Idle, Activity::Idle],
            );
            failing.stop_on_fault = true;
            let mut told = Ends(Vec::new());
            let data =
                crate::plan::run_watched(plan(&[9_000; 3], vec![failing]), &mut told).unwrap();
            assert_eq!((told.0, data.stopped), (vec![0, 3], true));
            // There are a few readings up to the end, not one for each interval that was left.
            assert!(
                data.lanes[0].cpu_readings.len() < 20,
                "{}",
                data.lanes[0].cpu_readings.len()
            );
        },
    );
}

/// The error of a run whose second of three lanes is `bad`. Panics when the run hangs or leaves a
/// thread behind.
fn refused(bad: JobPlan) -> RunError {
    let good = || job("sim:100us", vec![Activity::Idle]);
    let plan = plan(&[60_000], vec![good(), bad, good()]);
    let (sender, receiver) = mpsc::channel();
    // Threads inherit the name of the thread that starts them.
    let named = thread::Builder::new().name("q2c-refused".to_owned());
    let body = move || {
        let error = run(plan).err();
        sender
            .send((error, left_alone("q2c-refused")))
            .expect("the test waits");
    };
    named.spawn(body).expect("a thread");
    let (error, left) = receiver
        .recv_timeout(Duration::from_secs(60))
        .expect("no hang");
    assert!(left, "threads left behind");
    error.expect("an error")
}

/// Whether the calling thread is soon the only one of this name. A thread that was joined may stay
/// in /proc for a moment, because the kernel wakes the joiner before it removes the thread.
fn left_alone(name: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    while tasks_named(name) != 1 {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

fn tasks_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the own tasks");
    let comm = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    tasks
        .filter_map(comm)
        .filter(|comm| comm.trim() == name)
        .count()
}

fn polling(engine: &str) -> JobPlan {
    job(engine, vec![Activity::Start(Wait::Poll)])
}

#[test]
fn a_lane_that_cannot_be_set_up_is_an_error() {
    alone("a_lane_that_cannot_be_set_up_is_an_error", || {
        let mut far = polling("null");
        far.cpu = CpuId(1023);
        let error = refused(far);
        assert!(
            matches!(
                &error,
                RunError::Lane {
                    source: EngineError::Pin { cpu: 1023, .. },
                    ..
                }
            ),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .starts_with("run lane on null: pin a job to CPU 1023"),
            "{error}"
        );

        let mut bare = polling("fault:eio@1:io_uring");
        bare.medium = Medium::None;
        let error = refused(bare);
        assert!(
            matches!(
                &error,
                RunError::Lane {
                    source: EngineError::NoTarget("io_uring"),
                    ..
                }
            ),
            "{error}"
        );
    });
}

/// There is no memory for this capacity, so the set-up panics. The other lanes are not left
/// waiting.
#[test]
fn a_set_up_that_panics_is_an_error() {
    alone("a_set_up_that_panics_is_an_error", || {
        let mut huge = polling("null");
        huge.capacity = usize::MAX;
        let error = refused(huge);
        assert!(
            matches!(&error, RunError::Panic(lane) if lane == "lane on null"),
            "{error}"
        );
    });
}

#[test]
fn a_lane_that_panics_at_work_ends_the_run() {
    alone("a_lane_that_panics_at_work_ends_the_run", || {
        let ninth = |n| {
            if n < 9 {
                Decision::Poll
            } else {
                panic!("a rule that breaks, on purpose")
            }
        };
        let error = refused(job(
            "sim:100us",
            vec![Activity::Start(Scripted::wait(ninth))],
        ));
        assert!(
            matches!(&error, RunError::Panic(lane) if lane == "lane on sim:100us"),
            "{error}"
        );
    });
}

struct Breaks;

impl Observer for Breaks {
    fn boundary(&mut self, _: usize) {
        panic!("an observer that breaks, on purpose");
    }
}

#[test]
fn an_observer_that_panics_ends_the_run() {
    alone("an_observer_that_panics_ends_the_run", || {
        let start = Instant::now();
        let error =
            crate::plan::run_watched(plan(&[60_000], vec![polling("sim:100us")]), &mut Breaks);
        assert!(
            matches!(&error, Err(RunError::Panic(who)) if who == "sampler"),
            "{error:?}"
        );
        assert!(start.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn contradictions_are_refused_with_a_reason() {
    let wrong = |change: fn(&mut JobPlan)| {
        let mut job = job("sim:1ms", vec![Activity::Start(hybrid("fixed:1us"))]);
        change(&mut job);
        match run(plan(&[60_000], vec![job])) {
            Err(RunError::Plan { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    };
    let in_one_call = wrong(|job| job.engine = "pvsync2".parse().unwrap());
    assert!(in_one_call.contains("no time to sleep in"), "{in_one_call}");
    assert!(wrong(|job| job.depth = 0).contains("depth"));
    assert!(wrong(|job| job.bs = Bytes(0)).contains("block size"));
    assert!(wrong(|job| job.span = Bytes(u64::from(BLOCK) - 1)).contains("smaller than one block"));
    assert!(wrong(|job| job.activities.clear()).contains("every phase needs an activity"));
    let mut plan = plan(&[60_000], vec![polling("null")]);
    plan.interval = Nanos::ZERO;
    assert!(matches!(run(plan), Err(RunError::Plan { .. })));
}

/// The bound of 5 us is for unoptimised code on a machine with other work; optimised code stays
/// below 60 ns. A neighbour on the CPU can make either of the two measurements dearer, so they are
/// repeated until the one that does less is the cheaper one.
#[test]
fn the_floor_is_far_below_any_device() {
    alone("the_floor_is_far_below_any_device", || {
        let pair = || {
            let ns = floor::measure(&clock().into(), cpu(0)).unwrap();
            (floor::measure_bare(&clock().into(), cpu(0)).unwrap(), ns)
        };
        let plausible = |(bare, ns): (f64, f64)| bare >= 2.0 && bare < ns && ns < 5_000.0;
        assert!(
            (0..8).any(|_| plausible(pair())),
            "recording never cost more than keeping nothing, within 2 ns to 5 us"
        );
        assert!(floor::measure(&clock().into(), CpuId(1023)).is_err());
    });
}
