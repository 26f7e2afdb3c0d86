//! The settings of a run. The arguments of `q2c tune` are also its plan. One type holds what is
//! typed, what is checked, and what `plan.toml` keeps. A run over several numbers of jobs has such
//! a plan, and so has each of its numbers.

use crate::program_args::ProgramArgs;
use clap::Args;
use q2c_advice::Goal;
use q2c_engine::{Pattern, SimMachine};
use q2c_model::{Bytes, List, Nanos, parse_budget, parse_counts, parse_seconds_in, parse_time_in};
use q2c_policy::PolicySpec;
use q2c_result::program::CopiedWorkload;
use q2c_result::tune::Job;
use q2c_run::arguments::LimitArgs;
use q2c_run::run_dir::{CheckedPlan, PlanFault};
use q2c_workbench::check_machine;
use q2c_workbench::settings::{GoalArgs, MachineArgs, RuleArgs, WorkloadArgs};
use q2c_workbench::workbench::WorkloadRequest;
use q2c_workbench::workload::{Background, BackgroundSpec, Workload};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::path::PathBuf;

pub(crate) const TRIAL_SECONDS: RangeInclusive<f64> = 0.1..=3600.0;
pub(crate) const TRIALS: RangeInclusive<u32> = 1..=1000;
/// Range of a think time; with a longer one a trial has too few I/Os.
pub(crate) const THINK: RangeInclusive<Nanos> = Nanos::from_micros(1)..=Nanos::from_millis(1_000);
/// Range of a trial's parts and polled slices, seconds.
const PART_SECONDS: RangeInclusive<f64> = 0.02..=3600.0;
const FINITE: RangeInclusive<f64> = 0.0..=1e19;
/// Range of the budget, seconds. The command line accepts durations of up to 584 years.
const BUDGET_S: RangeInclusive<f64> = 0.0..=2e10;
const MAX_JOBS: u32 = 1024;
/// Lengths of a trial's parts and polled slices, seconds. They are short because of drift, and not
/// multiples of the 10 ms steps of CPU times (docs/journal/2026-11-22-verdicts.md).
const PART_S: f64 = 0.0613;
const SLICE_S: f64 = 0.0417;
/// Length of the first recording, in measured parts of a trial.
const RECORD_TRIALS: f64 = 2.0;
const SCRATCH_SIZE: Bytes = Bytes(1 << 30);

/// Find the best way to wait for I/O.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub struct TuneSettings {
    /// Target, job and place.
    #[command(flatten)]
    #[serde(flatten)]
    pub workload: WorkloadArgs,
    /// The machine of a simulated target.
    #[command(flatten)]
    #[serde(skip)]
    pub simulated: MachineArgs,
    /// Numbers of foreground threads, depth 1 each: 1,2,4 or 1..4; several are tuned one after
    /// another, and the answer is told over them
    #[arg(short = 'j', long, value_name = "LIST", default_value = "1")]
    #[arg(value_parser = parse_counts::<u32>)]
    pub jobs: List<u32>,
    /// Time from an I/O of a thread to its next one, such as 200us, in which it sleeps: fio's
    /// thinktime [default: it submits the next one at once]
    #[arg(long, value_name = "DURATION", value_parser = think, hide_short_help = true)]
    #[serde(rename = "think_ns")]
    pub think: Option<Nanos>,
    /// Also try this rule: simulated, may be chosen, run live, such as pas or qt:miss=2% (may be
    /// given again)
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules.
    #[command(flatten)]
    #[serde(skip)]
    pub own: RuleArgs,
    /// Try the rules of --policy and --rule even when they take long
    #[arg(long)]
    #[serde(skip)]
    pub yes: bool,
    /// Measured part of each trial
    #[arg(short = 's', long, value_name = "DURATION", default_value = "1s", value_parser = seconds)]
    pub seconds: f64,
    /// Trials that an answer stands on; what has lost gets fewer, and a block size on average at
    /// most six times as many in all
    #[arg(short = 't', long, default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    pub all_trials: bool,
    /// What is best.
    #[command(flatten)]
    #[serde(flatten)]
    pub goal: GoalArgs,
    /// Time for all trials, such as 90s: they end when it is spent, but for the first round;
    /// several numbers of jobs get equal shares of it
    #[arg(id = "budget", long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget_s: Option<f64>,
    /// What the run must keep.
    #[command(flatten)]
    #[serde(skip)]
    pub limits: LimitArgs,
    /// Go on with this interrupted run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "scratch"])]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    /// Calibrate anew even when a stored calibration fits
    #[arg(long)]
    #[serde(skip)]
    pub recalibrate: bool,
    /// The program whose I/Os are the workload.
    #[command(flatten, next_help_heading = "For a program of your own")]
    #[serde(skip)]
    pub program: ProgramArgs,
    /// Whether the workload copies a recorded program, which is in the run folder.
    #[arg(skip)]
    #[serde(rename = "program")]
    pub copies_program: bool,
    /// Length of one part of a trial, seconds. The trial makes it longer on a device that does few
    /// I/Os in it.
    #[arg(skip = PART_S)]
    pub part_seconds: f64,
    /// Length of one polled slice, seconds. The trial makes it longer together with the parts.
    #[arg(skip = SLICE_S)]
    pub slice_seconds: f64,
    /// The machine on which a simulated target is measured; `None` for this one.
    #[arg(skip)]
    pub machine: Option<SimMachine>,
}

