//! Where the I/Os of a run spend their time in the block layer, and which hardware queues take
//! them.
//!
//! The capture sees every I/O of the disks, whoever queued it; the threads of the run's jobs say
//! which I/Os count. The capture costs CPU time at each I/O, so it never runs in a trial but in a
//! run of its own. Capture and jobs take their times from CLOCK_MONOTONIC, so the run needs
//! [`Clock::monotonic`](q2c_sys::Clock::monotonic).

mod simulated;

use crate::late::{begin_capture, unseen_reason};
use crate::workload::Site;
use q2c_analyze::{CapturedIo, analyze_capture};
use q2c_capture::tag_waits::{SLICE_NS, TagWait, TagWaitCounts, TagWaitProbe as Probe};
use q2c_capture::{CapturedBy, Collected, Collector, ProbeError, queue_facts};
use q2c_engine::World;
use q2c_engine::engines::SimDevice;
use q2c_host::block::Disk;
use q2c_model::{CpuId, DevId};
use q2c_result::analyze::Bottleneck;
use q2c_result::bench::{PointStages, QueueTagWaits, StageRun, TagWaits};
use q2c_result::late::UnseenReason;
use q2c_sys::clock::kernel_ns;
use q2c_trace::Span;
use q2c_trace::recording::RecordedIo;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// I/Os in memory; each takes some 150 bytes.
const MAX_IOS: usize = 2_000_000;

/// A capture of the block layer beside a run of jobs.
pub enum StageCapture {
    /// That of the kernel.
    Kernel(KernelCapture),
    /// That of a simulated device, on a simulated machine.
    Simulated(Arc<SimDevice>, World),
}

/// A capture of the kernel's block layer.
pub struct KernelCapture {
    collector: Collector<CapturedIo>,
    tag_waits: Result<Vec<(DevId, Probe)>, ProbeError>,
}

/// The I/Os of a capture that has ended.
#[derive(Debug)]
pub struct CapturedRun {
    by: CapturedBy,
    collected: Collected<CapturedIo>,
    /// Facts of the disks' queues, in the form that a trace stores.
    facts: BTreeMap<String, String>,
    tag_waits: Result<Vec<(DevId, TagWaitCounts)>, ProbeError>,
}

/// The part of a run whose I/Os count.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPart {
    /// For each thread of a job, and each kernel thread that works for one, when its I/Os count, ns
    /// of CLOCK_MONOTONIC. A job that waits for its CPU starts and ends later.
    pub threads: BTreeMap<u32, Range<u64>>,
    /// The I/Os that the jobs counted in this part.
    pub ios: u64,
    /// Length of the part, seconds, as the mean over the jobs.
    pub seconds: f64,
}

impl RunPart {
    fn time_range(&self) -> Range<u64> {
        let spans = self.threads.values();
        let begin = spans.clone().map(|span| span.start).min();
        let end = spans.map(|span| span.end).max();
        begin.unwrap_or(0)..end.unwrap_or(0)
    }
}

impl StageCapture {
    /// Starts to capture all I/Os of the target's disks, before the run starts. I/Os queued within
    /// `before` from now are dropped, since the run's warm-up lasts at least as long. The thread
    /// that reads the capture runs on `cpu`, if possible one without a job.
    pub fn begin(site: &Site, cpu: Option<CpuId>, before: Duration) -> Result<Self, UnseenReason> {
        KernelCapture::begin(site, cpu, before).map(StageCapture::Kernel)
    }

    /// Starts to capture the requests of a simulated device, as [`StageCapture::begin`] does.
    pub fn begin_simulated(device: Arc<SimDevice>, world: &World, before: Duration) -> Self {
        device.start_capture(world.now() + before.as_nanos() as u64, MAX_IOS);
        StageCapture::Simulated(device, world.clone())
    }

