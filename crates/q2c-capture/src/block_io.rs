//! Records every I/O of some disks, from queued to complete. The BPF program (`probes/block_io`)
//! makes one record of each I/O when it is complete. It needs Linux 5.8.
//!
//! Records come through one ring per CPU. [`BlockIo::drain`] must be called often enough that no
//! ring fills; records that found no room are counted.

mod counts;
mod raw;

pub(crate) use counts::nonzero;
pub use counts::{BlockIoCounts, BlockIoLosses, Unfinished};

use crate::filter::{CaptureFilter, MAX_DISKS, has_requests, packed_numbers};
use crate::object::Object;
use crate::recorder::{Drained, END_WAIT, Missing, ring_size};
use crate::{ProbeError, permission};
use aya::EbpfLoader;
use aya::maps::{ArrayOfMaps, Map, MapData, RingBuf};
use q2c_host::block::Disk;
use q2c_host::kernel_version::{KernelVersion, REQUEST_FLAGS_ANEW};
use q2c_host::{Roots, machine};
use q2c_model::Bytes;
use q2c_trace::recording::RecordedIo;
use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/block_io.bpf.o"));

/// Names of the programs whose tracepoint passes a request, with those of the tracepoints. Programs
/// are attached from the end of an I/O to its start (completion, these, [`BIO_PROGRAMS`] and
/// [`MERGE_TRACEPOINTS`], queueing), so that no I/O is seen from its middle on.
const REQUEST_PROGRAMS: [(&str, &str); 3] = [
    ("requeue", "block_rq_requeue"),
    ("issue", "block_rq_issue"),
    ("insert", "block_rq_insert"),
];
const BIO_PROGRAMS: [(&str, &str); 2] = [("gets_request", "block_getrq"), ("split", "block_split")];
const MERGE_TRACEPOINTS: [&str; 2] = ["block_bio_backmerge", "block_bio_frontmerge"];

/// An attached recording of block I/O.
///
/// Order of calls: [`BlockIo::attach`], [`BlockIo::drain`] again and again, [`BlockIo::end`] once.
/// Afterwards [`BlockIo::losses`] is final.
pub struct BlockIo {
    object: Object,
    rings: Vec<RingBuf<MapData>>,
    ring_bytes: u32,
    /// The program on `block_bio_queue`, which sees I/Os begin; the end of the recording unloads it
    /// first.
    queue_program: &'static str,
    /// Events at which the kernel skipped a program, once the recording ends.
    missed: Option<u64>,
    unqueued: UnqueuedCounts,
}

/// Numbers of completions whose I/O was not seen queued. Completions are watched longer than
/// queueing is, so that every I/O is seen to its end; only completions in between count.
#[derive(Default)]
struct UnqueuedCounts {
    before_start: u64,
    /// `None` while the recording runs.
    until_end: Option<u64>,
}

