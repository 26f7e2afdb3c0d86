//! Late time of a workload: its lanes' samples joined with the block layer's requests.
//!
//! The capture sees every I/O of the disk, whoever submits it, so that the requests beside a miss
//! are known. It costs CPU time at each I/O, so it never runs in a trial but in a run of its own.
//! Both views take their times from CLOCK_MONOTONIC, so the run needs
//! [`Workload::beside_the_kernel`].

use crate::workload::{INTERVAL, Site, StageId, Watched, Workload};
use q2c_analyze::late::{DeviceRequest, LateTally, Requests, Sleep, UserIo};
use q2c_capture::{CaptureFilter, CapturedBy, Collected, Collector, ProbeError, Recorder};
use q2c_engine::{LaneData, Sample};
use q2c_model::{CpuId, Op};
use q2c_result::late::{LateRun, LateTime, Unseen};
use q2c_sys::Clock;
use q2c_sys::thread::pin;
use q2c_trace::recording::Recorded;

/// Most requests of the device in memory at a time; each takes 48 bytes.
pub const MOST_REQUESTS: usize = 4_000_000;

/// A capture of the block layer beside a run of a workload.
pub struct LateCapture {
    collector: Collector<DeviceRequest>,
}

impl LateCapture {
    /// Captures all I/Os of the target's disks. The reader runs on `cpu`, best without a lane.
    pub fn begin(site: &Site, cpu: Option<CpuId>) -> Result<Self, Unseen> {
        let keep = |io: &Recorded| Some(DeviceRequest::from(io));
        let collector = begin(site, cpu, MOST_REQUESTS, keep)?;
        Ok(LateCapture { collector })
    }

    /// The means by which the block layer is captured.
    pub fn by(&self) -> CapturedBy {
        self.collector.by()
    }

    /// The requests completed since the last call, and how many more did not fit into memory.
    pub fn take(&self) -> (Vec<DeviceRequest>, u64) {
        self.collector.take()
    }

    /// Ends the capture without computing late time.
    pub fn close(self) -> Result<Collected<DeviceRequest>, Unseen> {
        self.collector.end().map_err(|error| refused(&error))
    }

    /// Ends the capture, and joins it with one stage of the run beside it.
    pub fn end(self, workload: &Workload, watched: &Watched, stage: StageId) -> LateTime {
        let by = self.by();
        let joined = |collected| joined(workload, watched, stage, by, &collected);
        let seen = self.close().map(|collected| Box::new(joined(collected)));
        seen.map_or_else(LateTime::Unseen, LateTime::Seen)
    }
}

/// Captures all I/Os of the target's disks. The reader runs on `cpu`, if possible without a lane.
pub(crate) fn begin<T: Send + 'static>(
    site: &Site,
    cpu: Option<CpuId>,
    most: usize,
    keep: impl FnMut(&Recorded) -> Option<T> + Send + 'static,
) -> Result<Collector<T>, Unseen> {
    let target_disk = site.target_disk.as_ref().ok_or(Unseen::NoDevice)?;
    let (disks, every_io) = (target_disk.disks(), CaptureFilter::default());
    let recorder = Recorder::attach(&site.roots, disks, &every_io, None);
    let recorder = recorder.map_err(|error| refused(&error))?;
    let begun = Collector::begin(recorder, most, keep, move || {
        if let Some(cpu) = cpu {
            // Without pinning the reader may slow the lanes a little, but no figure becomes wrong.
            pin(cpu).ok();
        }
    });
    begun.map_err(|error| refused(&error))
}

pub(crate) fn refused(error: &ProbeError) -> Unseen {
    Unseen::Refused(error.to_string())
}

impl Workload {
    /// The same workload with the kernel's clock, whose timestamps cost more than a trial's.
    pub fn beside_the_kernel(&self) -> Workload {
        Workload {
            site: Site {
                time: Clock::monotonic().into(),
                ..self.site.clone()
            },
            ..self.clone()
        }
    }

    /// A foreground sample in the thread's view. Panics without [`Workload::beside_the_kernel`].
    pub fn user_io(&self, sample: &Sample) -> UserIo {
        let at = |ns| self.site.time.since_boot(ns).expect("CLOCK_MONOTONIC");
        let submitted = at(sample.submit_ns) + u64::from(sample.submit_len_ns);
        let after = |ns: u32| submitted + u64::from(ns);
        let write = self.pattern.write;
        let op = if write { Op::Write } else { Op::Read };
        UserIo {
            op,
            bytes: u64::try_from(sample.result).unwrap_or(0),
            submit_ns: at(sample.submit_ns),
            submit_end_ns: (!sample.is(Sample::ONE_CALL)).then_some(submitted),
            sleep: sample.is(Sample::SLEPT).then(|| Sleep {
                due_ns: after(sample.asked_ns),
                woke_ns: after(sample.woke_ns),
            }),
            reap_ns: at(sample.reaped_ns()),
            missed: sample.is(Sample::MISSED),
        }
    }
}

/// Most misses that a run stores one by one.
const MISSES: usize = 2_000;

fn joined(
    workload: &Workload,
    watched: &Watched,
    stage: StageId,
    captured_by: CapturedBy,
    collected: &Collected<DeviceRequest>,
) -> LateRun {
    let stats = watched.stats(stage);
    let tally = tally(workload, &watched.data.lanes, stage, &collected.ios);
    LateRun {
        captured_by,
        iops: stats.iops(),
        u2c_mean_ns: stats.latency().mean_ns,
        reader_cpu_pct: collected.reader_cpu_pct(),
        lost: collected.missing.lost,
        not_kept: collected.not_kept,
        all: tally.totals(),
        slowest: tally.slowest(),
        lateness_of_misses: tally.lateness_of_misses(),
        intervals: tally.intervals(),
        misses_kept: tally.misses_kept(MISSES),
    }
}

fn tally(
    workload: &Workload,
    lanes: &[LaneData],
    stage: StageId,
    requests: &[DeviceRequest],
) -> LateTally {
    let spans = lanes.iter().map(|lane| {
        let phase = &lane.phases[stage.index()];
        (phase.begin.t_ns, phase.end.t_ns)
    });
    let begin = spans.clone().map(|span| span.0).min().unwrap_or(0);
    let end = spans.map(|span| span.1).min().unwrap_or(begin);
    let begin_ns = workload.site.time.since_boot(begin).unwrap_or(begin);
    let length = end.saturating_sub(begin);
    let mut tally = LateTally::new(begin_ns, length, INTERVAL.0.min(length));
    let requests = Requests::new(requests);
    for lane in lanes {
        for sample in lane.phase_samples(stage.index()) {
            let io = workload.user_io(sample);
            tally.add(io.reap_ns, &requests.join(lane.tid, &io));
        }
    }
    tally
}