fn think(text: &str) -> Result<Nanos, String> {
    parse_time_in(text, THINK)
}

fn seconds(text: &str) -> Result<f64, String> {
    parse_seconds_in(text, TRIAL_SECONDS)
}

impl TuneSettings {
    /// Checks that the simulator can follow the pattern.
    pub fn check_pattern(&self) -> Result<(), PlanFault> {
        let rw = self.workload.rw;
        let wanted = "a pattern without fdatasync, since no rule sleeps through flushes (q2c bench measures them)";
        let is_simulated = rw.fdatasync.is_none();
        let fault = || PlanFault::new("--rw", wanted, rw.to_string());
        is_simulated.then_some(()).ok_or_else(fault)
    }

    /// The target; empty as long as none was named.
    #[must_use]
    pub fn target(&self) -> &str {
        self.workload.target.as_deref().unwrap_or_default()
    }

    /// The request for the workload, with the largest number of jobs.
    #[must_use]
    pub fn request(&self) -> WorkloadRequest {
        let jobs = self.jobs.iter().copied().max().unwrap_or(1);
        WorkloadRequest {
            machine: self.machine.clone(),
            ..self.workload.request(jobs, self.target().to_owned())
        }
    }

    pub(crate) fn record_seconds(&self) -> f64 {
        self.seconds * RECORD_TRIALS
    }

    /// Objective and limits in the form that the referee takes.
    pub(crate) fn goal(&self) -> Goal {
        Goal {
            objective: self.goal.objective,
            limits: self.goal.limits(),
        }
    }

    /// The requested floor of IOPS; empty for the default one.
    pub(crate) fn floor(&self) -> String {
        let floor = self.goal.min_iops.as_ref();
        floor.map(ToString::to_string).unwrap_or_default()
    }

    /// The text of each background job.
    pub(crate) fn background(&self) -> Vec<String> {
        let jobs = self.workload.background_jobs();
        jobs.iter().map(ToString::to_string).collect()
    }

    /// The settings as the result has them, with the interface and the CPUs that were chosen.
    pub(crate) fn job(&self, workload: &Workload) -> Job {
        Job {
            engine: workload.engine.to_string(),
            rw: self.workload.rw.to_string(),
            think_ns: self.think.map(|think| think.0 as f64),
            block_sizes: self.workload.bs.clone(),
            jobs: workload.cpus.len() as u32,
            cpus: workload.cpus.clone(),
            background: self.background(),
            trial_seconds: self.seconds,
            trials: self.trials,
            objective: self.goal.objective.to_string(),
            limits: self.goal.limits().in_words(),
            seed: self.workload.run.seed,
        }
    }

    /// The plan of one number of jobs out of several. It uses the first CPUs, so that more jobs
    /// include the CPUs of fewer, and an equal share of the budget. Each number chooses CPUs for
    /// background jobs that name none.
    #[must_use]
    pub fn for_jobs(&self, jobs: u32) -> TuneSettings {
        let mut one = self.clone();
        let cpus = self.workload.cpus.iter().copied().cycle();
        one.workload.cpus = cpus.take(jobs as usize).collect();
        one.budget_s = self.budget_s.map(|budget| budget / self.jobs.len() as f64);
        one.jobs = vec![jobs];
        one
    }

