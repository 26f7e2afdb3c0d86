//! The join of a thread's I/Os with block-layer requests, on I/Os with known parts.

use proptest::prelude::*;
use q2c_analyze::late::{DeviceRequest, LateSums, LateTally, Mismatch, Requests, Sleep, UserIo};
use q2c_model::Op;
use q2c_result::late::{DeviceLoad, Unmatched};
use q2c_trace::span::NONE;

const LANE: u32 = 11;
const OTHER: u32 = 22;

fn request(tid: u32, bytes: u64, [queue_ns, issue_ns, end_ns]: [u64; 3]) -> DeviceRequest {
    DeviceRequest {
        tid,
        op: Op::Read,
        carried: false,
        bytes,
        queue_ns,
        issue_ns,
        end_ns,
    }
}

fn read() -> UserIo {
    UserIo {
        op: Op::Read,
        bytes: 4096,
        submit_ns: 1_000,
        submit_end_ns: Some(1_200),
        sleep: None,
        reap_ns: 2_000,
        missed: false,
    }
}

fn slept(due_ns: u64, woke_ns: u64, missed: bool) -> UserIo {
    UserIo {
        sleep: Some(Sleep { due_ns, woke_ns }),
        missed,
        ..read()
    }
}

/// Sleeps end before, at and after the completion at 1600.
#[test]
fn parts_by_hand() {
    let requests = Requests::new(&[request(LANE, 4096, [1_050, 1_100, 1_600])]);
    for (io, wanted) in [
        (read(), [100, 500, 0, 0, 0, 400]),
        (slept(1_500, 1_550, false), [100, 500, 0, 0, 0, 400]),
        (slept(1_500, 1_600, false), [100, 500, 0, 0, 0, 400]),
        // Asked to sleep to 1500, awake only at 1700: the rule did not ask for too much.
        (slept(1_500, 1_700, true), [100, 500, 0, 0, 100, 300]),
        (slept(1_640, 1_700, true), [100, 500, 0, 40, 60, 300]),
        // A signal ended the sleep too early.
        (slept(1_900, 1_700, true), [100, 500, 0, 100, 0, 300]),
    ] {
        let joined = requests.join(LANE, &io).expect("a match");
        assert_eq!(joined.parts.in_order(), wanted, "{io:?}");
        assert_eq!(joined.parts.u2c_ns(), 1_000);
    }
}

/// The submitting call returned at 1800, 200 after the completion. The sleep began only then. The
/// rule asked for 50, and the wake-up was 20 late.
#[test]
fn a_call_that_outlasts_the_device_is_no_oversleep() {
    let requests = Requests::new(&[request(LANE, 4096, [1_050, 1_100, 1_600])]);
    let late = |io| UserIo {
        submit_end_ns: Some(1_800),
        ..io
    };
    let polled = requests.join(LANE, &late(read())).expect("a match");
    assert_eq!(polled.parts.in_order(), [100, 500, 200, 0, 0, 200]);
    let io = late(slept(1_850, 1_870, true));
    let joined = requests.join(LANE, &io).expect("a match");
    assert_eq!(joined.parts.in_order(), [100, 500, 200, 50, 20, 130]);
    let one_call = UserIo {
        submit_end_ns: None,
        ..read()
    };
    let joined = requests.join(LANE, &one_call).expect("a match");
    assert_eq!(joined.parts.in_order(), [100, 500, 0, 0, 0, 400]);
}

/// Device time lasts from the first hand-over (1100) to the last completion (1900).
#[test]
fn a_split_io_lasts_from_its_first_request_to_its_last_completion() {
    let split = [
        request(LANE, 2_048, [1_050, 1_200, 1_500]),
        request(LANE, 1_024, [1_050, 1_100, 1_900]),
        request(LANE, 1_024, [1_050, 1_300, 1_800]),
    ];
    let joined = Requests::new(&split).join(LANE, &read()).expect("a match");
    assert_eq!(joined.parts.in_order(), [100, 800, 0, 0, 0, 100]);
}

#[test]
fn what_does_not_match_is_told_by_reason() {
    let whole = request(LANE, 4096, [1_050, 1_100, 1_600]);
    let (mut write, mut of_other) = (whole, whole);
    (write.op, of_other.tid) = (Op::Write, OTHER);
    let one = |bytes, times| vec![request(LANE, bytes, times)];
    let cases = [
        (vec![], Mismatch::NoRequest),
        (vec![write], Mismatch::NoRequest),
        (vec![of_other], Mismatch::NoRequest),
        (one(4096, [999, 1_100, 1_600]), Mismatch::NoRequest),
        (one(4096, [2_001, 2_100, 2_600]), Mismatch::NoRequest),
        (one(2_048, [1_050, 1_100, 1_600]), Mismatch::OtherBytes),
        (vec![whole, whole], Mismatch::OtherBytes),
        (one(4096, [1_050, NONE, 1_600]), Mismatch::NoTimes),
        (one(4096, [1_050, 1_100, NONE]), Mismatch::NoTimes),
        (one(4096, [1_050, 900, 1_600]), Mismatch::OutOfOrder),
        (one(4096, [1_050, 1_100, 1_099]), Mismatch::OutOfOrder),
        (
            one(4096, [1_050, 1_100, 2_001]),
            Mismatch::CompletedAfterReap,
        ),
    ];
    let mut sums = LateSums::default();
    for (requests, mismatch) in cases {
        let joined = Requests::new(&requests).join(LANE, &read());
        assert_eq!(joined, Err(mismatch), "{requests:?}");
        sums.add(&joined);
    }
    let numbers = sums.numbers();
    let wanted = Unmatched {
        no_request: 5,
        other_bytes: 2,
        no_times: 2,
        out_of_order: 2,
        completed_after_reap: 1,
    };
    assert_eq!((numbers.unmatched, numbers.unmatched.total()), (wanted, 12));
    assert_eq!((numbers.matched, numbers.parts), (0, None));
}

