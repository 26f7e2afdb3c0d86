//! The command `q2c bench`.

mod fio;

use super::limits::Limits;
use super::{restore, run_folder};
use crate::args::BenchArgs;
use crate::failure::{Fails, Failure};
use crate::media::media;
use crate::output::{say, show};
use crate::progress::of_trials;
use crate::requests::bench::{asked, check_stages, opened_with, plan, span, strongest, workload};
use crate::requests::tuned::tuned;
use crate::requests::workload::target;
use crate::workbench::{machine, open_for_interfaces, scratch, tell_place};
use q2c_bench::asked::Asked;
use q2c_bench::device::check_axes;
use q2c_bench::interface::Interface;
use q2c_bench::media::Media;
use q2c_bench::way::Abilities;
use q2c_bench::{Bench, BenchSpec, Done};
use q2c_host::kernel_version::{HybridSupport, kernel_version};
use q2c_host::topology::{AllowedCpus, Border, ChosenCpus};
use q2c_model::CpuId;
use q2c_report::Reported;
use q2c_result::bench::{BenchPoint, BenchResult, SCHEMA};
use q2c_result::{Exit, TargetKind};
use q2c_run::run_dir::{CheckedPlan, RunDirError, read_checked_plan};
use q2c_run::{RunDir, RunState};
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Benchmarks: begins a new run, or goes on with an interrupted one.
pub fn run(args: &BenchArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let limits = Limits::new(&args.limits, SCHEMA)?;
    let BenchRun {
        spec,
        place,
        borders,
        mut folder,
    } = match &args.resume {
        Some(path) => resumed(path, args, stop)?,
        None => new(args, stop)?,
    };
    let path = folder.path().to_owned();
    say(&format!("run folder {}", path.display()));
    let done = bench(&spec, &place, &borders, &mut folder, args.all_trials, stop);
    let Done {
        result,
        state,
        aborted,
        blamed,
    } = match done {
        Ok(done) => done,
        Err(failure) => {
            run_folder::keep_for_resume(place, &path);
            return Err(failure);
        }
    };
    let page = result.document().page().or_exit(Exit::Internal)?;
    run_folder::publish(folder, state, &result, &page)?;
    let nothing = nothing_measured(&result).filter(|_| state == RunState::Complete);
    let exit = match aborted {
        Some(_) => Exit::Device,
        None => blamed,
    };
    if let Some(why) = aborted.or(nothing) {
        // What was measured before is in the report; figures of half a run are not printed.
        run_folder::tell_report(&path);
        let mut failed = format!("measure {why}");
        if state != RunState::Complete {
            failed += &format!("; mend that and go on with {}", run_folder::resume(&path));
            run_folder::keep_for_resume(place, &path);
        }
        return Err(Failure::new(exit, failed));
    }
    show(&result, args.run.json)?;
    run_folder::tell_report(&path);
    limits.end(run_folder::end(state, place, &path), &path, &result)
}

/// The reason why there is no number at all; `None` where there is one.
fn nothing_measured(result: &BenchResult) -> Option<String> {
    let cells = &result.cells;
    let first = cells.first()?;
    let reason = first.failures.first()?;
    let none = cells.iter().all(|cell| cell.iops.trials == 0);
    none.then(|| {
        let BenchPoint { engine, method, .. } = &first.point;
        format!("anything: every trial failed, the first one ({engine} {method}) to {reason}")
    })
}

/// A run that begins or goes on.
struct BenchRun {
    spec: BenchSpec,
    place: Workbench,
    /// Numbers of jobs at which the order of CPUs goes on to CPUs of another kind.
    borders: Vec<Border>,
    folder: RunDir,
}

