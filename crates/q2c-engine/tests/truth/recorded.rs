//! A simulated device has the service times of the recording that it was made of.

use crate::plan::{LOOK, SUBMISSION, job, run_one};
use q2c_engine::engines::SimDevices;
use q2c_engine::{Activity, EngineSpec, JobPlan, Wait};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};
use q2c_service::{Empirical, EmpiricalBuilder, Measure, RecordedTimes};
use std::error::Error;
use std::fs;
use std::path::Path;

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

/// From the submission's return to the reaping, of a simulated device that has these times.
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
    let lane = run_one(&[2_500], job);
    let mut lengths = lane.samples.iter().map(|s| u64::from(s.submit_len_ns));
    assert!(lengths.all(|length| length == SUBMISSION));
    lane.samples.iter().map(|s| u64::from(s.wait_ns)).collect()
}

/// The Kolmogorov distance of two samples: the largest difference of their distribution functions.
fn distance(a: &[u64], b: &[u64]) -> f64 {
    let sorted = |times: &[u64]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times
    };
    let (a, b) = (sorted(a), sorted(b));
    let count = |times: &[u64], at: u64| times.partition_point(|&x| x <= at) as f64;
    let share = |times: &[u64], at: u64| count(times, at) / times.len() as f64;
    let apart = |&x: &u64| (share(&a, x) - share(&b, x)).abs();
    a.iter().chain(&b).map(apart).fold(0.0, f64::max)
}

/// 3,000 times from 40 us to 99.98 us and 1,000 from 400 us on, in whole looks: half the device's
/// time is spent on the slow ones. Of `n` draws the distance is below 1.63 / sqrt(n) in 99 % of all
/// cases (Kolmogorov).
#[test]
fn a_recorded_device_takes_the_times_of_its_record() {
    let slow = (0..1_000).map(|n| 400_000 + n * 2 * LOOK);
    let fast = (0..3_000).map(|n| 40_000 + n / 3 * LOOK);
    let model: Vec<u64> = fast.chain(slow).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let got = simulated(&model, &folder.path().join("model.txt"));
    assert!(got.len() > 10_000 && got.iter().all(|time| model.contains(time)));
    let near = distance(&got, &model);
    assert!(near < 1.63 / (got.len() as f64).sqrt(), "{near}");
    let slower: Vec<u64> = model.iter().map(|t| t + t / 10).collect();
    // A model 10 % off is told apart.
    assert!(distance(&got, &slower) > 0.05);
}
