//! The command `q2c poll tune-kernel`.

use super::{PutBack, device};
use crate::args::TuneKernelArgs;
use crate::commands::capture::Child;
use crate::commands::restore;
use crate::commands::run_folder::{in_words, publish, tell_report};
use crate::output::{say, show};
use q2c_host::{Roots, block, machine};
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use q2c_result::kernel_tune::KernelTuneResult;
use q2c_run::{Identity, RunDir, RunState};
use q2c_sim::start_threads;
use q2c_tune_kernel::{Rig, TuneKernel};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

#[derive(Serialize)]
struct Plan<'a> {
    device: &'a str,
    command: &'a [String],
    record_s: f64,
    trial_s: f64,
    trials: u32,
    seed: u64,
}

/// Attaches the probes, starts the load where one is named, and runs the loop. The setting is put
/// back before anything is printed.
pub fn run(args: &TuneKernelArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
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
    let found = tune.run(&mut rig, &mut say);
    // The load ends before the probes are removed.
    child.stop()?;
    let put_back = PutBack::told(&rig.end());
    let result = KernelTuneResult {
        restored: put_back.words.clone(),
        ..found?
    };
    keep(args, &command, &result)?;
    show(&result, args.json)?;
    Ok(put_back.exit())
}

/// Leaves the result and its page in a run folder.
fn keep(args: &TuneKernelArgs, command: &[String], result: &KernelTuneResult) -> Result<(), Fault> {
    let plan = Plan {
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