/// Four I/Os of 1000 ns, three of them misses. One was 100 ns late with one other request of 8 KiB
/// on the device. One was 300 ns late with two (8 and 16 KiB) and a merged bio. One completed
/// between its wake-up and the first poll. The fourth has one other request beside it.
#[test]
fn sums_by_hand() {
    let at = |n: u64, io: UserIo| UserIo {
        submit_ns: io.submit_ns + n,
        reap_ns: io.reap_ns + n,
        submit_end_ns: io.submit_end_ns.map(|t| t + n),
        sleep: io.sleep.map(|s| Sleep {
            due_ns: s.due_ns + n,
            woke_ns: s.woke_ns + n,
        }),
        ..io
    };
    let ios = [
        at(0, slept(1_700, 1_700, true)),
        at(10_000, slept(1_800, 1_900, true)),
        at(20_000, slept(1_590, 1_595, true)),
        at(30_000, slept(1_500, 1_500, false)),
    ];
    let mut requests: Vec<DeviceRequest> = ios
        .iter()
        .map(|io| request(LANE, 4096, [50, 100, 600].map(|t| io.submit_ns + t)))
        .collect();
    requests.extend([
        request(OTHER, 8 << 10, [500, 500, 30_000]),
        request(OTHER, 16 << 10, [11_000, 11_000, 11_700]),
        // A merged bio: its bytes are on the device, but the request belongs to another.
        DeviceRequest {
            carried: true,
            ..request(OTHER, 1 << 10, [11_000, 11_000, 11_700])
        },
        request(OTHER, 2 << 10, [31_000, 31_600, 31_601]),
    ]);
    let requests = Requests::new(&requests);
    let mut tally = LateTally::new(0, 40_000, 20_000);
    for io in &ios {
        tally.add(io.reap_ns, &requests.join(LANE, io));
    }
    let numbers = tally.totals();
    assert_eq!((numbers.matched, numbers.overslept), (4, 2));
    assert_eq!((numbers.misses, numbers.misses_in_time), (3, 1));
    let mean = numbers.parts.expect("matched");
    // Two sleeps were 100 ns and 200 ns too long, and after the second the thread woke 100 ns late.
    assert_eq!(mean.in_order(), [100.0, 500.0, 0.0, 75.0, 25.0, 300.0]);
    assert_eq!(numbers.miss_late_ns, Some(400.0 / 3.0));
    let beside = DeviceLoad {
        requests: 4.0 / 3.0,
        bytes: f64::from((8 + 8 + 16 + 1 + 8) << 10) / 3.0,
    };
    assert_eq!(numbers.beside_misses, Some(beside));
    let other = DeviceLoad {
        requests: 1.0,
        bytes: f64::from(2 << 10),
    };
    assert_eq!(numbers.beside_others, Some(other));
    let by_interval = tally.intervals();
    let by_interval = by_interval.iter().map(|i| (i.end_s, i.numbers.misses));
    let by_interval: Vec<_> = by_interval.collect();
    assert_eq!(by_interval, [(20e-6, 2), (40e-6, 1)]);
    let lateness = tally.lateness_of_misses().expect("misses");
    assert_eq!((lateness.p50_ns, lateness.max_ns), (100.0, 300.0));
    let kept = tally.misses_kept(10).into_iter();
    let kept = kept.map(|m| (m.oversleep_ns, m.wakeup_ns, m.others));
    let kept: Vec<_> = kept.collect();
    assert_eq!(kept, [(100, 0, 1), (200, 100, 2), (0, 0, 1)]);
    // At most two of the three misses are kept: every other one.
    let every_other = tally.misses_kept(2);
    let every_other: Vec<u64> = every_other.iter().map(|m| m.oversleep_ns).collect();
    assert_eq!(every_other, [100, 0]);
    assert_eq!(tally.slowest(), None, "four I/Os have no slowest hundredth");
}

