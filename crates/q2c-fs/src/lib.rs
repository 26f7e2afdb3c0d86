//! `q2c fs bench`: file systems that are made for the run, and jobs that share their files. They
//! are mounted where only the run sees them, over files without a name: whatever ends the run, the
//! kernel takes them away.
#![forbid(unsafe_code)]

mod beside;
mod conclude;
mod files;
mod locks;
mod made;
mod maker;
mod mix;
mod one_file;
mod plan;
mod program;
mod readahead;
mod scan;
mod spec;

pub use made::Place;
pub use maker::{MakerFound, makers};
pub use one_file::OneFile;
pub use spec::FsSettings;

use beside::FsMeasurement;
use made::MountedFs;
use maker::FsMaker;
use mix::MixPlan;
use plan::{FsPlan, LocksPlan};
use program::ProgramPlan;
use q2c_host::Roots;
use q2c_host::cpu_time::busy_at_rest;
use q2c_host::target::WriteLeave;
use q2c_model::{CpuId, Exit, Fault, OrFault};
use q2c_result::fs::{
    FileSystem, FsCell, FsJob, FsLeftOut, FsLocks, FsProfile, FsProgram, FsResult, MadeFs,
    ProgramPoint, SCHEMA, SharedRatio,
};
use q2c_result::{Machine, Warning};
use q2c_run::RunDir;
use q2c_run::run_dir::RunState;
use q2c_run::runner::{Event, Progress, Runner, Settings, Summary, SystemClock};
use q2c_sys::{Clock, mounts};
use q2c_workbench::examine;
use spec::ProgramSpec;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Length of a look at the machine at rest.
const REST: Duration = Duration::from_millis(250);

/// A benchmark of file systems.
pub struct FsBench<'a> {
    /// What to measure.
    pub spec: &'a FsSettings,
    /// Facts of the machine.
    pub machine: &'a Machine,
    /// The system's files.
    pub roots: &'a Roots,
    /// Folder of the journal of changed settings.
    pub restore_dir: Option<&'a Path>,
    /// What may be written.
    pub leave: &'a WriteLeave,
    /// Set when the run is to stop.
    pub stop: &'a AtomicBool,
}

/// The file systems of a run. They are taken away with this value.
#[derive(Debug)]
pub struct MadeAll {
    made: Vec<MountedFs>,
    left_out: Vec<FsLeftOut>,
}

impl MadeAll {
    fn kinds(&self) -> Vec<FileSystem> {
        self.made.iter().map(|made| made.facts.fs).collect()
    }
}

struct FsFigures {
    state: RunState,
    cells: Vec<FsCell>,
    ratios: Vec<SharedRatio>,
    program: Option<FsProgram>,
    left_out: Vec<FsLeftOut>,
    warnings: Vec<Warning>,
}

/// A run that gave a result.
#[derive(Debug)]
pub struct Done {
    /// The result.
    pub result: FsResult,
    /// How the run ended.
    pub state: RunState,
}

