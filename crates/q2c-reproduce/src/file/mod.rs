//! Experiments as files: `experiments/NAME.toml`, schema `q2c.reproduce/2`.

mod check;
mod origins;
mod raw;
mod rules;
mod settings;

pub use rules::CompetingRules;
pub(crate) use settings::{DeviceSpec, JobSettings, RamDeviceSpec, SettingsText, TARGET};

use crate::claim::eval::FIGURES;
use crate::claim::judge::Claim;
use crate::claim::scope::ClaimScope;
use crate::jobs::{AxisValues, MIN_SLICE};
use crate::needs::SETTINGS;
use crate::studies::mix::WARM_UP_S;
use crate::studies::place::TRIAL_S;
use itertools::Itertools;
use q2c_engine::SimMachine;
use q2c_model::Nanos;
use q2c_place::study::SetupRequest;
use q2c_result::fs::FileSystem;
use q2c_result::reproduce::{Axis, Chart, SettingOrigin, StudyKind, VariantOf, Window};
use q2c_trace::samples::PATTERNS;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use toml::Spanned;

pub(crate) const SCHEMA: &str = "q2c.reproduce/2";

/// A checked experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The text of its file.
    pub text: String,
    /// Its name, which is also the name of its folder.
    pub name: String,
    pub(crate) title: String,
    /// How the published figures were measured.
    pub(crate) setting: String,
    /// Where its settings come from, if the file says so.
    pub origins: Vec<SettingOrigin>,
    /// The experiment that it adapts.
    pub variant_of: Option<VariantOf>,
    /// Trials of each point.
    pub trials: u32,
    pub(crate) interval: Nanos,
    /// True if the block layer is captured beside the jobs, for figures of stages and queues.
    pub capture: bool,
    /// The simulated machine on which it predicts; `None` if it measures.
    pub machine: Option<SimMachine>,
    /// Windows of a phase, at scale 1.
    pub(crate) windows: Vec<Window>,
    pub(crate) devices: Vec<DeviceText>,
    pub(crate) axes: Vec<Axis>,
    pub(crate) axis_texts: Vec<AxisTexts>,
    pub(crate) phases: Vec<Phase>,
    /// The jobs; empty in studies without jobs.
    pub(crate) jobs: Vec<ExperimentJob>,
    /// The machine and tasks of the simulator of placements.
    pub place: Option<SetupRequest>,
    /// The user's command whose result is judged.
    pub compare: Option<String>,
    /// The recorded length of each trace of that command; empty if any will do.
    pub(crate) compare_lengths: Vec<Nanos>,
    /// The sleep rules that compete over the library of patterns.
    pub rules: Option<CompetingRules>,
    /// The mix of work on the files of the mounted device.
    pub mix: Option<TaskMix>,
    pub(crate) needs: Needs,
    /// The claims, each with its own needs.
    pub claims: Vec<(Claim, Needs)>,
    pub(crate) charts: Vec<Chart>,
}

/// Texts for the values of an axis: `{axis.name}` is replaced by the text of the axis' value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AxisTexts {
    pub axis: String,
    pub name: String,
    /// The text of each value of the axis.
    pub texts: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceText {
    pub name: Spanned<String>,
    /// The device as text, in which `{axis}` is replaced by the axis' value.
    pub make: Spanned<String>,
    /// The file system that is made on it and mounted.
    pub mount: Option<Spanned<FileSystem>>,
}

impl DeviceText {
    pub(crate) fn fill(&self, expanded: &AxisValues) -> String {
        fill(self.make.get_ref(), expanded)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    pub name: String,
    pub label: String,
    /// Length at scale 1.
    pub length: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExperimentJob {
    pub name: String,
    /// The job's settings in each phase; `None` in a phase in which it does no I/O.
    pub phases: Vec<Option<SettingsText>>,
}

/// The built-in mix of work on files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskMix {
    /// The tasks, as the threads of a job.
    tasks: SettingsText,
    /// Length of a trial at scale 1.
    pub(crate) length: Nanos,
}

impl TaskMix {
    /// The number of tasks at a point with its texts, each of which takes a CPU.
    pub(crate) fn tasks(&self, expanded: &AxisValues) -> Result<u32, String> {
        Ok(self.tasks.settings_at(expanded)?.threads)
    }
}

impl fmt::Display for TaskMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.tasks.threads.as_ref();
        let tasks = tasks.map_or("1", |tasks| tasks.get_ref().as_ref());
        write!(f, "{tasks} tasks of the built-in mix for {}", self.length)
    }
}