/// Of 200 I/Os two are slow, one by the device and one by its sleep: the slowest hundredth.
#[test]
fn the_slowest_by_hand() {
    // I/Os behind the one interval of 1 ns count in the totals.
    let mut tally = LateTally::new(0, 1, 1);
    for n in 0..200_u64 {
        let (device, oversleep) = match n {
            50 => (9_000, 0),
            150 => (500, 7_500),
            _ => (500, 0),
        };
        let (submit_ns, end_ns) = (n * 100_000, n * 100_000 + 100 + device);
        let woke_ns = end_ns + oversleep;
        let io = UserIo {
            submit_ns,
            submit_end_ns: Some(submit_ns + 200),
            reap_ns: woke_ns + 10,
            ..slept(woke_ns, woke_ns, oversleep > 0)
        };
        let times = [submit_ns, submit_ns + 100, end_ns];
        let requests = Requests::new(&[request(LANE, 4096, times)]);
        tally.add(io.reap_ns, &requests.join(LANE, &io));
    }
    let slowest = tally.slowest().expect("200 I/Os");
    assert_eq!(slowest.ios, 2);
    let mean = slowest.parts.in_order();
    assert_eq!(mean, [100.0, 4_750.0, 0.0, 3_750.0, 0.0, 10.0]);
}

#[derive(Clone, Debug)]
struct GeneratedLateIo {
    pause: u64,
    parts: [u64; 6],
    /// Thousandths of the device time after which a sleep without oversleep ended; `None` without a
    /// sleep.
    early: Option<u64>,
    requests: u64,
    missed: bool,
}

fn generated_io() -> impl Strategy<Value = GeneratedLateIo> {
    let part = || prop_oneof![Just(0), 0_u64..5_000_000];
    (
        1_u64..50_000,
        [part(), part(), part(), part(), part(), part()],
        proptest::option::of(0_u64..1_000),
        1_u64..4,
        any::<bool>(),
    )
        .prop_map(|(pause, parts, early, requests, missed)| GeneratedLateIo {
            pause,
            parts,
            early,
            requests,
            missed,
        })
}

fn io_of(made: &GeneratedLateIo, from: u64) -> (UserIo, Vec<DeviceRequest>) {
    let [submission, device, back, oversleep, wakeup, reap] = made.parts;
    let (issue, end) = (from + submission, from + submission + device);
    let within_device_time = |thousandths| issue + device * thousandths / 1_000;
    let times = match oversleep + wakeup {
        0 => made.early.map(within_device_time).map(|woke| (woke, woke)),
        late => Some((end + back + oversleep, end + back + late)),
    };
    let sleep = times.map(|(due_ns, woke_ns)| Sleep { due_ns, woke_ns });
    // A call that outlasts the device returns after the completion; any other call before it.
    let submit_end_ns = match back {
        0 => within_device_time(made.early.unwrap_or(0)),
        back => end + back,
    };
    let io = UserIo {
        op: Op::Read,
        bytes: made.requests * 512,
        submit_ns: from,
        submit_end_ns: Some(submit_end_ns),
        sleep,
        reap_ns: end + back + oversleep + wakeup + reap,
        missed: made.missed,
    };
    // The first request is handed over first, and the last one completes last.
    let requests = (0..made.requests).map(|n| {
        let first = if n == 0 { issue } else { issue + device / 3 };
        let is_last = n + 1 == made.requests;
        let last = if is_last { end } else { end - device / 3 };
        request(LANE, 512, [from + submission / 2, first, last])
    });
    (io, requests.collect())
}

proptest! {
    /// Other requests may be on the device; `beside` must equal a plain count of them.
    #[test]
    fn the_parts_are_those_it_was_made_from(
        ios in proptest::collection::vec(generated_io(), 1..20),
        beside in proptest::collection::vec((0_u64..50_000_000, 0_u64..9_000_000), 0..40),
    ) {
        let mut requests: Vec<DeviceRequest> = beside
            .iter()
            .map(|&(issue, device)| request(OTHER, 8_192, [issue, issue, issue + device]))
            .collect();
        let mut from = 0;
        let mut lane = Vec::new();
        for made in &ios {
            from += made.pause;
            let (io, io_requests) = io_of(made, from);
            from = io.reap_ns;
            requests.extend(io_requests);
            lane.push(io);
        }
        requests.reverse();
        let known = Requests::new(&requests);
        let mut sums = LateSums::default();
        for (made, io) in ios.iter().zip(&lane) {
            let joined = known.join(LANE, io).expect("every I/O is whole");
            prop_assert_eq!(joined.parts.in_order(), made.parts);
            prop_assert_eq!(joined.parts.u2c_ns(), io.reap_ns - io.submit_ns);
            let at = joined.end_ns;
            let on_device = |&&(issue, device): &&(u64, u64)| issue <= at && at < issue + device;
            let count = beside.iter().filter(on_device).count() as u64;
            prop_assert_eq!(joined.beside, (count, count * 8_192));
            sums.add(&Ok(joined));
        }
        let total: u64 = lane.iter().map(|io| io.reap_ns - io.submit_ns).sum();
        let mean = sums.numbers().parts.expect("matched").u2c_ns();
        prop_assert!((mean - total as f64 / lane.len() as f64).abs() <= mean * 1e-9 + 1e-6);
    }
}