fn new(args: &BenchArgs, stop: &AtomicBool) -> Result<BenchRun, Failure> {
    let mut asked = asked(args);
    let job_file = match &args.fio {
        Some(path) => Some(fio::fill(&mut asked, path)?),
        None => None,
    };
    let (sizes, pattern) = opened_with(&mut asked).or_exit(Exit::Usage)?;
    let tuned = match &args.tuned {
        Some(run) => {
            let jobs = asked.jobs.as_deref().unwrap_or(&[1]);
            Some(tuned(run, &sizes, jobs).or_exit(Exit::Input)?)
        }
        None => None,
    };
    let scratch = scratch(args.scratch, &args.run, stop)?;
    let target = target("bench", asked.target.as_deref(), scratch.as_ref())?;
    let backgrounds = asked.backgrounds.clone().unwrap_or_default();
    let named = asked.cpus.as_deref().unwrap_or_default();
    let workload = workload(
        args,
        target.clone(),
        sizes.clone(),
        pattern,
        &backgrounds,
        named,
    );
    let machine = machine(&args.machine, &target, None)?;
    let workload = WorkloadRequest {
        machine,
        ..workload.or_exit(Exit::Usage)?
    };
    let place = open_for_interfaces(&workload, scratch, stop)?;
    let cpus = cpus(&asked, &place)?;
    let span = span(asked.size, place.target.size, &sizes).or_exit(Exit::Target)?;
    let spec = BenchSpec {
        tuned,
        machine: workload.machine,
        ..plan(args, asked, target, &place.target, &cpus, span)
    };
    // A job file is an input; what is wrong without one is wrong in the command line.
    let blamed = match &job_file {
        Some(_) => Exit::Input,
        None => Exit::Usage,
    };
    spec.check()
        .map_err(|fault| Failure::new(blamed, format!("bench {fault}")))?;
    spec.check_number_of_points().or_exit(Exit::Usage)?;
    simulates(&spec, &place).map_err(|why| Failure::new(blamed, why))?;
    check_stages(&spec, &place.workload.site).or_exit(Exit::Target)?;
    check_axes(&place.workload.site, &spec.hw_queues, &spec.nr_requests).or_exit(Exit::Target)?;
    opens(&spec, &place)?;
    tell_place(&place);
    let identity = place.identity(&cpus.cpus, &run_folder::program());
    let folder = RunDir::create(&args.run.out, "bench", &spec, &identity);
    let folder = folder?;
    if let Some(text) = job_file {
        folder.publish("job.fio", |out| out.write_all(&text))?;
    }
    Ok(BenchRun {
        spec,
        place,
        borders: cpus.borders,
        folder,
    })
}

/// Takes the job from the plan of the run in the folder at `path`. What the command line says of
/// the job does not count.
fn resumed(path: &Path, args: &BenchArgs, stop: &AtomicBool) -> Result<BenchRun, Failure> {
    let spec: BenchSpec = read_checked_plan(path).map_err(RunDirError::on_resume)?;
    let bad = || Failure::new(Exit::Input, "understand rw in the run's plan.toml");
    let pattern = strongest(&spec.patterns).map_err(|_| bad())?;
    let (target, sizes) = (spec.target.clone(), spec.sizes.clone());
    let workload = workload(args, target, sizes, pattern, &spec.backgrounds, &spec.cpus);
    let workload = WorkloadRequest {
        machine: spec.machine.clone(),
        ..workload.or_exit(Exit::Input)?
    };
    let mut place = open_for_interfaces(&workload, None, stop).map_err(Failure::of_plan)?;
    if spec.scratch {
        place.on_scratch();
    }
    opens(&spec, &place).map_err(Failure::of_plan)?;
    let stored: Vec<CpuId> = spec.cpus.iter().copied().map(CpuId).collect();
    let borders = borders(&stored, &place).map_err(Failure::of_plan)?;
    let identity = place.identity(&stored, &run_folder::program());
    let folder = run_folder::resumed(path, &identity)?;
    Ok(BenchRun {
        spec,
        place,
        borders,
        folder,
    })
}

