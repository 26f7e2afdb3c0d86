//! The command `q2c poll watch --kernel`.

use super::device;
use crate::args::WatchArgs;
use crate::output::{print_while_read, say};
use crate::stream::{MetricsStream, listen, print_summary};
use q2c_host::block::TargetDisk;
use q2c_host::{Roots, block, machine};
use q2c_model::Fault;
use q2c_report::prometheus::KernelMetrics;
use q2c_report::terminal::{kernel_watch_head, kernel_watch_line};
use q2c_result::Exit;
use q2c_result::kernel_watch::{KernelInterval, KernelWatchResult, LINE_SCHEMA, SCHEMA};
use q2c_watch::kernel::KernelWatch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest time between two looks at the stop flag.
const PATIENCE: Duration = Duration::from_millis(40);
/// Intervals kept for the result at most. When there are more, the older half is dropped.
const KEPT: usize = 20_000;

/// Watches until the time asked for is over, a signal comes, the device goes away, or the reader of
/// the lines has closed the pipe.
pub(crate) fn run(args: &WatchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let Some(name) = &args.workload.target else {
        let message =
            "watch the kernel's hybrid polling: expected a device such as /dev/nvme0n1, found none";
        return Err(Fault::new(Exit::Usage, message));
    };
    let target_disk = device(&roots, name)?;
    let endpoint = listen(args.metrics.prometheus)?;
    let watch = KernelWatch::begin(&roots, &target_disk.disk)?;
    let (device, json) = (&target_disk.disk.name, args.workload.run.json);
    let schema = json.then_some(LINE_SCHEMA);
    let metrics = KernelMetrics::new(device);
    let mut run = KernelWatchRun {
        watch,
        json,
        stream: MetricsStream::open(device, schema, endpoint, metrics, || {})?,
        intervals: Vec::new(),
        not_kept: 0,
    };
    let ended = run.follow(args, stop)?;
    run.conclude(&roots, &target_disk, ended)
}

struct KernelWatchRun {
    watch: KernelWatch,
    json: bool,
    stream: MetricsStream<KernelMetrics>,
    intervals: Vec<KernelInterval>,
    not_kept: u64,
}

/// How the watch ended. `Asked`: the time was over, or nobody reads the lines any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KernelWatchEnd {
    Asked,
    Signal,
    Gone,
}

impl KernelWatchRun {
    fn follow(&mut self, args: &WatchArgs, stop: &AtomicBool) -> Result<KernelWatchEnd, Fault> {
        self.line(&kernel_watch_head())?;
        let begun = Instant::now();
        let interval = Duration::from_nanos(args.interval.0);
        let end = args.seconds.map(|s| begun + Duration::from_secs_f64(s));
        for n in 1_u32.. {
            let edge = begun + interval * n;
            let edge = end.map_or(edge, |end| end.min(edge));
            while !stop.load(Ordering::Acquire) && Instant::now() < edge {
                sleep(PATIENCE.min(edge.saturating_duration_since(Instant::now())));
            }
            let stopped = stop.load(Ordering::Acquire);
            let seen = self.watch.interval()?;
            let until = format!("{:.2} s", seen.end_s);
            let read = self.line(&kernel_watch_line(&until, &seen))?;
            let read = self.stream.tell(&seen)? && read;
            self.keep(seen);
            let over = end.is_some_and(|end| Instant::now() >= end);
            match (stopped, over || !read) {
                (true, _) => return Ok(KernelWatchEnd::Signal),
                (_, true) => return Ok(KernelWatchEnd::Asked),
                _ if !self.watch.is_there() => return Ok(KernelWatchEnd::Gone),
                _ => {}
            }
        }
        Ok(KernelWatchEnd::Asked)
    }

    fn keep(&mut self, interval: KernelInterval) {
        if self.intervals.len() == KEPT {
            self.not_kept += (KEPT / 2) as u64;
            self.intervals.drain(..KEPT / 2);
        }
        self.intervals.push(interval);
    }

    /// Prints a line: to stderr with `--json`, else to stdout. Returns false when the reader has
    /// closed the pipe.
    fn line(&self, line: &str) -> Result<bool, Fault> {
        if self.json {
            say(line);
            return Ok(true);
        }
        print_while_read(line)
    }

    fn conclude(
        self,
        roots: &Roots,
        target_disk: &TargetDisk,
        ended: KernelWatchEnd,
    ) -> Result<Exit, Fault> {
        let total = self.watch.total();
        self.line(&kernel_watch_line("all", &total))?;
        if self.json {
            print_summary(&KernelWatchResult {
                schema: SCHEMA.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ended: match ended {
                    KernelWatchEnd::Asked => "asked",
                    KernelWatchEnd::Signal => "signal",
                    KernelWatchEnd::Gone => "gone",
                }
                .to_owned(),
                machine: machine::read(roots),
                device: block::device(roots, target_disk),
                total: (!self.intervals.is_empty()).then_some(total),
                intervals: self.intervals,
                not_kept: self.not_kept,
            })?;
        }
        match ended {
            KernelWatchEnd::Asked => Ok(Exit::Done),
            KernelWatchEnd::Signal => {
                say("stopped by a signal");
                Ok(Exit::Interrupted)
            }
            KernelWatchEnd::Gone => {
                let message = format!("watch {}: the device went away", target_disk.disk.name);
                Err(Fault::new(Exit::Device, message))
            }
        }
    }
}
