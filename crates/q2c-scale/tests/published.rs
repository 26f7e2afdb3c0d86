//! Published curves. Of the RAM disk on 120 cores, the numbers of cores are published at which
//! scaling ends: one for 20 queues, one for 9 or fewer. The first fixes the lock, other parameters
//! are assumed in wide ranges, and the second is predicted.

use q2c_model::stats::Interval;
use q2c_result::analyze::StageStats;
use q2c_result::scale::{Answer, Resource};
use q2c_scale::evidence::{CurveEvidence, EvidencePoint};
use q2c_scale::handover::Lock;
use q2c_scale::machine::{DeviceModel, MachineModel, QueueTags};
use q2c_scale::predict::{CurvePrediction, PredictionRange, from_evidence, from_machine};
use q2c_testkit::SPDK_3097;

const CORES: PredictionRange = PredictionRange {
    cores: 120,
    jobs: 120,
    seed: 1,
};
/// Published cores at which scaling ends, with about 20 hardware queues and with 9 or fewer.
const PUBLISHED: (f64, f64) = (75.0, 80.0);

fn machine(depth: u32, cpu_ns: f64, lock: Lock, queues: u32, per_queue: u32) -> MachineModel {
    MachineModel {
        depth,
        cores: CORES.cores,
        cpu_ns,
        rest_ns: 0.0,
        line_ns: 0.0,
        lock: Some(lock),
        tags: Some(QueueTags { queues, per_queue }),
        device: DeviceModel {
            service_ns: 1_000.0,
            parallel: None,
            cv: 1.0,
        },
    }
}

fn predict(machine: &MachineModel) -> CurvePrediction {
    from_machine(machine, Vec::new(), 0.0, CORES)
}

/// The lock with which scaling ends at the first published number of cores.
fn fit_lock(depth: u32, cpu_ns: f64, growth: f64) -> Lock {
    let lock = |hold_ns| Lock {
        hold_ns,
        growth,
        cv: 1.0,
    };
    let (mut low, mut high) = (1.0, cpu_ns);
    for _ in 0..30 {
        let middle = f64::sqrt(low * high);
        let end = predict(&machine(depth, cpu_ns, lock(middle), 20, 128)).ends_at;
        if end.is_some_and(|end| f64::from(end) < PUBLISHED.0) {
            high = middle;
        } else {
            low = middle;
        }
    }
    lock(high)
}

/// The published end is 80. The model says 74, 7 % less, for any number of tags.
#[test]
fn few_queues_of_the_ram_disk_end_near_the_published_number() {
    for (depth, cpu_ns, growth) in [
        (1, 3_000.0, 0.01),
        (1, 3_000.0, 0.1),
        (1, 10_000.0, 0.1),
        (1, 10_000.0, 0.5),
        (4, 10_000.0, 0.1),
    ] {
        let lock = fit_lock(depth, cpu_ns, growth);
        for queues in [2, 5, 9] {
            for per_queue in [64, 128, 1_024] {
                let prediction = predict(&machine(depth, cpu_ns, lock, queues, per_queue));
                let at = f64::from(prediction.ends_at.expect("an end"));
                assert_eq!(prediction.resource, Some(Resource::Lock));
                assert!((at / PUBLISHED.1 - 1.0).abs() < 0.10, "{at}");
                assert!(prediction.peak.is_some(), "throughput falls");
            }
        }
    }
}

/// The curve of SPDK's issue 3097 is straight up to 10 jobs, its first four points. The fall to
/// less than a half at 14 is not predicted.
#[test]
fn a_collapse_without_a_sign_is_not_predicted() {
    let stage = |mean_ns| StageStats {
        n: 100_000,
        mean_ns,
        min_ns: mean_ns as u64 / 2,
        p50_ns: mean_ns,
        p90_ns: 1.2 * mean_ns,
        ..StageStats::default()
    };
    let stages = [("D2C", 90_000.0), ("Q2G", 50.0)];
    let point = |(jobs, millions): &(u32, f64)| EvidencePoint {
        jobs: *jobs,
        iops: Interval::from_samples(&[millions * 1e6]),
        cpu_ns: 400.0,
        stages: stages.map(|(s, ns)| (s.to_owned(), stage(ns))).into(),
    };
    let evidence = CurveEvidence {
        depth: 1,
        tags: None,
        points: SPDK_3097[..4].iter().map(point).collect(),
    };
    let range = PredictionRange {
        cores: 22,
        jobs: 22,
        seed: 1,
    };
    let prediction = from_evidence(&evidence, range);
    assert_eq!(prediction.answer, Answer::NothingSeen);
    assert_eq!((prediction.ends_at, prediction.resource), (None, None));
}
