//! Where experiments run: the target, if there is one, and the CPUs of this machine and of the
//! simulated machine.

use crate::commands::bench::{abilities, find_media};
use crate::commands::run_folder;
use crate::output::say;
use crate::workbench::{cpus_without_target, named_cpus, open_for_interfaces, tell_place};
use q2c_bench::media::Media;
use q2c_engine::engines::SimDevices;
use q2c_engine::{EngineSpec, SimMachine, World};
use q2c_host::Roots;
use q2c_host::cpu_time::idle_busy_cpus;
use q2c_host::signals::Orderly;
use q2c_host::target::Scratch;
use q2c_model::{Bytes, CpuId, Fault, OrFault};
use q2c_reproduce::ReproduceSettings;
use q2c_reproduce::jobs::{JobResources, UserTarget};
use q2c_reproduce::needs::Features;
use q2c_reproduce::{DeviceMaker, Experiment};
use q2c_result::{Exit, Machine};
use q2c_run::Identity;
use q2c_sys::Clock;
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use q2c_workbench::workload::Site;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(super) struct ReproducePlace {
    target: Option<(Workbench, Media)>,
    /// The place for experiments in real time; `None` if there are none.
    real: Option<MachinePlace>,
    /// The place for experiments in simulated time; `None` if there are none.
    simulated: Option<MachinePlace>,
    /// The places of experiments with a simulated machine of their own, by name.
    predicting: BTreeMap<String, MachinePlace>,
    pub plan: ReproduceSettings,
    devices: SimDevices,
    _orderly: Orderly,
}

/// The site, the CPUs and the facts of a real or simulated machine.
pub(super) struct MachinePlace {
    /// Its clock, and the source of its counters.
    pub site: Site,
    cpus: Vec<CpuId>,
    pub present: Features,
}

/// Time for which the idle baseline is measured if no target is opened.
const REST_LENGTH: Duration = Duration::from_millis(500);

impl ReproducePlace {
    /// Opens the target of `plan` for `experiments`, and chooses the CPUs.
    ///
    /// # Errors
    /// The target is unfit, or a named CPU may not be used.
    pub(crate) fn open(
        plan: ReproduceSettings,
        experiments: &[Experiment],
        scratch: Option<Scratch>,
        args: &ReproduceSettings,
        stop: &AtomicBool,
    ) -> Result<Self, Fault> {
        let target = match &plan.target {
            Some(target) => {
                let request = WorkloadRequest {
                    machine: plan.machine.clone(),
                    ..request(target, experiments, plan.engine.as_ref(), args)?
                };
                let mut bench = open_for_interfaces(&request, scratch, stop)?;
                if plan.scratch.is_some() {
                    bench.mark_scratch();
                }
                tell_place(&bench);
                let engines = experiments.iter().flat_map(Experiment::engines);
                let media = find_media(&bench, &engines.collect::<Vec<_>>())?;
                Some((bench, media))
            }
            None => None,
        };
        let named = named_cpus(&plan.cpus);
        let named = named.as_deref();
        let (simulated, real): (Vec<_>, Vec<_>) =
            experiments.iter().partition(|one| plan.simulates(one));
        let (predicting, simulated): (Vec<&Experiment>, Vec<&Experiment>) =
            simulated.iter().partition(|one| one.machine.is_some());
        let predicting = predicting.iter().filter_map(|one| {
            let place = MachinePlace::simulated(one.machine.as_ref()?, None, named);
            Some(place.map(|place| (one.name.clone(), place)))
        });
        let predicting: BTreeMap<String, MachinePlace> =
            predicting.collect::<Result<_, Fault>>()?;
        let machine = plan.machine.as_ref().filter(|_| !simulated.is_empty());
        let simulated = machine.map(|m| MachinePlace::simulated(m, target.as_ref(), named));
        let real = (!real.is_empty()).then(|| MachinePlace::real(target.as_ref(), named));
        Ok(ReproducePlace {
            devices: target.as_ref().map_or_else(
                || SimDevices::new(q2c_study::service_times),
                |(bench, _)| bench.workload.simulated.clone(),
            ),
            real: real.transpose()?,
            simulated: simulated.transpose()?,
            predicting,
            plan,
            target,
            _orderly: Orderly::begin(),
        })
    }

    pub(crate) fn for_experiment(&self, experiment: &Experiment) -> &MachinePlace {
        let simulated = self.simulated.as_ref();
        let simulated = simulated.filter(|_| self.plan.simulates(experiment));
        let place = simulated.or(self.real.as_ref());
        let place = self.predicting.get(&experiment.name).or(place);
        place.expect("each experiment has a machine")
    }

    /// This machine, or a simulated one if everything is simulated.
    fn first_place(&self) -> &MachinePlace {
        let places = self.real.iter().chain(&self.simulated);
        let first = places.chain(self.predicting.values()).next();
        first.expect("there is an experiment")
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.first_place().present.machine
    }

