//! The command `q2c reproduce`.

use crate::args::ReproduceArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say};
use crate::workbench::{open_new, tell_cpu_trials};
use q2c_model::{Bytes, Nanos};
use q2c_reproduce::{Experiment, PhasePlan, table};
use q2c_result::Exit;
use q2c_result::reproduce::{PhaseTrial, ReproduceResult};
use q2c_run::run_dir::RunDirError;
use q2c_run::runner::{self, End, RunError, Runner, Settings, SystemClock};
use q2c_run::whole_file;
use q2c_run::{Identity, RunDir, Summary};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs an experiment, and prints its figures beside the published ones.
pub fn run(args: &ReproduceArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let experiment = experiment(&args.name)?;
    let mut workload = args.workload.clone();
    let engine = experiment.engine().or_exit(Exit::Input)?;
    workload.engine = workload.engine.or(engine);
    let bench = open_new("reproduce", &workload, args.jobs.jobs, stop)?;
    tell_cpu_trials(&bench);
    let spare = bench.workload.sampler_cpu.ok_or_else(|| {
        Failure::new(
            Exit::Environment,
            "reproduce: the background needs a CPU of its own; 2 are needed, 1 is present",
        )
    })?;
    let identity = Identity::default()
        .with("target", &bench.target.path)
        .with("kernel", &bench.machine.kernel);
    let mut folder = RunDir::create(
        &args.workload.run.out,
        &experiment.name,
        &experiment,
        &identity,
    )
    .or_exit_of(RunDirError::exit)?;
    say(&format!("run folder {}", folder.path().display()));
    let phase = Nanos::from_secs_f64(args.seconds);
    let mut plan = PhasePlan::new(
        &experiment,
        &bench.workload,
        &args.workload.bs,
        spare,
        phase,
    )
    .or_exit(Exit::Usage)?;
    let settings = Settings {
        trials: args.trials,
        seed: args.workload.run.seed,
        ..Settings::default()
    };
    let clock = SystemClock::default();
    let mut progress = runner::progress::on_stderr();
    let mut runner = Runner {
        settings: &settings,
        cancel: stop,
        clock: &clock,
        progress: progress.as_mut(),
    };
    let summary = runner
        .run(&mut plan, &mut folder)
        .or_exit_of(RunError::exit)?;
    let state = summary.state();
    let result = q2c_reproduce::result(&experiment, &bench.workload.engine, &summary);
    folder
        .publish_json("result.json", &result)
        .or_exit_of(RunDirError::exit)?;
    folder
        .publish("result.txt", |out| {
            let table = table(&experiment, &bench.workload.engine, &summary);
            out.write_all(table.as_bytes())
        })
        .or_exit_of(RunDirError::exit)?;
    folder.finish(state).or_exit_of(RunDirError::exit)?;
    let table = table(&experiment, &bench.workload.engine, &summary);
    conclude(args, &table, &summary, &result)
}

/// A built-in experiment by its name, or one from a file whose name ends in `.toml`.
fn experiment(name: &str) -> Result<Experiment, Failure> {
    if !name.ends_with(".toml") {
        return Experiment::named(name).or_exit(Exit::Usage);
    }
    let text = whole_file::read_named_text(Path::new(name), whole_file::BY_HAND)
        .map_err(|e| Failure::new(Exit::Input, format!("read the experiment {name}: {e}")))?;
    Experiment::parse(&text).or_exit(Exit::Input)
}

fn conclude(
    args: &ReproduceArgs,
    table: &str,
    summary: &Summary<Bytes, PhaseTrial>,
    result: &ReproduceResult,
) -> Result<Exit, Failure> {
    if let End::Aborted { label, error, .. } = &summary.end {
        return Err(Failure::new(Exit::Device, format!("run {label}: {error}")));
    }
    match args.workload.run.json {
        true => print_json(result)?,
        false => print(table)?,
    }
    Ok(match &summary.end {
        End::Complete => Exit::Done,
        _ => Exit::Interrupted,
    })
}
