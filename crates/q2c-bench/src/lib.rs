//! Throughput over interfaces, methods and jobs, and what the numbers mean.

pub mod asked;
mod conclude;
mod curves;
mod gone;
pub mod interface;
pub mod media;
mod mode;
mod plan;
mod rules;
mod spdk;
mod spec;
mod steady;
pub mod suspects;
mod trial;
mod warn;
pub mod way;

pub use spec::BenchSpec;
pub use trial::BenchTrial;

use media::Media;
use plan::BenchPlan;
use q2c_host::topology::Border;
use q2c_model::{Bytes, CpuId};
use q2c_result::bench::{BenchJob, BenchResult, SCHEMA};
use q2c_result::{DoctorReport, Exit, Machine, Target, Warning};
use q2c_run::run_dir::{RunDir, RunState};
use q2c_run::runner::{self, End, Precision, Progress, Runner, Settings, SystemClock};
use q2c_sys::Clock;
use q2c_workbench::workload::Site;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use trial::Place;
use way::Abilities;

/// With a wanted precision, never more trials than this.
const MOST_TRIALS: u32 = 25;

/// Everything that a run stands on.
pub struct Bench<'a> {
    /// What is to be run.
    pub spec: &'a BenchSpec,
    /// Where the I/O goes, by interface.
    pub media: &'a Media,
    /// Bytes of the target in use.
    pub span: Bytes,
    /// Where counters are read.
    pub site: &'a Site,
    /// Steps in the order of CPUs.
    pub borders: &'a [Border],
    /// What the device and the kernel can do.
    pub abilities: Abilities,
    /// Where changes of settings are written down.
    pub restore_dir: Option<&'a Path>,
    /// Machine facts.
    pub machine: &'a Machine,
    /// Target facts.
    pub target: &'a Target,
    /// What `q2c doctor` said.
    pub doctor: &'a DoctorReport,
    /// CPU time per I/O of the null engine, ns.
    pub harness_floor_ns: f64,
    /// The same with nothing kept.
    pub harness_bare_ns: f64,
    /// The clock of all times.
    pub clock: Clock,
    /// Ends the run early.
    pub stop: &'a AtomicBool,
}

/// What a run gave.
#[derive(Debug)]
pub struct Done {
    /// Every point as far as it got.
    pub result: BenchResult,
    /// What the folder is to say.
    pub state: RunState,
    /// Why it ended early by itself: the target is gone.
    pub aborted: Option<String>,
}

/// Why a run gave nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A name on an axis is none.
    #[error("bench: {0}")]
    Axis(String),
    /// No point of the axes exists here.
    #[error("bench: none of the points exists here: {0}")]
    Nothing(String),
    /// The runner or its folder failed.
    #[error(transparent)]
    Run(#[from] runner::RunError),
}

impl BenchError {
    /// What it means for the program's exit.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            BenchError::Axis(_) | BenchError::Nothing(_) => Exit::Usage,
            BenchError::Run(_) => Exit::Device,
        }
    }
}

impl Bench<'_> {
    /// Runs what the folder's journal lacks.
    ///
    /// # Errors
    /// See [`BenchError`].
    pub fn run(
        &self,
        folder: &mut RunDir,
        progress: &mut dyn Progress,
    ) -> Result<Done, BenchError> {
        let begun = Instant::now();
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        let (spots, left_out) =
            spec::spots(self.spec, self.abilities, self.media).map_err(BenchError::Axis)?;
        if spots.is_empty() {
            let why = left_out.first().map_or("the axes are empty", |l| &l.reason);
            return Err(BenchError::Nothing(why.to_owned()));
        }
        let cpus: Vec<CpuId> = self.spec.cpus.iter().copied().map(CpuId).collect();
        let mut plan = BenchPlan {
            spots: &spots,
            place: self.place(&cpus),
            restore_dir: self.restore_dir,
        };
        let settings = self.settings();
        let mut runner = Runner {
            settings: &settings,
            cancel: self.stop,
            clock: &SystemClock::default(),
            progress,
        };
        let summary = runner.run(&mut plan, folder)?;
        let cells = conclude::cells(self.spec, &spots, &summary, self.site.idle_busy_cpus);
        let scaling = curves::curves(self, &cells, &summary);
        let mut warnings = warn::warnings(self, &cells, &summary);
        let aborted = aborted(&summary.end);
        warnings.extend(aborted.clone());
        let result = BenchResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s: started.map_or(0, |t| t.as_secs()),
            seconds: begun.elapsed().as_secs_f64(),
            complete: matches!(summary.end, End::Complete),
            job: self.job(),
            machine: self.machine.clone(),
            target: self.target.clone(),
            doctor: self.doctor.clone(),
            cells,
            left_out,
            scaling,
            harness_floor_ns: self.harness_floor_ns,
            harness_bare_ns: self.harness_bare_ns,
            warnings,
        };
        Ok(Done {
            result,
            state: summary.state(),
            aborted: aborted.map(|warning| warning.found),
        })
    }

    /// How long all trials take, seconds; `None` when no point exists.
    #[must_use]
    pub fn expected_s(&self) -> Option<f64> {
        let (spots, _) = spec::spots(self.spec, self.abilities, self.media).ok()?;
        let trials = spots.len() as f64 * f64::from(self.spec.trials);
        Some(trials * self.place(&[]).expected_s())
    }

    fn place<'b>(&'b self, cpus: &'b [CpuId]) -> Place<'b> {
        Place {
            media: self.media,
            span: self.span,
            cpus,
            site: self.site,
            clock: self.clock,
            seconds: self.spec.seconds,
            warm_up_s: self.spec.warm_up_seconds,
            rate: self.spec.rate,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            trials: self.spec.trials,
            seed: self.spec.seed,
            budget: self.spec.budget_s.map(Duration::from_secs_f64),
            precision: self.spec.precision.map(|relative_width| Precision {
                relative_width,
                max_trials: MOST_TRIALS,
            }),
            ..Settings::default()
        }
    }

    fn job(&self) -> BenchJob {
        BenchJob {
            trial_seconds: self.spec.seconds,
            warm_up_seconds: self.spec.warm_up_seconds,
            trials: self.spec.trials,
            cpus: self.spec.cpus.iter().copied().map(CpuId).collect(),
            cpu_order: self.spec.cpu_order.clone(),
            idle_busy_cpus: self.site.idle_busy_cpus,
            rate: self.spec.rate,
            span: self.spec.span,
            seed: self.spec.seed,
        }
    }
}

fn aborted(end: &End) -> Option<Warning> {
    let End::Aborted { label, error, .. } = end else {
        return None;
    };
    Some(Warning {
        id: "aborted".to_owned(),
        found: format!("{label}: {error}"),
        means: "the run stopped there; later points are missing".to_owned(),
        todo: "mend the cause and go on with --resume".to_owned(),
    })
}