    /// Ends the capture. I/Os in flight get a moment to complete.
    pub fn end(self, site: &Site) -> Result<CapturedRun, UnseenReason> {
        match self {
            StageCapture::Kernel(capture) => capture.end(site),
            StageCapture::Simulated(device, world) => Ok(simulated::end_capture(&device, &world)),
        }
    }
}

impl KernelCapture {
    fn begin(site: &Site, cpu: Option<CpuId>, before: Duration) -> Result<Self, UnseenReason> {
        let from_ns = kernel_ns() + before.as_nanos() as u64;
        let is_counted = move |io: &RecordedIo| io.span.first_ns() >= from_ns;
        let keep = move |io: &RecordedIo| is_counted(io).then(|| CapturedIo::from(io));
        let collector = begin_capture(site, cpu, MAX_IOS, keep)?;
        let disks = site.target_disk.iter().flat_map(|target| target.disks());
        let probe = |disk: &Disk| Ok((disk.dev, Probe::attach(&site.roots, disk)?));
        Ok(KernelCapture {
            collector,
            tag_waits: disks.map(probe).collect(),
        })
    }

    fn end(self, site: &Site) -> Result<CapturedRun, UnseenReason> {
        let by = self.collector.captured_by();
        let read = |(device, probe): (DevId, Probe)| Ok((device, probe.read()?));
        let tag_waits = self.tag_waits;
        let tag_waits = tag_waits.and_then(|probes| probes.into_iter().map(read).collect());
        let collected = self.collector.end().map_err(|e| unseen_reason(&e))?;
        let disks = site.target_disk.iter().flat_map(|target| target.disks());
        Ok(CapturedRun {
            by,
            collected,
            facts: disks.flat_map(queue_facts).collect(),
            tag_waits,
        })
    }
}

impl CapturedRun {
    /// The figures of the I/Os of one part of the run.
    pub fn stages(&self, part: &RunPart) -> PointStages {
        let part_time = part.time_range();
        let (mut spans, mut others): (Vec<Span>, u64) = (Vec::new(), 0);
        for CapturedIo { span, tid } in &self.collected.ios {
            let first_ns = span.first_ns();
            match part.threads.get(tid) {
                Some(time) if time.contains(&first_ns) => spans.push(*span),
                None if part_time.contains(&first_ns) => others += 1,
                _ => {}
            }
        }
        if spans.is_empty() {
            return PointStages::Unseen(UnseenReason::NoIo { others });
        }
        let result = analyze_capture(spans, &self.facts);
        let missing = &self.collected.missing;
        PointStages::Seen(Box::new(StageRun {
            captured_by: self.by,
            seconds: part.seconds,
            ios: part.ios,
            captured: result.requests,
            completed: result.completed,
            others,
            reader_cpu_pct: self.collected.reader_cpu_pct(),
            lost: missing.lost,
            not_kept: self.collected.not_kept,
            unmatched: missing.reasons.clone(),
            stages: result.stages,
            bottleneck: result.bottleneck.map(|bottleneck| Bottleneck {
                over_time: Vec::new(),
                ..bottleneck
            }),
            queues: result.queues,
            tag_waits: Some(self.tag_waits(part)),
        }))
    }