impl FsBench<'_> {
    /// Makes the file systems and their files: on the plan's device, or on loop devices over files
    /// in `folder`. From here on the calling thread has mounts of its own. After an error nothing
    /// is left but the content of a device that was named.
    pub fn make(&self, folder: &Path, progress: &mut dyn Progress) -> Result<MadeAll, Fault> {
        self.spec.check()?;
        for &fs in self.spec.fs.iter().flatten() {
            FsMaker::for_file_system(fs).find()?;
        }
        mounts::own_mounts().or_fault(
            Exit::Environment,
            "give the run mounts of its own (which takes root)",
        )?;
        let (mut made, mut left_out) = (Vec::new(), Vec::new());
        for &fs in &self.spec.file_systems {
            if self.spec.device.is_none() {
                progress.event(&Event::Note(format!("making {fs}")));
            }
            match self.make_one(fs, folder) {
                Ok(one) => made.push(one),
                // What is wrong with a named device is wrong with every file system on it.
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
        match (made.is_empty(), left_out.first()) {
            (true, Some(left)) => {
                let text = format!("find a file system to measure: {}", left.reason);
                Err(Fault::new(Exit::Environment, text))
            }
            _ => Ok(MadeAll { made, left_out }),
        }
    }

    fn make_one(&self, fs: FileSystem, folder: &Path) -> Result<MountedFs, Fault> {
        let spec = self.spec;
        let place = Place {
            roots: self.roots,
            journal: self.restore_dir,
        };
        let made = match &spec.device {
            None => {
                let least = q2c_model::Bytes(FsMaker::for_file_system(fs).least_mib << 20);
                MountedFs::on_loop(place, fs, folder, spec.size.max(least))?
            }
            Some(device) => MountedFs::on_device(place, fs, Path::new(device), self.leave)?,
        };
        if spec.program.is_none() && !spec.mix {
            files::prepare(made.path(), spec.most_jobs(), spec.file, spec.run.seed)?;
        }
        Ok(made)
    }

    /// Runs all trials, and makes the result.
    pub fn run(
        &self,
        all: &MadeAll,
        folder: &mut RunDir,
        progress: &mut dyn Progress,
    ) -> Result<Done, Fault> {
        let begun = Instant::now();
        let idle = busy_at_rest(self.roots, REST).unwrap_or(0.0);
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        let settings = Settings {
            trials: self.spec.trials,
            seed: self.spec.run.seed,
            all_trials: self.spec.all_trials,
            ..Settings::default()
        };
        let mut runner = Runner {
            settings: &settings,
            cancel: self.stop,
            clock: &SystemClock::default(),
            progress,
        };
        let figures = match &self.spec.program() {
            None if self.spec.mix => self.by_mix(all, idle, &mut runner, folder)?,
            None => self.by_jobs(all, idle, &mut runner, folder)?,
            Some(program) => self.by_program(program, all, idle, &mut runner, folder)?,
        };
        let facts: Vec<MadeFs> = all.made.iter().map(|made| made.facts.clone()).collect();
        let mut warnings = conclude::warnings(self.spec, &facts, &figures.cells);
        warnings.extend(self.of_machine());
        warnings.extend(figures.warnings);
        let more = all.left_out.iter().cloned();
        let left_out = figures.left_out.into_iter().chain(more);
        let result = FsResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s: started.map_or(0, |time| time.as_secs()),
            seconds: begun.elapsed().as_secs_f64(),
            complete: figures.state == RunState::Complete,
            seed: self.spec.run.seed,
            machine: self.machine.clone(),
            file_systems: facts,
            control: self.spec.control.filter(|fs| all.kinds().contains(fs)),
            job: self.job(),
            ratios: figures.ratios,
            cells: figures.cells,
            program: figures.program,
            left_out: left_out.collect(),
            warnings,
        };
        Ok(Done {
            result,
            state: figures.state,
        })
    }

    /// Warns of each check of the doctor that invalidates throughput on this machine.
    fn of_machine(&self) -> Vec<Warning> {
        let cpus: Vec<CpuId> = self.spec.cpus.iter().copied().map(CpuId).collect();
        let report = examine(self.roots, None, &cpus, &Clock::new().into());
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

    fn by_jobs(
        &self,
        all: &MadeAll,
        idle: f64,
        runner: &mut Runner<'_>,
        folder: &mut RunDir,
    ) -> Result<FsFigures, Fault> {
        let there = all.kinds();
        let (points, left_out) = self.spec.points(&there);
        let mut plan = FsPlan {
            spec: self.spec,
            points: &points,
            made: &all.made,
            clock: Clock::new(),
            roots: self.roots,
            restore_dir: self.restore_dir,
        };
        let summary = runner.run(&mut plan, folder)?;
        let control = self.spec.control.filter(|fs| there.contains(fs));
        let mut cells = conclude::cells(&summary.cells);
        let mut state = summary.state();
        if self.spec.locks && state == RunState::Complete {
            state = self.watch_locks(&plan, &mut cells, runner, folder)?;
        }
        let beside = beside::warnings(idle, &summary.cells, |point| point.jobs);
        Ok(FsFigures {
            state,
            cells,
            ratios: conclude::ratios(&summary.cells, control, self.spec.run.seed),
            program: None,
            left_out,
            warnings: beside.into_iter().chain(summary.warnings).collect(),
        })
    }

    /// Makes a run of each point with its waits for locks watched. Returns how these runs ended.
    fn watch_locks(
        &self,
        points: &FsPlan<'_>,
        cells: &mut [FsCell],
        runner: &mut Runner<'_>,
        folder: &mut RunDir,
    ) -> Result<RunState, Fault> {
        let once = Settings {
            trials: 1,
            ..runner.settings.clone()
        };
        let mut runner = Runner {
            settings: &once,
            cancel: runner.cancel,
            clock: runner.clock,
            progress: &mut *runner.progress,
        };
        let mut plan = LocksPlan {
            points,
            roots: self.roots,
        };
        let summary = runner.run(&mut plan, folder)?;
        for (cell, runs) in cells.iter_mut().zip(&summary.cells) {
            let failed = || runs.failures().next().map(str::to_owned);
            let watched = runs.outcomes().next();
            let locks = watched.map(|watched| watched.locks.clone());
            cell.locks = locks.or_else(|| failed().map(FsLocks::Unseen));
            let profile = watched.map(|watched| watched.profile.clone());
            cell.profile = profile.or_else(|| failed().map(FsProfile::Unseen));
        }
        Ok(summary.state())
    }

    fn by_program(
        &self,
        program: &ProgramSpec,
        all: &MadeAll,
        idle: f64,
        runner: &mut Runner<'_>,
        folder: &mut RunDir,
    ) -> Result<FsFigures, Fault> {
        let mut plan = ProgramPlan::new(self.spec, program, &all.made, self.roots)?;
        let summary = runner.run(&mut plan, folder)?;
        let figures = program::conclude(program, &summary.cells);
        Ok(of_program(figures, idle, summary))
    }

    fn by_mix(
        &self,
        all: &MadeAll,
        idle: f64,
        runner: &mut Runner<'_>,
        folder: &mut RunDir,
    ) -> Result<FsFigures, Fault> {
        let mut plan = MixPlan {
            spec: self.spec,
            made: &all.made,
            roots: self.roots,
        };
        let summary = runner.run(&mut plan, folder)?;
        Ok(of_program(mix::conclude(&summary.cells), idle, summary))
    }

    fn job(&self) -> FsJob {
        FsJob {
            trial_seconds: self.spec.seconds,
            warm_up_seconds: self.spec.warm_up,
            trials: self.spec.trials,
            file: self.spec.file,
            cpus: self.spec.cpus.iter().copied().map(CpuId).collect(),
        }
    }
}

/// A program's figures, with the warnings of what was seen beside its trials.
fn of_program(
    program: FsProgram,
    idle: f64,
    summary: Summary<ProgramPoint, FsMeasurement<f64>>,
) -> FsFigures {
    let beside = beside::warnings(idle, &summary.cells, |point| point.cpus);
    FsFigures {
        state: summary.state(),
        cells: Vec::new(),
        ratios: Vec::new(),
        program: Some(program),
        left_out: Vec::new(),
        warnings: beside.into_iter().chain(summary.warnings).collect(),
    }
}