    /// The plan for a copied program. Without a target it uses a scratch file.
    #[must_use]
    pub fn for_program(&self, copied: &CopiedWorkload) -> TuneSettings {
        let mut settings = self.clone();
        settings.copies_program = true;
        let workload = &mut settings.workload;
        workload.rw = Pattern::new(copied.random, copied.direction);
        workload.bs.clone_from(&copied.sizes);
        let background = copied.background.iter().map(|job| BackgroundSpec {
            engine: None,
            pattern: Pattern::new(job.random, job.direction),
            bs: job.bs,
            depth: job.depth,
            jobs: 1,
            cpus: Vec::new(),
            poll: false,
            stages: Vec::new(),
        });
        workload.background = vec![Background(background.collect())];
        if workload.target.is_none() {
            workload.scratch.get_or_insert(SCRATCH_SIZE);
        }
        settings.think = copied.think_ns.map(|ns| Nanos(ns.round() as u64));
        settings.jobs = vec![copied.jobs];
        settings
    }

    /// The settings of a stored plan, with the arguments that each session chooses anew.
    #[must_use]
    pub fn with_session(mut self, session: &TuneSettings) -> TuneSettings {
        self.workload.run = session.workload.run.with_seed_of(&self.workload.run);
        TuneSettings {
            limits: session.limits.clone(),
            recalibrate: session.recalibrate,
            ..self
        }
    }
}