    /// Sleeps of the part's threads for a free request, from slices whose middle is in the part.
    fn tag_waits(&self, part: &RunPart) -> TagWaits {
        let disks = match &self.tag_waits {
            Ok(disks) => disks,
            Err(error) => return TagWaits::Unseen(unseen_reason(error)),
        };
        let is_counted = |wait: &&TagWait| {
            let time = part.threads.get(&wait.tid);
            time.is_some_and(|time| time.contains(&(wait.slice_ns + SLICE_NS / 2)))
        };
        let mut queues: BTreeMap<(DevId, u32, bool), QueueTagWaits> = BTreeMap::new();
        for (device, counted) in disks {
            for wait in counted.waits.iter().filter(is_counted) {
                let key = (*device, wait.queue, wait.of_scheduler);
                let sum = queues.entry(key).or_insert_with(|| QueueTagWaits {
                    device: device.to_string(),
                    queue: wait.queue,
                    of_scheduler: wait.of_scheduler,
                    ..QueueTagWaits::default()
                });
                sum.sleeps += wait.sleeps;
                sum.ns += wait.ns;
            }
        }
        TagWaits::Counted {
            queues: queues.into_values().collect(),
            lost: disks.iter().map(|(_, counted)| counted.lost).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_capture::Missing;
    use q2c_model::{Bytes, IoRecord, Layer, Op, Sectors, facts};
    use q2c_result::analyze::MapVerdict;

    const DISK: DevId = DevId {
        major: 254,
        minor: 16,
    };

    /// A read by `tid` on the CPU and queue `number`, with these times of Q, G, I, D and C.
    fn io(tid: u32, number: u32, times: [u64; 5]) -> CapturedIo {
        let [begin_ns, getrq_ns, insert_ns, issue_ns, end_ns] = times;
        let io = IoRecord::new(0, Layer::Block, DISK, Op::Read, Sectors(0), Bytes(4096));
        let span = Span {
            begin_ns,
            getrq_ns,
            insert_ns,
            issue_ns,
            end_ns,
            cpu_submit: number,
            cpu_complete: number,
            hctx: number,
            ..Span::from_record(&io)
        };
        CapturedIo { span, tid }
    }

    /// Jobs in threads 11 and 12, another program in 99; parts are 1000..2000 and 2000..3000.
    fn run() -> CapturedRun {
        let ios = vec![
            io(11, 0, [999, 999, 999, 999, 1500]),
            io(11, 0, [1000, 1010, 1030, 1060, 1160]),
            io(99, 1, [1100, 1900, 1900, 1900, 1950]),
            io(12, 1, [1500, 1530, 1540, 1550, 1700]),
            io(11, 0, [2000, 2010, 2020, 2500, 2600]),
            io(99, 1, [3000, 3001, 3002, 3003, 3004]),
        ];
        let missing = Missing {
            lost: 3,
            reasons: BTreeMap::from([("ring full".to_owned(), 3)]),
            ..Missing::default()
        };
        CapturedRun {
            by: CapturedBy::Bpf,
            collected: Collected {
                ios,
                not_kept: 5,
                missing,
                cpu_ns: 10,
                wall_ns: 200,
            },
            facts: BTreeMap::from([(facts::queue_map(DISK), "0:0 1:1 2:2".to_owned())]),
            tag_waits: Ok(vec![(DISK, tag_waits())]),
        }
    }

    /// Job 11 sleeps in the second and the fourth slice, another program in the third.
    fn tag_waits() -> TagWaitCounts {
        let wait = |(tid, slice, queue)| TagWait {
            tid,
            slice_ns: slice * SLICE_NS,
            queue,
            of_scheduler: false,
            sleeps: 2,
            ns: 100,
        };
        let waits = [(11, 1, 0), (99, 2, 0), (11, 3, 0), (11, 3, 1), (12, 4, 1)];
        TagWaitCounts {
            waits: waits.map(wait).into(),
            lost: 1,
        }
    }

    /// The counted time starts after the middle of the second slice and ends with the fifth.
    #[test]
    fn sleeps_for_a_request_are_those_of_the_jobs_in_the_time_that_counts() {
        let window = SLICE_NS * 8 / 5..SLICE_NS * 5;
        let waits = run().tag_waits(&part(window, &[11, 12]));
        let queue = |queue, sleeps| QueueTagWaits {
            device: DISK.to_string(),
            queue,
            of_scheduler: false,
            sleeps,
            ns: sleeps * 50,
        };
        let queues = vec![queue(0, 2), queue(1, 4)];
        assert_eq!(waits, TagWaits::Counted { queues, lost: 1 });
        assert_eq!(waits.sum(), Some((6, 300)));
    }

    fn part(window: Range<u64>, threads: &[u32]) -> RunPart {
        let with = |tid: &u32| (*tid, window.clone());
        RunPart {
            threads: threads.iter().map(with).collect(),
            ios: 7,
            seconds: 2.5,
        }
    }

    fn seen(stages: PointStages) -> StageRun {
        match stages {
            PointStages::Seen(run) => *run,
            PointStages::Unseen(reason) => panic!("{reason:?}"),
        }
    }

    #[test]
    fn the_ios_of_the_jobs_in_the_time_that_counts_have_their_stages() {
        let run = seen(run().stages(&part(1000..2000, &[11, 12])));
        assert_eq!((run.captured, run.completed, run.others), (2, 2, 1));
        assert_eq!((run.ios, run.seconds), (7, 2.5));
        assert_eq!((run.lost, run.not_kept, run.reader_cpu_pct), (3, 5, 5.0));
        assert_eq!(run.unmatched["ring full"], 3);
        // One I/O has the stages 10, 20, 30, 100 and Q2C 160; the other 30, 10, 10, 150 and 200.
        let means = ["Q2G", "G2I", "I2D", "D2C", "Q2C"].map(|stage| run.stages[stage].mean_ns);
        assert_eq!(means, [20.0, 15.0, 20.0, 125.0, 180.0]);
        // No stage before the driver takes at least 20 %.
        let bottleneck = run.bottleneck.expect("completed I/Os");
        assert_eq!(bottleneck.stage, "D2C");
        assert!((bottleneck.share - 250.0 / 360.0).abs() < 1e-12);
        assert!(bottleneck.over_time.is_empty() && !bottleneck.over_load.is_empty());
    }

    #[test]
    fn the_bottleneck_moves_from_part_to_part() {
        let run = seen(run().stages(&part(2000..3000, &[11, 12])));
        let bottleneck = run.bottleneck.expect("a completed I/O");
        assert_eq!((bottleneck.stage.as_str(), bottleneck.share), ("I2D", 0.8));
        assert_eq!((run.captured, run.others), (1, 0));
    }

    #[test]
    fn queues_are_those_of_the_jobs() {
        let run = seen(run().stages(&part(1000..2000, &[11, 12])));
        let reads = run.queues[0].reads.as_ref().expect("reads");
        let counts: Vec<u64> = reads.queues.iter().map(|queue| queue.requests).collect();
        assert_eq!(counts, [1, 1, 0]);
        assert_eq!(reads.unused.as_deref(), Some(&[2][..]));
        assert_eq!(reads.map.map(|fit| fit.verdict), Some(MapVerdict::AsMapped));
        // Job 11 alone: all its I/Os are in queue 0 of three.
        let run = seen(super::tests::run().stages(&part(1000..2000, &[11])));
        let reads = run.queues[0].reads.as_ref().expect("reads");
        assert_eq!(reads.unused.as_deref(), Some(&[1, 2][..]));
        assert_eq!(run.others, 2);
    }

    /// Job 11 got its CPU late. Other threads count from the jobs' first start to their last end.
    #[test]
    fn each_job_has_a_time_of_its_own() {
        let late = RunPart {
            threads: BTreeMap::from([(11, 1001..2001), (12, 900..1600)]),
            ..part(0..0, &[])
        };
        let run = seen(run().stages(&late));
        assert_eq!((run.captured, run.others), (2, 1));
        // Q2C of the I/O at 1500 is 200, and of that at 2000 it is 600.
        assert_eq!(run.stages["Q2C"].mean_ns, 400.0);
    }

    #[test]
    fn without_an_io_of_the_jobs_there_are_no_stages() {
        let none = run().stages(&part(1000..2000, &[13]));
        assert_eq!(none, PointStages::Unseen(UnseenReason::NoIo { others: 3 }));
    }
}
