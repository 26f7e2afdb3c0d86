//! The models of service times against closed forms and against the recordings that they come from.

use q2c_model::{Bytes, DevId, Direction, IoRecord, Layer, Nanos, Op, Sectors};
use q2c_policy::Io;
use q2c_service::{
    Draws, Empirical, EmpiricalBuilder, EmpiricalClass, MAX_TIMES_PER_CLASS, Measure, ServiceTimes,
};
use std::sync::Arc;

fn read(bytes: u32) -> Io {
    Io {
        direction: Direction::Read,
        bytes,
    }
}

fn write(bytes: u32) -> Io {
    Io {
        direction: Direction::Write,
        bytes,
    }
}

/// Mean and median of an exponential distribution are `m` and `m ln 2`; 1 % is 3 standard errors of
/// 100,000 draws.
#[test]
fn exponential_times_have_their_mean_and_median() {
    let exponential = ServiceTimes::Exponential(Nanos(80_000));
    let mut times = draw(exponential, 3, read(4096), 100_000);
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
    times.sort_unstable();
    let median = times[times.len() / 2] as f64 / 2f64.ln();
    for figure in [mean, median] {
        assert!((figure / 80_000.0 - 1.0).abs() < 0.01, "{figure}");
    }
}

fn draw(times: ServiceTimes, seed: u64, io: Io, n: usize) -> Vec<u64> {
    let mut draws = Draws::new(times, seed);
    (0..n).map(|_| draws.next(io).0).collect()
}

fn record(layer: Layer, op: Op, bytes: u64) -> IoRecord {
    IoRecord::new(0, layer, DevId::default(), op, Sectors(0), Bytes(bytes))
}

/// A record of the block layer, handed over at 1 us.
fn block(op: Op, bytes: u64, d2c: u64) -> IoRecord {
    let mut record = record(Layer::Block, op, bytes);
    (record.queue_ns, record.issue_ns) = (Some(Nanos(0)), Some(Nanos(1_000)));
    record.complete_ns = Some(Nanos(1_000 + d2c));
    record
}

/// A record of a program, whose submission took 5 ns.
fn user(op: Op, bytes: u64, u2c: u64) -> IoRecord {
    let mut record = record(Layer::User, op, bytes);
    (record.submit_ns, record.submit_end_ns) = (Some(Nanos(40)), Some(Nanos(45)));
    record.reap_ns = Some(Nanos(40 + u2c));
    record
}

fn build_empirical(measure: Option<Measure>, records: &[IoRecord]) -> Empirical {
    let mut builder = EmpiricalBuilder::new(measure);
    records.chunks(7).for_each(|chunk| builder.take(chunk));
    builder.finish().expect("times")
}

fn empirical(records: &[IoRecord]) -> ServiceTimes {
    ServiceTimes::Empirical(Arc::new(build_empirical(None, records)))
}

/// The mean of a lognormal variable is median * exp(sigma^2 / 2). Its share of values below median
/// * exp(z * sigma) is that of a normal variable below z.
#[test]
fn lognormal_times_have_the_mean_and_the_quantiles_of_the_closed_form() {
    const N: usize = 200_000;
    for sigma in [0.0, 0.3, 1.0] {
        let times = ServiceTimes::Lognormal {
            median: Nanos(50_000),
            sigma,
        };
        let draws = draw(times, 7, read(4096), N);
        let mean = draws.iter().sum::<u64>() as f64 / N as f64;
        let wanted = 50_000.0 * (sigma * sigma / 2.0).exp();
        // Four standard errors, and the cut to whole nanoseconds.
        let error = wanted * ((sigma * sigma).exp() - 1.0).sqrt() / (N as f64).sqrt();
        assert!((mean - wanted).abs() < 4.0 * error + 1.0, "{mean} {wanted}");
        if sigma == 0.0 {
            continue;
        }
        // Values of the normal distribution from its table.
        for (z, wanted) in [
            (-2.0, 0.022_75),
            (-1.0, 0.158_66),
            (0.0, 0.5),
            (1.0, 0.841_34),
        ] {
            let limit = 50_000.0 * (z * sigma).exp();
            let share = draws.iter().filter(|&&t| (t as f64) < limit).count() as f64 / N as f64;
            let error = (wanted * (1.0 - wanted) / N as f64).sqrt();
            assert!((share - wanted).abs() < 4.0 * error, "{z}: {share}");
        }
    }
}

