//! Tests the analysis of a capture at intervals against figures computed by hand.

use crate::span;
use q2c_analyze::{LiveAnalysis, RecorderCounts};
use q2c_model::DevId;
use q2c_trace::recording::RecordedIo;
use std::time::Duration;

const MS: i64 = 1_000_000;

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// A 4 KiB read of 2 ms, half of it in the driver. `lead` is as in [`RecordedIo`].
fn io(key: u64, begin: i64, lead: u64) -> RecordedIo {
    RecordedIo {
        span: span(key, [begin, begin, -1, begin + MS, begin + 2 * MS]),
        key,
        lead,
        carries: false,
        tid: 1,
        comm: [0; 16],
    }
}

#[test]
fn an_interval_has_the_figures_of_its_own_ios() {
    let mut live = LiveAnalysis::new(ms(100));
    assert!(!live.is_due(ms(99)) && live.is_due(ms(100)));
    // The I/Os come in the order of completion, not in that of their begins.
    for (key, begin, lead) in [(1, 20, 0), (2, 10, 0), (3, 30, 2)] {
        live.take(&io(key, begin * MS, lead));
    }
    let recorder = RecorderCounts {
        in_flight: 5,
        lost: 7,
        unqueued: 9,
    };
    let first = live.end_interval(ms(200), recorder);
    assert_eq!((first.end_s, first.iops), (0.2, 15.0));
    assert_eq!(first.mib_s, 15.0 * 4096.0 / f64::from(1 << 20));
    // Three I/Os of 2 ms in 200 ms.
    assert!((first.in_flight_mean - 0.03).abs() < 1e-12);
    assert_eq!(first.in_flight_now, Some(5));
    assert_eq!((first.lost, first.unqueued), (7, 9));
    assert_eq!((first.stages["G2D"].n, first.stages["M2D"].n), (2, 1));
    assert_eq!(first.stages["Q2Q"].max_ns, 10 * MS as u64);
    assert!(first.bottleneck.is_some());
    assert_eq!((first.ios, first.bytes, first.length_s), (3, 3 * 4096, 0.2));
    assert_eq!(first.latency.ios, 3);
    assert_eq!(first.latency.sum_ns, 6 * MS as u64);
    assert_eq!(first.latency.ios, first.stages["Q2C"].n);
    let [bucket] = first.latency.buckets[..] else {
        panic!("{:?}", first.latency);
    };
    let range = bucket.from_ns..bucket.below_ns;
    assert!(range.contains(&(2 * MS as u64)), "{bucket:?}");

    live.take(&io(4, 250 * MS, 0));
    let second = live.end_interval(ms(300), RecorderCounts::default());
    assert_eq!((second.end_s, second.iops), (0.3, 10.0));
    assert_eq!(second.stages["D2C"].n, 1);
    assert_eq!((second.ios, second.latency.ios), (1, 1));
}

/// Twenty processes with 1 to 20 I/Os each, and one I/O of an unknown process.
#[test]
fn the_processes_with_most_ios_come_first() {
    let mut live = LiveAnalysis::new(ms(100));
    let mut comm = [0; 16];
    comm[..3].copy_from_slice(b"dd\xff");
    for pid in 1..=20 {
        for n in 0..pid {
            let mut io = io(u64::from(pid * 100 + n), MS, 0);
            (io.span.pid, io.comm) = (pid, comm);
            live.take(&io);
        }
    }
    let mut unknown = io(1, MS, 0);
    unknown.span.pid = u32::MAX;
    live.take(&unknown);
    let first = live.end_interval(ms(100), RecorderCounts::default());
    assert_eq!((first.processes.len(), first.processes_seen), (16, 21));
    let most = &first.processes[0];
    assert_eq!((most.pid, most.comm.as_str()), (Some(20), "dd\u{fffd}"));
    assert_eq!((most.ios, most.bytes), (20, 20 * 4096));
    assert_eq!(first.processes[15].pid, Some(5));
    live.take(&unknown);
    let second = live.end_interval(ms(200), RecorderCounts::default());
    assert_eq!((second.processes[0].pid, second.processes_seen), (None, 1));
}

#[test]
fn an_interval_without_io_has_zeros_and_no_bottleneck() {
    let mut live = LiveAnalysis::new(ms(100));
    let idle = live.end_interval(ms(100), RecorderCounts::default());
    let rates = (idle.iops, idle.mib_s, idle.in_flight_mean);
    assert_eq!(rates, (0.0, 0.0, 0.0));
    assert!(idle.stages.is_empty() && idle.bottleneck.is_none());
}

/// Two disks with three I/Os and one, and a third one without any.
#[test]
fn each_disk_has_the_figures_of_its_own_ios() {
    let device = |minor| DevId { major: 8, minor };
    let disks = [16, 32, 48].map(|minor| (device(minor), format!("disk{minor}")));
    let mut live = LiveAnalysis::new(ms(100)).split_by_disk(disks.clone());
    for (key, minor) in [(1, 16), (2, 32), (3, 16), (4, 16)] {
        let mut io = io(key, 10 * key as i64 * MS, 0);
        (io.span.device, io.span.pid) = (device(minor), minor);
        live.take(&io);
    }
    let counts = RecorderCounts {
        in_flight: 5,
        lost: 7,
        unqueued: 9,
    };
    let first = live.end_interval(ms(100), counts);
    let ios: Vec<u64> = first.disks.values().map(|disk| disk.ios).collect();
    assert_eq!((ios, first.ios), (vec![3, 1, 0], 4));
    let disk = &first.disks["disk16"];
    assert_eq!((disk.iops, disk.latency.ios), (30.0, 3));
    assert_eq!((disk.in_flight_now, disk.lost), (None, 7));
    // Three I/Os of 2 ms in 100 ms, queued 20 and 10 ms after each other.
    assert!((disk.in_flight_mean - 0.06).abs() < 1e-12);
    assert_eq!(disk.stages["Q2Q"].max_ns, 20 * MS as u64);
    let pids: Vec<_> = disk.processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [Some(16)]);
    assert!(first.disks["disk48"].bottleneck.is_none());
    let second = live.end_interval(ms(200), counts);
    assert_eq!((second.ios, second.disks["disk16"].ios), (0, 0));

    let [one, ..] = disks;
    let mut live = LiveAnalysis::new(ms(100)).split_by_disk([one]);
    assert!(live.end_interval(ms(100), counts).disks.is_empty());
}

#[test]
fn a_late_end_does_not_move_the_next() {
    let mut live = LiveAnalysis::new(ms(100));
    live.end_interval(ms(350), RecorderCounts::default());
    assert!(!live.is_due(ms(399)) && live.is_due(ms(400)));
    live.end_interval(ms(400), RecorderCounts::default());
    assert!(!live.is_due(ms(499)) && live.is_due(ms(500)));
}
