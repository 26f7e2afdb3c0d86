//! Tests of rules that leave I/Os to the interrupt: which I/Os those are, and that the thread
//! leaves its CPU for them.

use crate::plan::{STEPS, SWITCH, hybrid, once};
use q2c_engine::measure::phase_stats;
use q2c_engine::{LaneData, Sample, Wait};
use q2c_model::{CpuId, Nanos};
use q2c_policy::{Io, PolicySpec};

/// The way in which an I/O was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitMethod {
    Interrupt,
    Looking,
    Asleep,
}

/// The lengths of successive runs of I/Os that were waited for in the same way. Flags and times
/// must agree.
fn runs(lane: &LaneData) -> Vec<(WaitMethod, usize)> {
    let how = |s: &Sample| {
        assert!(s.is(Sample::HYBRID), "{s:?}");
        match (s.is(Sample::INTERRUPT), s.is(Sample::SLEPT)) {
            (true, false) => WaitMethod::Interrupt,
            (false, true) => WaitMethod::Asleep,
            (false, false) => WaitMethod::Looking,
            (true, true) => panic!("slept and left to the interrupt: {s:?}"),
        }
    };
    for s in &lane.samples {
        let asleep = how(s) == WaitMethod::Asleep;
        assert_eq!((s.asked_ns > 0, s.slept_ns > 0), (asleep, asleep), "{s:?}");
        assert!(asleep || !s.is(Sample::MISSED), "{s:?}");
    }
    let same = |a: &Sample, b: &Sample| how(a) == how(b);
    let chunks = lane.samples.chunk_by(same);
    chunks.map(|run| (how(&run[0]), run.len())).collect()
}

/// Each I/O is one switch, and the lane never looked.
#[test]
fn hypi_leaves_large_ios_to_the_interrupt() {
    let stats = phase_stats(&once("sim:500us", hybrid("hypi:interrupt=4k"), 300), 0);
    let sleeps = stats.sleeps;
    assert_eq!((sleeps.interrupted, sleeps.slept), (stats.ios, 0));
    assert_eq!(stats.voluntary, stats.ios);
    assert_eq!(stats.cpu_ns, stats.ios * (STEPS + SWITCH));
    // With a threshold one byte higher, the lane sleeps for 4 KiB I/Os after the first window.
    let small = once("sim:500us", hybrid("hypi:interrupt=4097,period=10ms"), 300);
    let kinds: Vec<WaitMethod> = runs(&small).iter().map(|(how, _)| *how).collect();
    assert_eq!(kinds, [WaitMethod::Looking, WaitMethod::Asleep]);
}

/// 500 us is above the rule's 40.5 us. The first window ends with the first completion at least 10
/// ms after the very first one: 20 cycles of 500.6 us later. After that there are only interrupts.
#[test]
fn ehp_goes_over_to_interrupts_after_its_first_window() {
    let lane = once("sim:500us", hybrid("ehp"), 400);
    let later = lane.samples.len() - 21;
    let wanted = [(WaitMethod::Looking, 21), (WaitMethod::Interrupt, later)];
    assert_eq!(runs(&lane), wanted);
    let stats = phase_stats(&lane, 0);
    assert_eq!(stats.voluntary, later as u64);
    let looks = 21 * 500_000;
    let spent = stats.ios * STEPS + stats.voluntary * SWITCH + looks;
    assert_eq!(stats.cpu_ns, spent);
}

/// Alone on its CPU the rule sleeps as pas does for multiples of 20 I/Os, polls for 10, and never
/// uses interrupts.
#[test]
fn dpas_sleeps_and_polls_in_turns_when_alone() {
    let rule = "dpas:pas=20,poll=10,overload=20,interrupt=30";
    let runs = runs(&once("sim:500us", hybrid(rule), 400));
    assert!(runs.len() > 5, "{runs:?}");
    let (_, complete_runs) = runs.split_last().expect("runs");
    for (n, &(how, length)) in complete_runs.iter().enumerate() {
        let (expected, right) = match n % 2 {
            0 => (WaitMethod::Asleep, length % 20 == 0),
            _ => (WaitMethod::Looking, length == 10),
        };
        assert!(how == expected && right, "{n}: {runs:?}");
    }
}

/// A second thread on the CPU always sleeps, and the device is faster than any wake-up. So the
/// first mode has a timer failure, and in the second two are asleep at once. From then on the rule
/// alternates between 30 interrupts and 20 sleeps that check the CPU again.
#[test]
fn dpas_takes_interrupts_on_a_contended_cpu() {
    let spec = "dpas:theta=1,pas=20,poll=10,overload=20,interrupt=30";
    let spec: PolicySpec = spec.parse().expect("a rule");
    let mut lanes = spec.build_on(&[CpuId(0), CpuId(0)]);
    let mut other = lanes.pop().expect("two lanes");
    let io = Io {
        bytes: 4096,
        ..Io::default()
    };
    other.decide(io, Nanos::ZERO);
    let lane = once("sim:100ns", Wait::Hybrid(lanes.remove(0)), 100);
    let runs = runs(&lane);
    // Two times 20 I/Os, the first of which was the other thread's.
    assert_eq!(runs[0], (WaitMethod::Asleep, 39), "{runs:?}");
    let (_, complete_runs) = runs[1..].split_last().expect("runs");
    assert!(complete_runs.len() > 10, "{runs:?}");
    for (n, &run) in complete_runs.iter().enumerate() {
        let expected = [(WaitMethod::Interrupt, 30), (WaitMethod::Asleep, 20)][n % 2];
        assert_eq!(run, expected, "{n}");
    }
}
