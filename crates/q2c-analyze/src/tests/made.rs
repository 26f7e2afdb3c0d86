//! Random I/Os, both those that real traces have and those that they do not have.

use proptest::prelude::*;
use proptest::sample::select;
use q2c_model::{DevId, Op};
use q2c_trace::Span;
use q2c_trace::span::{NONE, NONE_32};

#[derive(Clone, Debug)]
struct GeneratedIo {
    device: u32,
    op: Op,
    sector: u64,
    bytes: u64,
    /// Process, CPU and queue, each plus 1; 0 if unknown.
    numbers: [u32; 3],
    merged: bool,
    /// Time units since the I/O before.
    after: u64,
    /// Time units from each event to the next one: G, I, D, C.
    steps: [u64; 4],
    /// True for each of Q, G, I, D, C that the trace lacks.
    lacks: [bool; 5],
    error: bool,
    /// Time units by which the I/O is earlier than its place in the trace.
    early: u64,
}

#[derive(Clone, Copy, Debug)]
enum Manner {
    /// All kinds of I/Os: some lack events and some take long.
    Any,
    /// Short I/Os with pauses between them; many take no time at all.
    Calm,
    /// I/Os of one device and one queue which wait for a request.
    Waiting,
}

impl Manner {
    /// Time units from Q to G, and from each later event to the next.
    fn steps(self) -> [BoxedStrategy<u64>; 4] {
        let any = || prop_oneof![4 => 0..3u64, 3 => 0..12u64, 1 => 50..400u64].boxed();
        let calm = || prop_oneof![3 => Just(0u64), 1 => 0..3u64].boxed();
        match self {
            Manner::Any => [any(), any(), any(), any()],
            Manner::Calm => [calm(), calm(), calm(), calm()],
            Manner::Waiting => {
                let wait = prop_oneof![1 => Just(0u64), 2 => 0..14u64].boxed();
                [wait, Just(0).boxed(), (0..2u64).boxed(), (0..10u64).boxed()]
            }
        }
    }

    fn device_pid_cpu_queue_counts(self) -> [u32; 4] {
        match self {
            Manner::Any | Manner::Calm => [3, 4, 3, 3],
            Manner::Waiting => [1, 2, 2, 1],
        }
    }
}

fn any_io(manner: Manner, late: bool) -> impl Strategy<Value = GeneratedIo> {
    let [devices, pids, cpus, queues] = manner.device_pid_cpu_queue_counts();
    let flag = |probability: f64| match manner {
        Manner::Waiting => prop::bool::weighted(0.0),
        _ => prop::bool::weighted(probability),
    };
    let rare = || flag(0.08);
    let kind = (
        0..devices,
        select(&Op::ALL[..]),
        0..40u64,
        select(&[0u64, 512, 4096, 65_536][..]),
        [0..pids, 0..cpus, 0..queues],
        flag(0.15),
    );
    let after = prop_oneof![3 => Just(0u64), 4 => 0..4u64, 1 => 5..300u64];
    let early = if late {
        prop_oneof![5 => Just(0u64), 1 => 0..60u64].boxed()
    } else {
        Just(0).boxed()
    };
    let lacks = [rare(), rare(), rare(), rare(), rare()];
    let times = (after, manner.steps(), lacks, rare(), early);
    (kind, times).prop_map(|(kind, times)| {
        let (device, op, sector, bytes, numbers, merged) = kind;
        let (after, steps, lacks, error, early) = times;
        GeneratedIo {
            device,
            op,
            sector: sector * 8,
            bytes,
            numbers,
            merged,
            after,
            steps,
            lacks,
            error,
            early,
        }
    })
}

impl GeneratedIo {
    /// Makes the I/O and advances `now`, with time units of `unit` ns.
    fn span(&self, id: u64, now: &mut u64, origin: u64, unit: u64) -> Span {
        *now += self.after;
        let mut at = now.saturating_sub(self.early);
        let mut times = [at; 5];
        for (time, step) in times[1..].iter_mut().zip(self.steps) {
            at += step;
            *time = at;
        }
        let known = |(time, lacks): (u64, bool)| if lacks { NONE } else { origin + time * unit };
        let times: Vec<u64> = times.into_iter().zip(self.lacks).map(known).collect();
        let number = |plus_one: u32| plus_one.checked_sub(1).unwrap_or(NONE_32);
        Span {
            device: DevId {
                major: 8,
                minor: self.device * 16,
            },
            op: self.op,
            sector: self.sector,
            bytes: self.bytes,
            begin_ns: times[0],
            getrq_ns: times[1],
            insert_ns: times[2],
            issue_ns: times[3],
            end_ns: times[4],
            merged_into: if self.merged { 0 } else { NONE },
            pid: number(self.numbers[0]),
            cpu_submit: number(self.numbers[1]),
            hctx: number(self.numbers[2]),
            error: if self.error { -5 } else { 0 },
            ..super::stored::read(id, 0, 0)
        }
    }
}

/// I/Os of up to three devices in the order of queueing, on a scale of ns, ms or tens of ms. With
/// `late`, some I/Os come after others that were queued later.
pub(super) fn trace(late: bool) -> impl Strategy<Value = Vec<Span>> {
    let units = select(&[1u64, 997, 1_000_000, 37_000_000][..]);
    let origin = select(&[0u64, 1_000, 987_654_321, 1 << 60][..]);
    let manners = select(&[Manner::Any, Manner::Calm, Manner::Waiting][..]);
    let ios = manners.prop_flat_map(move |m| prop::collection::vec(any_io(m, late), 0..90));
    (ios, units, origin).prop_map(|(ios, unit, origin)| {
        let mut now = 0;
        let span = |(id, io): (u64, &GeneratedIo)| io.span(id, &mut now, origin, unit);
        (0..).zip(&ios).map(span).collect()
    })
}

/// A random index below `length`; 0 if `length` is 0.
pub(super) fn random_index(length: usize, random: u32) -> usize {
    random as usize % length.max(1)
}
