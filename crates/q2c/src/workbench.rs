//! From arguments to an open target and a workload on stated CPUs.

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

/// Everything that a measuring command stands on. The scratch file, if any, goes with it.
pub struct Workbench {
    pub workload: Workload,
    pub machine: Machine,
    pub target: Target,
    pub doctor: DoctorReport,
    /// What tells this target from another of the same name.
    pub target_id: String,
    /// What stored calibrations know it by: one scratch file is as good as another of its size on the same disk.
    pub calibration_target: String,
    held: Held,
    scratch: Option<Scratch>,
}

/// How long the machine is watched at rest.
const REST: Nanos = Nanos::from_millis(1_000);
/// And how often at most, until no more CPUs than this are busy.
const REST_LOOKS: usize = 5;
const REST_QUIET: f64 = 0.2;

impl Workbench {
    /// Opens `target` (a path, or a simulated device's text) and reads the machine. Watches it at rest for a second.
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

    /// As [`Workbench::open`], for a command that asks for interfaces by itself: the target may be a namespace's character
    /// device, or a controller's PCI address.
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
        // Nothing is read or written before the first trial, which has an engine of its own.
        let engine = match opened.facts.kind.as_str() {
            "nvme-generic" | "pci" => EngineSpec::Null,
            _ => engine,
        };
        let mut bench = Self::around(args, engine, opened, scratch)?;
        bench.workload.site.idle_busy_cpus = at_rest(&bench.workload, args.run.seed, stop)?;
        Ok(bench)
    }

    /// The character device of the namespace that the target is.
    ///
    /// # Errors
    /// The target is no whole namespace, or cannot be opened so.
    pub fn namespace(&self) -> Result<OpenNamespace, TargetError> {
        let Site { roots, leaf, .. } = &self.workload.site;
        sibling(roots, &self.target, &self.held, leaf.as_ref())
    }

    /// The same without a look at the machine at rest.
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

    /// Opens what a command without a run to resume is given: its target, or a scratch file made now.
    pub fn for_command(
        command: &str,
        args: &WorkloadArgs,
        stop: &AtomicBool,
    ) -> Result<Self, Failure> {
        let scratch = scratch(args, stop)?;
        let target = named(command, args, scratch.as_ref())?;
        Self::open(args, &target, scratch, stop)
    }

    /// As [`Workbench::for_command`], for a command that does not ask what the machine does at rest.
    pub fn without_rest(
        command: &str,
        args: &WorkloadArgs,
        stop: &AtomicBool,
    ) -> Result<Self, Failure> {
        let scratch = scratch(args, stop)?;
        let target = named(command, args, scratch.as_ref())?;
        Self::at_once(args, &target, scratch)
    }

    /// Keeps the scratch file for a later session.
    pub fn keep_scratch(self) -> Option<PathBuf> {
        self.scratch.map(Scratch::keep)
    }
}

/// Busy CPUs while the foreground rests. Something short that happens to run now is waited for.
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

/// The doctor's checks, with a ring really tried and q2c's own costs measured, on the CPU of the first job.
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

/// On the last allowed CPU where no jobs are named; `None` where no CPU may be used.
fn costs(jobs: &[CpuId], clock: Clock) -> Option<ToolCosts> {
    let last = || q2c_sys::thread::allowed_cpus().ok()?.last().copied();
    let cpu = jobs.first().copied().or_else(last)?;
    Some(ToolCosts {
        clock_ns: q2c_engine::floor::clock_ns(clock),
        empty_loop_ns: q2c_engine::floor::measure(clock, cpu).ok()?,
    })
}

/// A scratch file in the folder for runs, for `--scratch`.
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

/// The target's text: the scratch file's path, or as given.
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

/// Engines that simulate are named as the target.
pub fn engine(args: &WorkloadArgs, target: &str) -> Result<EngineSpec, Failure> {
    named_engine(args.engine.as_ref(), target)
}

/// The engine asked for, or the one that the target's text is, or io_uring.
pub fn named_engine(asked: Option<&EngineSpec>, target: &str) -> Result<EngineSpec, Failure> {
    if let Some(engine) = asked {
        return Ok(engine.clone());
    }
    match target.parse::<EngineSpec>() {
        Ok(spec) if !spec.needs_file() => Ok(spec),
        // `sim:50parsecs` is a slip of the pen; a file may still be called so.
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

/// The CPUs that were asked for, all of which must be allowed.
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

/// The foreground's CPUs: as asked, or the last allowed ones that do not take the device's interrupts.
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

/// A CPU without a foreground job for the sampler and background jobs without a place; `None` when all have one.
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
