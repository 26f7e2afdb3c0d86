//! A simulated device in real time against the device that its service times were recorded on.

use crate::disk::{SIZE, target};
use crate::plan::{alone, job, plan, run};
use q2c_engine::engines::SimDevices;
use q2c_engine::{Activity, EngineSpec, JobPlan, LaneData, Medium, RunError, Wait};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};
use q2c_service::{Empirical, EmpiricalBuilder, Measure, RecordedTimes};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The fewest samples on either side.
const SAMPLES: usize = 10_000;
/// The largest distance between two samples of one distribution.
const CLOSE: f64 = 0.05;

/// Reads a file of times in ns, a line each.
fn read(wanted: &RecordedTimes) -> Result<Empirical, Box<dyn Error + Send + Sync>> {
    let mut builder = EmpiricalBuilder::new(Some(Measure::U2c));
    for line in fs::read_to_string(&wanted.path)?.lines() {
        let (place, length) = (Sectors(0), Bytes(4096));
        let mut record = IoRecord::new(0, Layer::User, DevId::default(), Op::Read, place, length);
        record.submit_ns = Some(Nanos(0));
        record.reap_ns = Some(Nanos(line.parse()?));
        builder.take(&[record]);
    }
    Ok(builder.finish()?)
}

fn lane(job: JobPlan, ms: u64) -> Result<LaneData, String> {
    match run(plan(&[ms], vec![job])) {
        Ok(mut data) => Ok(data.lanes.remove(0)),
        Err(RunError::Lane { source, .. }) => Err(source.to_string()),
        Err(e) => panic!("{e}"),
    }
}

fn times(lane: &LaneData) -> Vec<u64> {
    lane.samples.iter().map(|s| s.u2c().0).collect()
}

/// Latencies of reads of 4 KiB from a file, or why there are none.
fn of_disk() -> Result<Vec<u64>, String> {
    let file = target().ok_or("the file system of the target folder has no O_DIRECT")?;
    let job = JobPlan {
        medium: Medium::File(Arc::new(file)),
        span: Bytes(SIZE as u64),
        ..job("io_uring", vec![Activity::Start(Wait::Interrupt)])
    };
    Ok(times(&lane(job, 3_000)?))
}

/// Latencies in real time of a simulated device that has the times in `model`.
fn simulated(model: &[u64], file: &Path) -> Vec<u64> {
    let lines: Vec<String> = model.iter().map(u64::to_string).collect();
    fs::write(file, lines.join("\n")).expect("room for the model");
    let text = format!("sim:trace={},time=u2c", file.display());
    let spec: EngineSpec = text.parse().expect("a simulated device");
    let job = JobPlan {
        medium: SimDevices::new(read).medium(&spec).expect("its times"),
        engine: spec,
        ..job("sim:1us", vec![Activity::Start(Wait::Poll)])
    };
    times(&lane(job, 2_500).expect("a run"))
}

/// The Kolmogorov distance of two samples: the largest difference of their distribution functions.
fn distance(a: &[u64], b: &[u64]) -> f64 {
    let sorted = |of: &[u64]| {
        let mut of = of.to_vec();
        of.sort_unstable();
        of
    };
    let (a, b) = (sorted(a), sorted(b));
    let share = |of: &[u64], at: u64| of.partition_point(|&x| x <= at) as f64 / of.len() as f64;
    let at = a.iter().chain(&b);
    at.map(|&x| (share(&a, x) - share(&b, x)).abs())
        .fold(0.0, f64::max)
}

#[test]
fn distances_are_those_worked_out_by_hand() {
    assert_eq!(distance(&[1, 2, 3, 4], &[1, 2, 3, 4]), 0.0);
    assert_eq!(distance(&[1, 2, 3, 4], &[3, 4, 5, 6]), 0.5);
    assert_eq!(distance(&[1, 1], &[2, 2, 2]), 1.0);
}

/// Runs of the disk and of its model; the best counts. What disturbs a run takes it away from the
/// disk's times, and never nearer.
const TRIES: usize = 4;

/// The distances to a disk's latencies: of a simulated device that has every other one of them as
/// its model, from those that the model does not have; and of a device that is 10 % slower.
fn distances(found: &[u64], file: &Path) -> (f64, f64) {
    let part = |n: usize| found.iter().skip(n).step_by(2).copied();
    let (model, rest): (Vec<u64>, Vec<u64>) = (part(0).collect(), part(1).collect());
    let got = simulated(&model, file);
    assert!(got.len() >= SAMPLES, "{} latencies", got.len());
    let slower: Vec<u64> = model.iter().map(|t| t + t / 10).collect();
    (
        distance(&got, &rest),
        distance(&simulated(&slower, file), &rest),
    )
}

#[test]
fn a_recorded_device_takes_the_times_of_the_device() {
    let name = "a_recorded_device_takes_the_times_of_the_device";
    alone(name, || {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("model.txt");
        let mut nearest = f64::INFINITY;
        for _ in 0..TRIES {
            let found = match of_disk() {
                Ok(found) if found.len() >= 2 * SAMPLES => found,
                Ok(few) => {
                    let reason = format!("the disk gave {} latencies in 3 s", few.len());
                    return q2c_testkit::skip(name, &reason);
                }
                Err(reason) => return q2c_testkit::skip(name, &reason),
            };
            let (near, off) = distances(&found, &file);
            // Shown with --nocapture: a test that passes tells nothing else.
            eprintln!("distance {near:.4}; of a model 10 % off {off:.4}");
            assert!(off >= CLOSE, "a model 10 % off is as near: {off:.4}");
            nearest = nearest.min(near);
            if nearest < CLOSE {
                return;
            }
        }
        panic!("distances below {CLOSE} in one of {TRIES} runs, found {nearest:.4}");
    });
}
