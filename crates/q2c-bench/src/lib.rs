//! Measures throughput and CPU over interfaces, methods, jobs, depths and block sizes. Judges the
//! figures: effective mode, shape of the scaling curves, and suspects of a bend.

pub mod asked;
mod beside;
mod checked;
mod coarse;
mod conclude;
mod curves;
pub mod device;
pub mod fio;
pub mod interface;
mod lead;
mod measured;
pub mod media;
mod mode;
mod per_core;
mod plan;
mod rules;
mod search;
pub mod settings;
mod sound;
mod spdk;
mod spec;
mod stages;
mod steady;
mod suspects;
mod timetable;
mod trial;
pub mod tuned;
mod warn;
pub mod way;

pub use settings::BenchSettings;
pub use spec::Axes;

use interface::Interface;
use measured::{MeasuredPoint, PhasedTrial};
use media::Media;
use plan::BenchPlan;
use q2c_host::machine::host;
use q2c_host::topology::Border;
use q2c_model::{Bytes, CpuId, Exit, Fault, OrFault};
use q2c_result::bench::{BenchJob, BenchResult, SCHEMA};
use q2c_result::{DoctorReport, Machine, Target, Warning};
use q2c_run::run_dir::{RunDir, RunState};
use q2c_run::runner::{End, Event, Precision, Progress, Runner, Settings, spoken};
use q2c_workbench::RunnerClock;
use q2c_workbench::workload::Site;
use spec::Spot;
use stages::StageRuns;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use trial::{BenchTrial, NoTrial, TrialPlace};
use way::Abilities;

/// Most trials of a point if a precision is requested.
const MOST_TRIALS: u32 = 25;

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
    pub aborted: Option<String>,
    /// The exit code of a run without any figure: machine or device, whichever failed first.
    pub blamed: Exit,
}

impl Bench<'_> {
    /// Runs the trials that the folder's journal lacks, and makes the result.
    pub fn run(
        &self,
        folder: &mut RunDir,
        progress: &mut dyn Progress,
    ) -> Result<BenchOutcome, Fault> {
        let begun = Instant::now();
        let spots = spec::spots(self.spec, self.abilities, self.media);
        let (spots, left_out) = spots.or_fault(Exit::Usage, "bench")?;
        if spots.is_empty() {
            let reason = left_out.first().map_or("the axes are empty", |l| &l.reason);
            let text = format!("bench: none of the points exists here: {reason}");
            return Err(Fault::new(Exit::Usage, text));
        }
        if let Some(note) = self.no_capture(&spots) {
            progress.event(&Event::Note(note));
        }
        let cpus: Vec<CpuId> = self.spec.cpus.iter().copied().map(CpuId).collect();
        if let Some(note) = self.budget(&spots) {
            progress.event(&Event::Note(note));
        }
        let mut plan = BenchPlan {
            spots: &spots,
            chosen: (0..spots.len()).collect(),
            place: self.place(&cpus),
            restore_dir: self.restore_dir,
            blamed: OnceCell::new(),
        };
        let (settings, seed) = (self.settings(), self.spec.run.seed);
        let mut runner = Runner {
            settings: &settings,
            cancel: self.stop,
            clock: &RunnerClock::new(&self.site.time),
            progress,
        };
        let searched = search::run(&mut plan, &mut runner, folder)?;
        plan.spots = &searched.spots;
        let summary = &searched.summary;
        let stages = match (self.spec.stages, &summary.end) {
            (false, _) => None,
            (true, End::Complete) => Some(StageRuns::run(&plan, seed, &mut runner, folder)?),
            (true, _) => Some(StageRuns::default()),
        };
        let end = stages.as_ref().and_then(|stages| stages.end.as_ref());
        let end = end.unwrap_or(&summary.end);
        let measured = measured::measured(&searched.spots, summary, stages.as_ref());
        let cells = conclude::cells(self.spec, &measured, self.site.idle_busy_cpus);
        let scaling = curves::curves(self, &cells, &measured);
        let of_stages = stages.iter().flat_map(|stages| &stages.warnings);
        let of_runner: Vec<Warning> = summary.warnings.iter().chain(of_stages).cloned().collect();
        let mut warnings = warn::warnings(self, &cells, &measured, &of_runner);
        let aborted = aborted(end);
        warnings.extend(aborted.clone());
        let result = BenchResult {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            provenance: folder.provenance(begun, host(&self.site.roots)),
            complete: matches!(end, End::Complete),
            job: self.job(),
            machine: self.machine.clone(),
            target: self.target.clone(),
            doctor: self.doctor.clone(),
            leads: lead::leads(&cells),
            cells,
            left_out,
            not_measured: searched.not_measured.clone(),
            scaling,
            harness_floor_ns: self.harness_floor_ns,
            harness_bare_ns: self.harness_bare_ns,
            warnings,
        };
        Ok(BenchOutcome {
            result,
            state: end.state(),
            aborted: aborted.map(|warning| warning.found),
            blamed: plan.blamed.into_inner().unwrap_or(Exit::Device),
        })
    }

    fn no_capture(&self, spots: &[Spot]) -> Option<String> {
        let asked = self.spec.stages.then_some(spots)?;
        let reason = stages::refused(asked, self.site)?;
        Some(format!(
            "there will be no stages: failed to capture the block layer: {reason}"
        ))
    }

    /// Announces a coarse search and the time of all points; `None` if all are measured.
    fn budget(&self, spots: &[Spot]) -> Option<String> {
        let place = self.place(&[]);
        let round: f64 = spots.iter().map(|spot| place.expected_s(spot)).sum();
        search::is_coarse(spots).then(|| {
            format!(
                "all {} points, {} trials of each, would take about {}: a coarse grid is measured first, then \
                 what lies beside knee, peak and collapse",
                spots.len(),
                self.spec.trials,
                spoken(round * f64::from(self.spec.trials))
            )
        })
    }

    fn place<'b>(&'b self, cpus: &'b [CpuId]) -> TrialPlace<'b> {
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
                max_trials: MOST_TRIALS,
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
