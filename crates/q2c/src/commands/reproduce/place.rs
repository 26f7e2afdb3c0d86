//! Where experiments run: the target, if there is one, and the CPUs.

use super::PlanAsRun;
use crate::args::ReproduceArgs;
use crate::commands::bench::abilities;
use crate::failure::{Fails, Failure};
use crate::media::media;
use crate::output::say;
use crate::workbench::{open_for_interfaces, tell_cpu_trials};
use q2c_bench::media::Media;
use q2c_engine::EngineSpec;
use q2c_engine::engines::SimDevices;
use q2c_host::Roots;
use q2c_host::cpu_time::busy_at_rest;
use q2c_host::signals::Orderly;
use q2c_host::target::Scratch;
use q2c_host::topology::{AllowedCpus, CpuChoiceError, Topology, UnnamedCpus};
use q2c_model::{Bytes, CpuId};
use q2c_reproduce::jobs::{Ground, OpenTarget};
use q2c_reproduce::needs::Present;
use q2c_reproduce::{Experiment, Maker};
use q2c_result::Exit;
use q2c_run::Identity;
use q2c_sys::Clock;
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use q2c_workbench::workload::Site;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// An open place.
pub(super) struct Place {
    target: Option<(Workbench, Media)>,
    /// Where counters are read without a target.
    site: Site,
    cpus: Vec<CpuId>,
    simulated: SimDevices,
    engine: Option<EngineSpec>,
    seed: u64,
    pub present: Present,
    _orderly: Orderly,
}

/// Length of the look at the machine at rest, where no target is opened.
const REST: Duration = Duration::from_millis(500);

impl Place {
    /// Opens the target of `plan` for `experiments`, and chooses the CPUs.
    ///
    /// # Errors
    /// The target is unfit, or CPUs were named that may not be used.
    pub fn open(
        plan: &PlanAsRun,
        experiments: &[Experiment],
        scratch: Option<Scratch>,
        args: &ReproduceArgs,
        stop: &AtomicBool,
    ) -> Result<Self, Failure> {
        let named: Vec<CpuId> = plan.cpus.iter().copied().map(CpuId).collect();
        let engine = plan.engine.as_ref().map(|text| text.parse());
        let engine: Option<EngineSpec> = engine.transpose().or_exit(Exit::Input)?;
        let target = match &plan.target {
            Some(target) => {
                let request = request(target, experiments, engine.as_ref(), args)?;
                let mut bench = open_for_interfaces(&request, scratch, stop)?;
                if plan.scratch {
                    bench.on_scratch();
                }
                tell_cpu_trials(&bench);
                let engines: Vec<String> =
                    experiments.iter().flat_map(Experiment::engines).collect();
                let media = media(&bench, &engines)?;
                Some((bench, media))
            }
            None => None,
        };
        let named = (!named.is_empty()).then_some(named.as_slice());
        let cpus = match &target {
            Some((bench, _)) => bench.cpus_by_topology(named),
            None => without_target(named),
        };
        let cpus = cpus.or_exit_of(CpuChoiceError::exit)?.cpus;
        let site = match target {
            Some(_) => None,
            None => Some(at_rest()),
        };
        let of_target = target.as_ref().map(|(bench, media)| (bench, media));
        let mut present = super::present::present(cpus.len(), of_target);
        present.cpus = cpus.len() as u32;
        Ok(Place {
            site: site.unwrap_or_else(|| {
                target
                    .as_ref()
                    .map_or_else(at_rest, |(b, _)| b.workload.site.clone())
            }),
            simulated: target.as_ref().map_or_else(
                || SimDevices::new(q2c_study::service_times),
                |(bench, _)| bench.workload.simulated.clone(),
            ),
            engine,
            seed: plan.seed,
            target,
            cpus,
            present,
            _orderly: Orderly::begin(),
        })
    }

