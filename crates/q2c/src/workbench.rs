//! Opens the workbench of a measuring command: creates the scratch file, names the target, and
//! informs the user.

use crate::commands::tune::calibration_store;
use crate::output::{say, say_service_times, unix_s};
use crate::progress::Line;
use q2c_engine::{EngineSpec, SimMachine, World};
use q2c_host::Roots;
use q2c_host::target::{Scratch, TargetError};
use q2c_host::topology::{AllowedCpus, ChosenCpus, Topology, UnnamedCpus};
use q2c_model::{Bytes, CpuId, Fault, OrFault};
use q2c_result::tune::Calibration;
use q2c_result::{Exit, Machine};
use q2c_run::arguments::RunArgs;
use q2c_run::whole_file;
use q2c_workbench::settings::{MachineArgs, MachineName, WorkloadArgs};
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shown while a target is opened. A block device is then read from some CPUs for a moment each.
const OPENING: &str = "looking at the target and the machine, for up to 3 s";

/// Opens the workbench, and measures the machine's idle baseline for 1 to 5 s.
pub(crate) fn open(
    request: &WorkloadRequest,
    scratch: Option<Scratch>,
    stop: &AtomicBool,
) -> Result<Workbench, Fault> {
    add_idle_baseline(open_without_baseline(request, scratch, stop)?, stop)
}

/// Opens the workbench like [`open`], for a command that chooses among several interfaces.
pub(crate) fn open_for_interfaces(
    request: &WorkloadRequest,
    scratch: Option<Scratch>,
    stop: &AtomicBool,
) -> Result<Workbench, Fault> {
    let bench = Line::with_message(OPENING)
        .during(|| Workbench::for_interfaces(&Roots::live(), request, scratch, stop));
    let bench = bench.map_err(suggest_scratch)?;
    tell_service_times(&bench)?;
    add_idle_baseline(bench, stop)
}

/// Opens the workbench of a command that resumes no run, on the named target or a new scratch file.
/// Without `machine` the workbench is that of this machine, and has no idle baseline.
pub(crate) fn open_new(
    command: &str,
    args: &WorkloadArgs,
    machine: Option<&MachineArgs>,
    jobs: u32,
    stop: &AtomicBool,
) -> Result<Workbench, Fault> {
    let scratch = make_scratch(args.scratch, &args.run, stop)?;
    let target = target_name(command, args.target.as_deref(), scratch.as_ref())?;
    let Some(machine) = machine else {
        return open_without_baseline(&args.request(jobs, target), scratch, stop);
    };
    let machine = machine_for_target(machine, &target, args.engine.as_ref())?;
    let request = WorkloadRequest {
        machine,
        ..args.request(jobs, target)
    };
    open(&request, scratch, stop)
}

/// Opens the workbench like [`open`], without the idle baseline.
pub(crate) fn open_without_baseline(
    request: &WorkloadRequest,
    scratch: Option<Scratch>,
    stop: &AtomicBool,
) -> Result<Workbench, Fault> {
    check_engine(request)?;
    announce(open_target(request, scratch, stop).map_err(suggest_scratch)?)
}

/// The machine on which `target` is measured: a simulated one for a simulated target, unless real
/// time is requested. `None` for this machine.
pub(crate) fn machine_for_target(
    args: &MachineArgs,
    target: &str,
    engine: Option<&EngineSpec>,
) -> Result<Option<SimMachine>, Fault> {
    let engine = EngineSpec::for_target(engine, target).or_exit(Exit::Usage)?;
    let is_real = engine.simulates().is_none();
    simulated_machine(is_real.then(|| not_simulated_reason(target)), args)
}

/// Says why a real `target` has no simulated machine; continues the words "use --machine with".
pub(crate) fn not_simulated_reason(target: &str) -> String {
    format!(
        "{target}: only simulated devices are measured on a simulated machine; leave --machine out, or name \
         a target such as sim:80us"
    )
}

/// The simulated machine that the options name, else q2c's own; `None` for the real machine, as
/// with `--real-time`. A `real_reason` says why only the real one will do; that text continues the
/// words "use --machine with".
pub(crate) fn simulated_machine(
    real_reason: Option<String>,
    args: &MachineArgs,
) -> Result<Option<SimMachine>, Fault> {
    Ok(match (&args.machine, real_reason) {
        (Some(_), Some(reason)) => {
            return Err(Fault::usage(format!("use --machine with {reason}")));
        }
        (Some(MachineName::Here), None) => Some(copy_of_this_machine()?),
        (Some(MachineName::Keys(keys)), None) => Some(SimMachine::from_list(keys)?),
        (Some(MachineName::File(path)), None) => {
            let text = whole_file::read_named_text(path, whole_file::MAX_TEXT)
                .map_err(|e| format!("read the simulated machine {}: {e}", path.display()));
            Some(SimMachine::parse(&text.or_exit(Exit::Input)?, path).or_exit(Exit::Input)?)
        }
        (None, reason) => (reason.is_none() && !args.real_time).then(SimMachine::default),
    })
}

