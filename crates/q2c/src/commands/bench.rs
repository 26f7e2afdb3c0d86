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
    let BenchRun { place, folder, .. } = run;
    let outcome = match measured {
        Ok(outcome) => outcome,
        Err(failure) => {
            run_folder::keep_for_resume(place, &path);
            return Err(failure);
        }
    };
    let (result, state, abort_reason) = (outcome.result, outcome.state, outcome.abort_reason);
    run_folder::publish(folder, state, &result)?;
    let nothing = nothing_measured(&result).filter(|_| state == RunState::Complete);
    let exit = abort_reason
        .as_ref()
        .map_or(outcome.failure_exit, |_| Exit::Device);
    if let Some(reason) = abort_reason.or(nothing) {
        // Earlier measurements are in the report; figures of an incomplete run are not printed.
        run_folder::tell_report(&path);
        let mut failed = format!("measure {reason}");
        if state != RunState::Complete {
            let resume = run_folder::resume_command(&path);
            failed += &format!("; mend that and go on with {resume}");
            run_folder::keep_for_resume(place, &path);
        }
        return Err(Fault::new(exit, failed));
    }
    show(&result, args.run.json)?;
    run_folder::tell_report(&path);
    limits.judge(run_folder::end_run(state, place, &path), &path, &result)
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
    place: Workbench,
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
    let place = open_for_interfaces(&spec.request(), scratch, stop)?;
    let cpus = job_cpus(&spec, extras.helper_cpu, &place)?;
    let span = spec.used_part(extras.size, place.target.size);
    spec.span = span.or_exit(Exit::Target)?;
    spec.settle(&place.target, &cpus);
    // A job file is an input; without one, a mistake is in the command line.
    let failure_exit = job_file.as_ref().map_or(Exit::Usage, |_| Exit::Input);
    spec.check()
        .map_err(|fault| Fault::new(failure_exit, format!("bench {fault}")))?;
    spec.check_number_of_points().or_exit(Exit::Usage)?;
    spec.check_simulated(&place.target).or_exit(failure_exit)?;
    let site = &place.workload.site;
    spec.check_stages(site).or_exit(Exit::Target)?;
    let hw_queues = spec.axes.hw_queues.as_deref().unwrap_or_default();
    let nr_requests = spec.axes.nr_requests.as_deref().unwrap_or_default();
    check_axes(site, hw_queues, nr_requests).or_exit(Exit::Target)?;
    check_interfaces(&spec, &place)?;
    tell_place(&place);
    let identity = place.identity(&cpus.cpus, &run_folder::program_version());
    let folder = RunDir::create(&args.run.out, "bench", &spec, &identity)?;
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

/// Resumes the run in the folder at `path`, with the settings of its plan.
fn resume_run(path: &Path, args: &BenchSettings, stop: &AtomicBool) -> Result<BenchRun, Fault> {
    let plan: BenchSettings = read_checked_plan(path).map_err(RunDirError::on_resume)?;
    let spec = plan.with_session(args);
    let mut place = open_for_interfaces(&spec.request(), None, stop).map_err(Fault::for_plan)?;
    if spec.scratch.is_some() {
        place.mark_scratch();
    }
    check_interfaces(&spec, &place).map_err(Fault::for_plan)?;
    let stored = named_cpus(&spec.cpus).unwrap_or_default();
    let borders = current_borders(&stored, &place).map_err(Fault::for_plan)?;
    let identity = place.identity(&stored, &run_folder::program_version());
    let folder = run_folder::resume(path, &identity)?;
    Ok(BenchRun {
        spec,
        place,
        borders,
        folder,
    })
}

/// Checks that at least one of the interfaces can be opened here. If another one fails, its trials
/// report that at its points.
fn check_interfaces(spec: &BenchSettings, place: &Workbench) -> Result<(), Fault> {
    let interfaces = spec.interfaces().or_exit(Exit::Usage)?;
    if place.target.kind == TargetKind::Pci || interfaces.contains(&Interface::Spdk) {
        return Ok(());
    }
    let engines = interfaces.iter().filter_map(Interface::engine);
    place.opens_one_of(engines).or_exit(Exit::Environment)
}

/// The order in which jobs take CPUs. If the job file names the CPU of a helper thread, a single
/// job takes the first CPU and its helper the second.
fn job_cpus(
    spec: &BenchSettings,
    helper_cpu: Option<u32>,
    place: &Workbench,
) -> Result<ChosenCpus, Fault> {
    let chosen = place.cpus_by_topology(named_cpus(&spec.cpus).as_deref())?;
    let Some(helper) = helper_cpu.map(CpuId) else {
        return Ok(chosen);
    };
    AllowedCpus::read()?.check(helper)?;
    Ok(chosen.with_helper(helper))
}

/// The borders in the stored CPU order of a resumed run, as the machine has them now. Empty if the
/// machine would now choose another order.
fn current_borders(stored: &[CpuId], place: &Workbench) -> Result<Vec<Border>, Fault> {
    let today = place.cpus_by_topology(None)?;
    let stored = place.cpus_by_topology(Some(stored))?;
    let same = today.cpus == stored.cpus;
    Ok(if same { today.borders } else { Vec::new() })
}

