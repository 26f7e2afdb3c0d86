use super::*;
use crate::jobs::PreparedJob;
use crate::jobs::lanes::tests::trial_job;
use crate::jobs::lanes::{self, workers};
use q2c_engine::engine::EngineFacts;
use q2c_engine::measure::PhaseStats;
use q2c_host::Roots;
use q2c_sys::Clock;

const SLICE: Nanos = Nanos::from_millis(10);

fn job_on(method: &str, cpus: &[u32]) -> Option<PreparedJob> {
    lanes::tests::job_on(method, 1, cpus)
}

/// A slice that covers the time slices `first` to `last`, with 10 I/Os in each.
fn slice(lane: usize, order: u64, first: u64, last: u64) -> LiveSlice {
    let many = last + 1 - first;
    LiveSlice {
        lane,
        number: last,
        order,
        span: (first * SLICE.0, (last + 1) * SLICE.0),
        stats: PhaseStats {
            lanes: 1,
            wall_ns: (many * SLICE.0) as f64,
            ios: many * 10,
            latencies: vec![1_000.0],
            ..PhaseStats::default()
        },
        facts: EngineFacts::default(),
        samples: Vec::new(),
    }
}

/// The phases of two jobs with one thread each, computed from these slices.
fn phases(slices: &[LiveSlice]) -> Vec<PhaseTrial> {
    let rule = "hybrid:min:ratio=70%,period=20ms";
    let jobs = [
        trial_job("one", vec![job_on("poll", &[0]), job_on(rule, &[0])]),
        trial_job("other", vec![job_on("poll", &[1]), job_on("poll", &[1])]),
    ];
    let workers = workers(&jobs);
    let site = Site::without_disk(Roots::live(), Clock::MONOTONIC);
    let mut log = SliceLog::new(workers.len(), SLICE, 10);
    slices.iter().for_each(|slice| log.take(slice));
    let run = JobTrial {
        log: &log,
        jobs: &jobs,
        workers: &workers,
        orders: &[0, 1],
        boundaries: &[],
        site: &site,
    };
    run.phases()
}

/// The end of each of a job's intervals, in slices since the phase's start, with its I/Os.
fn interval_ends(job: &JobSeries) -> Vec<(u64, u64)> {
    let slice_s = SLICE.as_secs_f64();
    let tick = |tick: &Tick| {
        (
            (tick.end_s / slice_s).round() as u64,
            tick.ios.round() as u64,
        )
    };
    job.ticks.iter().map(tick).collect()
}

/// Both threads end every slice in time, and take the order at slice 5.
#[test]
fn phases_are_cut_at_the_order() {
    let mut slices = Vec::new();
    for number in 0..10 {
        let order = u64::from(number >= 5);
        slices.extend([0, 1].map(|lane| slice(lane, order, number, number)));
    }
    let phases = phases(&slices);
    for (phase, begin_s) in phases.iter().zip([0.0, 0.05]) {
        assert!((phase.begin_s - begin_s).abs() < 1e-9);
        assert!((phase.seconds - 0.05).abs() < 1e-9);
        for job in &phase.jobs {
            let wanted = [(1, 10), (2, 10), (3, 10), (4, 10), (5, 10)];
            assert_eq!(interval_ends(job), wanted);
        }
    }
    let periods = |phase: &PhaseTrial| phase.jobs[0].rule_period_s;
    let periods: Vec<_> = phases.iter().map(periods).collect();
    assert_eq!(periods, [None, Some(0.02)]);
}

/// The first thread takes the order at slice 5. The other is then in a slice that covers 3 to 6,
/// and takes it at 7.
#[test]
fn a_thread_that_is_late_at_the_border_makes_no_phase_longer_and_no_interval_empty() {
    let mut slices: Vec<LiveSlice> = (0..10)
        .map(|number| slice(0, u64::from(number >= 5), number, number))
        .collect();
    slices.extend((0..3).map(|number| slice(1, 0, number, number)));
    slices.push(slice(1, 0, 3, 6));
    slices.extend((7..10).map(|number| slice(1, 1, number, number)));
    let phases = phases(&slices);
    let [first, second] = &phases[..] else {
        panic!("{phases:?}");
    };
    assert!((first.seconds - 0.05).abs() < 1e-9, "{}", first.seconds);
    assert!((second.begin_s - 0.05).abs() < 1e-9, "{}", second.begin_s);
    let whole = [(1, 10), (2, 10), (3, 10), (4, 10), (5, 10)];
    assert_eq!(interval_ends(&first.jobs[0]), whole);
    // The long slice gives each interval of its phase its mean rate.
    assert_eq!(interval_ends(&first.jobs[1]), whole);
    assert_eq!(interval_ends(&second.jobs[0]), whole);
    // The late thread has no data for the first two intervals of the second phase.
    assert_eq!(interval_ends(&second.jobs[1]), [(3, 10), (4, 10), (5, 10)]);
}
