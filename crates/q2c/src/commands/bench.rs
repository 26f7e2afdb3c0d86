//! The command `q2c bench`.

use super::diff::RunLimits;
use super::{restore, run_folder};
use crate::output::{say, say_service_times, show};
use crate::progress::trial_progress;
use crate::workbench::{
    machine_for_target, make_scratch, named_cpus, open_for_interfaces, target_name, tell_place,
};
use q2c_bench::abilities::Abilities;
use q2c_bench::device::check_axes;
use q2c_bench::fio::{FioSelection, read_selection};
use q2c_bench::interface::Interface;
use q2c_bench::job_file::JobFileExtras;
use q2c_bench::media::{Commands, Media, NoCommands, SpdkSite};
use q2c_bench::tuned::tuned;
use q2c_bench::{Bench, BenchOutcome, BenchSettings};
use q2c_engine::Medium;
use q2c_host::block::pci_address;
use q2c_host::kernel_version::{HybridSupport, kernel_version};
use q2c_host::target::TargetError;
use q2c_host::topology::{AllowedCpus, Border, ChosenCpus};
use q2c_model::{CpuId, Fault, OrFault};
use q2c_result::bench::{BenchPoint, BenchResult, SCHEMA};
use q2c_result::{Exit, TargetKind};
use q2c_run::run_dir::{CheckedPlan, RunDirError, read_checked_plan};
use q2c_run::{RunDir, RunState, whole_file};
use q2c_workbench::workbench::Workbench;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs a benchmark, or continues an interrupted one.
pub(crate) fn run(args: &BenchSettings, stop: &AtomicBool) -> Result<Exit, Fault> {
    let limits = RunLimits::new(&args.limits, SCHEMA)?;
    let mut run = match &args.resume {
        Some(path) => resume_run(path, args, stop)?,
        None => start_run(args, stop)?,
    };
    let path = run_folder::announce(&run.folder);
    let measured = run.measure(stop);
    let BenchRun { bench, folder, .. } = run;
    let outcome = match measured {
        Ok(outcome) => outcome,
        Err(failure) => {
            run_folder::keep_for_resume(bench, &path);
            return Err(failure);
        }
    };
    let (result, state, abort_reason) = (outcome.result, outcome.state, outcome.abort_reason);
    run_folder::publish(folder, state, &result)?;
    let no_data = nothing_measured(&result).filter(|_| state == RunState::Complete);
    let exit = abort_reason
        .as_ref()
        .map_or(outcome.failure_exit, |_| Exit::Device);
    if let Some(reason) = abort_reason.or(no_data) {
        // Earlier measurements are in the report; figures of an incomplete run are not printed.
        run_folder::tell_report(&path);
        let mut message = format!("measure {reason}");
        if state != RunState::Complete {
            let resume = run_folder::resume_command(&path);
            message += &format!("; mend that and go on with {resume}");
            run_folder::keep_for_resume(bench, &path);
        }
        return Err(Fault::new(exit, message));
    }
    show(&result, args.run.json)?;
    run_folder::tell_report(&path);
    limits.judge(run_folder::end_run(state, bench, &path), &path, &result)
}

/// The reason why nothing was measured; `None` if anything was.
fn nothing_measured(result: &BenchResult) -> Option<String> {
    let cells = &result.cells;
    let first = cells.first()?;
    let reason = first.failures.first()?;
    cells.iter().all(|cell| cell.iops.trials == 0).then(|| {
        let BenchPoint { engine, method, .. } = &first.point;
        format!("anything: every trial failed, the first one ({engine} {method}) to {reason}")
    })
}

struct BenchRun {
    spec: BenchSettings,
    bench: Workbench,
    /// Numbers of jobs after which jobs run on CPUs of another kind.
    borders: Vec<Border>,
    folder: RunDir,
}

