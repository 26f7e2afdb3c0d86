//! The command `q2c fs`.

use super::{restore, run_folder};
use crate::output::{say, show};
use crate::progress::trial_progress;
use crate::workbench::{cpus_without_target, named_cpus};
use clap::Subcommand;
use q2c_fs::{FsBench, FsOutcome, FsSettings};
use q2c_host::target::WritePermission;
use q2c_host::{Roots, machine};
use q2c_model::Fault;
use q2c_result::Exit;
use q2c_result::fs::FsResult;
use q2c_run::{RunDir, RunState};
use std::fs;
use std::sync::atomic::AtomicBool;

/// The commands of `q2c fs`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum FsCommand {
    /// Make file systems, and measure jobs that share their files or have files of their own
    Bench(FsSettings),
}

pub(crate) fn run(command: &FsCommand, stop: &AtomicBool) -> Result<Exit, Fault> {
    let FsCommand::Bench(args) = command;
    let roots = Roots::live();
    let mut spec = args.clone();
    spec.settle(&cpus_without_target(None, named_cpus(&args.cpus).as_deref())?.cpus);
    spec.check()?;
    let permission = WritePermission::for_paths(&args.run.allow_write)?;
    let machine = machine::read(&roots);
    let restore_dir = restore::folder(None).ok();
    let bench = FsBench {
        restore_dir: restore_dir.as_deref(),
        spec: &spec,
        machine: &machine,
        roots: &roots,
        permission: &permission,
        stop,
    };
    fs::create_dir_all(&args.run.out).map_err(|error| {
        let out = args.run.out.display();
        Fault::environment(format!("make the folder of --out, {out}: {error}"))
    })?;
    let mut progress = trial_progress();
    let file_systems = bench.make(&args.run.out, progress.as_mut())?;
    let identity = run_folder::machine_identity(&machine);
    let mut folder = RunDir::create(&args.run.out, "fs", &spec, &identity)?;
    let path = run_folder::announce(&folder);
    let FsOutcome { result, state } = bench.run(&file_systems, &mut folder, progress.as_mut())?;
    drop(file_systems);
    run_folder::publish(folder, state, &result)?;
    if let Some(reason) = nothing_measured(&result).filter(|_| state == RunState::Complete) {
        run_folder::tell_report(&path);
        return Err(Fault::new(Exit::Device, reason));
    }
    show(&result, args.run.json)?;
    run_folder::tell_report(&path);
    if state == RunState::Complete {
        return Ok(Exit::Done);
    }
    say(
        "stopped: the finished trials are in the report; its file systems are gone, so that the run cannot go on",
    );
    Ok(Exit::Interrupted)
}

/// The reason why nothing was measured; `None` if anything was.
fn nothing_measured(result: &FsResult) -> Option<String> {
    let cells = result.cells.iter().map(|cell| (&cell.iops, &cell.failures));
    let program = result.program.iter().flat_map(|program| &program.cells);
    let program = program.map(|cell| (&cell.value, &cell.failures));
    let measurements: Vec<_> = cells.chain(program).collect();
    let mut failures = measurements.iter().map(|(_, failures)| failures);
    let reason = failures.find_map(|failures| failures.first())?;
    let all_failed = measurements.iter().all(|(figure, _)| figure.trials == 0);
    all_failed.then(|| format!("measure anything: every trial failed, the first one to {reason}"))
}