    /// What jobs run on, with files for made devices in `folder`.
    pub fn ground(&self, folder: &Path) -> Ground<'_> {
        let target = self.target.as_ref().map(|(bench, media)| OpenTarget {
            media,
            span: bench.workload.span,
            engine: self.default_engine(bench),
            abilities: abilities(bench, media),
        });
        let restore_dir = crate::commands::restore::folder(None).ok();
        Ground {
            target,
            site: &self.site,
            cpus: &self.cpus,
            maker: Maker::new(
                Roots::live(),
                folder.to_owned(),
                restore_dir.clone(),
                self.seed,
                self.simulated.clone(),
            ),
            restore_dir,
        }
    }

    /// The engine of jobs that name none: as asked, or what a simulated target is.
    fn default_engine(&self, bench: &Workbench) -> Option<EngineSpec> {
        let own = EngineSpec::for_target(self.engine.as_ref(), &bench.target.path).ok();
        own.filter(|engine| self.engine.is_some() || !engine.needs_file())
    }

    /// The facts in which two sessions of a run must agree.
    pub fn identity(&self) -> Identity {
        let program = crate::commands::run_folder::program();
        match &self.target {
            Some((bench, _)) => bench.identity(&self.cpus, &program),
            None => {
                let cpus: Vec<String> = self.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
                Identity::default()
                    .with("kernel", &self.present.machine.kernel)
                    .with("cpus", cpus.join(","))
                    .with("q2c", program)
            }
        }
    }

    /// CPUs that were busy before anything ran.
    pub fn idle_busy_cpus(&self) -> f64 {
        self.site.idle_busy_cpus
    }

    /// Facts of the target.
    pub fn target(&self) -> Option<q2c_result::Target> {
        self.target.as_ref().map(|(bench, _)| bench.target.clone())
    }

    /// Keeps the scratch file for a session that goes on.
    pub fn keep_for_resume(self, folder: &Path) {
        if let Some((bench, _)) = self.target {
            crate::commands::run_folder::keep_for_resume(bench, folder);
        }
    }

    /// Names the scratch file that an earlier session left, when the run is complete.
    pub fn tell_no_longer_needed(&self) {
        let kept = self
            .target
            .as_ref()
            .and_then(|(bench, _)| bench.kept_scratch.as_ref());
        if let Some(scratch) = kept {
            crate::commands::run_folder::tell_no_longer_needed(scratch);
        }
    }
}

/// The workload with which the target is opened: all block sizes, and a pattern that writes where
/// any job writes.
fn request(
    target: &str,
    experiments: &[Experiment],
    engine: Option<&EngineSpec>,
    args: &ReproduceArgs,
) -> Result<WorkloadRequest, Failure> {
    let mut sizes: Vec<Bytes> = Vec::new();
    let mut pattern = q2c_engine::Pattern {
        random: true,
        write: false,
    };
    for settings in experiments.iter().flat_map(Experiment::on_target) {
        let settings = settings.or_exit(Exit::Input)?;
        if !sizes.contains(&settings.bs) {
            sizes.push(settings.bs);
        }
        if settings.pattern.write {
            pattern = settings.pattern;
        }
    }
    if sizes.is_empty() {
        say("the experiment makes its own devices; the target is not used");
        sizes.push(Bytes(4096));
    }
    Ok(WorkloadRequest {
        machine: None,
        target: target.to_owned(),
        engine: engine.cloned(),
        pattern,
        sizes,
        jobs: 1,
        cpus: args.cpus.0.iter().copied().map(CpuId).collect(),
        background: Vec::new(),
        allow_write: args.run.allow_write.clone(),
        seed: args.run.seed,
    })
}

pub(super) fn without_target(
    named: Option<&[CpuId]>,
) -> Result<q2c_host::topology::ChosenCpus, CpuChoiceError> {
    let topology = Topology::read(&Roots::live());
    let order = UnnamedCpus::ByTopology {
        topology: &topology,
        node: None,
        first: None,
    };
    AllowedCpus::read()?.choose(named, order)
}

/// A place for counters without a disk, and the busy CPUs of a moment at rest; 0 where they cannot
/// be read.
fn at_rest() -> Site {
    let site = nowhere();
    Site {
        idle_busy_cpus: busy_at_rest(&site.roots, REST).unwrap_or(0.0),
        ..site
    }
}

/// A place for counters without a disk.
pub(super) fn nowhere() -> Site {
    Site::without_disk(Roots::live(), Clock::new())
}