/// Requirements on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Needs {
    pub(crate) cpus: Option<u32>,
    pub(crate) threads_per_core: Option<u32>,
    pub(crate) numa_nodes: Option<u32>,
    pub(crate) kernel: Option<KernelBound>,
    pub(crate) poll_queues: bool,
    pub(crate) hw_queues: Option<u32>,
    pub(crate) module: Option<String>,
    pub(crate) file_systems: Vec<String>,
    pub(crate) spdk: bool,
    /// Checks of `q2c doctor` that must pass.
    pub(crate) settings: Vec<SettingCheck>,
    /// The reason why no machine can judge the claim with q2c.
    pub(crate) no_machine: Option<String>,
}

/// The name of a check of `q2c doctor` that looks at a setting of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct SettingCheck(pub String);

impl TryFrom<String> for SettingCheck {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let known = SETTINGS.contains(&&*name);
        let message = format!("`{name}` is no setting; there are {}", SETTINGS.join(", "));
        known.then_some(SettingCheck(name)).ok_or(message)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct KernelBound {
    /// True if the kernel must be older than `version`; else it must be at least that version.
    pub below: bool,
    pub version: (u32, u32),
}

impl TryFrom<String> for KernelBound {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let trimmed = text.trim();
        let below = trimmed.strip_prefix('<').map(|version| (true, version));
        let from = trimmed.strip_prefix(">=").map(|version| (false, version));
        let bound = from.or(below).and_then(|(below, version)| {
            let (major, minor) = version.trim().split_once('.')?;
            let version = (major.parse().ok()?, minor.parse().ok()?);
            Some(KernelBound { below, version })
        });
        bound.ok_or_else(|| format!("`{text}` is no bound; write \"< 5.0\" or \">= 5.0\""))
    }
}

/// Time to start and end a trial of jobs, without its phases, seconds.
const START_UP_S: f64 = 0.03;
/// Additional time for each thread, seconds.
const THREAD_S: f64 = 0.001;
/// Time to create and remove a file or a file system for a trial, seconds.
const FILE_S: f64 = 0.15;
/// Time to create and remove a module's RAM device for a trial, seconds.
const RAM_S: f64 = 0.02;
/// Time to simulate a sleep rule on a pattern of the library, seconds.
const RULE_S: f64 = 0.000_3;

impl Experiment {
    /// Parses an experiment from the text of a file. The error lists every mistake with its line.
    pub fn parse(text: &str) -> Result<Self, ExperimentError> {
        check::check_text(text)
    }

    /// The study that makes the figures.
    pub(crate) fn study(&self) -> StudyKind {
        match (&self.place, &self.compare) {
            (Some(_), _) => StudyKind::Place,
            (_, Some(_)) => StudyKind::Compare,
            _ if self.rules.is_some() => StudyKind::Rules,
            _ if self.mix.is_some() => StudyKind::Mix,
            _ if self.mounted_device().is_some() => StudyKind::Mount,
            _ if self.capture => StudyKind::Stages,
            _ => StudyKind::Jobs,
        }
    }

    /// The device on which a file system is mounted, and the file system.
    pub fn mounted_device(&self) -> Option<(&str, FileSystem)> {
        self.devices.iter().find_map(|device| {
            let fs = *device.mount.as_ref()?.get_ref();
            Some((device.name.get_ref().as_str(), fs))
        })
    }

