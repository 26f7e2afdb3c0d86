//! Traces of the block layer as lanes, compared with schedules that are calculated here.

use crate::cases::{close, zero};
use proptest::prelude::*;
use q2c_model::{
    Bytes, DevId, DeviceTime, IoRecord, LanesBy, Layer, LeftOutReason, Nanos, Op, Sectors,
};
use q2c_sim::{
    Drive, LaneRecording, LaneSelection, RecordingError, Recordings, TraceOptions, Waiting,
    simulate,
};
use std::collections::{BTreeMap, BTreeSet};

const DISK: DevId = DevId { major: 8, minor: 0 };

/// A read of 4 KiB with the times Q, D and C, ns.
fn read(id: u64, lane: u32, [queue, issue, complete]: [u64; 3]) -> IoRecord {
    let (op, bytes) = (Op::Read, Bytes(4096));
    IoRecord {
        lane,
        queue_ns: Some(Nanos(queue)),
        issue_ns: Some(Nanos(issue)),
        complete_ns: Some(Nanos(complete)),
        ..IoRecord::new(id, Layer::Block, DISK, op, Sectors(8 * id), bytes)
    }
}

fn lanes(
    options: TraceOptions,
    records: &[IoRecord],
) -> Result<(Vec<LaneRecording>, LaneSelection), RecordingError> {
    let mut recordings = Recordings::new(options);
    recordings.take(records);
    recordings.finish()
}

fn default_lanes(records: &[IoRecord]) -> (Vec<LaneRecording>, LaneSelection) {
    lanes(TraceOptions::default(), records).expect("a trace that can be simulated")
}

fn three_reads() -> [IoRecord; 3] {
    [
        read(0, 0, [1_000, 3_000, 33_000]),
        read(1, 1, [5_000, 6_000, 26_000]),
        read(2, 0, [43_000, 44_000, 64_000]),
    ]
}

#[test]
fn submission_device_time_and_think_time() {
    let (lanes, selection) = default_lanes(&three_reads());
    assert_eq!(lanes.len(), 2);
    let times = |lane: &LaneRecording| {
        let columns = [&lane.submit, &lane.wait, &lane.gap];
        (columns.map(|column| column.to_vec()), lane.first_at)
    };
    let first = [vec![2e3, 1e3], vec![30e3, 20e3], vec![10e3, 0.0]];
    assert_eq!(times(&lanes[0]), (first, 0.0));
    // The other lane begins 4 us after the first request and thinks until the end of the trace.
    let second = [vec![1e3], vec![20e3], vec![38e3]];
    assert_eq!(times(&lanes[1]), (second, 4_000.0));
    assert!(lanes.iter().all(|lane| lane.gap_cpu == Some(Nanos::ZERO)));
    let info = selection.interpretation;
    let expected = (DeviceTime::D2c, Layer::Block);
    assert_eq!((info.latency, info.layer), expected);
    assert_eq!((info.owners, info.overlapping), (2, 0));
    close(info.submission_ns, 4_000.0 / 3.0);
    assert_eq!(info.devices, BTreeMap::from([("8:0".to_owned(), 3)]));
}

/// On one device the second read overlaps the first, so it needs a second lane of depth 1.
#[test]
fn requests_of_a_device_overlap() {
    let by = LanesBy::Device;
    let options = TraceOptions {
        lanes: Some(by),
        ..TraceOptions::default()
    };
    let (lanes, selection) = lanes(options, &three_reads()).unwrap();
    let info = selection.interpretation;
    assert_eq!((lanes.len(), info.owners, info.overlapping), (2, 1, 1));
    assert_eq!((lanes[0].len(), lanes[1].len()), (2, 1));
    assert_eq!(info.lanes_by, by);
}

