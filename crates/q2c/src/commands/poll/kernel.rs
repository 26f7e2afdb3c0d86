//! The commands `q2c poll watch --kernel` and `q2c poll tune-kernel`.

use super::{RestoreOutcome, find_disk};
use crate::commands::capture::Child;
use crate::commands::restore;
use crate::commands::run_folder::{command_words, publish, tell_report};
use crate::commands::watch::WatchArgs;
use crate::output::{print_line, say, show};
use crate::stream::{MetricsStream, listen, print_summary};
use clap::Args;
use q2c_host::block::TargetDisk;
use q2c_host::{Roots, block, machine};
use q2c_model::{Fault, Nanos, OrFault, parse_time};
use q2c_policy::PolicySpec;
use q2c_report::prometheus::KernelMetrics;
use q2c_report::terminal::{kernel_watch_head, kernel_watch_line};
use q2c_result::Exit;
use q2c_result::kernel_tune::KernelTuneResult;
use q2c_result::kernel_watch::{KernelInterval, KernelWatchResult, LINE_SCHEMA, SCHEMA};
use q2c_run::{Identity, RunDir, RunState};
use q2c_sim::start_threads;
use q2c_watch::kernel::KernelWatch;
use q2c_watch::tune_kernel::{Rig, TuneKernel, TuneKernelSpec};
use q2c_workbench::settings::{GoalArgs, RuleArgs};
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest time between two checks of the stop flag.
const MAX_STOP_DELAY: Duration = Duration::from_millis(40);
/// Intervals stored for the result. If there are more, the older half is dropped.
const MAX_INTERVALS: usize = 20_000;

/// Watches until the requested time is over, a signal arrives, the device disappears, or the reader
/// of the lines closes the pipe.
pub(super) fn watch(args: &WatchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let Some(name) = &args.workload.target else {
        let message =
            "watch the kernel's hybrid polling: expected a device such as /dev/nvme0n1, found none";
        return Err(Fault::usage(message));
    };
    let target_disk = find_disk(&roots, name)?;
    let endpoint = listen(args.metrics.prometheus)?;
    let watch = KernelWatch::begin(&roots, &target_disk.disk)?;
    let (device, json) = (&target_disk.disk.name, args.workload.run.json);
    let schema = json.then_some(LINE_SCHEMA);
    let (metrics, no_preparation) = (KernelMetrics::new(device), || {});
    let mut run = KernelWatchRun {
        watch,
        json,
        stream: MetricsStream::open(device, schema, endpoint, metrics, no_preparation)?,
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

impl KernelWatchRun {
    /// Watches until the end. Returns `Done` if the time was over, or if nobody reads the lines any
    /// more.
    fn follow(&mut self, args: &WatchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
        print_line(&kernel_watch_head(), self.json)?;
        let begun = Instant::now();
        let length = Duration::from_nanos(args.interval.0);
        let end = args.seconds.map(|s| begun + Duration::from_secs_f64(s));
        for n in 1_u32.. {
            let edge = begun + length * n;
            let edge = end.map_or(edge, |end| end.min(edge));
            while !stop.load(Ordering::Acquire) && Instant::now() < edge {
                sleep(MAX_STOP_DELAY.min(edge.saturating_duration_since(Instant::now())));
            }
            let stopped = stop.load(Ordering::Acquire);
            let interval = self.watch.interval()?;
            let until = format!("{:.2} s", interval.end_s);
            let is_read = print_line(&kernel_watch_line(&until, &interval), self.json)?;
            let is_read = self.stream.tell(&interval)? && is_read;
            self.add(interval);
            let over = end.is_some_and(|end| Instant::now() >= end);
            match (stopped, over || !is_read) {
                (true, _) => return Ok(Exit::Interrupted),
                (_, true) => return Ok(Exit::Done),
                _ if !self.watch.is_there() => return Ok(Exit::Device),
                _ => {}
            }
        }
        Ok(Exit::Done)
    }

    fn add(&mut self, interval: KernelInterval) {
        if self.intervals.len() == MAX_INTERVALS {
            self.not_kept += (MAX_INTERVALS / 2) as u64;
            self.intervals.drain(..MAX_INTERVALS / 2);
        }
        self.intervals.push(interval);
    }

    fn conclude(self, roots: &Roots, target_disk: &TargetDisk, end: Exit) -> Result<Exit, Fault> {
        let total = self.watch.total();
        print_line(&kernel_watch_line("all", &total), self.json)?;
        if self.json {
            print_summary(&KernelWatchResult {
                schema: SCHEMA.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ended: match end {
                    Exit::Interrupted => "signal",
                    Exit::Device => "gone",
                    _ => "asked",
                }
                .to_owned(),
                machine: machine::read(roots),
                device: block::device(roots, target_disk),
                total: (!self.intervals.is_empty()).then_some(total),
                intervals: self.intervals,
                not_kept: self.not_kept,
            })?;
        }
        if end == Exit::Device {
            let message = format!("watch {}: the device went away", target_disk.disk.name);
            return Err(Fault::new(end, message));
        }
        if end == Exit::Interrupted {
            say("stopped by a signal");
        }
        Ok(end)
    }
}

/// Which device under which load, which rules, and for how long.
#[derive(Clone, Debug, Args)]
pub(crate) struct TuneKernelArgs {
    /// Device such as /dev/nvme0n1
    pub device: String,
    /// Simulate this rule instead of the standard grid: min, mean, quantile or fixed, such as
    /// min:70%,10ms (may be given again)
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules.
    #[command(flatten)]
    pub own: RuleArgs,
    /// What is best; latencies are from the hand-over to the driver to the completion.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Record latencies for so long
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_time)]
    pub record: Nanos,
    /// Measure each calibrated sleep, and the polling beside it, for so long
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_time)]
    pub calibrate: Nanos,
    /// Length of a trial
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_time)]
    pub trial: Nanos,
    /// Trials of each method
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Wait so long for the first polled requests
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_time)]
    pub patience: Nanos,
    /// Seed of the draws and of the order of the trials
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
    /// Folder of the restore journals [default: /var/lib/q2c/restore for root, else the user's
    /// state folder]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
    /// Where the run folder is made
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// A command that polls the device; it is ended by SIGTERM at the end [default: whatever polls
    /// it already]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl TuneKernelArgs {
    /// The plan, with the user's own rules behind those of `--policy`.
    pub(crate) fn spec(&self, own_rules: Vec<PolicySpec>) -> TuneKernelSpec {
        TuneKernelSpec {
            patience: self.patience,
            record: self.record,
            calibrate: self.calibrate,
            trial: self.trial,
            trials: self.trials,
            policies: [self.policy.clone(), own_rules].concat(),
            objective: self.goal.objective,
            limits: self.goal.limits(),
            seed: self.seed,
        }
    }
}

