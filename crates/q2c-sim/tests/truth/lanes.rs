//! Several lanes on one device.

use crate::cases::{close, drive, free, recording, rule};
use q2c_model::Nanos;
use q2c_sim::{Arrival, Configuration, Drive, LaneRecording, SimOutcome, Waiting, simulate, sweep};

/// Simulates one lane of 10 us and one of 30 us; nothing else takes time.
fn ten_and_thirty(text: &str, from: u64, length: u64) -> SimOutcome {
    let lanes = [recording(0, [10_000], 0), recording(0, [30_000], 0)];
    simulate(&lanes, &free(), rule(text, 2), drive(from, length))
}

/// The window opens with the first completion at 10 us and closes at 110 us. In it are ten I/Os of
/// 10 us, at 10, 20 .. 100 us, and three of 30 us, at 30, 60 and 90 us. Their mean is 190 / 13 =
/// 14,615 ns, half of it 7,308 ns. Each lane alone would sleep 5 and 15 us.
#[test]
fn lanes_share_the_window_of_a_rule_per_device() {
    let at_first = ten_and_thirty("mean:50%,100us", 0, 110_000);
    assert_eq!(at_first.gives.rates.effective_sleep_ns, 0.0);
    let got = ten_and_thirty("mean:50%,100us", 120_000, 50_000);
    // Between 120 and 170 us five I/Os of 10 us begin, and those of 30 us at 120 and 150 us.
    assert_eq!(got.ios, 7);
    close(got.gives.rates.effective_sleep_ns, 7_308.0);
    let got = ten_and_thirty("min:50%,100us", 120_000, 50_000);
    assert_eq!((got.ios, got.gives.rates.effective_sleep_ns), (7, 5_000.0));
}

/// `uring` keeps its state per lane, and its sleep settles at a quarter of the lane's latency:
/// 2,500 and 7,500 ns.
#[test]
fn a_rule_per_lane_keeps_lanes_apart() {
    let got = ten_and_thirty("uring", 300_000, 30_000);
    assert_eq!(got.ios, 4);
    close(
        got.gives.rates.effective_sleep_ns,
        (3.0 * 2_500.0 + 7_500.0) / 4.0,
    );
}

/// The first lane's I/O completes after 1 ms. Until then the rule has learnt only of the second
/// lane's I/Os: a window from 10 to 60 us, then sleeps of 5 us.
#[test]
fn a_rule_does_not_hear_of_a_completion_before_its_time() {
    let lanes = [recording(0, [1_000_000], 0), recording(0, [10_000], 0)];
    let drive = drive(60_000, 40_000);
    let got = simulate(&lanes, &free(), rule("mean:50%,50us", 2), drive);
    assert_eq!((got.ios, got.gives.rates.effective_sleep_ns), (4, 5_000.0));
}

/// A submission that takes 100 us moves the decision to a time when the window from 10 to 60 us is
/// known. It has completions at 10, 30 and 50 us, of 10, 20 and 20 us: mean 16,666 ns, half of it
/// 8,333 ns.
#[test]
fn a_rule_decides_when_the_submission_has_returned() {
    let waits = std::iter::once(10_000).chain(std::iter::repeat_n(20_000, 9));
    let lanes = [recording(0, waits, 0), recording(100_000, [30_000], 0)];
    let got = simulate(&lanes, &free(), rule("mean:50%,50us", 2), drive(0, 110_000));
    // Before 110 us begin: the first lane's I/Os at 0, 10, 30 and 50 us, which poll, and at 70 and
    // 90 us, and the second lane's.
    assert_eq!(got.ios, 7);
    close(got.gives.rates.effective_sleep_ns, 3.0 * 8_333.0 / 7.0);
}

#[test]
fn lanes_without_a_shared_rule_do_not_touch_each_other() {
    let lane = |n: u32| recording(1_000, [10_000 * (n + 1), 7_000], 300 * n);
    let lanes: Vec<LaneRecording> = (0..4).map(lane).collect();
    let method = |n: usize, which: usize| match which {
        0 => Waiting::poll(n),
        1 => Waiting::interrupt(n),
        2 => Waiting::Oracle,
        _ => rule("fixed:12us", n),
    };
    for which in 0..4 {
        let run = |lanes: &[LaneRecording]| {
            let method = method(lanes.len(), which);
            simulate(lanes, &free(), method, drive(50_000, 3_000_000))
        };
        let together = run(&lanes);
        let alone: Vec<SimOutcome> = lanes.chunks(1).map(run).collect();
        let sum = |value: fn(&SimOutcome) -> f64| alone.iter().map(value).sum::<f64>();
        assert_eq!(together.ios, alone.iter().map(|o| o.ios).sum::<u64>());
        close(together.gives.rates.iops, sum(|o| o.gives.rates.iops));
        close(
            together.gives.rates.cpu_pct,
            sum(|o| o.gives.rates.cpu_pct) / 4.0,
        );
    }
}

/// Two reads of 20 us by a lane that begins at 100 us, and ten of 10 us by one that begins at 0 and
/// ends at 100 us. Replayed once, the whole takes 140 us. Repeated, the second round begins where
/// the first one ended: the lanes never overlap.
#[test]
fn a_lane_that_begins_later_does_so_in_every_round() {
    let early = LaneRecording {
        // Until the end of the trace the lane thinks.
        gap: vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 40_000.0].into(),
        ..recording(0, [10_000; 10], 0)
    };
    let late = LaneRecording {
        first_at: 100_000.0,
        ..recording(0, [20_000; 2], 0)
    };
    let lanes = [early, late];
    let once = simulate(&lanes, &free(), Waiting::poll(2), Drive::once(1));
    assert_eq!(once.ios, 12);
    close(once.gives.rates.iops, 12.0 / 140e-6);
    let poll = |from, length| simulate(&lanes, &free(), Waiting::poll(2), drive(from, length)).ios;
    assert_eq!((poll(140_000, 100_000), poll(240_000, 40_000)), (10, 2));
}

/// A round has 30 us of device time and 70 us of think time, of which all, nothing, or 5 us take
/// CPU; no more than all of it, if 200 us could. A sleep of 10 or 20 us on a machine without any
/// cost leaves 20 or 10 us to poll. Lanes share nothing here, so that two have the CPU per I/O of
/// one. The simulator that takes one I/O after the other counts the same.
#[test]
fn think_time_takes_the_cpu_that_the_recording_says() {
    let cpu = |most_us: Option<u64>, lanes: usize, policy: &str| {
        let lane = LaneRecording {
            gap_cpu: most_us.map(Nanos::from_micros),
            ..recording(0, [30_000], 70_000)
        };
        let (lanes, cost) = (vec![lane; lanes], free());
        let on = Configuration {
            lanes: &lanes,
            cost: &cost,
            drive: drive(0, 1_000_000),
            arrival: Arrival::Think,
        };
        let one_by_one = on.simulate(rule(policy, lanes.len())).gives.cpu_ns_per_io;
        let together = sweep(&[policy.parse().unwrap()], &on)[0]
            .gives
            .cpu_ns_per_io;
        close(one_by_one, together);
        together
    };
    for lanes in [1, 2] {
        for (most_us, thought) in [(None, 70_000.0), (Some(0), 0.0), (Some(5), 5_000.0)] {
            close(cpu(most_us, lanes, "fixed:10us"), 20_000.0 + thought);
            close(cpu(most_us, lanes, "fixed:20us"), 10_000.0 + thought);
        }
        close(cpu(Some(200), lanes, "fixed:10us"), 90_000.0);
    }
}
