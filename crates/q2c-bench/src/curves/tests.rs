//! Tests of the suspects of a published collapse, with invented evidence.

use super::*;
use q2c_testkit::SPDK_3097;

/// The curve of SPDK issue 3097: its peak is at 10 jobs, its collapse and its knee are at 14.
fn fallen() -> ScalingShape {
    shape(&SPDK_3097)
}

fn shape(curve: &[(u32, f64)]) -> ScalingShape {
    let points = curve.iter().map(|&(n, x)| ScalingPoint::new(n, &[x]));
    ScalingShape::from_points(&points.collect::<Vec<_>>()).expect("a curve")
}

const JOBS: [u32; 7] = [1, 2, 6, 10, 14, 18, 22];

/// A point with all evidence, none of it against a suspect.
fn innocent(jobs: u32) -> PointEvidence {
    PointEvidence {
        jobs,
        scheduler: Some("none".into()),
        tags: Some(TagUse {
            in_flight: u64::from(jobs) * 32,
            limit: 1 << 20,
        }),
        submission_threads: Some(0),
        workers: Some(0),
        softirq_share: Some(0.02),
        steal_share: Some(0.0),
        own_cpus: Some(f64::from(jobs.min(24))),
        throttles: Some(0),
    }
}

fn facts() -> CurveFacts {
    CurveFacts {
        cpus: Some(24),
        borders: Some(Vec::new()),
        ceiling: Some(Ceiling {
            iops: 40.0,
            source: "the vendor's rating".into(),
        }),
    }
}

/// Suspects of the published curve after one change of the evidence at every point.
fn with(change: fn(&mut PointEvidence)) -> Suspects {
    let mut evidence = innocents();
    evidence.iter_mut().for_each(change);
    suspects(&fallen(), &facts(), &evidence)
}

/// Checks that `found` is this one suspect, and that its sentence contains these words.
fn only(found: &Suspects, id: &str, jobs: u32, words: &[&str]) {
    assert!(found.not_looked_at.is_empty(), "{found:?}");
    let [one] = &found.named[..] else {
        panic!("expected one suspect, found {found:?}");
    };
    assert_eq!((one.id, one.jobs), (id, jobs));
    assert!(words.iter().all(|word| one.why.contains(word)), "{one:?}");
}

fn innocents() -> Vec<PointEvidence> {
    JOBS.map(innocent).to_vec()
}

#[test]
fn nothing_found_is_not_nothing_looked_at() {
    assert_eq!(with(|_| ()), Suspects::default());
    let blind = JOBS.map(|jobs| PointEvidence {
        jobs,
        ..PointEvidence::default()
    });
    let without_evidence = suspects(&fallen(), &CurveFacts::default(), &blind);
    assert!(without_evidence.named.is_empty());
    assert_eq!(without_evidence.not_looked_at.len(), 9);
    let nothing = suspects(&fallen(), &facts(), &[]);
    assert_eq!(nothing.not_looked_at, without_evidence.not_looked_at);
}

#[test]
fn each_by_its_evidence() {
    let scheduler = with(|e| e.scheduler = Some("mq-deadline".into()));
    only(&scheduler, "scheduler", 14, &["mq-deadline"]);
    let flipped = with(|e| {
        e.scheduler = Some(if e.jobs < 14 { "mq-deadline" } else { "none" }.into());
    });
    let phrases = ["mq-deadline to none", "10 and 14"];
    only(&flipped, "scheduler", 14, &phrases);
    // 400 tags are too few for 14 x 32 = 448 requests, and enough for 10 x 32 = 320.
    let tags = with(|e| e.tags.as_mut().expect("tags").limit = 400);
    only(&tags, "tags", 14, &["448 requests", "400"]);
    let workers = with(|e| e.workers = Some(if e.jobs > 10 { 5 } else { 1 }));
    only(&workers, "workers", 14, &["from 1 to 5"]);
    // 14 jobs with a helper thread each need 28 CPUs, and 10 jobs need 20; there are 24.
    let threads = with(|e| {
        e.submission_threads = Some(e.jobs);
        e.own_cpus = Some(f64::from((2 * e.jobs).min(24)));
    });
    only(&threads, "oversubscribed", 14, &["14 jobs and 14 threads"]);
    // The same number of threads is no suspect if they sleep and leave CPUs free.
    let asleep = with(|e| {
        e.submission_threads = Some(e.jobs);
        e.own_cpus = Some(0.2 * f64::from(e.jobs));
    });
    assert_eq!(asleep, Suspects::default());
    // From six jobs on there are too few CPUs, but throughput rose up to ten jobs.
    let early = with(|e| e.submission_threads = Some(if e.jobs > 2 { 20 } else { 0 }));
    assert_eq!(early, Suspects::default());
}

#[test]
fn softirqs_steal_and_heat() {
    let softirq = with(|e| e.softirq_share = Some(if e.jobs > 10 { 0.3 } else { 0.1 }));
    only(&softirq, "softirq", 14, &["30 %", "10 %"]);
    // The share grows from 20 % at 10 jobs to 28 % at 14, which is less than a factor of 1.5.
    let slow = with(|e| e.softirq_share = Some(f64::from(e.jobs) / 50.0));
    assert_eq!(slow, Suspects::default());
    let steal = with(|e| e.steal_share = Some(f64::from(e.jobs) / 400.0));
    only(&steal, "steal", 14, &["3.5 %", "2.5 %"]);
    let heat = with(|e| e.throttles = Some(u64::from(e.jobs / 7)));
    only(&heat, "thermal", 14, &["2 times"]);
}

#[test]
fn steps_of_the_topology() {
    let with_borders = |jobs: &[u32]| {
        let border = |&jobs: &u32| Border {
            jobs,
            next: "SMT siblings".into(),
        };
        let facts = CurveFacts {
            borders: Some(jobs.iter().map(border).collect()),
            ..facts()
        };
        suspects(&fallen(), &facts, &innocents())
    };
    only(&with_borders(&[4, 12]), "topology", 13, &["13 jobs", "SMT"]);
    // A border after 10 jobs lies between the points at 10 and 14. Borders after 9 and after 14 do
    // not.
    only(&with_borders(&[10]), "topology", 11, &[]);
    assert!(with_borders(&[9, 14]).named.is_empty());
}

#[test]
fn a_ceiling_explains_a_knee() {
    let flat = shape(&[(1, 100.0), (2, 200.0), (4, 390.0), (8, 392.0)]);
    assert_eq!((flat.knee, flat.collapse), (Some(8), None));
    let with_rating = |rating| {
        let mut facts = facts();
        facts.ceiling.as_mut().expect("a ceiling").iops = rating;
        suspects(&flat, &facts, &[1, 2, 4, 8].map(innocent))
    };
    let phrases = ["98 %", "the vendor's rating"];
    only(&with_rating(400.0), "ceiling", 8, &phrases);
    assert!(with_rating(500.0).named.is_empty());
}

#[test]
fn a_straight_curve_has_no_suspects() {
    let straight = shape(&[(1, 1.0), (2, 2.0), (4, 4.0)]);
    let mut evidence = [1, 2, 4].map(innocent);
    evidence[2].scheduler = Some("bfq".into());
    let suspects = suspects(&straight, &CurveFacts::default(), &evidence);
    assert_eq!(suspects, Suspects::default());
}