impl BenchRun {
    fn measure(&mut self, stop: &AtomicBool) -> Result<BenchOutcome, Fault> {
        let (spec, place) = (&self.spec, &self.place);
        let restore_dir = restore::folder(None).ok();
        let media = find_media(place, spec.axes.engines())?;
        let site = &place.workload.site;
        let floor = run_folder::measure_floor(&site.time, CpuId(spec.cpus[0]))?;
        Bench {
            spec,
            media: &media,
            span: spec.span.unwrap_or(place.workload.span),
            site,
            borders: &self.borders,
            abilities: abilities(place, &media),
            restore_dir: restore_dir.as_deref(),
            machine: &place.machine,
            target: &place.target,
            doctor: &place.doctor,
            harness_floor_ns: floor.recorded_ns,
            harness_bare_ns: floor.bare_ns,
            stop,
        }
        .run(&mut self.folder, trial_progress().as_mut())
    }
}

pub(crate) fn abilities(place: &Workbench, media: &Media) -> Abilities {
    let device = place.target.device.as_ref();
    let target_disk = place.workload.site.target_disk.as_ref();
    let delay = target_disk.map(|target_disk| target_disk.disk.dir.join("queue/io_poll_delay"));
    let sleeps = kernel_version(&place.machine.kernel).map(HybridSupport::in_version);
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

/// Fills settings that were not typed from the job file. Reports on stderr which options of the
/// file change nothing. Returns the bytes of the file, and its requests that are not settings.
fn fill_in(settings: &mut BenchSettings, path: &Path) -> Result<(Vec<u8>, JobFileExtras), Fault> {
    let name = path.display();
    let fault = |error: &dyn Display| Fault::input(format!("run the fio job file {name}: {error}"));
    let text = whole_file::read_named(path, whole_file::MAX_TEXT).map_err(|e| fault(&e))?;
    let variable = |name: &str| std::env::var(name).ok();
    let file = q2c_bench::fio::read(&text, &variable).map_err(|e| fault(&e))?;
    let extras = settings.fill_from(&file).map_err(|e| fault(&e))?;
    settings.check_times().map_err(|e| fault(&e))?;
    for remark in &file.not_needed {
        say(&format!("{name}, {remark}"));
    }
    Ok((text, extras))
}

/// Finds the media for the interfaces in `engines`. Media that none of them needs are not searched
/// for.
pub(crate) fn find_media(place: &Workbench, engines: &[String]) -> Result<Media, Fault> {
    let asked: Result<Vec<Interface>, String> = engines.iter().map(|name| name.parse()).collect();
    let asked = asked.or_exit(Exit::Usage)?;
    let mut media = Media::without_nvme(place.workload.medium.clone());
    media.simulated = place.workload.simulated.clone();
    for engine in asked.iter().filter_map(Interface::engine) {
        let times = media.simulated.recorded_facts(engine);
        let times = times.or_exit(Exit::Input)?;
        if place.target.service_times != times {
            say_service_times(&engine.to_string(), times.as_ref());
        }
    }
    let path = &place.target.path;
    match place.target.kind {
        TargetKind::NvmeGeneric => {
            media.target = Err(format!(
                "{path} takes NVMe commands alone; name the namespace's block device to have both"
            ));
        }
        TargetKind::Pci => {
            let other =
                format!("{path} is a controller's PCI address: name a device of the kernel's");
            (media.target, media.commands) = (Err(other.clone()), Err(other));
        }
        _ => {}
    }
    if asked.iter().any(Interface::sends_commands) && place.target.kind != TargetKind::Pci {
        media.commands = probe_commands(place)?;
    }
    if asked.contains(&Interface::Spdk) {
        media.spdk = find_spdk(place);
    }
    Ok(media)
}

/// The character device for NVMe commands, or the reason why there is none. If the device fails the
/// first command, the whole program fails; the interface is not simply left out.
fn probe_commands(place: &Workbench) -> Result<Result<Commands, String>, Fault> {
    let device = place.target.device.as_ref();
    let poll_queues = device.and_then(|device| device.io_poll) == Some(true);
    let block = device.and_then(|device| device.logical_block);
    let block = block.map_or(4096, |block| block.0.max(4096)) as u32;
    let (medium, name) = match character_device(place) {
        Ok(device) => device,
        Err(error) => return Ok(Err(format!("failed to {error}"))),
    };
    match Commands::probe(medium, name, block, poll_queues) {
        Ok(commands) => Ok(Ok(commands)),
        Err(error @ NoCommands::Device { .. }) => Err(Fault::new(Exit::Device, error)),
        Err(error) => Ok(Err(format!("failed to {error}"))),
    }
}

fn character_device(place: &Workbench) -> Result<(Medium, String), TargetError> {
    let target = &place.target;
    if target.kind == TargetKind::NvmeGeneric {
        return Ok((place.workload.medium.clone(), target.path.clone()));
    }
    let open = place.namespace()?;
    let name = open.character_device.path().display().to_string();
    say(&format!(
        "io_uring_cmd: NVMe commands go to {name}, the character device of {}, past the block layer",
        target.path
    ));
    Ok((Medium::File(Arc::new(open.file)), name))
}

fn find_spdk(place: &Workbench) -> Result<SpdkSite, String> {
    let site = &place.workload.site;
    let address = match place.target.kind {
        TargetKind::Pci => Some(place.target.path.clone()),
        _ => site.target_disk.as_ref().and_then(pci_address),
    };
    SpdkSite::find(&site.roots, address.as_deref())
}