/// The recorded times are 1, 2, ... 1000 us, so the share of draws up to n us is n / 1000.
#[test]
fn empirical_times_have_the_quantiles_of_the_recording() {
    const N: usize = 100_000;
    let records = (1..=1_000).map(|us| block(Op::Read, 4096, us * 1_000));
    let draws = draw(empirical(&records.collect::<Vec<_>>()), 3, read(4096), N);
    let recorded = |t: &u64| t.is_multiple_of(1_000) && (1_000..=1_000_000).contains(t);
    assert!(draws.iter().all(recorded));
    for (up_to, wanted) in [(10_000, 0.01), (500_000, 0.5), (990_000, 0.99)] {
        let share = draws.iter().filter(|&&t| t <= up_to).count() as f64 / N as f64;
        let error = (wanted * (1.0f64 - wanted) / N as f64).sqrt();
        assert!((share - wanted).abs() < 4.0 * error, "{up_to}: {share}");
    }
}

#[test]
fn each_direction_and_size_has_its_own_times() {
    let times = empirical(&[
        block(Op::Read, 4096, 10),
        block(Op::Write, 4096, 20),
        block(Op::Read, 65_536, 30),
    ]);
    for (io, wanted) in [
        (read(4096), 10),
        // 8 to 15 sectors are one class.
        (read(7_680), 10),
        (write(4096), 20),
        (read(65_536), 30),
    ] {
        let times_drawn = draw(times.clone(), 1, io, 50);
        assert!(times_drawn.iter().all(|&t| t == wanted), "{io:?}");
    }
}

/// Reads of 4 KiB and 64 KiB lie four size classes apart; 16 KiB lies in the middle of them.
#[test]
fn an_empty_class_takes_the_nearest() {
    let reads = [block(Op::Read, 4096, 10), block(Op::Read, 65_536, 30)];
    let both = [&reads[..], &[block(Op::Write, 1 << 20, 90)]].concat();
    for (records, io, wanted) in [
        (&reads[..], read(512), 10),
        (&reads[..], read(0), 10),
        (&reads[..], read(8_192), 10),
        (&reads[..], read(16_384), 10),
        (&reads[..], read(32_768), 30),
        (&reads[..], read(1 << 30), 30),
        // Without any writes a write takes the time of the read of its size.
        (&reads[..], write(65_536), 30),
        // With writes of any size it takes theirs.
        (&both[..], write(4096), 90),
        (&both[..], read(1 << 20), 30),
    ] {
        assert_eq!(draw(empirical(records), 1, io, 1), [wanted], "{io:?}");
    }
}

#[test]
fn the_classes_are_told_with_their_counts() {
    let records = [
        block(Op::Write, 4096, 500),
        block(Op::Read, 4096, 30),
        block(Op::Read, 6_144, 10),
        block(Op::Read, 4096, 20),
    ];
    let class = |direction, recorded, median| EmpiricalClass {
        direction,
        from: Sectors(8),
        recorded,
        kept: recorded as usize,
        median: Nanos(median),
    };
    let classes = build_empirical(None, &records).facts().classes;
    let wanted = [
        class(Direction::Read, 3, 20),
        class(Direction::Write, 1, 500),
    ];
    assert_eq!(classes, wanted);
}

