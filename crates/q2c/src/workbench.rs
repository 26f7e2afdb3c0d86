//! From arguments to an open target, and to a workload on stated CPUs.

use crate::args::WorkloadArgs;
use crate::failure::{Fails, Failure};
use crate::opened::{Held, Opened, sibling};
use crate::output::say;
use q2c_engine::EngineSpec;
use q2c_host::Roots;
use q2c_host::block::{Interrupts, Leaf, is_pci_address};
use q2c_host::doctor::{self, RingProbe, Scene, ToolCosts};
use q2c_host::target::{OpenNamespace, Scratch, TargetError};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_result::{DoctorReport, Exit, Machine, Target};
use q2c_sys::{Buffers, Clock, Ring};
use q2c_workbench::workload::{Site, Workload};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Everything that a measuring command needs: the workload, the facts of machine and target, and
/// the doctor's report. The scratch file, if there is one, is removed with the workbench, unless
/// [`Workbench::keep_scratch`] is called.
pub struct Workbench {
    pub workload: Workload,
    pub machine: Machine,
    pub target: Target,
    pub doctor: DoctorReport,
    /// Tells this target from another one of the same name.
    pub target_id: String,
    /// The target's name in stored calibrations. Scratch files of one size on one disk have one
    /// name.
    pub calibration_target: String,
    held: Held,
    scratch: Option<Scratch>,
}

/// Length of one look at the machine at rest.
const REST: Nanos = Nanos::from_millis(1_000);
/// Most looks at the machine at rest. They end early when at most `REST_QUIET` CPUs are busy.
const REST_LOOKS: usize = 5;
const REST_QUIET: f64 = 0.2;

impl Workbench {
    /// Opens `target` (a path, or a simulated device's text), reads the facts of the machine, and
    /// watches it at rest for 1 to 5 s.
    pub fn open(
        args: &WorkloadArgs,
        target: &str,
        scratch: Option<Scratch>,
        stop: &AtomicBool,
    ) -> Result<Self, Failure> {
        let mut bench = Self::at_once(args, target, scratch)?;
        bench.workload.site.idle_busy_cpus = at_rest(&bench.workload, args.run.seed, stop)?;
        Ok(bench)
    }

    /// As [`Workbench::open`], for a command that has interfaces of its own to choose among (`q2c
    /// bench`). The target may also be a namespace's character device, or a controller's PCI
    /// address.
    pub fn for_interfaces(
        args: &WorkloadArgs,
        target: &str,
        scratch: Option<Scratch>,
        stop: &AtomicBool,
    ) -> Result<Self, Failure> {
        let engine = engine(args, target)?;
        let opened = match engine.needs_file() {
            true if is_pci_address(target) && !Path::new(target).exists() => {
                Opened::controller(args, target)?
            }
            true => Opened::path(&Roots::live(), args, Path::new(target), scratch.as_ref())?,
            false => Opened::simulated(target),
        };
        // Nothing is read or written before the first trial, and each trial has an engine of its
        // own. So the null engine may stand in on targets that io_uring cannot use.
        let engine = match opened.facts.kind.as_str() {
            "nvme-generic" | "pci" => EngineSpec::Null,
            _ => engine,
        };
        let mut bench = Self::around(args, engine, opened, scratch)?;
        bench.workload.site.idle_busy_cpus = at_rest(&bench.workload, args.run.seed, stop)?;
        Ok(bench)
    }

    /// Opens the character device of the NVMe namespace that the target is.
    ///
    /// # Errors
    /// The target is not a whole namespace, or its character device cannot be opened.
    pub fn namespace(&self) -> Result<OpenNamespace, TargetError> {
        let Site { roots, leaf, .. } = &self.workload.site;
        sibling(roots, &self.target, &self.held, leaf.as_ref())
    }

    /// As [`Workbench::open`], without the look at the machine at rest.
    fn at_once(
        args: &WorkloadArgs,
        target: &str,
        scratch: Option<Scratch>,
    ) -> Result<Self, Failure> {
        let engine = engine(args, target)?;
        let opened = match engine.needs_file() {
            true => Opened::path(&Roots::live(), args, Path::new(target), scratch.as_ref())?
                .for_engine(&engine)?,
            false => Opened::simulated(target),
        };
        Self::around(args, engine, opened, scratch)
    }

