//! Records every I/O of some disks, from queued to complete. The BPF program (`probes/block_io`)
//! makes one record of each I/O when it is complete. It needs Linux 5.8.
//!
//! Records come through one ring per CPU. [`BlockIo::drain`] must be called often enough that no
//! ring fills; records that found no room are counted.

mod counts;
mod raw;

pub(crate) use counts::nonzero;
pub use counts::{BlockIoCounts, BlockIoLosses, Unfinished};

use crate::object::Object;
use crate::recorder::{Drained, Missing, PATIENCE, ring_size};
use crate::wanted::{CaptureFilter, DISKS, has_requests, numbers};
use crate::{ProbeError, permission};
use aya::EbpfLoader;
use aya::maps::{ArrayOfMaps, Map, MapData, RingBuf};
use q2c_host::block::Disk;
use q2c_host::kernel_version::{KernelVersion, REQUEST_FLAGS_ANEW};
use q2c_host::{Roots, machine};
use q2c_model::Bytes;
use q2c_trace::recording::Recorded;
use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/block_io.bpf.o"));

/// Programs whose tracepoint passes a request: program and tracepoint. Programs are attached from
/// the end of an I/O to its start: the completion first, then these, then [`OF_BIOS`] and
/// [`MERGES`], the queueing last. So no I/O is seen in part.
const OF_REQUESTS: [(&str, &str); 3] = [
    ("requeue", "block_rq_requeue"),
    ("issue", "block_rq_issue"),
    ("insert", "block_rq_insert"),
];
const OF_BIOS: [(&str, &str); 2] = [("gets_request", "block_getrq"), ("split", "block_split")];
const MERGES: [&str; 2] = ["block_bio_backmerge", "block_bio_frontmerge"];

/// An attached recording of block I/O.
///
/// Order of calls: [`BlockIo::attach`], [`BlockIo::drain`] again and again, [`BlockIo::end`] once.
/// Afterwards [`BlockIo::lost`] is final.
pub struct BlockIo {
    object: Object,
    rings: Vec<RingBuf<MapData>>,
    ring: u32,
    /// The program on `block_bio_queue`, which sees I/Os begin; the end of the recording unloads it
    /// first.
    first: &'static str,
    missed: Option<u64>,
    unqueued: Unqueued,
}

/// Completions of I/Os whose queueing was not seen, up to the start and the end of the recording.
/// Completions are watched longer than queueing, so that every I/O is seen to its end. Completions
/// counted while queueing is not watched say nothing about the recording.
#[derive(Default)]
struct Unqueued {
    before: u64,
    at_end: Option<u64>,
}

impl BlockIo {
    /// Begins to record 1 to 8 disks.
    pub fn attach(
        roots: &Roots,
        disks: &[Disk],
        wanted: &CaptureFilter,
    ) -> Result<Self, ProbeError> {
        permission::check(roots)?;
        let settings = BpfGlobals::new(disks, wanted, permission::release(roots))?;
        let mut object = Object::load_with(roots, OBJECT, |loader| {
            settings.set(loader);
            loader.map_max_entries("ios", wanted.in_flight.max(1));
        })?;
        let cpus = machine::online(roots);
        let ring = wanted.ring.unwrap_or_else(|| ring_size(cpus.len()));
        let rings = cpus.iter().map(|cpu| cpu.0);
        let rings = make_rings(&mut object, rings, ring)?;
        let first = begin(&mut object, disks)?;
        let mut begun = BlockIo {
            object,
            rings,
            ring,
            first,
            missed: None,
            unqueued: Unqueued::default(),
        };
        begun.unqueued.before = begun.counts()?.unqueued;
        Ok(begun)
    }