    /// The names that claims may use. The lengths of the phases are at scale 1.
    pub(crate) fn scope(&self) -> ClaimScope {
        let figures = match self.study() {
            StudyKind::Place => crate::studies::place::FIGURES.to_vec(),
            StudyKind::Stages => [FIGURES.as_slice(), &crate::jobs::STAGE_FIGURES].concat(),
            StudyKind::Compare => crate::studies::compare::FIGURES.to_vec(),
            StudyKind::Rules => crate::studies::rules::FIGURES.to_vec(),
            StudyKind::Mount => crate::studies::mount::FIGURES.to_vec(),
            StudyKind::Mix => crate::studies::mix::FIGURES.to_vec(),
            StudyKind::Jobs => FIGURES.to_vec(),
        };
        ClaimScope {
            windows: self.windows.clone(),
            phases: self.phases.iter().map(|phase| phase.name.clone()).collect(),
            lengths_s: Vec::new(),
            jobs: self.jobs.iter().map(|job| job.name.clone()).collect(),
            axes: self.axes.clone(),
            figures: figures.into_iter().map(str::to_owned).collect(),
        }
    }

    /// All points, which combine the values of all axes in the order of the file.
    pub fn points(&self) -> Vec<AxisValues> {
        let mut points = vec![AxisValues::new()];
        for axis in &self.axes {
            let with_value = |(at, value): (&AxisValues, &String)| {
                let mut at = at.clone();
                at.insert(axis.name.clone(), value.clone());
                at
            };
            let pairs = |at| axis.values.iter().map(move |value| (at, value));
            points = points.iter().flat_map(pairs).map(with_value).collect();
        }
        points
    }

    /// A point together with the [texts](AxisTexts) that go with its values.
    pub(crate) fn expand(&self, at: &AxisValues) -> AxisValues {
        let mut expanded = at.clone();
        for AxisTexts { axis, name, texts } in &self.axis_texts {
            if let Some(text) = at.get(axis).and_then(|value| texts.get(value)) {
                expanded.insert(format!("{axis}.{name}"), text.clone());
            }
        }
        expanded
    }

