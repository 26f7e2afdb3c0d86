use super::*;
use crate::Span;
use proptest::prelude::*;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Sectors};

/// A read of a thread, queued and completed at these times.
fn io(tid: u32, begin_ns: u64, end_ns: u64, flags: OpFlags) -> RecordedIo {
    let device = DevId { major: 7, minor: 1 };
    let bare = IoRecord::new(0, Layer::Block, device, Op::Read, Sectors(0), Bytes(4096));
    RecordedIo {
        span: Span {
            begin_ns,
            end_ns,
            flags,
            ..Span::from_record(&bare)
        },
        key: 1,
        lead: 0,
        carries: false,
        tid,
        comm: [0; 16],
    }
}

fn part(tid: u32, begin_ns: u64, end_ns: u64) -> RecordedIo {
    io(tid, begin_ns, end_ns, OpFlags::SPLIT)
}

/// The latencies of the complete I/Os in the order of reporting, and the number of parts taken.
fn join(ios: &[RecordedIo]) -> (Vec<u64>, u64) {
    let mut latencies = Vec::new();
    let mut report = |whole: WholeIo| latencies.push(whole.q2c_ns);
    let mut joiner = SplitJoiner::default();
    ios.iter().for_each(|io| joiner.push(io, &mut report));
    let parts = joiner.parts();
    joiner.finish(&mut report);
    (latencies, parts)
}

#[test]
fn a_split_lasts_until_its_last_part_whatever_part_comes_last() {
    let plain = io(1, 100, 150, OpFlags::SYNC);
    let ios = [
        part(1, 100, 140),
        part(1, 100, 190),
        plain,
        part(1, 100, 160),
    ];
    // The I/O that was not split is reported at once.
    assert_eq!(join(&ios), (vec![50, 90], 4));
}

#[test]
fn parts_of_other_threads_devices_and_times_are_of_other_ios() {
    let mut elsewhere = part(1, 100, 120);
    elsewhere.span.device.minor = 2;
    let ios = [
        part(1, 100, 110),
        part(2, 100, 130),
        part(1, 101, 141),
        elsewhere,
    ];
    assert_eq!(join(&ios), (vec![10, 30, 40, 20], 4));
}

#[test]
fn what_was_refused_or_not_seen_from_begin_to_end_is_left_out() {
    let mut refused = io(1, 90, 91, OpFlags::default());
    refused.span.error = -11;
    let ios = [
        part(1, NONE, 110),
        part(1, 100, NONE),
        refused,
        part(1, 100, 105),
    ];
    assert_eq!(join(&ios), (vec![5], 1));
}

#[test]
fn a_flush_and_a_discard_transfer_nothing() {
    for op in Op::ALL {
        let transfers_data = [Op::Read, Op::Write].contains(&op);
        let mut one = io(1, 1, 2, OpFlags::default());
        one.span.op = op;
        let mut transfers = Vec::new();
        SplitJoiner::default().push(&one, &mut |whole| transfers.push(whole.transfers));
        assert_eq!(transfers, [transfers_data], "{op}");
    }
}

#[test]
fn memory_is_bounded_and_every_split_is_still_told_once() {
    let splits = MAX_OPEN_SPLITS as u64 + 5;
    let ios: Vec<RecordedIo> = (0..splits).map(|n| part(1, 10 * n, 10 * n + 3)).collect();
    let mut count = 0;
    let mut report = |_: WholeIo| count += 1;
    let mut joiner = SplitJoiner::default();
    ios.iter().for_each(|io| joiner.push(io, &mut report));
    assert_eq!(
        (joiner.open.len(), joiner.order.len()),
        (MAX_OPEN_SPLITS, MAX_OPEN_SPLITS)
    );
    joiner.finish(&mut report);
    assert_eq!(count, splits);
}

proptest! {
    /// The same requests, cut into any number of parts that complete in any order, keep their sum.
    #[test]
    fn the_sum_does_not_depend_on_how_finely_the_device_cuts(
        requests in prop::collection::vec((1u32..4, 1u64..1000, 1usize..9), 1..60),
        seed: u64,
    ) {
        let (mut ios, mut sum) = (Vec::new(), 0);
        for (n, (tid, q2c, part_count)) in requests.iter().enumerate() {
            let begin = 1 + 7 * n as u64;
            sum += q2c;
            if *part_count == 1 {
                ios.push(io(*tid, begin, begin + q2c, OpFlags::default()));
                continue;
            }
            // The last part ends with the request, and the others at equal steps before it.
            let ends = (1..=*part_count as u64).map(|nth| begin + q2c * nth / *part_count as u64);
            ios.extend(ends.map(|end| part(*tid, begin, end)));
        }
        let mut chance = seed | 1;
        for at in (1..ios.len()).rev() {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ios.swap(at, (chance >> 33) as usize % (at + 1));
        }
        let (latencies, parts) = join(&ios);
        prop_assert_eq!(latencies.len(), requests.len());
        prop_assert_eq!(latencies.iter().sum::<u64>(), sum);
        prop_assert_eq!(parts, ios.len() as u64);
    }
}