    /// Hands on the I/Os that have completed since the last call, CPU by CPU, each CPU's in order.
    /// When `take` fails, the record it was given is lost.
    pub(crate) fn drain<E>(
        &mut self,
        mut take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<Drained, E> {
        let mut drained = Drained::default();
        for ring in &mut self.rings {
            let mut records = 0;
            while let Some(io) = ring.next().and_then(|item| raw::decoded(&item)) {
                take(io)?;
                records += 1;
            }
            let full = records * (raw::SIZE as u64 + 8) * 100 / u64::from(self.ring);
            drained.records += records;
            drained.fullest = drained.fullest.max(full);
        }
        Ok(drained)
    }

    /// Ends the recording. I/Os queued from now on are not seen; those in flight have 200 ms to
    /// complete. All remaining records are handed on. Afterwards [`BlockIo::lost`] says what the
    /// recording lacks.
    pub fn end<E: From<ProbeError>>(
        &mut self,
        take: impl FnMut(Recorded) -> Result<(), E>,
    ) -> Result<(), E> {
        self.end_beside(take, || {})
    }

    /// Like [`BlockIo::end`], but calls `meanwhile` about every ms while I/Os are in flight.
    pub(crate) fn end_beside<E: From<ProbeError>>(
        &mut self,
        mut take: impl FnMut(Recorded) -> Result<(), E>,
        mut meanwhile: impl FnMut(),
    ) -> Result<(), E> {
        self.missed = self.object.misses();
        self.unqueued.at_end = Some(self.counts()?.unqueued);
        self.object.unload(self.first);
        let others = self.object.misses();
        let begun = Instant::now();
        loop {
            self.drain(&mut take)?;
            if self.in_flight()? == Unfinished::default() || begun.elapsed() > PATIENCE {
                break;
            }
            meanwhile();
            sleep(Duration::from_millis(1));
        }
        let more = self.object.misses().zip(others);
        let more = more.map_or(0, |(now, before)| now - before);
        self.missed = self.missed.map(|missed| missed + more);
        self.object.unload_all();
        self.drain(&mut take).map(drop)
    }

    /// What the recording lacks so far.
    pub fn lost(&self) -> Result<BlockIoLosses, ProbeError> {
        Ok(BlockIoLosses {
            counts: self.counts()?,
            missed: self.missed.or_else(|| self.object.misses()),
            unfinished: self.in_flight()?,
        })
    }

    /// The program's counts; `unqueued` counts only while queueing is watched.
    pub(crate) fn counts(&self) -> Result<BlockIoCounts, ProbeError> {
        let mut counts = BlockIoCounts::sum(&self.object.per_cpu("counted")?);
        let until_now = counts.unqueued - self.unqueued.before;
        counts.unqueued = self.unqueued.at_end.unwrap_or(until_now);
        Ok(counts)
    }

    /// What the recording lacks so far, with the reasons in words.
    pub(crate) fn missing(&self) -> Result<Missing, ProbeError> {
        let lost = self.lost()?;
        Ok(Missing {
            lost: lost.lost(),
            unqueued: lost.counts.unqueued,
            reasons: lost.reasons(),
            facts: lost.facts(),
        })
    }

    /// How many I/Os were seen queued and are not complete.
    pub(crate) fn in_flight_now(&self) -> Result<u64, ProbeError> {
        let flying = self.in_flight()?;
        Ok(flying.queued + flying.requested + flying.issued)
    }

    fn in_flight(&self) -> Result<Unfinished, ProbeError> {
        let ios: Vec<(u64, [u64; raw::SIZE / 8])> = self.object.entries("ios")?;
        let mut unfinished = Unfinished::default();
        ios.iter().for_each(|(_, io)| unfinished.add(io));
        Ok(unfinished)
    }
}

/// Values of the program's globals.
struct BpfGlobals {
    devices: [u32; DISKS],
    latency_above: u64,
    words: [(&'static str, u32); 6],
}

/// `RQF_FLUSH_SEQ` of a kernel whose types do not name it (include/linux/blk-mq.h). Linux 6.12
/// numbered the flags anew, at first in an enum without a name. The flag's old number now marks
/// requests of the I/O scheduler.
fn flush_sequence(release: Option<KernelVersion>) -> u32 {
    match release {
        Some(release) if release >= REQUEST_FLAGS_ANEW => 1 << 1,
        _ => 1 << 4,
    }
}

impl BpfGlobals {
    fn new(
        disks: &[Disk],
        wanted: &CaptureFilter,
        release: Option<KernelVersion>,
    ) -> Result<Self, ProbeError> {
        let bytes = |size: Bytes| u32::try_from(size.0).unwrap_or(u32::MAX);
        let ops = wanted.ops.iter().fold(0, |ops, op| ops | 1 << *op as u32);
        Ok(BpfGlobals {
            devices: numbers(disks)?,
            latency_above: wanted.latency_above.0,
            words: [
                ("ops", if wanted.ops.is_empty() { u32::MAX } else { ops }),
                ("least_bytes", bytes(wanted.min_size)),
                ("most_bytes", bytes(wanted.max_size)),
                ("wanted_pid", wanted.pid.unwrap_or(0)),
                ("all_have_requests", disks.iter().all(has_requests).into()),
                ("flush_sequence", flush_sequence(release)),
            ],
        })
    }

    fn set<'a>(&'a self, loader: &mut EbpfLoader<'a>) {
        for (name, value) in &self.words {
            loader.override_global(name, value, true);
        }
        loader.override_global("devices", &self.devices, true);
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
    make().map_err(|error| object.refused("make the rings of the BPF program", &*error))
}

/// Puts the programs on their tracepoints. Returns the program that sees I/Os begin.
fn begin(object: &mut Object, disks: &[Disk]) -> Result<&'static str, ProbeError> {
    // Until 5.10 tracepoints had the queue as their first argument; later stable releases of 5.10
    // have it for bios alone. The kernel refuses to attach a program that reads an argument which
    // its tracepoint lacks. So the attempt with a program of two arguments shows which form this
    // kernel has.
    let mut takes_queue = |program: &str, point: &str| -> Result<bool, ProbeError> {
        let takes = object.on_tracepoint(program, point)?;
        object.unload(program);
        Ok(takes)
    };
    let of_requests = takes_queue("issue_two", "block_rq_issue")?;
    let of_bios = takes_queue("gets_request_two", "block_getrq")?;
    let named = |name: &str, two: bool| format!("{name}_{}", if two { "two" } else { "one" });
    if disks.iter().any(has_requests) {
        object.on_known_tracepoint("complete", "block_rq_complete")?;
        for (program, point) in OF_REQUESTS {
            object.on_known_tracepoint(&named(program, of_requests), point)?;
        }
        for (program, point) in OF_BIOS {
            object.on_known_tracepoint(&named(program, of_bios), point)?;
        }
        for point in MERGES {
            if !of_bios || !object.on_tracepoint("merges_three", point)? {
                object.on_known_tracepoint(&named("merges", of_bios), point)?;
            }
        }
    }
    if !disks.iter().all(has_requests) {
        object.on_known_tracepoint("bio_complete", "block_bio_complete")?;
    }
    let first = if of_bios { "queue_two" } else { "queue_one" };
    object.on_known_tracepoint(first, "block_bio_queue")?;
    Ok(first)
}
