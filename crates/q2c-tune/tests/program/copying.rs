use super::*;
use proptest::prelude::*;
use q2c_model::Direction;
use q2c_model::facts::STATED_SECTOR;
use q2c_result::program::{CopiedBackground, NoThink, NotCopied};
use q2c_tune::program::nearest_workload;

/// `n` submitters that read at the same times.
fn readers(n: u32) -> Vec<SyntheticStream> {
    let reader = |lane| SyntheticStream {
        lane,
        think: 0,
        ..SyntheticStream::READS
    };
    (0..n).map(reader).collect()
}

#[test]
fn submitters_become_jobs() {
    let workload = nearest_workload(&pattern(&readers(3)), 4);
    assert!(workload.direction == Direction::Read && workload.random);
    assert_eq!((workload.jobs, workload.sizes), (3, vec![Bytes(4096)]));
    assert_eq!((workload.background, workload.not_copied), (vec![], vec![]));
}

/// If there are fewer CPUs than I/Os in flight, one CPU gets a job with all remaining ones.
#[test]
fn what_cpus_lack_for_is_in_flight_beside_the_jobs() {
    let workload = nearest_workload(&pattern(&readers(9)), 4);
    assert_eq!(workload.jobs, 3);
    let background = CopiedBackground {
        direction: Direction::Read,
        random: true,
        bs: Bytes(4096),
        depth: 6,
    };
    assert_eq!(workload.background, [background]);
    let fewer = NotCopied::FewerJobs { needed: 9, jobs: 3 };
    assert_eq!(workload.not_copied, [fewer]);
    // A single CPU is shared by both jobs.
    let alone = nearest_workload(&pattern(&readers(9)), 1);
    assert_eq!((alone.jobs, alone.background[0].depth), (1, 8));
}

#[test]
fn the_other_direction_runs_beside_where_it_is_in_flight_enough() {
    let writes = |latency: u64, think: u64| SyntheticStream {
        lane: 7,
        op: Op::Write,
        bytes: 16_384,
        latency: latency * US,
        think: think * US,
        ios: 160,
        sequential: true,
        ..SyntheticStream::READS
    };
    let often = nearest_workload(&pattern(&[readers(1), vec![writes(500, 0)]].concat()), 4);
    let beside = CopiedBackground {
        direction: Direction::Write,
        random: false,
        bs: Bytes(16_384),
        depth: 1,
    };
    assert_eq!(often.background, [beside]);
    let direction = Direction::Write;
    assert_eq!(often.not_copied, [NotCopied::BackgroundRate { direction }]);
    let rarely = nearest_workload(&pattern(&[readers(1), vec![writes(50, 450)]].concat()), 4);
    assert_eq!(rarely.background, []);
    let mut not_copied = rarely.not_copied.iter();
    let other = not_copied.find(|entry| matches!(entry, NotCopied::OtherDirection { .. }));
    let Some(NotCopied::OtherDirection {
        share, in_flight, ..
    }) = other
    else {
        panic!("{:?}", rarely.not_copied);
    };
    near(*share, 160.0 / 1160.0, 1e-9);
    near(*in_flight, 160.0 * 50.0 / 80_000.0, 0.02);
}

/// 512 B and 4 KiB are both measured as 4 KiB; 64 KiB are measured too, and 128 KiB are too rare.
#[test]
fn frequent_sizes_are_measured_and_others_named() {
    let stream = |lane, bytes, ios| SyntheticStream {
        lane,
        bytes,
        ios,
        think: 0,
        ..SyntheticStream::READS
    };
    let small = [stream(0, 512, 200), stream(1, 4096, 300)];
    let large = [stream(2, 65_536, 400), stream(3, 131_072, 100)];
    let workload = nearest_workload(&pattern(&[small, large].concat()), 16);
    assert_eq!(workload.sizes, [Bytes(4096), Bytes(65_536)]);
    let rounded = NotCopied::RoundedSize {
        from: Bytes(512),
        to: Bytes(4096),
    };
    let not_copied = &workload.not_copied;
    assert!(not_copied.contains(&rounded), "{not_copied:?}");
    let share = workload.not_copied.iter().find_map(|entry| match entry {
        NotCopied::OtherSizes { share } => Some(*share),
        _ => None,
    });
    near(share.unwrap(), 0.1, 1e-9);
}

/// Submitters whose reads take 100 us of every 200 us, each 50 us after the one before.
fn thinkers(n: u32) -> Vec<SyntheticStream> {
    let thinker = |lane: u32| SyntheticStream {
        lane,
        latency: 100 * US,
        think: 100 * US,
        begin: u64::from(lane) * 50 * US,
        ..SyntheticStream::READS
    };
    (0..n).map(thinker).collect()
}

/// Four submitters that think half of their time have two I/Os in flight. They become four jobs
/// that think as well.
#[test]
fn submitters_that_think_are_jobs_that_think() {
    let pattern = pattern(&thinkers(4));
    near(pattern.in_flight.mean, 2.0, 0.01);
    let workload = nearest_workload(&pattern, 8);
    near(workload.think_ns.unwrap(), 100e3, 0.01);
    assert_eq!((workload.jobs, workload.background), (4, vec![]));
    assert_eq!(workload.not_copied, []);
    // A background job never thinks, so it has the two in flight of three missing jobs.
    let few = nearest_workload(&pattern, 2);
    assert_eq!((few.jobs, few.background[0].depth), (1, 2));
    let fewer = NotCopied::FewerJobs { needed: 4, jobs: 1 };
    assert_eq!(few.not_copied, [fewer]);
}