/// A simulated copy of this machine, with the costs of its newest calibration.
fn copy_of_this_machine() -> Result<SimMachine, Fault> {
    const NO_STORE: &str =
        "find the calibrations of this machine: neither XDG_CACHE_HOME nor HOME is set";
    let store = calibration_store().ok_or_else(|| Fault::environment(NO_STORE))?;
    let machine = q2c_host::machine::read(&Roots::live());
    let (target, calibration) = store.newest(&machine).or_exit(Exit::Input)?;
    let name = format!("this machine, as calibrated with {target}");
    let simulated = machine_with_costs(name, &machine, &calibration);
    simulated.check().map(|()| simulated).or_exit(Exit::Input)
}

/// A simulated machine with the cores of `machine`, and the costs that were calibrated on it, which
/// are also those of the interface of the calibration.
pub(crate) fn machine_with_costs(
    name: String,
    machine: &Machine,
    calibration: &Calibration,
) -> SimMachine {
    let mut simulated = SimMachine::with_costs(name, &calibration.cost);
    let cpus = machine.cpus_online.len() as u32;
    let threads = machine.threads_per_core.unwrap_or(1).max(1);
    let nodes = machine.numa_nodes.unwrap_or(1).max(1);
    // CPUs that are offline leave cores without a sibling, or nodes of unequal size.
    let parts = threads.checked_mul(nodes);
    let is_regular = parts.is_some_and(|parts| cpus.is_multiple_of(parts));
    let (threads, nodes) = if is_regular { (threads, nodes) } else { (1, 1) };
    if cpus > 0 {
        (simulated.cores, simulated.threads, simulated.nodes) = (cpus / threads, threads, nodes);
        let keys =
            ["cores", "threads", "nodes"].map(|key| (key.to_owned(), "calibrated".to_owned()));
        simulated.sources.extend(keys);
    }
    let engine: Option<EngineSpec> = calibration.engine.parse().ok();
    match engine.and_then(|engine| engine.interface()) {
        Some(interface) => simulated.measured_behind(interface),
        None => simulated,
    }
}

/// Refuses an engine that needs a file if the target is a simulated device. Those whose names are
/// interfaces of simulated devices need none there.
fn check_engine(request: &WorkloadRequest) -> Result<(), Fault> {
    let target = &request.target;
    let target_engine = target.parse::<EngineSpec>();
    let is_simulated = target_engine.is_ok_and(|engine| !engine.needs_file());
    let engine = EngineSpec::for_target(request.engine.as_ref(), target).or_exit(Exit::Usage)?;
    if !is_simulated || !engine.needs_file() || Path::new(target).exists() {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "use {target} with {engine}: a simulated device is its own engine, and {engine} needs a file or device; leave \
         --engine out, or name another target"
    )))
}

/// Opens the workbench for a command without a scratch file, whose engine is checked elsewhere.
pub(crate) fn open_named(request: &WorkloadRequest, stop: &AtomicBool) -> Result<Workbench, Fault> {
    announce(open_target(request, None, stop)?)
}

/// Adds the advice to use `--scratch` to a fault of a target without a usable file.
fn suggest_scratch(fault: Fault) -> Fault {
    if !fault.cause().is_some_and(TargetError::lacks_a_file) {
        return fault;
    }
    fault.with_advice(", or let q2c make a file with --scratch 1g")
}

fn open_target(
    request: &WorkloadRequest,
    scratch: Option<Scratch>,
    stop: &AtomicBool,
) -> Result<Workbench, Fault> {
    let _line = Line::with_message(OPENING);
    Workbench::open(&Roots::live(), request, scratch, stop)
}

/// Reports facts of the workbench that the command line does not contain.
fn announce(bench: Workbench) -> Result<Workbench, Fault> {
    if let Some(device) = &bench.character_device {
        let engine = &bench.workload.engine;
        say(&format!("{engine}: NVMe commands to {}", device.display()));
    }
    tell_service_times(&bench)?;
    Ok(bench)
}

/// Reports the simulated machine of a run; or the CPU of its first job, and the IOPS of the other
/// CPUs that were tried for that job.
pub(crate) fn tell_place(bench: &Workbench) {
    if let Some(world) = bench.workload.site.time.world() {
        let (cpus, name) = (world.machine().cpus(), &world.machine().name);
        say(&format!(
            "simulated, on {cpus} CPUs of {name}: no time below is one of this machine"
        ));
    }
    let lines = q2c_report::cpu_trials(&bench.target);
    lines.iter().for_each(|line| say(line));
}