    fn around(
        args: &WorkloadArgs,
        engine: EngineSpec,
        opened: Opened,
        scratch: Option<Scratch>,
    ) -> Result<Self, Failure> {
        let roots = Roots::live();
        let cpus = cpus(args, &roots, opened.leaf.as_ref())?;
        let sampler_cpu = spare_cpu(&cpus, args)?;
        let site = Site {
            roots: roots.clone(),
            leaf: opened.leaf,
            idle_busy_cpus: 0.0,
        };
        let background = args.background.iter().cloned().map(|mut spec| {
            if spec.cpus.is_empty() {
                spec.cpus = vec![sampler_cpu.unwrap_or(cpus[0])];
            }
            spec
        });
        let workload = Workload {
            engine,
            medium: opened.medium,
            pattern: args.rw,
            span: opened.span,
            background: background.collect(),
            cpus,
            sampler_cpu,
            site,
            clock: Clock::new(),
        };
        // The kernel knows nothing of a controller that it does not drive.
        let known = Some(&opened.facts).filter(|facts| facts.kind != "pci");
        let doctor = examine(&roots, known, &workload.cpus, workload.clock);
        Ok(Workbench {
            machine: q2c_host::machine::read(&roots),
            doctor,
            calibration_target: calibration_target(&opened.facts, scratch.is_some()),
            target: opened.facts,
            target_id: opened.id,
            held: opened.held,
            workload,
            scratch,
        })
    }

    /// Opens the target of a command that resumes no run: the named target, or a scratch file that
    /// is made now.
    pub fn for_command(
        command: &str,
        args: &WorkloadArgs,
        stop: &AtomicBool,
    ) -> Result<Self, Failure> {
        let scratch = scratch(args, stop)?;
        let target = named(command, args, scratch.as_ref())?;
        Self::open(args, &target, scratch, stop)
    }

    /// As [`Workbench::for_command`], without the look at the machine at rest.
    pub fn without_rest(
        command: &str,
        args: &WorkloadArgs,
        stop: &AtomicBool,
    ) -> Result<Self, Failure> {
        let scratch = scratch(args, stop)?;
        let target = named(command, args, scratch.as_ref())?;
        Self::at_once(args, &target, scratch)
    }

    /// Keeps the scratch file for a later session, and returns its path; `None` if there is none.
    pub fn keep_scratch(self) -> Option<PathBuf> {
        self.scratch.map(Scratch::keep)
    }
}

/// Number of busy CPUs while the foreground rests: the least of several looks, since something
/// short may happen to run now. With background jobs there is one look.
fn at_rest(workload: &Workload, seed: u64, stop: &AtomicBool) -> Result<f64, Failure> {
    let mut least = f64::INFINITY;
    for _ in 0..REST_LOOKS {
        let busy = workload.busy_at_rest(REST, seed, stop);
        least = least.min(busy.or_exit(Exit::Environment)?.unwrap_or(0.0));
        if least <= REST_QUIET || !workload.background.is_empty() {
            break;
        }
    }
    Ok(least)
}

fn calibration_target(target: &Target, scratch: bool) -> String {
    match (&target.device, scratch) {
        (Some(device), true) => format!(
            "scratch file of {} on {} {}",
            target.size, device.name, device.dev
        ),
        _ => target.path.clone(),
    }
}

/// Runs the doctor's checks. A ring is really set up, and q2c's own costs are measured on the CPU
/// of the first job.
pub fn examine(
    roots: &Roots,
    target: Option<&Target>,
    jobs: &[CpuId],
    clock: Clock,
) -> DoctorReport {
    let scene = Scene::new(roots, target).with_ring(ring()).with_jobs(jobs);
    doctor::run(&match costs(jobs, clock) {
        Some(costs) => scene.with_costs(costs),
        None => scene,
    })
}

fn ring() -> RingProbe {
    let tried = Buffers::new(1, 4096)
        .map_err(|e| e.to_string())
        .and_then(|buffers| {
            let file = std::fs::File::open("/dev/null").map_err(|e| e.to_string())?;
            Ring::new(file, buffers).map_err(|e| e.to_string())
        });
    match tried {
        Ok(_) => RingProbe::Works,
        Err(error) => RingProbe::Refused(error),
    }
}

/// q2c's own costs, on the CPU of the first job, or on the last allowed CPU when there are no jobs;
/// `None` where they cannot be measured.
fn costs(jobs: &[CpuId], clock: Clock) -> Option<ToolCosts> {
    let last = || q2c_sys::thread::allowed_cpus().ok()?.last().copied();
    let cpu = jobs.first().copied().or_else(last)?;
    Some(ToolCosts {
        clock_ns: q2c_engine::floor::clock_ns(clock),
        empty_loop_ns: q2c_engine::floor::measure(clock, cpu).ok()?,
    })
}

