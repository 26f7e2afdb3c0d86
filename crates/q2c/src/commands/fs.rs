//! The command `q2c fs`.

use super::{restore, run_folder};
use crate::args::{FsArgs, FsCommand};
use crate::output::{say, show};
use crate::progress::of_trials;
use q2c_fs::{Done, FsBench, FsSettings};
use q2c_host::target::WriteLeave;
use q2c_host::topology::{AllowedCpus, Topology, UnnamedCpus};
use q2c_host::{Roots, machine};
use q2c_model::{CpuId, Fault, OrFault};
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::fs::FsResult;
use q2c_run::{Identity, RunDir, RunState};
use std::fs;
use std::sync::atomic::AtomicBool;

/// Runs the command that was asked for.
pub fn run(args: &FsArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    match &args.command {
        FsCommand::Bench(args) => bench(args, stop),
    }
}

fn bench(args: &FsSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let spec = settled(args, &roots)?;
    spec.check()?;
    let leave = WriteLeave::for_paths(&args.run.allow_write)?;
    let machine = machine::read(&roots);
    let restore_dir = restore::folder(None).ok();
    let bench = FsBench {
        restore_dir: restore_dir.as_deref(),
        spec: &spec,
        machine: &machine,
        roots: &roots,
        leave: &leave,
        stop,
    };
    fs::create_dir_all(&args.run.out).map_err(|error| {
        let out = args.run.out.display();
        Fault::new(
            Exit::Environment,
            format!("make the folder of --out, {out}: {error}"),
        )
    })?;
    let mut progress = of_trials();
    let made = bench.make(&args.run.out, progress.as_mut());
    let made = made?;
    let identity = Identity::default()
        .with("kernel", &machine.kernel)
        .with("program", run_folder::program());
    let mut folder = RunDir::create(&args.run.out, "fs", &spec, &identity)?;
    let path = folder.path().to_owned();
    say(&format!("run folder {}", path.display()));
    let Done { result, state } = bench.run(&made, &mut folder, progress.as_mut())?;
    drop(made);
    let page = result.document().page().or_exit(Exit::Internal)?;
    run_folder::publish(folder, state, &result, &page)?;
    if let Some(why) = nothing_measured(&result).filter(|_| state == RunState::Complete) {
        run_folder::tell_report(&path);
        return Err(Fault::new(Exit::Device, why));
    }
    show(&result, args.run.json)?;
    run_folder::tell_report(&path);
    Ok(match state {
        RunState::Complete => Exit::Done,
        _ => {
            say(
                "stopped: the finished trials are in the report; its file systems are gone, so that the run cannot go on",
            );
            Exit::Interrupted
        }
    })
}

/// The reason why there is no number at all; `None` where there is one.
fn nothing_measured(result: &FsResult) -> Option<String> {
    let cells = result.cells.iter().map(|cell| (&cell.iops, &cell.failures));
    let program = result.program.iter().flat_map(|program| &program.cells);
    let program = program.map(|cell| (&cell.value, &cell.failures));
    let all: Vec<_> = cells.chain(program).collect();
    let reason = all.iter().find_map(|(_, failures)| failures.first())?;
    let none = all.iter().all(|(figure, _)| figure.trials == 0);
    none.then(|| format!("measure anything: every trial failed, the first one to {reason}"))
}

/// The settings with the CPUs that this machine has for them.
fn settled(args: &FsSettings, roots: &Roots) -> Result<FsSettings, Fault> {
    let topology = Topology::read(roots);
    let order = UnnamedCpus::ByTopology {
        topology: &topology,
        node: None,
        first: None,
    };
    let named: Vec<CpuId> = args.cpus.iter().copied().map(CpuId).collect();
    let named = (!named.is_empty()).then_some(named.as_slice());
    let mut settings = args.clone();
    settings.settle(&AllowedCpus::read()?.choose(named, order)?.cpus);
    Ok(settings)
}
