//! Calibration: the costs of submitting, sleeping, waking and interrupts on this machine, CPU and
//! target.
//!
//! The costs are measured with I/O in flight, as in hybrid polling. Each block size gets fixed
//! sleeps below, around and above its latency. Each sleep is measured between two slices of polling
//! on the same thread and ring. On a device faster than the shortest wake-up, a clear sleep cannot
//! be measured, since the completion always comes first. Those points are therefore measured with a
//! larger block, whose latency leaves room, and all block sizes share them.

mod fit;
mod point;
mod store;

pub use store::{NoCalibration, Store, StoreError, StoredCalibration, Unfit, identity};

use crate::workload::{Stages, Step, Workload, WorkloadRun};
use point::{BesidePolling, FixedSleepPoint, InterruptCosts, PollingFigures};
use q2c_model::{Bytes, Exit, Fault, Nanos, OrFault};
use q2c_policy::{LaneMethod, PolicySpec};
use q2c_result::tune::Calibration;
use q2c_run::runner::{Event, Progress, time_text};
use std::sync::atomic::{AtomicBool, Ordering};

/// Length of the polling before and after each point.
const POLL_SLICE: Nanos = Nanos::from_millis(30);
/// Length of one fixed sleep's stage in one pass.
const POINT_SLICE: Nanos = Nanos::from_millis(60);
/// Passes over the ladder, half of them up, half down; medians hide a disturbance of a single one.
const PASSES: usize = 4;
/// Length of the stage of interrupts, which suffices for CPU times in steps of 10 ms.
const INTERRUPT_SLICE: Nanos = Nanos::from_millis(700);
/// Length of the first measurement of a block size, and of the polling around interrupts.
const LOOK_SLICE: Nanos = Nanos::from_millis(150);

/// Time to set up and tear down the threads and rings of a run.
const OVERHEAD_S: f64 = 0.1;

