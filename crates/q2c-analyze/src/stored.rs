//! Compact bytes of single I/Os: times relative to the first one, unknown values in one byte.

use q2c_model::{DevId, Layer, Op, OpFlags};
use q2c_trace::Span;
use q2c_trace::span::NONE;
use serde::{Deserialize, Serialize};

/// The serialised form of a [`Span`].
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredSpan {
    layer: Layer,
    device: DevId,
    op: Op,
    flags: OpFlags,
    /// Id, the start to which `times` are relative (ns), sector, bytes, cgroup.
    plain: [u64; 5],
    times: [Option<u64>; 6],
    merged_into: u64,
    lane: u32,
    depth_at_submit: u32,
    /// Process, CPU of the start and of the end, queue, tag: 0 if unknown, else the value plus 1.
    numbers: [u32; 5],
    error: i32,
}

/// The signed distance in zigzag form: small for a small distance of either sign.
fn zigzag(from: u64, to: u64) -> u64 {
    let signed = to.wrapping_sub(from);
    signed << 1 ^ 0u64.wrapping_sub(signed >> 63)
}

/// The inverse of [`zigzag`]: the time that lies this far from `from`.
fn undo_zigzag(from: u64, distance: u64) -> u64 {
    from.wrapping_add(distance >> 1 ^ 0u64.wrapping_sub(distance & 1))
}

impl From<&Span> for StoredSpan {
    fn from(io: &Span) -> Self {
        let start = io.first_ns();
        let times = [
            io.begin_ns,
            io.submit_end_ns,
            io.getrq_ns,
            io.insert_ns,
            io.issue_ns,
            io.end_ns,
        ];
        let distance = |time: u64| (time != NONE).then(|| zigzag(start, time));
        let numbers = [io.pid, io.cpu_submit, io.cpu_complete, io.hctx, io.tag];
        StoredSpan {
            layer: io.layer,
            device: io.device,
            op: io.op,
            flags: io.flags,
            plain: [io.id, start, io.sector, io.bytes, io.cgroup],
            times: times.map(distance),
            merged_into: io.merged_into.wrapping_add(1),
            lane: io.lane,
            depth_at_submit: io.depth_at_submit,
            numbers: numbers.map(|number| number.wrapping_add(1)),
            error: io.error,
        }
    }
}

impl From<StoredSpan> for Span {
    fn from(io: StoredSpan) -> Self {
        let [id, start, sector, bytes, cgroup] = io.plain;
        let time =
            |stored: Option<u64>| stored.map_or(NONE, |distance| undo_zigzag(start, distance));
        let [
            begin_ns,
            submit_end_ns,
            getrq_ns,
            insert_ns,
            issue_ns,
            end_ns,
        ] = io.times.map(time);
        let number = |stored: u32| stored.wrapping_sub(1);
        let [pid, cpu_submit, cpu_complete, hctx, tag] = io.numbers.map(number);
        Span {
            id,
            layer: io.layer,
            device: io.device,
            op: io.op,
            flags: io.flags,
            sector,
            bytes,
            begin_ns,
            submit_end_ns,
            getrq_ns,
            insert_ns,
            issue_ns,
            end_ns,
            merged_into: io.merged_into.wrapping_sub(1),
            cgroup,
            lane: io.lane,
            depth_at_submit: io.depth_at_submit,
            pid,
            cpu_submit,
            cpu_complete,
            hctx,
            tag,
            error: io.error,
        }
    }
}

pub(crate) mod spans {
    use super::StoredSpan;
    use q2c_trace::Span;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<'a, C, S>(spans: &'a C, to: S) -> Result<S::Ok, S::Error>
    where
        &'a C: IntoIterator<Item = &'a Span, IntoIter: ExactSizeIterator>,
        S: Serializer,
    {
        to.collect_seq(spans.into_iter().map(StoredSpan::from))
    }

    pub(crate) fn deserialize<'de, C, D>(from: D) -> Result<C, D::Error>
    where
        C: FromIterator<Span>,
        D: Deserializer<'de>,
    {
        let stored = Vec::<StoredSpan>::deserialize(from)?;
        Ok(stored.into_iter().map(Span::from).collect())
    }
}

pub(crate) mod optional_span {
    use super::StoredSpan;
    use q2c_trace::Span;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Option<Span>, to: S) -> Result<S::Ok, S::Error> {
        span.as_ref().map(StoredSpan::from).serialize(to)
    }

    pub(crate) fn deserialize<'de, D>(from: D) -> Result<Option<Span>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let stored = Option::<StoredSpan>::deserialize(from)?;
        Ok(stored.map(Span::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_time() -> impl Strategy<Value = u64> {
        prop_oneof![0..1000u64, any::<u64>(), Just(NONE), Just(0)]
    }

    proptest! {
        #[test]
        fn an_io_comes_back(
            times in prop::array::uniform6(any_time()),
            plain in prop::array::uniform5(any_time()),
            numbers in prop::array::uniform5(any::<u32>()),
            error in any::<i32>(),
        ) {
            let [begin_ns, submit_end_ns, getrq_ns, insert_ns, issue_ns, end_ns] = times;
            let [id, sector, bytes, merged_into, cgroup] = plain;
            let [pid, cpu_submit, cpu_complete, hctx, tag] = numbers;
            let span = Span {
                id, sector, bytes, merged_into, cgroup, begin_ns, submit_end_ns, getrq_ns,
                insert_ns, issue_ns, end_ns, pid, cpu_submit, cpu_complete, hctx, tag, error,
                layer: Layer::User, device: DevId { major: 8, minor: 16 }, op: Op::Write,
                flags: OpFlags(3), lane: 2, depth_at_submit: 9,
            };
            prop_assert_eq!(Span::from(StoredSpan::from(&span)), span);
        }
    }
}