fn start_run(args: &BenchSettings, stop: &AtomicBool) -> Result<BenchRun, Fault> {
    let mut spec = args.clone();
    let job = args.fio.as_deref().map(|path| fill_in(&mut spec, path));
    let (job_file, extras) = job.transpose()?.unzip();
    let extras: JobFileExtras = extras.unwrap_or_default();
    if let Some(run) = &args.tuned {
        let tuned = tuned(run, &spec.axes.bs, &spec.axes.jobs);
        spec.recommended = Some(tuned.or_exit(Exit::Input)?);
    }
    let scratch = make_scratch(args.scratch, &args.run, stop)?;
    let target = target_name("bench", spec.target.as_deref(), scratch.as_ref())?;
    spec.machine = machine_for_target(&args.simulated, &target, None)?;
    spec.target = Some(target);
    let bench = open_for_interfaces(&spec.request(), scratch, stop)?;
    let cpus = job_cpus(&spec, extras.helper_cpu, &bench)?;
    let span = spec.used_span(extras.size, bench.target.size);
    spec.span = span.or_exit(Exit::Target)?;
    spec.settle(&bench.target, &cpus);
    // A job file is an input; without one, a mistake is in the command line.
    let failure_exit = job_file.as_ref().map_or(Exit::Usage, |_| Exit::Input);
    spec.check()
        .map_err(|fault| Fault::new(failure_exit, format!("bench {fault}")))?;
    spec.check_number_of_points().or_exit(Exit::Usage)?;
    spec.check_simulated(&bench.target).or_exit(failure_exit)?;
    let free = q2c_host::machine::free_memory(&bench.workload.site.roots);
    spec.check_memory(free).or_exit(Exit::Environment)?;
    let site = &bench.workload.site;
    spec.check_stages(site).or_exit(Exit::Target)?;
    let hw_queues = spec.axes.hw_queues.as_deref().unwrap_or_default();
    let nr_requests = spec.axes.nr_requests.as_deref().unwrap_or_default();
    check_axes(site, hw_queues, nr_requests).or_exit(Exit::Target)?;
    check_interfaces(&spec, &bench)?;
    tell_place(&bench);
    let identity = bench.identity(&cpus.cpus, &run_folder::program_version());
    let folder = RunDir::create(&args.run.out, "bench", &spec, &identity)?;
    if let Some(text) = job_file {
        folder.publish("job.fio", |out| out.write_all(&text))?;
    }
    Ok(BenchRun {
        spec,
        bench,
        borders: cpus.borders,
        folder,
    })
}

/// Resumes the run in the folder at `path`, with the settings of its plan.
fn resume_run(path: &Path, args: &BenchSettings, stop: &AtomicBool) -> Result<BenchRun, Fault> {
    let plan: BenchSettings = read_checked_plan(path).map_err(RunDirError::on_resume)?;
    let spec = plan.with_session(args);
    let mut bench = open_for_interfaces(&spec.request(), None, stop).map_err(Fault::for_plan)?;
    if spec.scratch.is_some() {
        bench.mark_scratch();
    }
    check_interfaces(&spec, &bench).map_err(Fault::for_plan)?;
    let stored = named_cpus(&spec.cpus).unwrap_or_default();
    let borders = current_borders(&stored, &bench).map_err(Fault::for_plan)?;
    let identity = bench.identity(&stored, &run_folder::program_version());
    let folder = run_folder::resume(path, &identity)?;
    Ok(BenchRun {
        spec,
        bench,
        borders,
        folder,
    })
}

/// Checks that at least one of the interfaces can be opened here. Other interfaces that cannot be
/// opened fail in their own trials.
fn check_interfaces(spec: &BenchSettings, bench: &Workbench) -> Result<(), Fault> {
    let interfaces = spec.interfaces().or_exit(Exit::Usage)?;
    if bench.target.kind == TargetKind::Pci || interfaces.contains(&Interface::Spdk) {
        return Ok(());
    }
    let engines = interfaces.iter().filter_map(Interface::engine);
    bench.opens_one_of(engines).or_exit(Exit::Environment)
}

/// The order in which jobs take CPUs. If the job file names the CPU of a helper thread, a single
/// job takes the first CPU and its helper the second.
fn job_cpus(
    spec: &BenchSettings,
    helper_cpu: Option<u32>,
    bench: &Workbench,
) -> Result<ChosenCpus, Fault> {
    let chosen = bench.cpus_by_topology(named_cpus(&spec.cpus).as_deref())?;
    let Some(helper) = helper_cpu.map(CpuId) else {
        return Ok(chosen);
    };
    AllowedCpus::read()?.check(helper)?;
    Ok(chosen.with_helper(helper))
}

/// The borders in the stored CPU order of a resumed run, as the machine has them now. Empty if the
/// machine would now choose another order.
fn current_borders(stored: &[CpuId], bench: &Workbench) -> Result<Vec<Border>, Fault> {
    let today = bench.cpus_by_topology(None)?;
    let stored = bench.cpus_by_topology(Some(stored))?;
    let same = today.cpus == stored.cpus;
    Ok(if same { today.borders } else { Vec::new() })
}

impl BenchRun {
    fn measure(&mut self, stop: &AtomicBool) -> Result<BenchOutcome, Fault> {
        let (spec, bench) = (&self.spec, &self.bench);
        let restore_dir = restore::folder(None).ok();
        let media = find_media(bench, spec.axes.engines())?;
        let site = &bench.workload.site;
        let floor = run_folder::measure_floor(&site.time, CpuId(spec.cpus[0]))?;
        Bench {
            spec,
            media: &media,
            span: spec.span.unwrap_or(bench.workload.span),
            site,
            borders: &self.borders,
            abilities: abilities(bench, &media),
            restore_dir: restore_dir.as_deref(),
            machine: &bench.machine,
            target: &bench.target,
            doctor: &bench.doctor,
            harness_floor_ns: floor.recorded_ns,
            harness_bare_ns: floor.bare_ns,
            stop,
        }
        .run(&mut self.folder, trial_progress().as_mut())
    }
}

