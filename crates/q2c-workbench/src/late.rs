//! Late time of a workload: its lanes' samples joined with the block layer's requests.
//!
//! The capture sees every I/O of the disk, whoever submits it, so that the requests beside a miss
//! are known. Capturing costs CPU time at each I/O, so it never runs in a trial but in its own run.
//! Capture and threads take their times from CLOCK_MONOTONIC, so the run needs
//! [`Workload::with_kernel_clock`].

use crate::workload::{INTERVAL, Site, StageId, Workload, WorkloadRun};
use q2c_analyze::late::{DeviceRequest, LateTally, Requests, Sleep, UserIo};
use q2c_capture::{CaptureFilter, CapturedBy, Collected, Collector, ProbeError, Recorder};
use q2c_engine::{LaneData, Sample};
use q2c_model::CpuId;
use q2c_result::late::{LateRun, LateTime, UnseenReason};
use q2c_sys::Clock;
use q2c_sys::thread::pin;
use q2c_trace::recording::RecordedIo;

/// Requests of the device in memory at a time; each takes 48 bytes.
pub const MAX_REQUESTS: usize = 4_000_000;

/// A capture of the block layer beside a run of a workload.
pub type LateCapture = Collector<DeviceRequest>;

/// Captures all I/Os of the target's disks. The reader runs on `cpu`, which best has no lane.
pub fn begin_late_capture(site: &Site, cpu: Option<CpuId>) -> Result<LateCapture, UnseenReason> {
    let keep = |io: &RecordedIo| Some(DeviceRequest::from(io));
    begin_capture(site, cpu, MAX_REQUESTS, keep)
}

/// Ends the capture, and joins it with one stage of the run beside it.
pub fn late_time(
    capture: LateCapture,
    workload: &Workload,
    watched: &WorkloadRun,
    stage: StageId,
) -> LateTime {
    let by = capture.captured_by();
    match capture.end() {
        Ok(run) => LateTime::Seen(Box::new(late_run(workload, watched, stage, by, &run))),
        Err(error) => LateTime::Unseen(unseen_reason(&error)),
    }
}

/// Captures the I/Os of the target's disks for which `keep` returns something. The reader runs on
/// `cpu`.
pub(crate) fn begin_capture<T: Send + 'static>(
    site: &Site,
    cpu: Option<CpuId>,
    max_records: usize,
    keep: impl FnMut(&RecordedIo) -> Option<T> + Send + 'static,
) -> Result<Collector<T>, UnseenReason> {
    let target_disk = site.target_disk.as_ref().ok_or(UnseenReason::NoDevice)?;
    let (disks, every_io) = (target_disk.disks(), CaptureFilter::default());
    let recorder = Recorder::attach(&site.roots, disks, &every_io, None);
    let recorder = recorder.map_err(|error| unseen_reason(&error))?;
    let collector = Collector::begin(recorder, max_records, keep, move || {
        if let Some(cpu) = cpu {
            // Without pinning the reader may slow the lanes a little, but no figure becomes wrong.
            pin(cpu).ok();
        }
    });
    collector.map_err(|error| unseen_reason(&error))
}

/// The reason why nothing was captured.
pub fn unseen_reason(error: &ProbeError) -> UnseenReason {
    UnseenReason::Refused(error.to_string())
}

impl Workload {
    /// The same workload with the kernel's clock, whose timestamps cost more than a trial's.
    pub fn with_kernel_clock(&self) -> Workload {
        Workload {
            site: Site {
                time: Clock::monotonic().into(),
                ..self.site.clone()
            },
            ..self.clone()
        }
    }

    /// A foreground sample in the thread's view. Panics without [`Workload::with_kernel_clock`].
    pub fn user_io(&self, sample: &Sample) -> UserIo {
        let kernel_ns_at = |ns| self.site.time.kernel_ns_at(ns).expect("CLOCK_MONOTONIC");
        let submitted = kernel_ns_at(sample.submit_ns) + u64::from(sample.submit_len_ns);
        let after = |ns: u32| submitted + u64::from(ns);
        UserIo {
            op: sample.op(),
            bytes: u64::try_from(sample.result).unwrap_or(0),
            submit_ns: kernel_ns_at(sample.submit_ns),
            submit_end_ns: (!sample.is(Sample::ONE_CALL)).then_some(submitted),
            sleep: sample.is(Sample::SLEPT).then(|| Sleep {
                due_ns: after(sample.asked_ns),
                woke_ns: after(sample.woke_ns),
            }),
            reap_ns: kernel_ns_at(sample.reaped_ns()),
            missed: sample.is(Sample::MISSED),
        }
    }
}

/// Most misses that a run stores one by one.
const MAX_LISTED_MISSES: usize = 2_000;

fn late_run(
    workload: &Workload,
    watched: &WorkloadRun,
    stage: StageId,
    captured_by: CapturedBy,
    collected: &Collected<DeviceRequest>,
) -> LateRun {
    let stats = watched.stats(stage);
    let tally = tally_stage(workload, &watched.data.lanes, stage, &collected.ios);
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
        misses_kept: tally.misses_kept(MAX_LISTED_MISSES),
    }
}

fn tally_stage(
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
    let begin_ns = workload.site.time.kernel_ns_at(begin).unwrap_or(begin);
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
