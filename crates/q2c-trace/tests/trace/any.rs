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
    let head = (
        number(),
        prop_oneof![Just(Layer::User), Just(Layer::Block)],
        (any::<u32>(), any::<u32>()),
        prop::sample::select(Op::ALL.to_vec()),
        any::<u32>(),
        number(),
        number(),
        (any::<u32>(), any::<u32>()),
    );
    let block = (ns(), ns(), ns(), ns(), ns());
    let user = (ns(), ns(), ns(), ns(), ns(), of(any::<bool>()));
    let origin = (
        of(any::<u32>()),
        of("\\PC{0,15}"),
        (of(any::<u32>()), of(any::<u32>())),
        (of(any::<u32>()), of(any::<u32>())),
        of(number()),
        of(any::<i32>()),
        of(number()),
    );
    (head, block, user, origin).prop_map(|(head, block, user, origin)| {
        let (id, layer, (major, minor), op, flags, sector, bytes, (lane, depth_at_submit)) = head;
        let (queue_ns, getrq_ns, insert_ns, issue_ns, complete_ns) = block;
        let (submit_ns, submit_end_ns, reap_ns, sleep_asked_ns, slept_ns, missed) = user;
        let (pid, comm, (cpu_submit, cpu_complete), (hctx, tag), cgroup, error, merged_into) =
            origin;
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