pub(crate) fn abilities(bench: &Workbench, media: &Media) -> Abilities {
    let device = bench.target.device.as_ref();
    let target_disk = bench.workload.site.target_disk.as_ref();
    let delay = target_disk.map(|target_disk| target_disk.disk.dir.join("queue/io_poll_delay"));
    let hybrid = kernel_version(&bench.machine.kernel).map(HybridSupport::in_version);
    let poll_queues = device.and_then(|device| device.io_poll) == Some(true);
    Abilities {
        polled_requests: bench.polling.is_ok(),
        poll_delay: poll_queues
            && hybrid == Some(HybridSupport::Works)
            && delay.is_some_and(|file| file.exists()),
        polled_commands: media.commands.as_ref().is_ok_and(|found| found.polled),
        unsplit: device.and_then(|device| device.unsplit),
    }
}

/// Fills the settings that were not typed from the job file. Reports on stderr which options of the
/// file change nothing. Returns the file's bytes, and what it asks for besides settings.
fn fill_in(settings: &mut BenchSettings, path: &Path) -> Result<(Vec<u8>, JobFileExtras), Fault> {
    let name = path.display();
    let fault = |error: &dyn Display| Fault::input(format!("run the fio job file {name}: {error}"));
    let text = whole_file::read_named(path, whole_file::MAX_TEXT).map_err(|e| fault(&e))?;
    let variable = |name: &str| std::env::var(name).ok();
    let selection = FioSelection {
        sections: &settings.section,
        ignore: &settings.ignore,
    };
    let file = read_selection(&text, &variable, selection).map_err(|e| fault(&e))?;
    let extras = settings.fill_from(&file).map_err(|e| fault(&e))?;
    settings.check_times().map_err(|e| fault(&e))?;
    for remark in &file.not_needed {
        say(&format!("{name}, {remark}"));
    }
    Ok((text, extras))
}

/// Finds the media for the interfaces in `engines`. Media that none of these interfaces needs are
/// not searched for.
pub(crate) fn find_media(bench: &Workbench, engines: &[String]) -> Result<Media, Fault> {
    let named: Result<Vec<Interface>, String> = engines.iter().map(|name| name.parse()).collect();
    let named = named.or_exit(Exit::Usage)?;
    let mut media = Media::without_nvme(bench.workload.medium.clone());
    media.simulated = bench.workload.simulated.clone();
    for engine in named.iter().filter_map(Interface::engine) {
        let times = media.simulated.recorded_facts(engine);
        let times = times.or_exit(Exit::Input)?;
        if bench.target.service_times != times {
            say_service_times(&engine.to_string(), times.as_ref());
        }
    }
    let path = &bench.target.path;
    match bench.target.kind {
        TargetKind::NvmeGeneric => {
            media.target = Err(format!(
                "{path} takes NVMe commands alone; name the namespace's block device to have both"
            ));
        }
        TargetKind::Pci => {
            let reason =
                format!("{path} is a controller's PCI address: name a device of the kernel's");
            (media.target, media.commands) = (Err(reason.clone()), Err(reason));
        }
        _ => {}
    }
    if named.iter().any(Interface::sends_commands) && bench.target.kind != TargetKind::Pci {
        media.commands = probe_commands(bench)?;
    }
    if named.contains(&Interface::Spdk) {
        media.spdk = find_spdk(bench);
    }
    Ok(media)
}

/// The character device for NVMe commands, or the reason why there is none. If the device fails the
/// first command, the whole program fails; the interface is not simply left out.
fn probe_commands(bench: &Workbench) -> Result<Result<Commands, String>, Fault> {
    let device = bench.target.device.as_ref();
    let poll_queues = device.and_then(|device| device.io_poll) == Some(true);
    let block = device.and_then(|device| device.logical_block);
    let block = block.map_or(4096, |block| block.0.max(4096)) as u32;
    let (medium, name) = match character_device(bench) {
        Ok(device) => device,
        Err(error) => return Ok(Err(format!("failed to {error}"))),
    };
    match Commands::probe(medium, name, block, poll_queues) {
        Ok(commands) => Ok(Ok(commands)),
        Err(error @ NoCommands::Device { .. }) => Err(Fault::new(Exit::Device, error)),
        Err(error) => Ok(Err(format!("failed to {error}"))),
    }
}

fn character_device(bench: &Workbench) -> Result<(Medium, String), TargetError> {
    let target = &bench.target;
    if target.kind == TargetKind::NvmeGeneric {
        return Ok((bench.workload.medium.clone(), target.path.clone()));
    }
    let namespace = bench.namespace()?;
    let name = namespace.character_device.path().display().to_string();
    say(&format!(
        "io_uring_cmd: NVMe commands go to {name}, the character device of {}, past the block layer",
        target.path
    ));
    Ok((Medium::File(Arc::new(namespace.file)), name))
}

fn find_spdk(bench: &Workbench) -> Result<SpdkSite, String> {
    let site = &bench.workload.site;
    let address = match bench.target.kind {
        TargetKind::Pci => Some(bench.target.path.clone()),
        _ => site.target_disk.as_ref().and_then(pci_address),
    };
    SpdkSite::find(&site.roots, address.as_deref())
}