/// Reports the recorded service times of the target and of the background's simulated devices.
fn tell_service_times(bench: &Workbench) -> Result<(), Fault> {
    let (target, workload) = (&bench.target, &bench.workload);
    say_service_times(&target.path, target.service_times.as_ref());
    let jobs = workload.background.iter();
    for engine in jobs.filter_map(|job| job.engine.as_ref()) {
        let times = workload.simulated.recorded_facts(engine);
        say_service_times(&engine.to_string(), times.or_exit(Exit::Input)?.as_ref());
    }
    Ok(())
}

/// Measures the idle baseline. Before that it tells if a device that polls is not polled.
fn add_idle_baseline(mut bench: Workbench, stop: &AtomicBool) -> Result<Workbench, Fault> {
    let device = bench.target.device.as_ref();
    let is_pollable = device.and_then(|device| device.io_poll) == Some(true);
    if let (true, Err(reason)) = (is_pollable, &bench.polling) {
        say(&format!("io_uring does not poll the device: {reason}"));
    }
    let line = Line::with_message("watching the machine at rest, for 1 s to 5 s");
    line.during(|| bench.measure_idle_baseline(stop))?;
    Ok(bench)
}

/// Creates the scratch file of `--scratch` in the folder for runs; `None` without that option.
pub(crate) fn make_scratch(
    size: Option<Bytes>,
    run: &RunArgs,
    stop: &AtomicBool,
) -> Result<Option<Scratch>, Fault> {
    let Some(size) = size else { return Ok(None) };
    let out = run.out.display();
    if run.out.to_str().is_none() {
        return Err(Fault::usage(format!(
            "make the scratch file in {out}: expected a folder whose name is UTF-8, found another; name one with --out"
        )));
    }
    std::fs::create_dir_all(&run.out).map_err(|e| {
        let message = format!("make the folder {out}: {e}; name another place with --out");
        Fault::new(Exit::from_output_error(&e), message)
    })?;
    let name = format!("scratch-{}-{}.bin", unix_s(), std::process::id());
    let path = run.out.join(name);
    let shown = path.display();
    let message = format!("filling the scratch file {shown} with {size} of random data");
    say(&message);
    let line = Line::counting_bytes("filled", size);
    let mut go_on = |written: Bytes| {
        line.set(written.0);
        !stop.load(Ordering::Relaxed)
    };
    let scratch = Scratch::create(&path, size, run.seed, &mut go_on);
    drop(line);
    if stop.load(Ordering::Relaxed) {
        let message = "fill the scratch file: stopped by a signal; it was removed";
        return Err(Fault::stopped(message));
    }
    scratch.map(Some).map_err(scratch_fault)
}

/// The named CPUs; `None` if none is named, which means the machine's order.
pub(crate) fn named_cpus(cpus: &[u32]) -> Option<Vec<CpuId>> {
    (!cpus.is_empty()).then(|| cpus.iter().copied().map(CpuId).collect())
}

/// The CPUs of this machine, or of a simulated one, in the order in which jobs take them.
pub(crate) fn cpus_without_target(
    world: Option<&World>,
    named: Option<&[CpuId]>,
) -> Result<ChosenCpus, Fault> {
    let (topology, allowed) = match world {
        Some(world) => (
            Topology::simulated(world.machine()),
            AllowedCpus::from_sorted(world.cpus()),
        ),
        None => (Topology::read(&Roots::live()), AllowedCpus::read()?),
    };
    let order = UnnamedCpus::ByTopology {
        topology: &topology,
        node: None,
        first: None,
    };
    allowed.choose(named, order)
}

/// The fault of a scratch file that was not made. The file is an output that q2c creates, so an
/// unusable folder has the exit code of an output, and not that of an unfit target.
fn scratch_fault(error: TargetError) -> Fault {
    let output_exit = match &error {
        TargetError::Call { source, .. } => Some(Exit::from_output_error(source)),
        _ => None,
    };
    let fault = Fault::from(error).with_advice("; --out names another place");
    let exit = output_exit.unwrap_or(fault.exit());
    fault.with_exit(exit)
}

/// The text of the target: the path of the scratch file, else the given name.
pub(crate) fn target_name(
    command: &str,
    named: Option<&str>,
    scratch: Option<&Scratch>,
) -> Result<String, Fault> {
    let made = scratch.map(|scratch| scratch.path().display().to_string());
    made.or_else(|| named.map(str::to_owned)).ok_or_else(|| {
        Fault::usage(format!(
            "{command}: name a file or a block device, or let q2c make a file: q2c {command} --scratch 1g; q2c {command} --help tells what there is"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_target_the_command_says_what_to_name() {
        assert_eq!(target_name("tune", Some("d"), None).unwrap(), "d");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch.bin");
        let made = Scratch::create(&path, Bytes(1 << 20), 1, &mut |_| true).unwrap();
        let of_scratch = target_name("tune", None, Some(&made)).unwrap();
        assert_eq!(of_scratch, path.display().to_string());
        assert!(target_name("tune", None, None).is_err());
    }
}