#[test]
fn submitters_that_follow_each_other_are_one_job() {
    let after = |mut stream: SyntheticStream| {
        stream.begin = u64::from(stream.lane) * 200_000 * US;
        stream
    };
    let streams: Vec<SyntheticStream> = thinkers(3).into_iter().map(after).collect();
    let workload = nearest_workload(&pattern(&streams), 8);
    near(workload.think_ns.unwrap(), 100e3, 0.01);
    assert_eq!((workload.jobs, workload.not_copied), (1, vec![]));
}

/// 1,000 reads in 200 ms, then 200 ms of nothing, then 1,000 more. The think time is the median,
/// and a third of the time is a pause.
#[test]
fn pauses_are_named() {
    let early = thinkers(1)[0];
    let late = SyntheticStream {
        begin: 400_000 * US,
        ..early
    };
    let workload = nearest_workload(&pattern(&[early, late]), 8);
    near(workload.think_ns.unwrap(), 100e3, 0.01);
    let (p50, mean, pauses) = match workload.not_copied[..] {
        [
            NotCopied::Pauses {
                p50_ns,
                mean_ns,
                share,
            },
        ] => (p50_ns, mean_ns, share),
        _ => panic!("{:?}", workload.not_copied),
    };
    near(p50, 100e3, 0.01);
    near(mean, 200e3, 0.01);
    near(pauses, 1.0 / 3.0, 0.01);
    assert_eq!(workload.jobs, 1);
}

#[test]
fn times_that_jobs_do_not_have_are_named() {
    let thinking = nearest_workload(&pattern(&[SyntheticStream::READS]), 4);
    let [NotCopied::ThinkTime { p50_ns, share, why }] = thinking.not_copied[..] else {
        panic!("{:?}", thinking.not_copied);
    };
    near(p50_ns, 20e3, 0.01);
    near(share, 0.2, 1e-2);
    assert_eq!(why, NoThink::TooShort);
    let rarely = SyntheticStream {
        think: 20_000 * US,
        ..SyntheticStream::READS
    };
    let rarely = nearest_workload(&pattern(&[rarely]), 4);
    let [NotCopied::ThinkTime { why, .. }] = rarely.not_copied[..] else {
        panic!("{:?}", rarely.not_copied);
    };
    assert_eq!((rarely.think_ns, why), (None, NoThink::TooLong));
    // For a tenth of the time one submitter has eight in flight; otherwise one.
    let burst = |n: u64| SyntheticStream {
        ios: 100,
        begin: n,
        think: 0,
        ..SyntheticStream::READS
    };
    let mut streams: Vec<SyntheticStream> = (0..8).map(burst).collect();
    streams.push(SyntheticStream {
        begin: 9_000 * US,
        think: 0,
        ..SyntheticStream::READS
    });
    let bursts = nearest_workload(&pattern(&streams), 16);
    let has = |test: fn(&NotCopied) -> bool| bursts.not_copied.iter().any(test);
    let is_burst = |entry: &NotCopied| matches!(entry, NotCopied::Bursts { p99: 8, .. });
    assert!(has(is_burst));
    assert!(has(|entry| matches!(entry, NotCopied::LaneDepth { .. })));
}

#[test]
fn a_recording_without_offsets_is_read_at_random() {
    let mut meta = TraceMeta::default();
    let none = "the list has none".to_owned();
    meta.facts.insert(STATED_SECTOR.to_owned(), none);
    let workload = nearest_workload(&of_trace(&records(&readers(1)), meta, &[]).unwrap(), 2);
    assert!(workload.random);
    assert_eq!(workload.not_copied, [NotCopied::NoOffsets]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// `tune` takes the workload of any pattern. Without think time it has as many I/Os in flight
    /// as the program; with it, at most as many as the submitters could have.
    #[test]
    fn a_workload_can_be_run(
        made in prop::collection::vec((0u32..40, any::<bool>(), 1u64..5000, 1u64..300, 0u64..300), 1..30),
        cpus in 1u32..16,
    ) {
        let streams: Vec<SyntheticStream> = made.iter().map(|&(lane, write, bytes, latency, think)| SyntheticStream {
            lane,
            op: if write { Op::Write } else { Op::Read },
            bytes: bytes * 512,
            latency: latency * US,
            think: think * US,
            ios: 100,
            ..SyntheticStream::READS
        }).collect();
        let pattern = pattern(&streams);
        let workload = nearest_workload(&pattern, cpus);
        prop_assert!((1..=cpus).contains(&workload.jobs));
        prop_assert!((1..=3).contains(&workload.sizes.len()));
        let mut sizes = workload.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        prop_assert_eq!(sizes.len(), workload.sizes.len());
        prop_assert!(workload.sizes.iter().all(|bs| bs.0 % 4096 == 0 && bs.0 > 0));
        let beside = workload.background.iter().filter(|job| job.direction == workload.direction);
        let in_flight = u64::from(workload.jobs) + beside.map(|job| u64::from(job.depth)).sum::<u64>();
        let measured = pattern.kinds[0].in_flight;
        let Some(think_ns) = workload.think_ns else {
            prop_assert_eq!(in_flight, (measured.mean.round() as u64).max(1));
            return Ok(());
        };
        prop_assert!((25e3..=10e6).contains(&think_ns));
        let over_all = measured.mean * measured.busy_seconds / pattern.seconds;
        let most = (over_all / pattern.lane_busy).round() as u64;
        prop_assert!(in_flight <= most.max(1), "{} of {}", in_flight, most);
    }
}
