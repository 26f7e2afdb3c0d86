//! Tests the model on simulated machines whose parameters are hidden from it.

mod simulated;

use q2c_model::stats::{Interval, Rng};
use q2c_result::analyze::StageStats;
use q2c_result::scale::{Answer, Resource};
use q2c_scale::evidence::{CurveEvidence, EvidencePoint};
use q2c_scale::machine::QueueTags;
use q2c_scale::predict::{CurvePrediction, PredictionRange, from_evidence};
use simulated::{Hidden, StageTimes};

const TRIALS: u64 = 5;
const IOS: u64 = 40_000;
const STAGE_IOS: u64 = 200_000;

fn stats(stage: StageTimes) -> StageStats {
    StageStats {
        n: STAGE_IOS,
        min_ns: stage.min as u64,
        mean_ns: stage.mean,
        p50_ns: stage.p50,
        p90_ns: stage.p90,
        p99_ns: stage.p99,
        ..StageStats::default()
    }
}

/// A point as `q2c bench --stages` measures it: trials that drift by 0.5 %, and a run with stages.
fn measure(hidden: &Hidden, jobs: u32, rng: &mut Rng) -> EvidencePoint {
    let trial = |rng: &mut Rng| {
        let drift = 1.0 + 0.005 * rng.normal();
        drift * hidden.run(jobs as usize, IOS, rng.next_u64()).iops
    };
    let trials: Vec<f64> = (0..TRIALS).map(|_| trial(rng)).collect();
    let seen = hidden.run(jobs as usize, STAGE_IOS, rng.next_u64());
    let stages = [("Q2G", seen.q2g), ("G2D", seen.g2d), ("D2C", seen.d2c)];
    EvidencePoint {
        jobs,
        iops: Interval::from_samples(&trials),
        cpu_ns: seen.cpu_ns,
        stages: stages
            .map(|(name, stage)| (name.to_owned(), stats(stage)))
            .into(),
    }
}

fn evidence(hidden: &Hidden, up_to: u32, seed: u64) -> CurveEvidence {
    let mut rng = Rng::new(seed);
    CurveEvidence {
        depth: hidden.depth as u32,
        tags: Some(QueueTags {
            queues: hidden.queues as u32,
            per_queue: hidden.tags as u32,
        }),
        points: (1..=up_to).map(|n| measure(hidden, n, &mut rng)).collect(),
    }
}