/// A plan that is read back may have only values that the command line takes.
impl CheckedPlan for TuneSettings {
    fn check(&self) -> Result<(), PlanFault> {
        PlanFault::check_range("seconds", &self.seconds, TRIAL_SECONDS)?;
        PlanFault::check_range("part_seconds", &self.part_seconds, PART_SECONDS)?;
        PlanFault::check_range("slice_seconds", &self.slice_seconds, PART_SECONDS)?;
        PlanFault::check_range("trials", &self.trials, TRIALS)?;
        self.workload.run.check()?;
        if let Some(percent) = self.goal.max_cpu {
            PlanFault::check_range("max_cpu_pct", &percent, FINITE)?;
        }
        if let Some(think) = self.think {
            PlanFault::check_range("think_ns", &think, THINK)?;
        }
        PlanFault::check_range("budget_s", &self.budget_s.unwrap_or_default(), BUDGET_S)?;
        PlanFault::check_ranges("bs", &self.workload.bs, &(Bytes(1)..=Bytes(u64::MAX)))?;
        PlanFault::check_unique("bs", &self.workload.bs)?;
        check_machine(self.machine.as_ref())?;
        self.check_pattern()?;
        let cpus = &self.workload.cpus;
        PlanFault::check_not_empty("cpus", cpus)?;
        PlanFault::check_range("number of cpus", &(cpus.len() as u32), 1..=MAX_JOBS)?;
        PlanFault::check_ranges("jobs", &self.jobs, &(1..=MAX_JOBS))?;
        if !self.jobs.is_sorted_by(|a, b| a < b) {
            let jobs = format!("{:?}", self.jobs);
            return Err(PlanFault::new("jobs", "numbers in rising order", jobs));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use q2c_model::Direction;
    use q2c_result::program::CopiedBackground;
    use q2c_run::arguments::from_words;

    pub(crate) fn settings(words: &str) -> TuneSettings {
        let mut settings: TuneSettings = from_words(words).unwrap();
        if settings.workload.cpus.is_empty() {
            settings.workload.cpus.push(1);
        }
        settings
    }

    #[test]
    fn each_field_is_checked() {
        let good = || settings("sim:50us --think 100us --policy min:70%,10ms --max-cpu 50%");
        assert_eq!(good().check(), Ok(()));
        type Spoil = fn(&mut TuneSettings);
        let spoilt: [(&str, Spoil); 20] = [
            ("think_ns", |s| s.think = Some(Nanos(0))),
            ("think_ns", |s| s.think = Some(Nanos(u64::MAX))),
            ("bs", |s| s.workload.bs = vec![Bytes(512); 2]),
            ("budget_s", |s| s.budget_s = Some(1e300)),
            ("seconds", |s| s.seconds = -1.0),
            ("seconds", |s| s.seconds = f64::NAN),
            ("part_seconds", |s| s.part_seconds = 1e-300),
            ("slice_seconds", |s| s.slice_seconds = f64::INFINITY),
            ("trials", |s| s.trials = u32::MAX),
            ("trials", |s| s.trials = 0),
            ("seed", |s| s.workload.run.seed = u64::MAX),
            ("bs", |s| s.workload.bs.clear()),
            ("cpus", |s| s.workload.cpus.clear()),
            ("max_cpu_pct", |s| s.goal.max_cpu = Some(f64::NAN)),
            ("budget_s", |s| s.budget_s = Some(-1.0)),
            ("jobs", |s| s.jobs.clear()),
            ("jobs", |s| s.jobs = vec![2, 2]),
            ("jobs", |s| s.jobs = vec![4, 1]),
            ("jobs", |s| s.jobs = vec![0, 1]),
            ("jobs", |s| s.jobs = vec![1, u32::MAX]),
        ];
        for (field, spoil) in spoilt {
            let mut spec = good();
            spoil(&mut spec);
            let fault = spec.check().unwrap_err().to_string();
            assert!(fault.starts_with(field), "{field}: {fault}");
        }
    }

    #[test]
    fn a_program_becomes_the_workload() {
        let copied = CopiedWorkload {
            direction: Direction::Write,
            random: true,
            sizes: vec![Bytes(16 << 10), Bytes(4096)],
            jobs: 3,
            think_ns: Some(150_400.4),
            background: vec![CopiedBackground {
                direction: Direction::Read,
                random: false,
                bs: Bytes(128 << 10),
                depth: 5,
            }],
            ..CopiedWorkload::default()
        };
        let for_program = settings("--from t").for_program(&copied);
        assert!(for_program.copies_program);
        assert_eq!(for_program.workload.scratch, Some(SCRATCH_SIZE));
        assert_eq!(for_program.workload.rw.to_string(), "randwrite");
        let wanted = (&vec![3], &copied.sizes);
        assert_eq!((&for_program.jobs, &for_program.workload.bs), wanted);
        assert_eq!(for_program.think, Some(Nanos(150_400)));
        let beside = "rw=read,bs=131072,depth=5,jobs=1,wait=interrupt";
        assert_eq!(for_program.background(), [beside]);
        let scratch = |options: &str| settings(options).for_program(&copied).workload.scratch;
        assert_eq!(scratch("d --from t"), None);
        assert_eq!(scratch("--scratch 16m --from t"), Some(Bytes(16 << 20)));
    }

    #[test]
    fn options_of_a_program_need_one() {
        for options in [
            "--process dd d",
            "--record d d",
            "--by bpf d",
            "--record-for 1s --from t",
        ] {
            assert!(settings(options).program.check().is_err(), "{options}");
        }
        assert!(settings("--from t --process dd").program.check().is_ok());
        assert!(settings("--record d -- dd if=d").program.check().is_ok());
        for options in ["--from t --bs 4k", "--jobs 2 -- dd", "--from t -- dd"] {
            assert!(from_words::<TuneSettings>(options).is_err(), "{options}");
        }
    }

    /// Four jobs use the CPUs of two jobs and two more; two numbers of jobs halve the budget.
    #[test]
    fn numbers_of_jobs_share_cpus_and_budget() {
        let mut over_jobs = settings("sim:50us --jobs 2,4 --cpu 3,1,0 --budget 90s");
        // The workbench chooses these for four jobs.
        over_jobs.workload.cpus = vec![3, 1, 0, 3];
        let (two, four) = (over_jobs.for_jobs(2), over_jobs.for_jobs(4));
        assert_eq!((two.workload.cpus, two.budget_s), (vec![3, 1], Some(45.0)));
        let all_cpus = vec![3, 1, 0, 3];
        assert_eq!((four.workload.cpus, four.budget_s), (all_cpus, Some(45.0)));
    }

    /// A plan that is read back wins over the job options of a later session.
    #[test]
    fn a_plan_keeps_the_settings_and_not_the_session() {
        let options = "d --bs 8k --cpu 1,0 --seed 5 --background rw=randread,bs=32k,cpus=1 --jobs 2 \
                     --engine io_uring --policy pas --min-iops 93% --max-p99 200us --json";
        let plan = settings(options);
        let text = toml::to_string(&plan).unwrap();
        let read: TuneSettings = toml::from_str(&text).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), text);
        let session = settings("--resume run --bs 64k --jobs 9 --seed 2 --allow-write d");
        let request = read.clone().with_session(&session).request();
        assert_eq!(
            request,
            WorkloadRequest {
                allow_write: session.workload.run.allow_write,
                ..plan.request()
            }
        );
        assert!(!read.workload.run.json && read.policy[0].to_string().starts_with("pas"));
        assert_eq!((read.floor().as_str(), request.jobs), ("93%", 2));
        for (from, to) in [
            ("\"randread\"", "\"x\""),
            ("\"io_uring\"", "\"x\""),
            ("\"pas", "\"x"),
            ("93%", "-9"),
        ] {
            let broken = text.replace(from, to);
            assert_ne!(broken, text);
            assert!(toml::from_str::<TuneSettings>(&broken).is_err(), "{to}");
        }
    }
}