/// Calibrates every block size, in the order of `sizes`, without think time. `seed` is the seed of
/// the I/O's offsets. Between runs, `progress` gets a note of what is measured next.
///
/// # Errors
/// An engine or an I/O failed, or `stop` was set.
pub fn calibrate(
    workload: &Workload,
    sizes: &[Bytes],
    seed: u64,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<Vec<Calibration>, Fault> {
    // Costs do not depend on think time, and a short stage needs many I/Os.
    let workload = &Workload {
        think: None,
        ..workload.clone()
    };
    let bench = CalibrationBench {
        workload,
        seed,
        stop,
    };
    let mut show = |what: String| progress.event(&Event::Doing(what));
    show("calibrating: looking for a block size whose latency leaves room for sleeps".to_owned());
    let shared = match bench.roomy_block()? {
        Some((block, ladder)) => {
            let left_s = ladder.seconds() + OVERHEAD_S + sizes.len() as f64 * size_s();
            let left = time_text(left_s);
            let text = format!("calibrating: clear sleeps on {block}, {left} left in all");
            show(text);
            bench.points(block, &ladder)?
        }
        None => Vec::new(),
    };
    let calibrate_nth = |(nth, &bs): (usize, &Bytes)| {
        let left = time_text((sizes.len() - nth) as f64 * size_s());
        show(format!("calibrating {bs}, {left} left in all"));
        bench.calibrate_size(bs, &shared)
    };
    sizes.iter().enumerate().map(calibrate_nth).collect()
}

/// Expected length for `sizes` block sizes, seconds; an upper bound on a fast target.
pub fn expected_s(sizes: usize) -> f64 {
    let roomy = ROOMY_BLOCKS.len() as f64 * (LOOK_SLICE.as_secs_f64() + OVERHEAD_S);
    let clear = Ladder::clear(f64::INFINITY).seconds() + OVERHEAD_S;
    roomy + clear + sizes as f64 * size_s()
}

fn size_s() -> f64 {
    let around = Ladder::around(1e6).seconds();
    let (interrupt_stages, _) = interrupt_stages();
    LOOK_SLICE.as_secs_f64() + around + interrupt_stages.seconds() + 3.0 * OVERHEAD_S
}

fn interrupt_stages() -> (Stages, BesidePolling) {
    let mut stages = Stages::default();
    let beside = BesidePolling {
        before: stages.push(Step::POLL, LOOK_SLICE),
        stage: stages.push(Step::By(LaneMethod::Interrupt), INTERRUPT_SLICE),
        after: stages.push(Step::POLL, LOOK_SLICE),
    };
    (stages, beside)
}

/// Requested sleeps, ns, ascending, each at least 1 us.
#[derive(Clone, Debug, PartialEq)]
struct Ladder {
    sleeps: Vec<u64>,
}

/// Sleeps for points far before the completion, us. [`Ladder::clear`] takes those that fit.
const CLEAR_US: [u64; 14] = [1, 2, 5, 8, 12, 17, 25, 35, 50, 70, 100, 150, 250, 500];
/// Sleeps to measure at each block size, percent of the median latency.
const AROUND_PCT: [u64; 10] = [10, 25, 40, 55, 70, 85, 100, 120, 150, 200];

impl Ladder {
    /// Sleeps of at most half the latency `p10` (ns); the shortest sleep is always included.
    fn clear(p10: f64) -> Self {
        let fits = |us: &u64| *us == CLEAR_US[0] || (*us * 1000) as f64 <= 0.5 * p10;
        let sleeps = CLEAR_US.into_iter().filter(fits);
        Ladder {
            sleeps: sleeps.map(|us| us * 1000).collect(),
        }
    }

    /// Sleeps below, around and above the latency `p50` (ns), each at least 1 us.
    fn around(p50: f64) -> Self {
        let sleep = |pct: u64| ((p50 * pct as f64 / 100.0) as u64).max(1_000);
        let mut sleeps: Vec<u64> = AROUND_PCT.map(sleep).to_vec();
        sleeps.dedup();
        Ladder { sleeps }
    }

    fn seconds(&self) -> f64 {
        self.stages().0.seconds()
    }

    /// The stages of all passes, and for each sleep its stage and the polled stages beside it.
    fn stages(&self) -> (Stages, Vec<(u64, BesidePolling)>) {
        let up = self.sleeps.iter().copied();
        let passes = (0..PASSES / 2).flat_map(|_| up.clone().chain(up.clone().rev()));
        let mut stages = Stages::default();
        let mut before = stages.push(Step::POLL, POLL_SLICE);
        let point = |asked| {
            let fixed: PolicySpec = format!("fixed:{asked}ns").parse().expect("at least 1 us");
            let beside = BesidePolling {
                before,
                stage: stages.push(Step::By(fixed.into()), POINT_SLICE),
                after: stages.push(Step::POLL, POLL_SLICE),
            };
            before = beside.after;
            (asked, beside)
        };
        let points = passes.map(point).collect();
        (stages, points)
    }
}

struct CalibrationBench<'a> {
    workload: &'a Workload,
    seed: u64,
    stop: &'a AtomicBool,
}

/// Block sizes to try, in this order, for clear sleeps, in bytes. Then the 10th percentile of the
/// latency that leaves enough room for them.
const ROOMY_BLOCKS: [u64; 3] = [256 << 10, 1 << 20, 4 << 20];
const MIN_ROOM: Nanos = Nanos::from_micros(140);

fn roomy_blocks(max_bytes: Option<u64>) -> Vec<u64> {
    let limited = |block: u64| max_bytes.map_or(block, |max_bytes| block.min(max_bytes));
    let mut blocks = ROOMY_BLOCKS.map(limited).to_vec();
    blocks.dedup();
    blocks
}

/// Bytes of the largest request that is polled unsplit; `None` without polling or limits.
fn unsplit(workload: &Workload) -> Option<u64> {
    let polls = workload.engine.needs_poll_queues();
    let disk = workload.site.target_disk.as_ref().filter(|_| polls)?;
    Some(q2c_host::block::unsplit(&disk.disk.dir)?.0)
}

