//! The command `q2c poll tune-kernel`.

use super::{PutBack, device};
use crate::commands::capture::Child;
use crate::commands::restore;
use crate::commands::run_folder::{in_words, publish, tell_report};
use crate::output::{say, show};
use clap::Args;
use q2c_host::{Roots, block, machine};
use q2c_model::{Fault, Nanos, OrFault, parse_time};
use q2c_policy::PolicySpec;
use q2c_result::Exit;
use q2c_result::kernel_tune::KernelTuneResult;
use q2c_run::{Identity, RunDir, RunState};
use q2c_sim::start_threads;
use q2c_watch::tune_kernel::{Rig, TuneKernel, TuneKernelSpec};
use q2c_workbench::settings::{GoalArgs, RuleArgs};
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

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
    /// The plan, with these rules.
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

/// Attaches the probes, starts the load where one is named, and runs the loop. The setting is put
/// back before anything is printed.
pub(crate) fn run(args: &TuneKernelArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let roots = Roots::live();
    let target_disk = device(&roots, &args.device)?;
    let journal = restore::folder(args.journal.as_deref())?;
    let spec = args.spec(args.own.policies().or_exit(Exit::Usage)?);
    let command = in_words(&args.command);
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
    // The load ends before the probes are removed.
    child.stop()?;
    let put_back = PutBack::announce(&rig.end());
    let result = KernelTuneResult {
        restored: put_back.words.clone(),
        ..outcome?
    };
    keep(args, &command, &result)?;
    show(&result, args.json)?;
    Ok(put_back.exit())
}

/// Leaves the result and its page in a run folder.
fn keep(args: &TuneKernelArgs, command: &[String], result: &KernelTuneResult) -> Result<(), Fault> {
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