    /// The settings of all jobs in the phases in which they do I/O.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &SettingsText> {
        self.jobs.iter().flat_map(|job| job.phases.iter().flatten())
    }

    /// The settings at all points of the jobs that do their I/O on the user's target.
    pub fn target_settings(&self) -> Vec<Result<JobSettings, String>> {
        let points = self.points();
        let mut at_points = Vec::new();
        for settings in self.settings().filter(|settings| settings.uses_target()) {
            let settings_at = |at| settings.settings_at(&self.expand(at)).map_err(String::from);
            at_points.extend(points.iter().map(settings_at));
        }
        at_points
    }

    /// The engines that jobs on the user's target name, each once.
    pub fn engines(&self) -> Vec<String> {
        let settings = self.target_settings().into_iter().flatten();
        let engines = settings.filter_map(|settings| settings.engine);
        engines.map(|engine| engine.to_string()).unique().collect()
    }

    /// The CPUs that the jobs of the busiest phase, or the tasks of the mix, need at any point;
    /// `None` without jobs and mix.
    pub(crate) fn cpus(&self) -> Option<u32> {
        let points = self.points().into_iter();
        let phases = points.flat_map(|at| crate::jobs::cpu_use(self, &at, 0));
        let needed = phases.map(|phase| phase.needed).max();
        needed.filter(|_| !self.jobs.is_empty() || self.mix.is_some())
    }

    /// Why the experiment needs real time; `None` if all jobs use simulated devices.
    pub fn needs_real_time(&self, target_is_simulated: bool) -> Option<String> {
        let takes_target = self.takes_target();
        if self.jobs.is_empty() {
            Some("it has no jobs".to_owned())
        } else if takes_target && !target_is_simulated {
            Some("its jobs work on a real target, and not on one such as sim:80us".to_owned())
        } else if !takes_target && self.devices.is_empty() {
            Some("its jobs work on no device".to_owned())
        } else {
            self.real_device().map(|made| format!("it makes {made}"))
        }
    }

    fn real_device(&self) -> Option<String> {
        let mut devices = self.points().into_iter().flat_map(|at| {
            let at = self.expand(&at);
            self.devices.iter().map(move |device| device.fill(&at))
        });
        devices.find(|text| !matches!(text.parse(), Ok(DeviceSpec::Simulated(_))))
    }

    /// True if a job does its I/O on the user's target.
    pub fn takes_target(&self) -> bool {
        self.settings().any(SettingsText::uses_target)
    }

    /// Expected length with this number of trials of each point and times multiplied by `scale`,
    /// seconds. `None` if it only reads another command's result. It is shorter if a module or tool
    /// is missing.
    pub fn length_s(&self, scale: f64, trials: u32) -> Option<f64> {
        let trials = f64::from(trials);
        match self.study() {
            StudyKind::Compare => None,
            StudyKind::Place => Some(trials * TRIAL_S),
            StudyKind::Rules => {
                let policies = self.rules.as_ref().map_or(0, |rules| rules.policies.len());
                Some((policies * PATTERNS.len()) as f64 * RULE_S)
            }
            StudyKind::Jobs | StudyKind::Stages | StudyKind::Mount | StudyKind::Mix => {
                let points = self.points();
                let trial_lengths_s = points.iter().map(|at| self.trial_of_point_s(at, scale));
                Some(trials * trial_lengths_s.sum::<f64>())
            }
        }
    }

    /// The lengths of the phases after all times are multiplied by `scale`.
    pub(crate) fn scaled_phases(&self, scale: f64) -> Vec<Nanos> {
        let scaled = |phase: &Phase| Nanos::from_secs_f64(phase.length.as_secs_f64() * scale);
        let phases = self.phases.iter();
        phases.map(|phase| scaled(phase).max(MIN_SLICE)).collect()
    }

    pub(crate) fn trial_of_point_s(&self, at: &AxisValues, scale: f64) -> f64 {
        let phases = self.scaled_phases(scale).into_iter();
        let mix = self.mix.as_ref();
        let mix_s = mix.map(|mix| WARM_UP_S + mix.length.as_secs_f64() * scale);
        phases.map(Nanos::as_secs_f64).sum::<f64>() + mix_s.unwrap_or(0.0) + self.start_up_s(at)
    }

    fn start_up_s(&self, at: &AxisValues) -> f64 {
        let at = self.expand(at);
        let threads = |settings: &SettingsText| Some(settings.settings_at(&at).ok()?.threads);
        let threads = self.settings().filter_map(threads).max();
        let devices = self.devices.iter();
        let making_s = devices.map(|device| match device.fill(&at).parse() {
            Ok(DeviceSpec::Simulated(_)) | Err(_) => 0.0,
            Ok(DeviceSpec::Loop(_) | DeviceSpec::FileOn(..)) => FILE_S,
            Ok(DeviceSpec::RamdiskMq(_) | DeviceSpec::NullBlk(_)) => RAM_S,
        });
        START_UP_S + making_s.sum::<f64>() + THREAD_S * f64::from(threads.unwrap_or(0))
    }
}

/// Replaces the names of axes in braces by the values of a point.
pub(crate) fn fill(text: &str, at: &AxisValues) -> String {
    let mut text = text.to_owned();
    for (axis, value) in at {
        text = text.replace(&format!("{{{axis}}}"), value);
    }
    text
}

/// A mistake in an experiment file.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {words}")]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The mistake, and the text to write instead.
    pub words: String,
}

/// An experiment that cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExperimentError {
    /// No built-in experiment has this name.
    #[error("find experiment `{name}`: there are {known}; a file's name ends in .toml")]
    Unknown {
        /// The name as given.
        name: String,
        /// Names of the built-in experiments.
        known: String,
    },
    /// The file is wrong.
    #[error("understand the experiment:{}", lines(.0))]
    Wrong(Vec<Problem>),
}

fn lines(problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| format!("\n  {problem}"));
    lines.collect()
}

pub(super) struct Problems<'a> {
    pub text: &'a str,
    pub all: Vec<Problem>,
}