/// Makes the scratch file of `--scratch` in the folder for runs; `None` without that option.
pub fn scratch(args: &WorkloadArgs, stop: &AtomicBool) -> Result<Option<Scratch>, Failure> {
    let Some(size) = args.scratch else {
        return Ok(None);
    };
    std::fs::create_dir_all(&args.run.out).map_err(|e| {
        Failure::new(
            Exit::Device,
            format!("make the folder {}: {e}", args.run.out.display()),
        )
    })?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let path = args
        .run
        .out
        .join(format!("scratch-{now}-{}.bin", std::process::id()));
    say(&format!(
        "filling the scratch file {} with {size} of random data",
        path.display()
    ));
    let mut go_on = |_written: Bytes| !stop.load(Ordering::Relaxed);
    let made = Scratch::create(&path, size, args.run.seed, &mut go_on);
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::new(
            Exit::Interrupted,
            "fill the scratch file: stopped by a signal; it was removed",
        ));
    }
    made.or_exit_of(q2c_host::target::TargetError::exit)
        .map(Some)
}

/// The target's text: the scratch file's path, else as given.
pub fn named(
    command: &str,
    args: &WorkloadArgs,
    scratch: Option<&Scratch>,
) -> Result<String, Failure> {
    let made = scratch.map(|s| s.path().display().to_string());
    let target = made.or_else(|| args.target.clone());
    target.ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            format!(
                "{command}: name a <TARGET>, or use --scratch SIZE; q2c {command} --help tells what there is"
            ),
        )
    })
}

/// The engine for `target`, as [`named_engine`] finds it.
pub fn engine(args: &WorkloadArgs, target: &str) -> Result<EngineSpec, Failure> {
    named_engine(args.engine.as_ref(), target)
}

/// The engine asked for, else the simulated device that the target's text names, else io_uring.
pub fn named_engine(asked: Option<&EngineSpec>, target: &str) -> Result<EngineSpec, Failure> {
    if let Some(engine) = asked {
        return Ok(engine.clone());
    }
    match target.parse::<EngineSpec>() {
        Ok(spec) if !spec.needs_file() => Ok(spec),
        // A text such as `sim:50parsecs` is a mistake, unless there is a file of that name.
        Err(error) if names_an_engine(target) && !Path::new(target).exists() => {
            Err(Failure::new(Exit::Usage, error))
        }
        _ => Ok(EngineSpec::IO_URING),
    }
}

fn names_an_engine(target: &str) -> bool {
    let (name, args) = target.split_once(':').unwrap_or((target, ""));
    !args.is_empty()
        && q2c_engine::engines::ENGINES
            .iter()
            .any(|kind| kind.name == name)
}

/// The CPUs that were asked for. Each of them must be allowed.
pub fn asked_cpus(asked: &[u32], allowed: &[CpuId]) -> Result<Vec<CpuId>, Failure> {
    let asked: Vec<CpuId> = asked.iter().copied().map(CpuId).collect();
    match asked.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(asked),
        Some(cpu) => {
            let have: Vec<String> = allowed.iter().map(|cpu| cpu.0.to_string()).collect();
            let why = format!("use {cpu}: q2c may run on CPUs {} here", have.join(", "));
            Err(Failure::new(Exit::Usage, why))
        }
    }
}

/// The CPUs of the foreground jobs: as asked, else the allowed ones from the last to the first. The
/// CPU that takes most of the device's interrupts comes last.
fn cpus(args: &WorkloadArgs, roots: &Roots, leaf: Option<&Leaf>) -> Result<Vec<CpuId>, Failure> {
    let allowed = q2c_sys::thread::allowed_cpus().or_exit(Exit::Environment)?;
    if !args.cpu.is_empty() {
        let asked = asked_cpus(&args.cpu, &allowed)?;
        return Ok((0..args.jobs as usize)
            .map(|job| asked[job % asked.len()])
            .collect());
    }
    let interrupts = leaf.and_then(|leaf| Interrupts::read(roots, leaf).ok());
    let taken = interrupts.map(|i| i.busiest()).unwrap_or_default();
    let busy = taken.first().copied().filter(|_| allowed.len() > 1);
    let mut free: Vec<CpuId> = allowed
        .iter()
        .rev()
        .copied()
        .filter(|&cpu| Some(cpu) != busy)
        .collect();
    free.extend(busy);
    Ok((0..args.jobs as usize)
        .map(|job| free[job % free.len()])
        .collect())
}

/// A CPU without a foreground job, for the sampler and for background jobs that name no CPU. A CPU
/// without a background job comes first. `None` when every allowed CPU has a foreground job.
fn spare_cpu(cpus: &[CpuId], args: &WorkloadArgs) -> Result<Option<CpuId>, Failure> {
    let allowed = q2c_sys::thread::allowed_cpus().or_exit(Exit::Environment)?;
    let taken = |cpu: &CpuId| args.background.iter().any(|job| job.cpus.contains(cpu));
    let free = || {
        allowed
            .iter()
            .rev()
            .copied()
            .filter(|cpu| !cpus.contains(cpu))
    };
    Ok(free().find(|cpu| !taken(cpu)).or_else(|| free().next()))
}
