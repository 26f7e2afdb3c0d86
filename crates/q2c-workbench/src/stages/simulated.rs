//! The capture of a simulated device, in the form of one of the kernel's block layer.

use super::CapturedRun;
use q2c_analyze::CapturedIo;
use q2c_capture::tag_waits::{SLICE_NS, TagWait, TagWaitCounts};
use q2c_capture::{CapturedBy, Collected, Missing};
use q2c_engine::World;
use q2c_engine::engine::Operation;
use q2c_engine::engines::{SimDevice, SimRequest};
use q2c_host::block::show_hardware_queues;
use q2c_model::{DevId, IoRecord, Layer, Op, Sectors, facts};
use q2c_trace::Span;
use std::collections::BTreeMap;

/// A simulated device has no number.
const DEVICE: DevId = DevId { major: 0, minor: 0 };

/// Ends the capture of `device`.
pub(super) fn end_capture(device: &SimDevice, world: &World) -> CapturedRun {
    let capture = device.end_capture();
    let mut waits: BTreeMap<(u32, u64, u32), (u64, u64)> = BTreeMap::new();
    for request in capture.requests.iter().filter(|r| r.got_ns > r.queued_ns) {
        let slice_ns = request.queued_ns / SLICE_NS * SLICE_NS;
        let sum = waits
            .entry((request.thread_id, slice_ns, request.queue))
            .or_default();
        sum.0 += 1;
        sum.1 += request.got_ns - request.queued_ns;
    }
    let wait = |((tid, slice_ns, queue), (sleeps, ns))| TagWait {
        tid,
        slice_ns,
        queue,
        of_scheduler: false,
        sleeps,
        ns,
    };
    let counts = TagWaitCounts {
        waits: waits.into_iter().map(wait).collect(),
        lost: 0,
    };
    let queue_map = show_hardware_queues(&device.queue_cpus(&world.cpus()));
    CapturedRun {
        by: CapturedBy::Simulated,
        collected: Collected {
            ios: capture.requests.iter().map(captured_io).collect(),
            not_kept: capture.not_kept,
            missing: Missing::default(),
            cpu_ns: 0,
            wall_ns: 0,
        },
        facts: BTreeMap::from([(facts::queue_map(DEVICE), queue_map)]),
        tag_waits: Ok(vec![(DEVICE, counts)]),
    }
}

fn captured_io(request: &SimRequest) -> CapturedIo {
    let op = if request.operation == Operation::Read {
        Op::Read
    } else {
        Op::Write
    };
    let sector = Sectors(request.offset / 512);
    let record = IoRecord::new(0, Layer::Block, DEVICE, op, sector, request.length);
    let span = Span {
        begin_ns: request.queued_ns,
        getrq_ns: request.got_ns,
        insert_ns: request.issued_ns,
        issue_ns: request.issued_ns,
        end_ns: request.complete_ns,
        cpu_submit: request.cpu.0,
        cpu_complete: request.cpu.0,
        hctx: request.queue,
        ..Span::from_record(&record)
    };
    let tid = request.thread_id;
    CapturedIo { span, tid }
}