/// The end by definition: an eighth more jobs add less than a tenth of one job's throughput each.
fn true_end(hidden: &Hidden, max_jobs: u32, seed: u64) -> Option<f64> {
    let iops = |n: f64| hidden.run(n.round() as usize, 60_000, seed + n as u64).iops;
    let one_job = iops(1.0);
    let pays = |n: f64| {
        let (from, to) = (n.round(), (1.125 * n).round().max(n.round() + 1.0));
        (iops(to) - iops(from)) / (to - from) >= 0.1 * one_job
    };
    let (mut low, mut high) = (4.0_f64, f64::from(max_jobs));
    if pays(high) {
        return None;
    }
    while high / low > 1.03 {
        let middle = (low * high).sqrt();
        if pays(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some((low * high).sqrt())
}

fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.unit()
}

fn draw_base(rng: &mut Rng) -> Hidden {
    Hidden {
        depth: 1,
        cpu_ns: uniform(rng, 3_000.0, 8_000.0),
        cpu_cv: uniform(rng, 0.1, 0.5),
        line_ns: 0.0,
        dispatch_ns: uniform(rng, 200.0, 500.0),
        lock_ns: 0.0,
        lock_growth: 0.0,
        lock_cv: [0.2, 1.0][rng.below(2) as usize],
        queues: 32,
        tags: 256,
        device_ns: uniform(rng, 5_000.0, 20_000.0),
        device_cv: uniform(rng, 0.5, 1.0),
        parallel: 100_000,
    }
}

fn round_trip_ns(base: &Hidden) -> f64 {
    base.cpu_ns + 150.0 + base.dispatch_ns + base.device_ns
}

fn draw_machine(limit: Resource, rng: &mut Rng) -> Hidden {
    let base = draw_base(rng);
    match limit {
        Resource::Lock => Hidden {
            lock_ns: round_trip_ns(&base) / uniform(rng, 9.0, 25.0),
            lock_growth: uniform(rng, 0.0, 0.2),
            ..base
        },
        Resource::CacheLine => Hidden {
            line_ns: 2.16 * round_trip_ns(&base) / uniform(rng, 12.0, 40.0),
            ..base
        },
        Resource::Tags => {
            let (queues, depth) = (2 + rng.below(3) as usize, 8);
            let end = uniform(rng, 12.0, 40.0);
            Hidden {
                depth,
                queues,
                tags: (end * depth as f64 / queues as f64) as usize,
                device_ns: base.device_ns * 10.0,
                cpu_ns: base.cpu_ns / 4.0,
                ..base
            }
        }
        Resource::Device => {
            let parallel = 1 + rng.below(5) as usize;
            let device_ns = parallel as f64 * base.cpu_ns / uniform(rng, 8.0, 20.0);
            Hidden {
                parallel,
                device_ns,
                device_cv: base.lock_cv,
                ..base
            }
        }
        Resource::Cpu => base,
    }
}

const MAX_JOBS: u32 = 56;

fn predict(hidden: &Hidden, up_to: u32, seed: u64) -> CurvePrediction {
    let range = PredictionRange {
        cores: MAX_JOBS,
        jobs: MAX_JOBS,
        seed,
    };
    from_evidence(&evidence(hidden, up_to, seed), range)
}

#[derive(Debug, Default)]
struct PredictionTally {
    answered: u32,
    right_resource: u32,
    near_end: u32,
    covered: u32,
    uncertain: u32,
    uncertain_covered: u32,
    nothing_seen: u32,
}

/// Relative resolution with which the true end is known.
const RESOLUTION: f64 = 0.03;

#[expect(clippy::print_stdout, reason = "the figures of the journal")]
fn tally(
    limit: Resource,
    draw: impl Fn(&mut Rng) -> Hidden,
    seeds: std::ops::Range<u64>,
    up_to: u32,
) -> PredictionTally {
    let mut tally = PredictionTally::default();
    for seed in seeds {
        let mut rng = Rng::new(1000 * limit as u64 + seed);
        let hidden = draw(&mut rng);
        let Some(end) = true_end(&hidden, MAX_JOBS, seed) else {
            continue;
        };
        let got = predict(&hidden, up_to, seed);
        let is_covered = got.ends_between.is_some_and(|(low, high)| {
            let below = high.is_none_or(|high| end <= f64::from(high) * (1.0 + RESOLUTION));
            end >= f64::from(low) * (1.0 - RESOLUTION) && below
        });
        match got.answer {
            Answer::Ends => {
                let off = f64::from(got.ends_at.expect("an end")) / end - 1.0;
                tally.answered += 1;
                tally.right_resource += u32::from(got.resource == Some(limit));
                tally.near_end += u32::from(off.abs() <= 0.15);
                tally.covered += u32::from(is_covered);
            }
            Answer::Uncertain => {
                tally.uncertain += 1;
                tally.uncertain_covered += u32::from(is_covered);
            }
            _ => tally.nothing_seen += 1,
        }
        println!(
            "{limit:?} {seed}: true end {end:.1}, {:?} {:?} in {:?} by {:?}; fitted {:?}, true {hidden:?}",
            got.answer, got.ends_at, got.ends_between, got.resource, got.machine
        );
    }
    println!("{limit:?}: {tally:?}");
    tally
}

impl PredictionTally {
    #[track_caller]
    fn check(&self, min_answered: u32) {
        assert!(self.answered >= min_answered, "{} answered", self.answered);
        assert_eq!(self.right_resource, self.answered, "right");
        assert!(
            10 * self.near_end >= 9 * self.answered,
            "{} near",
            self.near_end
        );
        assert!(
            10 * self.covered >= 9 * self.answered,
            "{} covered",
            self.covered
        );
    }
}

fn seeds(range: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let add = std::env::var("Q2C_SEEDS").ok();
    let add: u64 = add.and_then(|add| add.parse().ok()).unwrap_or(0);
    range.start + add..range.end + add
}

#[test]
fn a_lock_is_named_and_its_end_is_near() {
    let draw = |rng: &mut Rng| Hidden {
        lock_cv: 1.0,
        ..draw_machine(Resource::Lock, rng)
    };
    let tally = tally(Resource::Lock, draw, seeds(0..14), 12);
    tally.check(12);
}

/// The model does not hold for a lock with nearly constant times, so it must not give an end.
#[test]
fn the_end_by_a_regular_lock_is_between() {
    let draw = |rng: &mut Rng| Hidden {
        lock_cv: 0.2,
        ..draw_machine(Resource::Lock, rng)
    };
    let tally = tally(Resource::Lock, draw, seeds(20..28), 8);
    assert_eq!((tally.answered, tally.nothing_seen), (0, 0));
    assert!(10 * tally.uncertain_covered >= 9 * tally.uncertain);
}

#[test]
fn a_cache_line_is_named_and_its_end_is_near() {
    let draw = |rng: &mut Rng| draw_machine(Resource::CacheLine, rng);
    tally(Resource::CacheLine, draw, seeds(0..10), 8).check(10);
}

#[test]
fn requests_are_named_and_their_end_is_near() {
    let draw = |rng: &mut Rng| draw_machine(Resource::Tags, rng);
    tally(Resource::Tags, draw, seeds(0..10), 8).check(10);
}

#[test]
fn a_device_is_named_and_its_end_is_near() {
    let draw = |rng: &mut Rng| draw_machine(Resource::Device, rng);
    tally(Resource::Device, draw, seeds(0..20), 8).check(8);
}

#[test]
fn of_what_does_not_show_no_end_is_told() {
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        let base = draw_base(&mut rng);
        let far = Hidden {
            parallel: 24,
            ..base
        };
        for hidden in [base, far] {
            let got = predict(&hidden, 8, seed);
            assert_eq!(got.answer, Answer::NothingSeen, "{hidden:?}: {got:?}");
            assert_eq!((got.ends_at, got.resource), (None, None));
        }
    }
}
