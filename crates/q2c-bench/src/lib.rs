//! Measures throughput and CPU over interfaces, methods, jobs, depths and block sizes. Judges the
//! figures: effective mode, shape of the scaling curves, and suspects of a bend.

pub mod abilities;
mod background;
mod checked;
mod conclude;
mod curves;
pub mod device;
pub mod fio;
pub mod interface;
pub mod job_file;
mod lead;
pub mod media;
mod mode;
mod plan;
mod search;
pub mod settings;
mod spdk;
mod spec;
mod stages;
mod timetable;
mod trial;
pub mod tuned;
mod validity;
mod warn;

pub use settings::BenchSettings;
pub use spec::Axes;

use abilities::Abilities;
use conclude::{MeasuredPoint, PhasedTrial};
use interface::Interface;
use media::Media;
use plan::BenchPlan;
use q2c_host::machine::host;
use q2c_host::topology::Border;
use q2c_model::{Bytes, CpuId, Exit, Fault, OrFault};
use q2c_result::bench::{BenchJob, BenchResult, SCHEMA};
use q2c_result::{DoctorReport, Machine, Target, Warning};
use q2c_run::run_dir::{RunDir, RunState};
use q2c_run::runner::{End, Event, Precision, Progress, Runner, Settings, time_text};
use q2c_workbench::RunnerClock;
use q2c_workbench::workload::Site;
use spec::PointSetup;
use stages::StageRuns;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use trial::{BenchTrial, TrialError, TrialPlace};

/// Most trials of a point if a precision is requested.
const MAX_TRIALS: u32 = 25;

/// The inputs of a run: the plan, the target and the machine.
pub struct Bench<'a> {
    /// The plan: axes or points, and the settings of trials.
    pub spec: &'a BenchSettings,
    /// Where the I/O of each interface goes.
    pub media: &'a Media,
    /// Bytes of the target in use.
    pub span: Bytes,
    /// The clock, and where the machine's counters are read.
    pub site: &'a Site,
    /// Numbers of jobs after which further jobs run on CPUs of another kind, such as SMT siblings.
    pub borders: &'a [Border],
    /// Abilities of the device and the kernel that methods need.
    pub abilities: Abilities,
    /// Folder of the journal of changed settings. Without it, points that change a setting fail.
    pub restore_dir: Option<&'a Path>,
    /// Facts of the machine, for the result.
    pub machine: &'a Machine,
    /// Facts of the target, for the result.
    pub target: &'a Target,
    /// The report of `q2c doctor`, for the result.
    pub doctor: &'a DoctorReport,
    /// CPU time per I/O of the null engine while I/Os are recorded, ns.
    pub harness_floor_ns: f64,
    /// CPU time per I/O of the null engine while nothing is recorded, ns.
    pub harness_bare_ns: f64,
    /// Set to end the run early.
    pub stop: &'a AtomicBool,
}

/// The outcome of a finished or stopped run.
#[derive(Debug)]
pub struct BenchOutcome {
    /// All points, with the trials that they got.
    pub result: BenchResult,
    /// The state to note in the run's folder.
    pub state: RunState,
    /// The error that ended the run early, such as a target that is gone.
    pub abort_reason: Option<String>,
    /// The exit code of a run without any figure: machine or device, whichever failed first.
    pub failure_exit: Exit,
}