#[test]
fn the_device_time_can_be_named() {
    let mut records = three_reads();
    records[0].insert_ns = Some(Nanos(2_000));
    let lanes_for = |latency, records: &[IoRecord]| {
        let options = TraceOptions {
            latency: Some(latency),
            ..TraceOptions::default()
        };
        lanes(options, records)
    };
    let (queued, selection) = lanes_for(DeviceTime::Q2c, &records).unwrap();
    assert_eq!(*queued[0].submit, [0.0; 2]);
    assert_eq!(*queued[0].wait, [32e3, 21e3]);
    assert_eq!(selection.interpretation.latency, DeviceTime::Q2c);
    let (inserted, selection) = lanes_for(DeviceTime::I2c, &records).unwrap();
    assert_eq!(*inserted[0].submit, [1e3]);
    assert_eq!(*inserted[0].wait, [31e3]);
    let left_out = BTreeMap::from([(LeftOutReason::NoBegin, 2)]);
    assert_eq!(selection.interpretation.left_out, left_out);
    records[0].insert_ns = None;
    let refused = RecordingError::NoDeviceTime {
        asked: DeviceTime::I2c,
        lacking: 3,
        others: BTreeSet::from([DeviceTime::D2c, DeviceTime::Q2c]),
    };
    assert_eq!(lanes_for(DeviceTime::I2c, &records).unwrap_err(), refused);
}

/// A flush of 5 us becomes part of the think time. A merged write counts once, with both lengths;
/// their sum, 4 KiB + 8 KiB, sets the bucket.
#[test]
fn what_is_left_out_keeps_its_place_in_time() {
    let flush = IoRecord {
        op: Op::Flush,
        bytes: Bytes(0),
        ..read(1, 0, [34_000, 34_000, 39_000])
    };
    let carrier = read(2, 0, [43_000, 50_000, 64_000]);
    let merged = IoRecord {
        bytes: Bytes(8192),
        merged_into: Some(2),
        ..read(3, 0, [45_000, 50_000, 64_000])
    };
    let failed = IoRecord {
        error: Some(-5),
        ..read(4, 0, [70_000, 71_000, 72_000])
    };
    let lost = IoRecord {
        complete_ns: None,
        ..read(5, 0, [80_000, 81_000, 0])
    };
    let first = read(0, 0, [0, 3_000, 33_000]);
    let records = [first, flush, carrier, merged, failed, lost];
    let (lanes, selection) = default_lanes(&records);
    assert_eq!((lanes.len(), &lanes[0].gap[..]), (1, &[10_000.0, 0.0][..]));
    assert_eq!(q2c_sim::unpack(lanes[0].ios[1]).bytes, 12_288);
    assert_eq!(selection.sizes, [Bytes(4096), Bytes(12_288)]);
    use LeftOutReason::{Failed, Merged, NeitherReadNorWrite, NoCompletion};
    let reasons = [NoCompletion, Failed, NeitherReadNorWrite, Merged];
    let left_out = reasons.map(|reason| (reason, 1)).into();
    assert_eq!(selection.interpretation.left_out, left_out);
}