impl BlockIo {
    /// Begins to record 1 to 8 disks.
    pub fn attach(
        roots: &Roots,
        disks: &[Disk],
        filter: &CaptureFilter,
    ) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        let settings = BpfGlobals::new(disks, filter, permission::release(roots))?;
        let mut object = Object::load_with(roots, OBJECT, |loader| {
            settings.set(loader);
            loader.map_max_entries("ios", filter.in_flight.max(1));
        })?;
        let cpus = machine::online(roots);
        let ring_bytes = filter.ring.unwrap_or_else(|| ring_size(cpus.len()));
        let cpu_numbers = cpus.iter().map(|cpu| cpu.0);
        let rings = make_rings(&mut object, cpu_numbers, ring_bytes)?;
        let queue_program = attach_programs(&mut object, disks)?;
        let mut started = BlockIo {
            object,
            rings,
            ring_bytes,
            queue_program,
            missed: None,
            unqueued: UnqueuedCounts::default(),
        };
        started.unqueued.before_start = started.counts()?.unqueued;
        Ok(started)
    }

    /// Hands on the I/Os that have completed since the last call, CPU by CPU, in each CPU's order.
    /// When `take` fails, the record it was given is lost.
    pub(crate) fn drain<E>(
        &mut self,
        mut take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<Drained, E> {
        let mut drained = Drained::default();
        for ring in &mut self.rings {
            let mut records = 0;
            while let Some(io) = ring.next().and_then(|item| raw::decode(&item)) {
                take(io)?;
                records += 1;
            }
            // A ring puts a header of 8 bytes before each record.
            let pct = records * (raw::RECORD_BYTES as u64 + 8) * 100 / u64::from(self.ring_bytes);
            drained.records += records;
            drained.fullest_pct = drained.fullest_pct.max(pct);
        }
        Ok(drained)
    }

    /// Ends the recording. I/Os queued from now on are not seen; those in flight have 200 ms to
    /// complete. All remaining records are handed on. Afterwards [`BlockIo::losses`] says what the
    /// recording lacks.
    pub fn end<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(RecordedIo) -> Result<(), E>,
    ) -> Result<(), E> {
        self.end_with(take, /* meanwhile */ || {})
    }

    /// Like [`BlockIo::end`], but calls `meanwhile` about every ms while I/Os are in flight.
    pub(crate) fn end_with<E: From<ProbeError>>(
        &mut self,
        mut take: impl FnMut(RecordedIo) -> Result<(), E>,
        mut meanwhile: impl FnMut(),
    ) -> Result<(), E> {
        self.missed = self.object.misses();
        self.unqueued.until_end = Some(self.counts()?.unqueued);
        self.object.unload(self.queue_program);
        let misses_without_queue_program = self.object.misses();
        let started = Instant::now();
        loop {
            self.drain(&mut take)?;
            if self.unfinished()? == Unfinished::default() || started.elapsed() > END_WAIT {
                break;
            }
            meanwhile();
            sleep(Duration::from_millis(1));
        }
        let misses = self.object.misses().zip(misses_without_queue_program);
        let later_misses = misses.map_or(0, |(now, before)| now - before);
        self.missed = self.missed.map(|missed| missed + later_misses);
        self.object.unload_all();
        self.drain(&mut take).map(drop)
    }

    /// Everything that the recording lacks so far.
    pub fn losses(&self) -> Result<BlockIoLosses, ProbeError> {
        Ok(BlockIoLosses {
            counts: self.counts()?,
            missed: self.missed.or_else(|| self.object.misses()),
            unfinished: self.unfinished()?,
        })
    }

    /// The program's counts; `unqueued` counts only while queueing is watched.
    pub(crate) fn counts(&self) -> Result<BlockIoCounts, ProbeError> {
        let mut counts = BlockIoCounts::sum(&self.object.per_cpu("counted")?);
        let until_now = counts.unqueued - self.unqueued.before_start;
        counts.unqueued = self.unqueued.until_end.unwrap_or(until_now);
        Ok(counts)
    }

    /// Everything that the recording lacks so far, with the reasons in words.
    pub(crate) fn missing(&self) -> Result<Missing, ProbeError> {
        let losses = self.losses()?;
        Ok(Missing {
            lost: losses.lost(),
            unqueued: losses.counts.unqueued,
            reasons: losses.reasons(),
            facts: losses.facts(),
        })
    }

    /// How many I/Os were seen queued and are not complete.
    pub(crate) fn in_flight_now(&self) -> Result<u64, ProbeError> {
        let unfinished = self.unfinished()?;
        Ok(unfinished.queued + unfinished.requested + unfinished.issued)
    }

    fn unfinished(&self) -> Result<Unfinished, ProbeError> {
        let ios: Vec<(u64, [u64; raw::RECORD_BYTES / 8])> = self.object.entries("ios")?;
        let mut unfinished = Unfinished::default();
        ios.iter().for_each(|(_, io)| unfinished.add(io));
        Ok(unfinished)
    }
}

