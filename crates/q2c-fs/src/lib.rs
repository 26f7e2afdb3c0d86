//! `q2c fs bench`: file systems that are made for the run, and jobs that share their files. They
//! are mounted where only the run sees them, over files without a name. However the run ends, the
//! kernel removes them.
#![forbid(unsafe_code)]

mod conclude;
mod disturbance;
mod files;
mod locks;
mod maker;
mod mix;
mod mounted_fs;
mod op_counter;
mod plan;
mod program;
mod readahead;
mod scan;
mod spec;

pub use maker::{MakerLookup, makers};
pub use mix::MixTrial;
pub use mounted_fs::{MountContext, MountedDevice, MountedFile};
pub use spec::FsSettings;

use disturbance::FsMeasurement;
use maker::FsMaker;
use mix::MixPlan;
use mounted_fs::MountedFs;
use plan::{FsPlan, LocksPlan};
use program::ProgramPlan;
use q2c_host::Roots;
use q2c_host::cpu_time::idle_busy_cpus;
use q2c_host::target::WritePermission;
use q2c_model::{Bytes, Fault};
use q2c_result::fs::{
    FileSystem, FsJob, FsLeftOut, FsLocks, FsProfile, FsProgram, FsResult, ProgramPoint, SCHEMA,
};
use q2c_result::{Machine, Warning};
use q2c_run::RunDir;
use q2c_run::run_dir::RunState;
use q2c_run::runner::{CellError, Event, Plan, Progress, Runner, Settings, SystemClock};
use q2c_sys::Clock;
use q2c_workbench::examine;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Length of the measurement of the machine at rest.
const REST_TIME: Duration = Duration::from_millis(250);

/// A benchmark of file systems.
pub struct FsBench<'a> {
    /// The settings of the run.
    pub spec: &'a FsSettings,
    /// Facts of the machine.
    pub machine: &'a Machine,
    /// Root paths below which the system's files are read.
    pub roots: &'a Roots,
    /// Folder of the journal of changed settings.
    pub restore_dir: Option<&'a Path>,
    /// Permission to write: the devices that the user named.
    pub permission: &'a WritePermission,
    /// Set when the run is to stop.
    pub stop: &'a AtomicBool,
}

/// The file systems of a run. Dropping this value removes them.
#[derive(Debug)]
pub struct FileSystemSet {
    made: Vec<MountedFs>,
    left_out: Vec<FsLeftOut>,
}

/// The benchmark's settings and its file systems, on which plans run.
#[derive(Clone, Copy)]
struct BenchTarget<'a> {
    bench: &'a FsBench<'a>,
    made: &'a [MountedFs],
}

impl<'a> BenchTarget<'a> {
    fn find(self, fs: FileSystem) -> Result<&'a MountedFs, CellError> {
        let mounted = self.made.iter().find(|mounted| mounted.facts.fs == fs);
        mounted.ok_or_else(|| CellError::Cell(format!("find {fs}")))
    }
}

/// The outcome of a run that has a result.
#[derive(Debug)]
pub struct FsOutcome {
    /// The result.
    pub result: FsResult,
    /// How the run ended.
    pub state: RunState,
}

