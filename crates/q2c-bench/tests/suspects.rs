//! Tests of the suspects of a published collapse, with evidence that is made up.

use q2c_bench::suspects::{Ceiling, Evidence, Site, Suspects, Tags, suspects};
use q2c_host::topology::Border;
use q2c_stats::scaling::{Point, Shape};
use q2c_testkit::SPDK_3097;

/// The curve of SPDK issue 3097: its peak is at 10 jobs, its collapse and its knee at 14.
fn fallen() -> Shape {
    shape(&SPDK_3097)
}

fn shape(curve: &[(u32, f64)]) -> Shape {
    let points: Vec<Point> = curve.iter().map(|&(n, x)| Point::new(n, &[x])).collect();
    Shape::of(&points).expect("a curve")
}

const JOBS: [u32; 7] = [1, 2, 6, 10, 14, 18, 22];

/// A point at which everything was looked at and nothing was found.
fn innocent(jobs: u32) -> Evidence {
    Evidence {
        jobs,
        scheduler: Some("none".into()),
        tags: Some(Tags {
            used: u64::from(jobs) * 32,
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

fn site() -> Site {
    Site {
        cpus: Some(24),
        borders: Some(Vec::new()),
        ceiling: Some(Ceiling {
            x: 40.0,
            source: "the vendor's rating".into(),
        }),
    }
}

/// Suspects of the published curve with one change of the evidence at every point.
fn with(change: fn(&mut Evidence)) -> Suspects {
    let mut evidence: Vec<Evidence> = JOBS.iter().map(|&n| innocent(n)).collect();
    evidence.iter_mut().for_each(change);
    suspects(&fallen(), &site(), &evidence)
}

/// The one suspect of `found`: its name, its number of jobs and its sentence.
fn only(found: &Suspects) -> (String, u32, String) {
    assert!(found.not_looked_at.is_empty(), "{found:?}");
    let [one] = &found.named[..] else {
        panic!("expected one suspect, found {found:?}");
    };
    (one.id.clone(), one.jobs, one.why.clone())
}

#[test]
fn nothing_found_is_not_nothing_looked_at() {
    assert_eq!(with(|_| ()), Suspects::default());
    let blind = |e: &mut Evidence| {
        *e = Evidence {
            jobs: e.jobs,
            ..Evidence::default()
        }
    };
    let mut evidence: Vec<Evidence> = JOBS.iter().map(|&n| innocent(n)).collect();
    evidence.iter_mut().for_each(blind);
    let found = suspects(&fallen(), &Site::default(), &evidence);
    assert!(found.named.is_empty());
    assert_eq!(found.not_looked_at.len(), 9);
    assert_eq!(
        suspects(&fallen(), &site(), &[]).not_looked_at,
        found.not_looked_at
    );
}

#[test]
fn each_by_its_evidence() {
    let scheduler = only(&with(|e| e.scheduler = Some("mq-deadline".into())));
    assert_eq!((scheduler.0.as_str(), scheduler.1), ("scheduler", 14));
    assert!(scheduler.2.contains("passes the scheduler mq-deadline"));
    let flipped = only(&with(|e| {
        e.scheduler = Some(if e.jobs < 14 { "mq-deadline" } else { "none" }.into());
    }));
    assert!(
        flipped
            .2
            .contains("changed from mq-deadline to none between 10 and 14 jobs"),
        "{flipped:?}"
    );
    // 400 tags are too few for 14 x 32 = 448 requests, and enough for 10 x 32 = 320.
    let tags = only(&with(|e| e.tags.as_mut().expect("tags").limit = 400));
    assert_eq!((tags.0.as_str(), tags.1), ("tags", 14));
    assert!(
        tags.2
            .contains("448 requests are in flight and the queues take 400"),
        "{tags:?}"
    );
    let workers = only(&with(|e| e.workers = Some(if e.jobs > 10 { 5 } else { 1 })));
    assert!(
        workers.0 == "workers" && workers.2.contains("from 1 to 5"),
        "{workers:?}"
    );
    // 14 jobs with a thread each need 28 CPUs, 10 jobs 20; there are 24.
    let busy = |e: &mut Evidence| {
        e.submission_threads = Some(e.jobs);
        e.own_cpus = Some(f64::from((2 * e.jobs).min(24)));
    };
    let threads = only(&with(busy));
    assert_eq!((threads.0.as_str(), threads.1), ("oversubscribed", 14));
    assert!(threads.2.contains("14 jobs and 14 threads"), "{threads:?}");
    // As many threads that leave their CPUs room, because they sleep, are no suspect.
    let asleep = |e: &mut Evidence| {
        e.submission_threads = Some(e.jobs);
        e.own_cpus = Some(0.2 * f64::from(e.jobs));
    };
    assert_eq!(with(asleep), Suspects::default());
    // From six jobs on there are too few CPUs, but throughput rose up to ten jobs.
    let early = |e: &mut Evidence| e.submission_threads = Some(if e.jobs > 2 { 20 } else { 0 });
    assert_eq!(with(early), Suspects::default());
}

#[test]
fn softirqs_steal_and_heat() {
    let softirq = only(&with(|e| {
        e.softirq_share = Some(if e.jobs > 10 { 0.3 } else { 0.1 })
    }));
    assert!(softirq.0 == "softirq" && softirq.2.contains("30 %") && softirq.2.contains("10 %"));
    // The share grows from 20 % at 10 jobs to 28 % at 14, which is less than by half.
    assert_eq!(
        with(|e| e.softirq_share = Some(f64::from(e.jobs) / 50.0)),
        Suspects::default()
    );
    let steal = only(&with(|e| e.steal_share = Some(f64::from(e.jobs) / 400.0)));
    assert!(
        steal.0 == "steal" && steal.2.contains("3.5 %") && steal.2.contains("2.5 %"),
        "{steal:?}"
    );
    let heat = only(&with(|e| e.throttles = Some(u64::from(e.jobs / 7))));
    assert!(
        heat.0 == "thermal" && heat.2.contains("throttled 2 times"),
        "{heat:?}"
    );
}

#[test]
fn steps_of_the_topology() {
    let at = |jobs: u32| Border {
        jobs,
        next: "SMT siblings of node 0, the device's".into(),
    };
    let evidence: Vec<Evidence> = JOBS.iter().map(|&n| innocent(n)).collect();
    let found = |borders: Vec<Border>| {
        let site = Site {
            borders: Some(borders),
            ..site()
        };
        suspects(&fallen(), &site, &evidence)
    };
    let step = only(&found(vec![at(4), at(12)]));
    assert_eq!((step.0.as_str(), step.1), ("topology", 13));
    assert!(step.2.contains("from 13 jobs on") && step.2.contains("SMT siblings"));
    // A border after the tenth job lies between the points 10 and 14. Borders after the ninth and
    // after the fourteenth do not.
    assert_eq!(only(&found(vec![at(10)])).1, 11);
    assert!(found(vec![at(9), at(14)]).named.is_empty());
}

#[test]
fn a_ceiling_explains_a_knee() {
    let flat = shape(&[(1, 100.0), (2, 200.0), (4, 390.0), (8, 392.0)]);
    assert_eq!((flat.knee, flat.collapse), (Some(8), None));
    let evidence: Vec<Evidence> = [1, 2, 4, 8].map(innocent).to_vec();
    let rated = |x| Site {
        ceiling: Some(Ceiling {
            x,
            source: "the vendor's rating".into(),
        }),
        ..site()
    };
    let at = only(&suspects(&flat, &rated(400.0), &evidence));
    assert!(
        at.0 == "ceiling" && at.2.contains("98 % of the vendor's rating"),
        "{at:?}"
    );
    assert!(suspects(&flat, &rated(500.0), &evidence).named.is_empty());
}

#[test]
fn a_straight_curve_has_no_suspects() {
    let straight = shape(&[(1, 1.0), (2, 2.0), (4, 4.0)]);
    let mut evidence: Vec<Evidence> = [1, 2, 4].map(innocent).to_vec();
    evidence[2].scheduler = Some("bfq".into());
    assert_eq!(
        suspects(&straight, &Site::default(), &evidence),
        Suspects::default()
    );
}
