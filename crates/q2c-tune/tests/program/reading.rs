use super::*;
use proptest::prelude::*;
use q2c_model::stats::Histogram;
use q2c_model::{Direction, Fault};
use std::path::Path;

/// Two readers at the same times, and a later one that writes in sequence.
#[test]
fn sizes_depths_and_think_times_are_found() {
    let pattern = pattern(&[
        SyntheticStream::READS,
        SyntheticStream {
            lane: 1,
            ..SyntheticStream::READS
        },
        SyntheticStream {
            lane: 2,
            op: Op::Write,
            bytes: 65_536,
            latency: 500 * US,
            think: 0,
            begin: 200_000 * US,
            ios: 100,
            sequential: true,
        },
    ]);
    assert_eq!((pattern.ios, pattern.lanes), (2100, 3));
    assert_eq!(pattern.layer, Layer::Block);
    near(pattern.seconds, 0.25, 1e-9);
    // Reads: 2 in flight for 80 ms. Writes: 1 in flight for 50 ms.
    near(pattern.in_flight.busy_seconds, 0.13, 1e-9);
    near(pattern.in_flight.mean, (2.0 * 80.0 + 50.0) / 130.0, 1e-9);
    assert_eq!((pattern.in_flight.p50, pattern.in_flight.most), (2, 2));
    near(pattern.lane_depth, 1.0, 1e-9);
    // Each reader has I/O in flight for 80 of its 99.98 ms, the writer for all of its 50 ms.
    near(pattern.lane_busy, 210.0 / (2.0 * 99.98 + 50.0), 1e-9);
    let think = pattern.think.unwrap();
    assert_eq!(think.n, 2 * 999 + 99);
    near(think.p50_ns, 20e3, Histogram::ERROR);
    let [reads, writes] = &pattern.kinds[..] else {
        panic!("{:?}", pattern.kinds);
    };
    assert_eq!((reads.direction, reads.ios), (Direction::Read, 2000));
    assert_eq!((reads.sizes[0].bytes, reads.sizes.len()), (Bytes(4096), 1));
    near(reads.in_flight.mean, 2.0, 1e-9);
    assert_eq!(reads.sequential, Some(0.0));
    near(reads.latency.p99_ns, 80e3, Histogram::ERROR);
    assert_eq!(writes.direction, Direction::Write);
    assert_eq!(writes.sequential, Some(0.99));
    let names = pattern.submitters.iter();
    let names = names.map(|submitter| (&submitter.name[..], submitter.ios));
    assert!(names.eq([("task0", 1000), ("task1", 1000), ("task2", 100)]));
}

#[test]
fn a_submitter_may_have_several_in_flight() {
    let pattern = pattern(&[0, 40 * US].map(|begin| SyntheticStream {
        think: 0,
        begin,
        ..SyntheticStream::READS
    }));
    assert_eq!((pattern.lanes, pattern.think), (1, None));
    near(pattern.lane_depth, 2.0, 1e-3);
    near(pattern.lane_busy, 1.0, 1e-9);
    near(pattern.in_flight.mean, 2.0, 1e-3);
}