impl Bench<'_> {
    /// Runs the trials that the folder's journal lacks, and makes the result.
    pub fn run(
        &self,
        folder: &mut RunDir,
        progress: &mut dyn Progress,
    ) -> Result<BenchOutcome, Fault> {
        let started = Instant::now();
        let setups = spec::setups(self.spec, self.abilities, self.media);
        let (setups, left_out) = setups.or_fault(Exit::Usage, "bench")?;
        if setups.is_empty() {
            let reason = left_out.first().map_or("the axes are empty", |l| &l.reason);
            let text = format!("bench: none of the points exists here: {reason}");
            return Err(Fault::new(Exit::Usage, text));
        }
        let notes = [self.capture_note(&setups), self.coarse_search_note(&setups)];
        for note in notes.into_iter().flatten() {
            progress.event(&Event::Note(note));
        }
        let cpus: Vec<CpuId> = self.spec.cpus.iter().copied().map(CpuId).collect();
        let mut plan = BenchPlan {
            setups: &setups,
            chosen: (0..setups.len()).collect(),
            place: self.trial_place(&cpus),
            restore_dir: self.restore_dir,
            failure_exit: OnceCell::new(),
        };
        let (settings, seed) = (self.settings(), self.spec.run.seed);
        let mut runner = Runner {
            settings: &settings,
            cancel: self.stop,
            clock: &RunnerClock::new(&self.site.time),
            progress,
        };
        let search = search::run(&mut plan, &mut runner, folder)?;
        plan.setups = &search.setups;
        let summary = &search.summary;
        let stages = match (self.spec.stages, &summary.end) {
            (false, _) => None,
            (true, End::Complete) => Some(StageRuns::run(&plan, seed, &mut runner, folder)?),
            (true, _) => Some(StageRuns::default()),
        };
        let end = stages.as_ref().and_then(|stages| stages.end.as_ref());
        let end = end.unwrap_or(&summary.end);
        let measured = conclude::measured_points(&search.setups, summary, stages.as_ref());
        let cells = conclude::cells(self.spec, &measured, self.site.idle_busy_cpus);
        let scaling = curves::curves(self, &cells, &measured);
        let stage_warnings = stages.iter().flat_map(|stages| &stages.warnings);
        let runner_warnings = summary.warnings.iter().chain(stage_warnings);
        let runner_warnings: Vec<Warning> = runner_warnings.cloned().collect();
        let mut warnings = warn::warnings(self, &cells, &measured, &runner_warnings);
        let abort = abort_warning(end);
        warnings.extend(abort.clone());
        let result = BenchResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            provenance: folder.provenance(started, host(&self.site.roots)),
            complete: matches!(end, End::Complete),
            job: self.job(),
            machine: self.machine.clone(),
            target: self.target.clone(),
            doctor: self.doctor.clone(),
            leads: lead::leads(&cells),
            cells,
            left_out,
            not_measured: search.not_measured.clone(),
            scaling,
            harness_floor_ns: self.harness_floor_ns,
            harness_bare_ns: self.harness_bare_ns,
            warnings,
        };
        Ok(BenchOutcome {
            result,
            state: end.state(),
            abort_reason: abort.map(|warning| warning.found),
            failure_exit: plan.failure_exit.into_inner().unwrap_or(Exit::Device),
        })
    }

    fn capture_note(&self, setups: &[PointSetup]) -> Option<String> {
        let setups = self.spec.stages.then_some(setups)?;
        let reason = stages::capture_refusal(setups, self.site)?;
        Some(format!(
            "there will be no stages: failed to capture the block layer: {reason}"
        ))
    }

    /// Announces a coarse search and the time of all points, which does not depend on CPUs; `None`
    /// if all points are measured.
    fn coarse_search_note(&self, setups: &[PointSetup]) -> Option<String> {
        let place = self.trial_place(&[]);
        let round_s: f64 = setups.iter().map(|setup| place.expected_s(setup)).sum();
        search::is_coarse(setups).then(|| {
            format!(
                "all {} points, {} trials of each, would take about {}: a coarse grid is measured first, then \
                 what lies beside knee, peak and collapse",
                setups.len(),
                self.spec.trials,
                time_text(round_s * f64::from(self.spec.trials))
            )
        })
    }

    fn trial_place<'b>(&'b self, cpus: &'b [CpuId]) -> TrialPlace<'b> {
        TrialPlace {
            spec: self.spec,
            media: self.media,
            span: self.span,
            cpus,
            site: self.site,
            stop: self.stop,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            trials: self.spec.trials,
            seed: self.spec.run.seed,
            all_trials: self.spec.all_trials,
            budget: self.spec.budget_s.map(Duration::from_secs_f64),
            precision: self.spec.precision.map(|relative_width| Precision {
                relative_width,
                max_trials: MAX_TRIALS,
            }),
        }
    }

    fn job(&self) -> BenchJob {
        BenchJob {
            trial_seconds: self.spec.seconds,
            warm_up_seconds: self.spec.warm_up,
            trials: self.spec.trials,
            cpus: self.spec.cpus.iter().copied().map(CpuId).collect(),
            cpu_order: self.spec.cpu_order.clone(),
            idle_busy_cpus: self.site.idle_busy_cpus,
            rate: self.spec.rate,
            span: self.spec.span,
            phases: self.spec.phases,
            tuned: self.spec.recommended.clone(),
            stages: self.spec.stages,
            seed: self.spec.run.seed,
        }
    }
}

fn abort_warning(end: &End) -> Option<Warning> {
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