/// Checks that no interface needs a file where the target is a simulated device, which is an engine
/// itself.
fn simulates(spec: &BenchSpec, place: &Workbench) -> Result<(), String> {
    let wrong = |name: &&String| match name.parse() {
        Ok(Interface::Engine(engine)) => engine.needs_file(),
        Ok(Interface::Spdk) => true,
        Err(_) => false,
    };
    match spec.engines.iter().find(wrong) {
        Some(name) if place.target.kind == TargetKind::Simulated => Err(format!(
            "bench {} with --engine {name}: a simulated device is its own engine, and {name} needs a file or \
             device; drop --engine, or name another target",
            spec.target
        )),
        _ => Ok(()),
    }
}

/// Checks that at least one of the interfaces can be opened here. One that cannot while others can
/// is left to its trials, which say so at its points.
fn opens(spec: &BenchSpec, place: &Workbench) -> Result<(), Failure> {
    let asked: Result<Vec<Interface>, String> =
        spec.engines.iter().map(|name| name.parse()).collect();
    let asked = asked.or_exit(Exit::Usage)?;
    let by_kernel = place.target.kind != TargetKind::Pci && !asked.contains(&Interface::Spdk);
    match by_kernel {
        true => place
            .opens_one_of(asked.iter().filter_map(Interface::engine))
            .or_exit(Exit::Environment),
        false => Ok(()),
    }
}

/// The order in which jobs take CPUs. Where the job file names the CPU of a helper thread, a single
/// job takes the first CPU and its helper the second.
fn cpus(asked: &Asked, place: &Workbench) -> Result<ChosenCpus, Failure> {
    let named: Option<Vec<CpuId>> = asked
        .cpus
        .as_ref()
        .map(|cpus| cpus.iter().copied().map(CpuId).collect());
    let chosen = place.cpus_by_topology(named.as_deref())?;
    Ok(match asked.helper_cpu.map(CpuId) {
        Some(helper) => {
            AllowedCpus::read()?.check(helper)?;
            chosen.with_helper(helper)
        }
        None => chosen,
    })
}

/// The borders in the stored order of a run that goes on are those that the machine has now; there
/// are none when the machine would now give another order.
fn borders(stored: &[CpuId], place: &Workbench) -> Result<Vec<Border>, Failure> {
    let today = place.cpus_by_topology(None)?;
    let stored = place.cpus_by_topology(Some(stored))?;
    Ok(match today.cpus == stored.cpus {
        true => today.borders,
        false => Vec::new(),
    })
}

fn bench(
    spec: &BenchSpec,
    place: &Workbench,
    borders: &[Border],
    folder: &mut RunDir,
    all_trials: bool,
    stop: &AtomicBool,
) -> Result<Done, Failure> {
    let restore_dir = restore::folder(None).ok();
    let media = media(place, &spec.engines)?;
    let time = &place.workload.site.time;
    let floor = run_folder::floor(time, CpuId(spec.cpus[0]))?;
    let bench = Bench {
        spec,
        media: &media,
        span: spec.span.unwrap_or(place.workload.span),
        site: &place.workload.site,
        borders,
        abilities: abilities(place, &media),
        restore_dir: restore_dir.as_deref(),
        machine: &place.machine,
        target: &place.target,
        doctor: &place.doctor,
        harness_floor_ns: floor.recorded_ns,
        harness_bare_ns: floor.bare_ns,
        all_trials,
        stop,
    };
    let mut progress = of_trials();
    bench.run(folder, progress.as_mut())
}

/// What the target's device and the kernel can do.
pub fn abilities(place: &Workbench, media: &Media) -> Abilities {
    let device = place.target.device.as_ref();
    let target_disk = place.workload.site.target_disk.as_ref();
    let delay = target_disk.map(|target_disk| target_disk.disk.dir.join("queue/io_poll_delay"));
    let sleeps = kernel_version(&place.machine.kernel).map(HybridSupport::of);
    let poll_queues = device.and_then(|device| device.io_poll) == Some(true);
    Abilities {
        polled_requests: place.polling.is_ok(),
        poll_delay: poll_queues
            && sleeps == Some(HybridSupport::Works)
            && delay.is_some_and(|file| file.exists()),
        polled_commands: media.commands.as_ref().is_ok_and(|there| there.polled),
        unsplit: device.and_then(|device| device.unsplit),
    }
}