struct BpfGlobals {
    devices: [u32; MAX_DISKS],
    latency_above: u64,
    numbers: [(&'static str, u32); 6],
}

/// `RQF_FLUSH_SEQ` of a kernel whose types do not name it (include/linux/blk-mq.h). Linux 6.12
/// numbered the flags anew, at first in an enum without a name. The flag's old number now marks
/// requests of the I/O scheduler.
fn flush_sequence(release: Option<KernelVersion>) -> u32 {
    let is_renumbered = release.is_some_and(|release| release >= REQUEST_FLAGS_ANEW);
    if is_renumbered { 1 << 1 } else { 1 << 4 }
}

impl BpfGlobals {
    fn new(
        disks: &[Disk],
        filter: &CaptureFilter,
        release: Option<KernelVersion>,
    ) -> Result<Self, ProbeError> {
        let bytes = |size: Bytes| u32::try_from(size.0).unwrap_or(u32::MAX);
        let ops = filter.ops.iter().fold(0, |ops, op| ops | 1 << *op as u32);
        Ok(BpfGlobals {
            devices: packed_numbers(disks)?,
            latency_above: filter.latency_above.0,
            numbers: [
                ("ops", if filter.ops.is_empty() { u32::MAX } else { ops }),
                ("least_bytes", bytes(filter.min_size)),
                ("most_bytes", bytes(filter.max_size)),
                ("wanted_pid", filter.pid.unwrap_or(0)),
                ("all_have_requests", disks.iter().all(has_requests).into()),
                ("flush_sequence", flush_sequence(release)),
            ],
        })
    }

    fn set<'a>(&'a self, loader: &mut EbpfLoader<'a>) {
        for (name, value) in &self.numbers {
            loader.override_global(name, value, /* must_exist */ true);
        }
        loader.override_global("devices", &self.devices, /* must_exist */ true);
        loader.override_global("latency_above", &self.latency_above, true);
    }
}

fn make_rings(
    object: &mut Object,
    cpus: impl Iterator<Item = u32>,
    size: u32,
) -> Result<Vec<RingBuf<MapData>>, ProbeError> {
    let map = object.ebpf.map_mut("rings").expect("a map of the object");
    let make = || -> Result<Vec<RingBuf<MapData>>, Box<dyn Error>> {
        let mut table = ArrayOfMaps::<&mut MapData, MapData>::try_from(map)?;
        let kind = aya_obj::generated::bpf_map_type::BPF_MAP_TYPE_RINGBUF as u32;
        let mut rings = Vec::new();
        for cpu in cpus {
            let ring = aya_obj::Map::new_from_params(kind, 0, 0, size, 0);
            let ring = MapData::create(ring, "ring", None)?;
            table.set(cpu, &ring, 0)?;
            rings.push(RingBuf::try_from(Map::RingBuf(ring))?);
        }
        Ok(rings)
    };
    make().map_err(|error| object.refusal("make the rings of the BPF program", &*error))
}

/// Puts the programs on their tracepoints. Returns the program that sees I/Os begin.
fn attach_programs(object: &mut Object, disks: &[Disk]) -> Result<&'static str, ProbeError> {
    // Until 5.10 tracepoints had the queue as their first argument; later stable releases of 5.10
    // have it for bios alone. The kernel refuses to attach a program that reads an argument which
    // its tracepoint lacks. So the attempt with a program of two arguments shows which form this
    // kernel has.
    let mut takes_queue = |program: &str, point: &str| -> Result<bool, ProbeError> {
        let takes = object.try_attaching(program, point)?;
        object.unload(program);
        Ok(takes)
    };
    let form = |two: bool| if two { "two" } else { "one" };
    let request_form = form(takes_queue("issue_two", "block_rq_issue")?);
    let bios_take_queue = takes_queue("gets_request_two", "block_getrq")?;
    let bio_form = form(bios_take_queue);
    if disks.iter().any(has_requests) {
        object.attach_tracepoint("complete", "block_rq_complete")?;
        for (program, point) in REQUEST_PROGRAMS {
            object.attach_tracepoint(&format!("{program}_{request_form}"), point)?;
        }
        for (program, point) in BIO_PROGRAMS {
            object.attach_tracepoint(&format!("{program}_{bio_form}"), point)?;
        }
        for point in MERGE_TRACEPOINTS {
            if !bios_take_queue || !object.try_attaching("merges_three", point)? {
                object.attach_tracepoint(&format!("merges_{bio_form}"), point)?;
            }
        }
    }
    if !disks.iter().all(has_requests) {
        object.attach_tracepoint("bio_complete", "block_bio_complete")?;
    }
    let queue_program = ["queue_one", "queue_two"][usize::from(bios_take_queue)];
    object.attach_tracepoint(queue_program, "block_bio_queue")?;
    Ok(queue_program)
}
