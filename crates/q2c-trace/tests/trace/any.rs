use proptest::array::{uniform3, uniform5, uniform8};
use proptest::option::of;
use proptest::prelude::*;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, OpFlags, Sectors};

/// A number of a trace; 2^64-1 is reserved for unknown.
fn number() -> impl Strategy<Value = u64> {
    0..u64::MAX
}

fn ns() -> impl Strategy<Value = Option<Nanos>> {
    of(prop_oneof![
        0..1_000_000u64,
        number(),
        Just(u64::MAX - 1),
        Just(1 << 63)
    ])
    .prop_map(|ns| ns.map(Nanos))
}

/// Any record, with optional columns empty or filled, and with extreme values.
pub(crate) fn any_record() -> impl Strategy<Value = IoRecord> {
    let layer = prop_oneof![Just(Layer::User), Just(Layer::Block)];
    let head = (
        layer,
        prop::sample::select(Op::ALL.to_vec()),
        uniform3(number()),
    );
    let sleep = (ns(), ns(), of(any::<bool>()));
    let tail = (
        of("\\PC{0,15}"),
        of(number()),
        of(any::<i32>()),
        of(number()),
    );
    let small = (uniform5(any::<u32>()), uniform5(of(any::<u32>())));
    (head, small, uniform8(ns()), sleep, tail).prop_map(|(head, small, times, sleep, tail)| {
        let (layer, op, [id, sector, bytes]) = head;
        let ([major, minor, flags, lane, depth_at_submit], optional) = small;
        let [pid, cpu_submit, cpu_complete, hctx, tag] = optional;
        let [queue_ns, getrq_ns, insert_ns, issue_ns, complete_ns, ..] = times;
        let [.., submit_ns, submit_end_ns, reap_ns] = times;
        let (sleep_asked_ns, slept_ns, missed) = sleep;
        let (comm, cgroup, error, merged_into) = tail;
        IoRecord {
            id,
            layer,
            device: DevId { major, minor },
            op,
            flags: OpFlags(flags),
            sector: Sectors(sector),
            bytes: Bytes(bytes),
            lane,
            depth_at_submit,
            queue_ns,
            getrq_ns,
            insert_ns,
            issue_ns,
            complete_ns,
            submit_ns,
            submit_end_ns,
            reap_ns,
            sleep_asked_ns,
            slept_ns,
            missed,
            pid,
            comm,
            cpu_submit,
            cpu_complete,
            hctx,
            tag,
            cgroup,
            error,
            merged_into,
        }
    })
}