#[derive(Serialize)]
struct TuneKernelPlan<'a> {
    device: &'a str,
    command: &'a [String],
    record_s: f64,
    trial_s: f64,
    trials: u32,
    seed: u64,
}

/// Attaches the probes, starts the load if one is named, and runs the loop. The setting is restored
/// before anything is printed.
pub(super) fn tune(args: &TuneKernelArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let roots = Roots::live();
    let target_disk = find_disk(&roots, &args.device)?;
    let journal = restore::folder(args.journal.as_deref())?;
    let spec = args.spec(args.own.policies().or_exit(Exit::Usage)?);
    let command = command_words(&args.command);
    let tune = TuneKernel {
        spec: &spec,
        command: &command,
        machine: &machine::read(&roots),
        device: &block::device(&roots, &target_disk),
        stop,
    };
    let mut rig = Rig::begin(&roots, &target_disk.disk, &journal, stop)?;
    let mut child = Child::start(&args.command)?;
    let outcome = tune.run(&mut rig, &mut say);
    // The load must end before the probes are removed.
    child.stop()?;
    let put_back = RestoreOutcome::announce(&rig.end());
    let result = KernelTuneResult {
        restored: put_back.text.clone(),
        ..outcome?
    };
    save(args, &command, &result)?;
    show(&result, args.json)?;
    Ok(put_back.exit())
}

/// Writes the result and its page into a run folder.
fn save(args: &TuneKernelArgs, command: &[String], result: &KernelTuneResult) -> Result<(), Fault> {
    let plan = TuneKernelPlan {
        device: &args.device,
        command,
        record_s: args.record.as_secs_f64(),
        trial_s: args.trial.as_secs_f64(),
        trials: args.trials,
        seed: args.seed,
    };
    let identity = Identity::default().with("target", &args.device);
    let folder = RunDir::create(&args.out, "tune-kernel", &plan, &identity)?;
    let path = folder.path().to_owned();
    publish(folder, RunState::Complete, result)?;
    tell_report(&path);
    Ok(())
}