impl FsBench<'_> {
    /// Makes the file systems and their files, on the plan's device or on loop devices over files
    /// in `folder`. From then on the calling thread has mounts of its own. After an error nothing
    /// is left but the content of a named device.
    pub fn make(&self, folder: &Path, progress: &mut dyn Progress) -> Result<FileSystemSet, Fault> {
        self.spec.check()?;
        for &fs in self.spec.fs.iter().flatten() {
            FsMaker::for_file_system(fs).find()?;
        }
        mounted_fs::unshare_mounts()?;
        let (mut made, mut left_out) = (Vec::new(), Vec::new());
        for &fs in &self.spec.file_systems {
            if self.spec.device.is_none() {
                progress.event(&Event::Note(format!("making {fs}")));
            }
            match self.make_one(fs, folder) {
                Ok(one) => made.push(one),
                // A fault of a named device would repeat with every file system on it.
                Err(error) if self.spec.fs.is_some() || self.spec.device.is_some() => {
                    return Err(error);
                }
                Err(error) => left_out.push(FsLeftOut {
                    fs,
                    what: None,
                    reason: error.to_string(),
                }),
            }
        }
        if let ([], [FsLeftOut { reason, .. }, ..]) = (&made[..], &left_out[..]) {
            let text = format_args!("find a file system to measure: {reason}");
            return Err(Fault::environment(text));
        }
        Ok(FileSystemSet { made, left_out })
    }

    fn make_one(&self, fs: FileSystem, folder: &Path) -> Result<MountedFs, Fault> {
        let spec = self.spec;
        let context = MountContext {
            roots: self.roots,
            journal: self.restore_dir,
        };
        let mounted = match &spec.device {
            None => {
                let min_size = Bytes(FsMaker::for_file_system(fs).least_mib << 20);
                MountedFs::on_loop(context, fs, folder, spec.size.max(min_size))?
            }
            Some(device) => MountedFs::on_device(context, fs, Path::new(device), self.permission)?,
        };
        if spec.program.is_none() && !spec.mix {
            files::prepare(mounted.path(), spec.max_jobs(), spec.file, spec.run.seed)?;
        }
        Ok(mounted)
    }

    /// Runs all trials, and makes the result.
    pub fn run(
        &self,
        all: &FileSystemSet,
        folder: &mut RunDir,
        progress: &mut dyn Progress,
    ) -> Result<FsOutcome, Fault> {
        let start = Instant::now();
        let spec = self.spec;
        let settings = Settings {
            trials: spec.trials,
            seed: spec.run.seed,
            all_trials: spec.all_trials,
            ..Settings::default()
        };
        let mut run = FsRun {
            target: BenchTarget {
                bench: self,
                made: &all.made,
            },
            busy: idle_busy_cpus(self.roots, REST_TIME).unwrap_or(0.0),
            runner: Runner {
                settings: &settings,
                cancel: self.stop,
                clock: &SystemClock::default(),
                progress,
            },
            folder,
            result: self.empty_result(all),
        };
        let state = if spec.mix {
            run.run_program(MixPlan(run.target), None, MixPlan::UNIT)?
        } else if let Some(command) = &spec.program {
            let plan = ProgramPlan::new(run.target, command)?;
            run.run_program(plan, Some(command.clone()), spec.metric())?
        } else {
            run.run_jobs()?
        };
        let mut result = run.result;
        let warnings = conclude::warnings(spec, &result.file_systems, &result.cells);
        let warnings = warnings.into_iter().chain(self.machine_warnings());
        result.warnings.splice(0..0, warnings);
        result.left_out.extend_from_slice(&all.left_out);
        result.seconds = start.elapsed().as_secs_f64();
        result.complete = state == RunState::Complete;
        Ok(FsOutcome { result, state })
    }

    /// The result before it has figures.
    fn empty_result(&self, all: &FileSystemSet) -> FsResult {
        let spec = self.spec;
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        FsResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s: started.map_or(0, |time| time.as_secs()),
            seed: spec.run.seed,
            machine: self.machine.clone(),
            file_systems: all.made.iter().map(|made| made.facts.clone()).collect(),
            control: spec
                .control
                .filter(|&fs| all.made.iter().any(|made| made.facts.fs == fs)),
            job: FsJob {
                trial_seconds: spec.seconds,
                warm_up_seconds: spec.warm_up,
                trials: spec.trials,
                file: spec.file,
                cpus: spec.cpu_ids(),
            },
            ..FsResult::default()
        }
    }

    /// A warning for each check of the doctor that invalidates throughput on this machine.
    fn machine_warnings(&self) -> Vec<Warning> {
        let report = examine(self.roots, None, &self.spec.cpu_ids(), &Clock::new().into());
        let checks = report.checks.into_iter();
        let bad = checks.filter(|check| check.invalidates("iops"));
        bad.map(|check| Warning {
            id: check.id,
            found: check.found,
            means: check.means,
            todo: check.fix.unwrap_or_default(),
        })
        .collect()
    }
}

/// A run in progress, and the result that it fills.
struct FsRun<'a, 'r> {
    target: BenchTarget<'a>,
    /// Number of CPUs that were busy before the plan.
    busy: f64,
    runner: Runner<'r>,
    folder: &'r mut RunDir,
    result: FsResult,
}

impl FsRun<'_, '_> {
    fn run_jobs(&mut self) -> Result<RunState, Fault> {
        let spec = self.target.bench.spec;
        let kinds = self.result.file_systems.iter().map(|made| made.fs);
        let (points, left_out) = spec.points(&kinds.collect::<Vec<_>>());
        let mut plan = FsPlan {
            target: self.target,
            points: &points,
            clock: Clock::new(),
        };
        let summary = self.runner.run(&mut plan, self.folder)?;
        self.result.cells = conclude::cells(&summary.cells);
        let mut state = summary.state();
        if spec.locks && state == RunState::Complete {
            state = self.watch_locks(&plan)?;
        }
        let control = self.result.control;
        self.result.ratios = conclude::ratios(&summary.cells, control, spec.run.seed);
        self.result.left_out = left_out;
        self.result.warnings = disturbance::warnings(self.busy, &summary.cells, |point| point.jobs);
        self.result.warnings.extend(summary.warnings);
        Ok(state)
    }

    /// Runs each point once more with its waits for locks watched. Returns how the runs ended.
    fn watch_locks(&mut self, points: &FsPlan<'_>) -> Result<RunState, Fault> {
        let single_trial = Settings {
            trials: 1,
            ..self.runner.settings.clone()
        };
        let mut runner = Runner {
            settings: &single_trial,
            cancel: self.runner.cancel,
            clock: self.runner.clock,
            progress: &mut *self.runner.progress,
        };
        let summary = runner.run(&mut LocksPlan(points), self.folder)?;
        for (cell, runs) in self.result.cells.iter_mut().zip(&summary.cells) {
            let failed = || runs.failures().next().map(str::to_owned);
            let watched = runs.outcomes().next().cloned();
            let (locks, profile) = watched.map(|seen| (seen.locks, seen.profile)).unzip();
            cell.locks = locks.or_else(|| failed().map(FsLocks::Unseen));
            cell.profile = profile.or_else(|| failed().map(FsProfile::Unseen));
        }
        Ok(summary.state())
    }

    /// Runs a command or the built-in mix, and adds its figures and the disturbances of its trials.
    fn run_program(
        &mut self,
        mut plan: impl Plan<Cell = ProgramPoint, Outcome = FsMeasurement<f64>>,
        command: Option<String>,
        metric: &str,
    ) -> Result<RunState, Fault> {
        let summary = self.runner.run(&mut plan, self.folder)?;
        self.result.program = Some(FsProgram {
            command,
            metric: metric.to_owned(),
            cells: program::cells(&summary.cells),
        });
        self.result.warnings = disturbance::warnings(self.busy, &summary.cells, |point| point.cpus);
        let state = summary.state();
        self.result.warnings.extend(summary.warnings);
        Ok(state)
    }
}