impl Problems<'_> {
    pub(crate) fn add<T>(&mut self, at: &Spanned<T>, words: impl Into<String>) {
        self.add_at(at.span(), words.into());
    }

    pub(crate) fn add_if<T>(&mut self, wrong: bool, at: &Spanned<T>, words: impl Into<String>) {
        if wrong {
            self.add(at, words);
        }
    }

    pub(crate) fn add_at(&mut self, span: Range<usize>, words: String) {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let problem = Problem { line, words };
        if !self.all.contains(&problem) {
            self.all.push(problem);
        }
    }

    /// Returns the value if it is `Ok`. An error becomes a problem at the place of `at`.
    pub(crate) fn ok<T, V>(&mut self, at: &Spanned<V>, value: Result<T, String>) -> Option<T> {
        value.map_err(|message| self.add(at, message)).ok()
    }
}

const TEXTS: &[&str] = &[
    include_str!("../../../../experiments/miss-rate-interference.toml"),
    include_str!("../../../../experiments/miss-rate-interference-2cpu.toml"),
    include_str!("../../../../experiments/miss-rate-interference-1m.toml"),
    include_str!("../../../../experiments/sleep-ratio-interference.toml"),
    include_str!("../../../../experiments/sleep-ratio-interference-2cpu.toml"),
    include_str!("../../../../experiments/replay-ssd-comparison.toml"),
    include_str!("../../../../experiments/replay-ssd-comparison-samples.toml"),
    include_str!("../../../../experiments/interfaces-by-jobs.toml"),
    include_str!("../../../../experiments/irq-vs-poll-scaling.toml"),
    include_str!("../../../../experiments/poll-vs-hybrid-cpu.toml"),
    include_str!("../../../../experiments/poll-vs-hybrid-cpu-simulated.toml"),
    include_str!("../../../../experiments/interfaces-by-jobs-simulated.toml"),
    include_str!("../../../../experiments/irq-vs-poll-scaling-simulated.toml"),
    include_str!("../../../../experiments/hybrid-tuned.toml"),
    include_str!("../../../../experiments/hybrid-tuned-simulated.toml"),
    include_str!("../../../../experiments/rule-study.toml"),
    include_str!("../../../../experiments/placement-between-cores.toml"),
    include_str!("../../../../experiments/placement-within-core.toml"),
    include_str!("../../../../experiments/placement-balancer.toml"),
    include_str!("../../../../experiments/blkmq-kernel-version.toml"),
    include_str!("../../../../experiments/blkmq-core-scaling.toml"),
    include_str!("../../../../experiments/blkmq-macro-scaling.toml"),
    include_str!("../../../../experiments/blkmq-macro-scaling-2cpu.toml"),
    include_str!("../../../../experiments/hwqueue-scaling.toml"),
    include_str!("../../../../experiments/nr-requests-scaling.toml"),
    include_str!("../../../../experiments/fs-shared-file-scaling.toml"),
    include_str!("../../../../experiments/stage-bottleneck.toml"),
    include_str!("../../../../experiments/stage-bottleneck-simulated.toml"),
    include_str!("../../../../experiments/queue-balance.toml"),
    include_str!("../../../../experiments/queue-balance-2cpu.toml"),
    include_str!("../../../../experiments/queue-balance-unpinned.toml"),
    include_str!("../../../../experiments/queue-balance-simulated.toml"),
    include_str!("../../../../experiments/ramdisk-verification.toml"),
    include_str!("../../../../experiments/ramdisk-scaling.toml"),
];

/// All built-in experiments.
pub fn built_in_experiments() -> Result<Vec<Experiment>, ExperimentError> {
    TEXTS.iter().map(|text| Experiment::parse(text)).collect()
}

/// The built-in experiment of this name.
pub fn built_in_experiment(name: &str) -> Result<Experiment, ExperimentError> {
    let experiments = built_in_experiments()?;
    let known: Vec<String> = experiments.iter().map(|known| known.name.clone()).collect();
    let experiment = experiments.into_iter().find(|known| known.name == name);
    experiment.ok_or_else(|| ExperimentError::Unknown {
        name: name.to_owned(),
        known: known.join(", "),
    })
}