#[test]
fn what_was_not_served_by_itself_is_left_out() {
    let mut records = [1, 2, 3, 44].map(|d2c| block(Op::Read, 4096, d2c)).to_vec();
    records[0].error = Some(-5);
    records[1].merged_into = Some(0);
    records[2].complete_ns = None;
    records[3].error = Some(0);
    records.extend([block(Op::Flush, 0, 4), block(Op::Discard, 1 << 20, 5)]);
    let facts = build_empirical(None, &records).facts();
    assert_eq!((facts.left_out, facts.classes.len()), (5, 1));
    let class = &facts.classes[0];
    assert_eq!((class.recorded, class.median), (1, Nanos(44)));
}

#[test]
fn the_measure_is_the_one_asked_for_or_that_of_the_recording() {
    let (block_record, user_record) = (block(Op::Read, 4096, 70), user(Op::Read, 4096, 90));
    let both = [block_record, user_record.clone()];
    for (asked, records, measure, median) in [
        (None, &both[..], Measure::D2c, 70),
        (Some(Measure::D2c), &both[..], Measure::D2c, 70),
        (Some(Measure::U2c), &both[..], Measure::U2c, 90),
        (None, &both[1..], Measure::U2c, 90),
    ] {
        let facts = build_empirical(asked, records).facts();
        assert_eq!(facts.measure, measure, "{asked:?}");
        let medians: Vec<Nanos> = facts.classes.iter().map(|class| class.median).collect();
        assert_eq!(medians, [Nanos(median)], "{asked:?}");
    }
    let mut builder = EmpiricalBuilder::new(Some(Measure::D2c));
    builder.take(&[user_record]);
    let none = builder.finish().expect_err("no D2C").to_string();
    assert!(none.contains("1 records") && none.contains("D2C"), "{none}");
    let none = EmpiricalBuilder::new(None).finish().expect_err("nothing");
    assert!(none.to_string().contains("D2C or U2C"), "{none}");
}

/// A recording with more times than are kept: 1 to n ns in rising order. If the choice were not
/// even, its median would not be n / 2: the standard error is n / 2 / sqrt(kept) = 0.1 % of n.
#[test]
fn a_long_recording_is_represented_evenly() {
    let n = 3 * MAX_TIMES_PER_CLASS as u64;
    let mut builder = EmpiricalBuilder::new(None);
    for begin in (0..n).step_by(4096) {
        let records = (begin + 1..=begin + 4096).map(|t| block(Op::Read, 4096, t));
        builder.take(&records.collect::<Vec<_>>());
    }
    let classes = builder.finish().expect("times").facts().classes;
    assert_eq!(
        (classes[0].recorded, classes[0].kept),
        (n, MAX_TIMES_PER_CLASS)
    );
    let median_error = classes[0].median.0.abs_diff(n / 2) as f64 / n as f64;
    assert!(median_error < 0.005, "{median_error}");
}

#[test]
fn a_sequence_comes_again_and_again() {
    let times = ServiceTimes::Sequence([10, 1, 2].map(Nanos).into());
    assert_eq!(draw(times, 1, read(4096), 7), [10, 1, 2, 10, 1, 2, 10]);
}

#[test]
fn equal_seeds_draw_equal_times_and_nothing_is_allocated() {
    let recorded = empirical(&[block(Op::Read, 4096, 10), block(Op::Read, 4096, 900)]);
    let lognormal = ServiceTimes::Lognormal {
        median: Nanos(50_000),
        sigma: 0.3,
    };
    for times in [recorded, lognormal] {
        let times_drawn = |seed| draw(times.clone(), seed, read(4096), 100);
        assert_eq!(times_drawn(9), times_drawn(9));
        assert_ne!(times_drawn(9), times_drawn(10));
        let mut draws = Draws::new(times.clone(), 1);
        let heap = allocation_counter::measure(|| {
            (0..100).for_each(|_| {
                draws.next(read(4096));
            });
        });
        assert_eq!(heap.count_total, 0);
    }
}