    /// The resources of jobs; files of created devices go into `folder`.
    pub(crate) fn resources<'a>(
        &'a self,
        place: &'a MachinePlace,
        folder: &Path,
    ) -> JobResources<'a> {
        let target = self.target.as_ref().map(|(bench, media)| UserTarget {
            media,
            span: bench.workload.span,
            engine: self.default_engine(bench),
            abilities: abilities(bench, media),
        });
        let restore_dir = crate::commands::restore::folder(None).ok();
        JobResources {
            target,
            site: &place.site,
            cpus: &place.cpus,
            maker: DeviceMaker::new(
                Roots::live(),
                folder.to_owned(),
                restore_dir.clone(),
                self.plan.run.seed,
                self.devices.clone(),
            ),
            restore_dir,
        }
    }

    /// The engine of jobs that name none: the requested one, or that of a simulated target.
    fn default_engine(&self, bench: &Workbench) -> Option<EngineSpec> {
        EngineSpec::for_target(self.plan.engine.as_ref(), &bench.target.path)
            .ok()
            .filter(|engine| self.plan.engine.is_some() || !engine.needs_file())
    }

    /// The facts that two sessions of a run must share.
    pub(crate) fn identity(&self) -> Identity {
        let program = run_folder::program_version();
        let MachinePlace { cpus, present, .. } = self.first_place();
        match &self.target {
            Some((bench, _)) => bench.identity(cpus, &program),
            None => {
                let cpus: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
                Identity::default()
                    .with("kernel", &present.machine.kernel)
                    .with("cpus", cpus.join(","))
                    .with("q2c", program)
            }
        }
    }

    pub(crate) fn target(&self) -> Option<q2c_result::Target> {
        self.target.as_ref().map(|(bench, _)| bench.target.clone())
    }

    pub(crate) fn keep_for_resume(self, folder: &Path) {
        if let Some((bench, _)) = self.target {
            run_folder::keep_for_resume(bench, folder);
        }
    }

    /// Reports where the report is, and that the scratch file is kept or not needed any more.
    pub(crate) fn end(self, folder: &Path, complete: bool, args: &ReproduceSettings) -> Exit {
        run_folder::tell_report(folder);
        if !complete {
            self.keep_for_resume(folder);
            super::tell_stopped(folder, args);
            return Exit::Interrupted;
        }
        let bench = self.target.as_ref().map(|(bench, _)| bench);
        if let Some(scratch) = bench.and_then(|bench| bench.kept_scratch.as_ref()) {
            run_folder::tell_no_longer_needed(scratch);
        }
        Exit::Done
    }
}

impl MachinePlace {
    /// The place on this machine.
    fn real(target: Option<&(Workbench, Media)>, named: NamedCpus<'_>) -> Result<Self, Fault> {
        let target = target.filter(|(bench, _)| world(bench).is_none());
        let cpus = match target {
            Some((bench, _)) => bench.cpus_by_topology(named),
            None => cpus_without_target(None, named),
        };
        let cpus = cpus?.cpus;
        Ok(MachinePlace {
            site: target.map_or_else(site_with_baseline, |(b, _)| b.workload.site.clone()),
            present: Features::read(cpus.len(), target.map(|(bench, media)| (bench, media))),
            cpus,
        })
    }

    /// The place on the simulated machine: the target's, or one of its own.
    fn simulated(
        machine: &SimMachine,
        target: Option<&(Workbench, Media)>,
        named: NamedCpus<'_>,
    ) -> Result<Self, Fault> {
        let world = target.and_then(|(bench, _)| world(bench)).cloned();
        let world = world.unwrap_or_else(|| World::new(machine.clone()));
        let cpus = cpus_without_target(Some(&world), named)?;
        Ok(MachinePlace {
            present: Features::simulated(&world, cpus.cpus.len()),
            cpus: cpus.cpus,
            site: Site::without_disk(Roots::live(), world),
        })
    }
}

fn world(bench: &Workbench) -> Option<&World> {
    bench.workload.site.time.world()
}

/// The workload for which the target is opened: all block sizes, and a pattern that writes if any
/// job writes.
fn request(
    target: &str,
    experiments: &[Experiment],
    engine: Option<&EngineSpec>,
    args: &ReproduceSettings,
) -> Result<WorkloadRequest, Fault> {
    let mut sizes: Vec<Bytes> = Vec::new();
    let mut pattern = q2c_engine::Pattern::RANDREAD;
    for settings in experiments.iter().flat_map(Experiment::target_settings) {
        let settings = settings.or_exit(Exit::Input)?;
        if !sizes.contains(&settings.bs) {
            sizes.push(settings.bs);
        }
        if settings.pattern.writes() {
            pattern = settings.pattern;
        }
    }
    if sizes.is_empty() {
        say("the experiment makes its own devices; the target is not used");
        sizes.push(Bytes(4096));
    }
    Ok(WorkloadRequest {
        engine: engine.cloned(),
        cpus: args.cpus.iter().copied().map(CpuId).collect(),
        allow_write: args.run.allow_write.clone(),
        seed: args.run.seed,
        ..WorkloadRequest::new(target, pattern, sizes)
    })
}

/// CPU numbers in the order in which jobs take them; `None` for the machine's order.
type NamedCpus<'a> = Option<&'a [CpuId]>;

/// A site without a disk, with this machine's idle baseline; 0 if the CPU times cannot be read.
fn site_with_baseline() -> Site {
    let site = site_without_disk();
    Site {
        idle_busy_cpus: idle_busy_cpus(&site.roots, REST_LENGTH).unwrap_or(0.0),
        ..site
    }
}

fn site_without_disk() -> Site {
    Site::without_disk(Roots::live(), Clock::new())
}