/// A stacked device has Q and C only; its parts are requests of the disks below, with a D.
#[test]
fn stacked_requests_count_once() {
    let device = DevId {
        major: 253,
        minor: 0,
    };
    let stacked = IoRecord {
        device,
        issue_ns: None,
        ..read(0, 0, [0, 0, 40_000])
    };
    let records = [stacked.clone(), read(1, 0, [1_000, 3_000, 38_000])];
    let (both, selection) = default_lanes(&records);
    assert_eq!((both.len(), &both[0].wait[..]), (1, &[35_000.0][..]));
    let left_out = BTreeMap::from([(LeftOutReason::NotDriven, 1)]);
    assert_eq!(selection.interpretation.left_out, left_out);
    let named = TraceOptions {
        device: Some(device),
        ..TraceOptions::default()
    };
    for (records, other) in [(&records[..], 1), (&records[..1], 0)] {
        let (alone, selection) = lanes(named, records).unwrap();
        assert_eq!((alone.len(), &alone[0].wait[..]), (1, &[40_000.0][..]));
        let info = selection.interpretation;
        let expected = (DeviceTime::Q2c, None);
        assert_eq!((info.latency, info.latency_asked), expected);
        let left_out = info.left_out.get(&LeftOutReason::OtherDevice).copied();
        assert_eq!(left_out.unwrap_or(0), other);
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_with_its_reason() {
    let change_all = |change: fn(&mut IoRecord)| {
        let mut records = three_reads();
        records.iter_mut().for_each(change);
        records
    };
    let refused = |records: &[IoRecord]| lanes(TraceOptions::default(), records).unwrap_err();
    let incomplete = change_all(|record| record.complete_ns = None);
    assert_eq!(refused(&incomplete), RecordingError::NoCompletions(3));
    let message = refused(&change_all(|record| record.op = Op::Flush)).to_string();
    assert!(message.contains("3 neither-read-nor-write"), "{message}");
    let mut unsorted = three_reads();
    unsorted.swap(0, 2);
    assert_eq!(refused(&unsorted), RecordingError::Unsorted(1));
}

fn any_trace() -> impl Strategy<Value = Vec<IoRecord>> {
    let one = (0u64..200, 0u32..3, 0u64..4, 1u64..30);
    prop::collection::vec(one, 1..60).prop_map(|mut requests| {
        requests.sort_unstable();
        requests
            .into_iter()
            .zip(0..)
            .map(|((queue, lane, before, device), id)| {
                let times = [queue, queue + before, queue + before + device];
                read(id, lane, times.map(|us| us * 1_000))
            })
            .collect()
    })
}

/// The most requests in flight at once; a completion counts before a Q of the same time.
fn most_in_flight(records: &[IoRecord], thread: u32) -> usize {
    let of_thread = || records.iter().filter(|record| record.lane == thread);
    let in_flight = |at: Option<Nanos>| {
        let begun = of_thread().filter(|r| r.queue_ns <= at && r.complete_ns > at);
        begun.count()
    };
    let most = of_thread().map(|record| in_flight(record.queue_ns)).max();
    most.unwrap_or(0)
}

proptest! {
    /// Every request is handed over and completes at its recorded time, so the whole lasts as long.
    /// A fixed sleep misses the requests whose device time is shorter.
    #[test]
    fn polling_replays_the_trace(records in any_trace()) {
        let (lanes, selection) = default_lanes(&records);
        let most: usize = (0..3).map(|thread| most_in_flight(&records, thread)).sum();
        prop_assert_eq!(lanes.len(), most);
        let mut replayed: Vec<(u64, u64)> = Vec::new();
        let origin = records[0].queue_ns.unwrap().0;
        for lane in &lanes {
            let mut now = origin as f64 + lane.first_at;
            for io in 0..lane.len() {
                let handed_over = now + f64::from(lane.submit[io]);
                let complete = handed_over + f64::from(lane.wait[io]);
                replayed.push((handed_over as u64, complete as u64));
                now = complete + f64::from(lane.gap[io]);
            }
        }
        let time = |ns: Option<Nanos>| ns.unwrap().0;
        let recorded = |r: &IoRecord| (time(r.issue_ns), time(r.complete_ns));
        let mut recorded: Vec<(u64, u64)> = records.iter().map(recorded).collect();
        replayed.sort_unstable();
        recorded.sort_unstable();
        prop_assert_eq!(&replayed, &recorded);
        let last = recorded.iter().map(|(_, end)| *end).max().unwrap();
        let poll = simulate(&lanes, &zero(), Waiting::poll(lanes.len()), Drive::one_pass(1));
        let iops = records.len() as f64 / ((last - origin) as f64 / 1e9);
        close(poll.gives.rates.iops, iops);
        let fixed: q2c_policy::PolicySpec = "fixed:10us".parse().unwrap();
        let rules = Waiting::rules(fixed.build(lanes.len()));
        let slept = simulate(&lanes, &zero(), rules, Drive::one_pass(1));
        let missed = recorded.iter().filter(|(begin, end)| end - begin <= 10_000).count();
        close(slept.gives.rates.miss_rate, missed as f64 / records.len() as f64);
        prop_assert_eq!(selection.interpretation.devices["8:0"], records.len() as u64);
    }
}