#[test]
fn more_sizes_than_are_kept_count_as_others() {
    let one = |n: u64| SyntheticStream {
        bytes: n * 512,
        begin: n * 100 * US,
        ios: 1,
        ..SyntheticStream::READS
    };
    let pattern = pattern(&(1..=300).map(one).collect::<Vec<_>>());
    let kind = &pattern.kinds[0];
    assert_eq!((kind.sizes.len(), kind.other_sizes), (16, 284));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Little's law holds exactly: the time in flight is the sum of the latencies.
    #[test]
    fn streams_are_found_as_they_were_made(
        made in prop::collection::vec((1u64..200, 0u64..100, 1u64..33, 0u64..500), 1..6),
    ) {
        let streams: Vec<SyntheticStream> = (0..).zip(&made).map(|(lane, &(latency, think, blocks, begin))| SyntheticStream {
            lane,
            bytes: blocks * 4096,
            latency: latency * US,
            think: think * US,
            begin: begin * US,
            ios: 120,
            ..SyntheticStream::READS
        }).collect();
        let pattern = pattern(&streams);
        prop_assert_eq!(pattern.ios, 120 * made.len() as u64);
        prop_assert_eq!(pattern.lanes as usize, made.len());
        let latencies: u64 = streams.iter().map(|s| s.latency * s.ios).sum();
        near(pattern.in_flight.mean * pattern.in_flight.busy_seconds, latencies as f64 / 1e9, 1e-9);
        near(pattern.lane_depth, 1.0, 1e-9);
        let think: u64 = streams.iter().map(|s| s.think * (s.ios - 1)).sum();
        let thinking = pattern.think.unwrap();
        near(thinking.mean_ns * thinking.n as f64 + 1.0, think as f64 + 1.0, 1e-9);
        let sizes: u64 = pattern.kinds[0].sizes.iter().map(|s| s.bytes.0 * s.ios).sum();
        prop_assert_eq!(sizes, streams.iter().map(|s| s.bytes * s.ios).sum::<u64>());
    }

    /// The levels equal those found by counting at every instant.
    #[test]
    fn levels_are_those_of_each_instant(
        mut spans in prop::collection::vec((0u64..400, 1u64..30), 100..140),
    ) {
        spans.sort_unstable();
        let made = records(&[SyntheticStream { ios: spans.len() as u64, ..SyntheticStream::READS }]);
        let made: Vec<IoRecord> = made.into_iter().zip(&spans).map(|(record, (begin, length))| IoRecord {
            queue_ns: Some(Nanos(*begin)),
            complete_ns: Some(Nanos(begin + length)),
            ..record
        }).collect();
        let levels = of_lossy(&made, 0, &[]).unwrap().in_flight;
        let at = |t: u64| spans.iter().filter(|(b, l)| (*b..b + l).contains(&t)).count() as u64;
        let mut seen: Vec<u64> = (0..430).map(at).filter(|n| *n > 0).collect();
        seen.sort_unstable();
        prop_assert_eq!(levels.busy_seconds, seen.len() as f64 / 1e9);
        prop_assert_eq!(levels.most, seen.last().copied().unwrap_or_default());
        let mean = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
        near(levels.mean, mean, 1e-9);
        prop_assert_eq!(levels.p50, q2c_model::stats::percentile(&seen, 0.5));
        prop_assert_eq!(levels.p99, q2c_model::stats::percentile(&seen, 0.99));
    }
}

/// The pattern of a recording that lost `lost` events.
fn of_lossy(records: &[IoRecord], lost: u64, names: &[&str]) -> Result<ProgramPattern, Fault> {
    let meta = TraceMeta {
        lost,
        ..TraceMeta::default()
    };
    of_trace(records, meta, names)
}

#[test]
fn a_recording_that_gives_no_workload_says_why() {
    let made = records(&[SyntheticStream::READS]);
    let refusal = |records: &[IoRecord], lost: u64, processes: &[&str]| {
        of_lossy(records, lost, processes).unwrap_err().to_string()
    };
    let mut open = made.clone();
    open.iter_mut().for_each(|record| record.complete_ns = None);
    let without = refusal(&open, 0, &[]);
    assert!(without.contains("found 1000 without"), "{without}");
    let few = refusal(&made[..99], 0, &[]);
    let message = "expected at least 100 reads and writes, found 99";
    assert!(few.contains(message), "{few}");
    let flushes = records(&[SyntheticStream {
        op: Op::Flush,
        ..SyntheticStream::READS
    }]);
    let none = refusal(&flushes, 0, &[]);
    let message = "found none (1000 other operations)";
    assert!(none.contains(message), "{none}");
    let lossy = refusal(&made, 112, &[]);
    assert!(lossy.contains("found 112 beside 1000 I/Os"), "{lossy}");
    let nobody = refusal(&made, 0, &["fio"]);
    let message = "the processes fio, found those of task0 (1000)";
    assert!(nobody.contains(message), "{nobody}");
    assert_eq!(of_lossy(&made, 111, &[]).unwrap().ios, 1000);
    assert_eq!(of_lossy(&made, 0, &["fio", "task0"]).unwrap().ios, 1000);
}

/// The kernel cuts names at 15 bytes; a longer requested name is found all the same.
#[test]
fn a_long_name_is_found() {
    let mut made = records(&[SyntheticStream::READS]);
    made.iter_mut()
        .for_each(|record| record.comm = Some("postgres: check".to_owned()));
    let pattern = of_lossy(&made, 0, &["postgres: checkpointer"]).unwrap();
    assert_eq!(pattern.ios, 1000);
}

#[test]
fn what_is_no_io_is_left_out_and_counted() {
    let mut made = records(&[SyntheticStream::READS]);
    made[3].error = Some(-5);
    made[4].bytes = Bytes(0);
    made[5].complete_ns = None;
    made[6].op = Op::Discard;
    let pattern = of_lossy(&made, 0, &[]).unwrap();
    assert_eq!(pattern.ios, 996);
    let left = pattern.left_out;
    assert_eq!([left.failed, left.empty], [1, 1]);
    assert_eq!([left.without_end, left.other_operations], [1, 1]);
}

#[test]
fn a_recording_that_is_not_there_is_named() {
    let selection = RecordingSelection::default();
    let error = read(Path::new("/nowhere/t"), &selection, &AtomicBool::new(false)).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("read /nowhere/t: "), "{error}");
}
