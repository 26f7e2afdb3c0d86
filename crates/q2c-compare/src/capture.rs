//! Captures the block layer during a replay, to sum up Q2C of this process's I/Os.

use super::{CaptureRequest, OpenTargets, TargetSet};
use q2c_capture::{CaptureFilter, CapturedBy, Following, Gatherer, Pace, ProbeError, Recorder};
use q2c_host::Roots;
use q2c_host::block::Disk;
use q2c_model::Fault;
use q2c_model::stats::Histogram;
use q2c_result::compare::NotCaptured;
use q2c_trace::recording::RecordedIo;
use q2c_trace::{SplitJoiner, WholeIo};
use std::time::Duration;

/// Time between two readings of the recorder's buffers: 2 ms.
const PACE: Pace = Pace::every(Duration::from_millis(2));

/// The decision of a run whether to capture the block layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capture {
    /// The run captures it by these means; `None` takes the first means that this machine has.
    By(Option<CapturedBy>),
    /// The run does not capture it, for this reason.
    Not(NotCaptured),
}

/// Decides whether a run on these sites is captured, by starting a recorder if a capture may be.
///
/// # Errors
/// Returns a fault if a capture was asked for but a site has no disk to capture.
pub fn capture_for(
    roots: &Roots,
    wish: CaptureRequest,
    sites: &[OpenTargets],
) -> Result<Capture, Fault> {
    Ok(match wish {
        CaptureRequest::Off => Capture::Not(NotCaptured::NotAsked),
        CaptureRequest::By(by) => match sites.iter().find(|open| open.site.disks.is_empty()) {
            None => Capture::By(by),
            Some(OpenTargets { site, .. }) => {
                return Err(Fault::usage(format_args!(
                    "capture the block layer: no disk of the kernel lies under {}; leave --capture and --by out",
                    site.name
                )));
            }
        },
        CaptureRequest::WherePermitted => {
            let refused = sites.iter().find_map(|open| refusal(roots, &open.site));
            refused.map_or(Capture::By(None), Capture::Not)
        }
    })
}

fn refusal(roots: &Roots, site: &TargetSet) -> Option<NotCaptured> {
    if site.disks.is_empty() {
        return Some(NotCaptured::NoDisk(site.name.clone()));
    }
    let attached = Recorder::attach(roots, &site.disks, &own_process_filter(), None);
    let error = attached.err()?;
    Some(NotCaptured::Refused(format!("failed to {error}")))
}

fn own_process_filter() -> CaptureFilter {
    CaptureFilter {
        pid: Some(std::process::id()),
        ..CaptureFilter::default()
    }
}

/// The figures of a finished capture. An I/O counts once, with all parts that it was split into.
#[derive(Default)]
pub(crate) struct CaptureFigures {
    /// The means of the capture; `None` before the recorder is attached.
    pub by: Option<CapturedBy>,
    /// Q2C of the I/Os.
    pub q2c: Histogram,
    /// Exact sum of Q2C, ns.
    pub sum: u128,
    /// Reads and writes among the I/Os.
    pub transfers: u64,
    /// Number of I/Os if every part of a split I/O is counted.
    pub parts: u64,
    /// I/Os that are known to be missing.
    pub lost: u64,
    /// CPU time of the thread that reads the recorder.
    pub cpu_ns: u64,
}

/// Adds up the I/Os of a capture.
#[derive(Default)]
struct CaptureSum {
    figures: CaptureFigures,
    joiner: SplitJoiner,
}

impl CaptureFigures {
    fn add(&mut self, io: WholeIo) {
        self.q2c.record(io.q2c_ns);
        self.sum += u128::from(io.q2c_ns);
        self.transfers += u64::from(io.transfers);
    }
}

impl CaptureSum {
    fn finish(mut self) -> CaptureFigures {
        self.figures.parts = self.joiner.parts();
        self.joiner.finish(&mut |io| self.figures.add(io));
        self.figures
    }
}