impl CalibrationBench<'_> {
    /// The first block size slow enough for clear sleeps, else the largest that fits; its sleeps.
    fn roomy_block(&self) -> Result<Option<(Bytes, Ladder)>, Fault> {
        let (mut chosen, mut blocks) = (None, roomy_blocks(unsplit(self.workload)));
        blocks.retain(|&block| block <= self.workload.span.0);
        for block in blocks {
            let p10 = self.measure_polling(Bytes(block))?.wait(0.1);
            chosen = Some((Bytes(block), p10));
            if p10 >= MIN_ROOM.0 as f64 {
                break;
            }
        }
        Ok(chosen.map(|(block, p10)| (block, Ladder::clear(p10))))
    }

    fn calibrate_size(&self, bs: Bytes, shared: &[FixedSleepPoint]) -> Result<Calibration, Fault> {
        let time = &self.workload.site.time;
        let begun_ns = time.now();
        let ladder = Ladder::around(self.measure_polling(bs)?.wait(0.5));
        let points = self.points(bs, &ladder)?;
        let (stages, beside) = interrupt_stages();
        let watched = self.run(bs, &stages)?;
        let interrupt = InterruptCosts::from_stage(&watched, beside, self.workload.others());
        let mut summaries = vec![point::polling_summary(&points)];
        summaries.extend(points.iter().map(FixedSleepPoint::summary));
        Ok(Calibration {
            engine: self.workload.engine.to_string(),
            bs,
            cpu: self.workload.cpus[0],
            irq_cpu: interrupt.irq_cpu,
            reused: false,
            seconds: Nanos(time.now() - begun_ns).as_secs_f64(),
            cost: fit::fit(bs, &points, shared, &interrupt),
            points: summaries,
        })
    }

    fn measure_polling(&self, bs: Bytes) -> Result<PollingFigures, Fault> {
        let mut stages = Stages::default();
        let polled = stages.push(Step::POLL, LOOK_SLICE);
        let watched = self.run(bs, &stages)?;
        Ok(PollingFigures::from_stage(&watched, polled))
    }

    fn points(&self, bs: Bytes, ladder: &Ladder) -> Result<Vec<FixedSleepPoint>, Fault> {
        let (stages, passes) = ladder.stages();
        let watched = self.run(bs, &stages)?;
        let others = self.workload.others();
        let point = |&asked: &u64| {
            let pass = |(_, beside): &(_, _)| {
                FixedSleepPoint::from_stage(&watched, *beside, asked as f64, others)
            };
            let own_passes = passes.iter().filter(|(sleep, _)| *sleep == asked);
            FixedSleepPoint::join_passes(own_passes.map(pass).collect())
        };
        Ok(ladder.sleeps.iter().map(point).collect())
    }

    fn run(&self, bs: Bytes, stages: &Stages) -> Result<WorkloadRun, Fault> {
        let watched = self.workload.run(bs, stages, self.seed, None, self.stop);
        let watched = watched.or_exit(Exit::Environment)?;
        if let Some(failed) = watched.fault {
            return Err(Fault::new(Exit::Device, failed));
        }
        if self.stop.load(Ordering::Relaxed) || watched.data.stopped {
            return Err(Fault::stopped("calibrate: stopped by a signal"));
        }
        Ok(watched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten sleeps of 60 ms in four passes with 30 ms of polling around each; a first look of 150
    /// ms, 1 s for interrupts and three set-ups: 5.08 s. All 14 clear sleeps take 5.07 s.
    #[test]
    fn the_length_is_that_of_the_stages() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        near(Ladder::around(50_000.0).seconds(), 0.03 + 40.0 * 0.09);
        near(size_s(), 0.15 + 3.63 + 1.0 + 0.3);
        let clear_s = 0.03 + 56.0 * 0.09 + 0.1;
        near(expected_s(2), 3.0 * 0.25 + clear_s + 2.0 * 5.08);
    }

    #[test]
    fn clear_sleeps_are_measured_on_requests_that_are_not_split() {
        assert_eq!(roomy_blocks(None), ROOMY_BLOCKS);
        assert_eq!(roomy_blocks(Some(128 << 10)), [128 << 10]);
        assert_eq!(roomy_blocks(Some(512 << 10)), [256 << 10, 512 << 10]);
    }

    #[test]
    fn ladders_ascend_and_keep_their_bounds() {
        let clear = Ladder::clear(40_000.0).sleeps;
        assert_eq!(clear, [1_000, 2_000, 5_000, 8_000, 12_000, 17_000]);
        let around = Ladder::around(5_000.0).sleeps;
        assert!(around.is_sorted(), "{around:?}");
        assert_eq!((around[0], around.last()), (1_000, Some(&10_000)));
    }
}
