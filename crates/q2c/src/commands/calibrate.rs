//! The command `q2c calibrate`.

use crate::commands::run_folder;
use crate::commands::tune::calibration_store;
use crate::output::{say, show_as};
use crate::progress::trial_progress;
use crate::workbench::{open_new, tell_place};
use clap::Args;
use q2c_engine::SimMachine;
use q2c_model::{Fault, Nanos};
use q2c_result::Exit;
use q2c_result::tune::Calibration;
use q2c_run::{RunDir, RunState};
use q2c_workbench::calibrate::{Unfit, calibrate, identity};
use q2c_workbench::settings::{JobsArg, MachineArgs, WorkloadArgs};
use q2c_workbench::workbench::Workbench;
use std::sync::atomic::AtomicBool;

/// Measure what sleeping, waking, polling and interrupts cost here.
#[derive(Clone, Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Target, job and place.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// The machine of a simulated target.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Number of jobs.
    #[command(flatten)]
    pub jobs: JobsArg,
}

pub(crate) fn run(args: &CalibrateArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let (workload, machine) = (&args.workload, &args.machine);
    let bench = open_new("calibrate", workload, Some(machine), args.jobs.jobs, stop)?;
    tell_place(&bench);
    let mut progress = trial_progress();
    let seed = workload.run.seed;
    let calibrations = calibrate(&bench.workload, &workload.bs, seed, progress.as_mut(), stop);
    drop(progress);
    let calibrations = calibrations?;
    match bench.workload.site.time.world() {
        Some(world) => keep_simulated(args, &bench, world.machine(), &calibrations)?,
        None => store_for_later(&bench, &calibrations),
    }
    let texts = calibrations.iter().map(calibration_text);
    let text = || texts.collect::<Vec<_>>().join("\n\n");
    show_as(&calibrations, workload.run.json, |_| text())
}

fn store_for_later(bench: &Workbench, calibrations: &[Calibration]) {
    let unfit = Unfit::now(&bench.workload);
    if let Some(reason) = unfit {
        say(&format!("q2c: the next run calibrates anew: {reason}"));
    }
    let identity = identity(&bench.machine, &bench.calibration_target, &bench.workload);
    let Some(store) = calibration_store() else {
        return;
    };
    for calibration in calibrations {
        if let Err(error) = store.save(&identity, calibration, unfit) {
            say(&format!("q2c: failed to {error}"));
        }
    }
}

/// Stores calibrations of a simulated machine only in a run folder, since they are not costs of
/// this machine.
fn keep_simulated(
    args: &CalibrateArgs,
    bench: &Workbench,
    machine: &SimMachine,
    calibrations: &[Calibration],
) -> Result<(), Fault> {
    let identity = bench.identity(&bench.workload.cpus, &run_folder::program_version());
    let folder = RunDir::create(&args.workload.run.out, "calibrate", machine, &identity)?;
    folder.publish_json("calibration.json", &calibrations)?;
    run_folder::announce(&folder);
    folder.finish(RunState::Complete).map_err(Fault::from)
}

fn calibration_text(calibration: &Calibration) -> String {
    let ns = |value: f64| Nanos(value.max(0.0) as u64);
    let cost = &calibration.cost;
    let (bs, cpu, seconds) = (calibration.bs, calibration.cpu, calibration.seconds);
    let mut lines = vec![
        format!("{bs} on {cpu}, in {seconds:.1} s"),
        format!(
            "  submission {}, interrupt-driven I/O {} of CPU and {} more latency than polling",
            ns(cost.submit_ns),
            ns(cost.interrupt_cpu_ns),
            ns(cost.interrupt_latency_ns)
        ),
        "       asked      missed   woke late p50 / p99       CPU per I/O   latency p50".to_owned(),
    ];
    lines.extend(calibration.points.iter().map(|p| {
        let late = format!("{} / {}", ns(p.delay_p50_ns), ns(p.delay_p99_ns));
        let asked = match p.asked_ns {
            0.0 => "polling".to_owned(),
            asked => ns(asked).to_string(),
        };
        format!(
            "  {asked:>10}  {:>8.1} %  {late:>22}  {:>14}  {:>12}",
            p.miss_rate * 100.0,
            ns(p.cpu_ns).to_string(),
            ns(p.wait_p50_ns).to_string()
        )
    }));
    lines.join("\n")
}