impl Gatherer for CaptureSum {
    fn take(&mut self, io: RecordedIo) {
        self.joiner.push(&io, &mut |whole| self.figures.add(whole));
    }
}

/// A running capture, read by a thread of its own.
pub(crate) struct ReplayCapture {
    by: CapturedBy,
    following: Following<CaptureSum>,
}

impl ReplayCapture {
    /// Starts to capture the I/Os that this process queues on these disks.
    pub(crate) fn start(
        roots: &Roots,
        disks: &[Disk],
        by: Option<CapturedBy>,
        plan: &q2c_replay::ReplayPlan,
    ) -> Result<ReplayCapture, ProbeError> {
        let recorder = Recorder::attach(roots, disks, &own_process_filter(), by)?;
        let plan = plan.clone();
        Ok(ReplayCapture {
            by: recorder.captured_by(),
            following: Following::begin(recorder, PACE, CaptureSum::default(), move || {
                q2c_replay::avoid_submitter_cpus(&plan);
            })?,
        })
    }

    /// Ends the capture, after a short wait for I/Os in flight.
    pub(crate) fn finish(self) -> Result<CaptureFigures, ProbeError> {
        let ended = self.following.end()?;
        Ok(CaptureFigures {
            by: Some(self.by),
            lost: ended.missing.lost,
            cpu_ns: ended.cpu_ns,
            ..ended.gatherer.finish()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Bytes, DevId, Exit, IoRecord, Layer, Op, OpFlags, Sectors};
    use q2c_replay::ReplayFacts;
    use q2c_trace::Span;

    /// A read of 1 MiB from `begin_us` to `end_us`; with a flag, one part of such a read.
    fn read(begin_us: u64, end_us: u64, flags: OpFlags) -> RecordedIo {
        let (device, bytes) = (DevId::default(), Bytes(1 << 20));
        let bare = IoRecord::new(0, Layer::Block, device, Op::Read, Sectors(0), bytes);
        RecordedIo {
            span: Span {
                begin_ns: begin_us * 1000,
                end_ns: end_us * 1000,
                flags,
                ..Span::from_record(&bare)
            },
            key: 1,
            lead: 0,
            carries: false,
            tid: 1,
            comm: [0; 16],
        }
    }

    #[test]
    fn a_simulated_device_leaves_nothing_to_capture() {
        let roots = Roots::live();
        let (request, facts) = (crate::request::tests::request(), ReplayFacts::default());
        let sites = [OpenTargets::with_one_target(&roots, &request, "null", &facts, 0).unwrap()];
        let no_disk = NotCaptured::NoDisk("null".to_owned());
        for (wish, decided) in [
            (CaptureRequest::WherePermitted, no_disk),
            (CaptureRequest::Off, NotCaptured::NotAsked),
        ] {
            let capture = capture_for(&roots, wish, &sites).unwrap();
            assert_eq!(capture, Capture::Not(decided));
        }
        let asked = CaptureRequest::By(Some(CapturedBy::Tracefs));
        let refused = capture_for(&roots, asked, &sites).unwrap_err();
        assert_eq!(refused.exit(), Exit::Usage);
        assert!(refused.message().contains("under null"), "{refused}");
    }

    /// Ten reads of 100 us each. The other device splits each of them into four parts.
    #[test]
    fn a_device_with_smaller_requests_has_the_same_sum() {
        for (flags, took_us) in [
            (OpFlags::default(), &[100][..]),
            (OpFlags::SPLIT, &[25, 50, 100, 75]),
        ] {
            let mut summing = CaptureSum::default();
            for begin_us in (0..10).map(|n| 1000 * n + 1) {
                for took_us in took_us {
                    summing.take(read(begin_us, begin_us + took_us, flags));
                }
            }
            let (captured, parts) = (summing.finish(), 10 * took_us.len() as u64);
            assert_eq!(captured.sum, 1_000_000, "{parts} parts");
            assert_eq!((captured.q2c.count(), captured.transfers), (10, 10));
            assert_eq!(captured.parts, parts);
        }
    }
}
