//! Checks a file, and makes an [`Experiment`] from it.

use super::raw::{OneOrMore, RawChart, RawClaim, RawCurve, RawFile, Text};
use super::settings::{DeviceSpec, SettingsText, TARGET, fault};
use super::{
    AxisTexts, CompetingRules, DeviceText, Experiment, ExperimentError, ExperimentJob, Needs,
    Phase, Problems, SCHEMA, TaskMix, origins, rules,
};
use crate::claim::judge::Claim;
use crate::claim::parse;
use crate::claim::scope::{ClaimContext, ClaimScope, unknown_name};
use crate::jobs::AxisValues;
use q2c_engine::SimMachine;
use q2c_model::{Nanos, parse_duration};
use q2c_place::rules::LINUX_THRESHOLD;
use q2c_place::study::{BACKGROUND, SetupRequest};
use q2c_policy::{KernelSleep, Method};
use q2c_result::place::Phases;
use q2c_result::reproduce::{Axis, Chart, PublishedCurve, VariantOf, Window};
use q2c_watch::steer::Steering;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;

const DEFAULT_TRIALS: u32 = 5;
/// Default length of the intervals of a series.
const DEFAULT_INTERVAL: Nanos = Nanos::from_millis(100);
const MIN_INTERVAL: Nanos = Nanos::from_millis(10);
const MAX_PHASE_S: f64 = 86_400.0;
/// Lengths of a trial of the mix, seconds.
const MIX_S: RangeInclusive<f64> = 0.05..=MAX_PHASE_S;
/// Most points that the axes of an experiment may make.
const MAX_POINTS: usize = 10_000;

pub(super) fn check_text(text: &str) -> Result<Experiment, ExperimentError> {
    let mut problems = Problems {
        text,
        all: Vec::new(),
    };
    let raw = toml::from_str::<RawFile>(text).map_err(|error| {
        let message = error.message().trim().replace('\n', " ");
        problems.add_at(error.span().unwrap_or(0..0), message);
    });
    let experiment = raw.map(|raw| {
        let (problems, raw) = (&mut problems, &raw);
        ExperimentChecker { problems, raw }.experiment(text)
    });
    let mut problems = problems.all;
    problems.sort_by_key(|problem| problem.line);
    match experiment {
        Ok(experiment) if problems.is_empty() => Ok(experiment),
        _ => Err(ExperimentError::Wrong(problems)),
    }
}

struct ExperimentChecker<'a, 'text> {
    problems: &'a mut Problems<'text>,
    raw: &'a RawFile,
}

impl ExperimentChecker<'_, '_> {
    fn experiment(&mut self, text: &str) -> Experiment {
        let raw = self.raw;
        let schema = raw.schema.get_ref();
        let message = format!("the schema is `{schema}`; write schema = \"{SCHEMA}\"");
        self.problems.add_if(schema != SCHEMA, &raw.schema, message);
        // The name of an experiment is also the name of its folder.
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let name = raw.name.get_ref();
        let wrong = name.is_empty() || !name.chars().all(is_allowed);
        let message = "a name has lower-case letters, digits and dashes, such as \"my-experiment\"";
        self.problems.add_if(wrong, &raw.name, message);
        let phases = self.phases();
        let mut experiment = Experiment {
            text: text.to_owned(),
            name: name.clone(),
            title: raw.title.clone(),
            setting: raw.setting.clone(),
            origins: origins::origins(raw, self.problems),
            variant_of: raw.variant_of.clone().map(|of| VariantOf {
                name: of.name,
                reason: of.reason,
            }),
            trials: self.trials(),
            interval: self.interval(),
            capture: raw.capture,
            machine: self.machine(),
            windows: self.windows(&phases),
            devices: raw.devices.clone(),
            axes: self.axes(),
            axis_texts: self.axis_texts(),
            phases,
            jobs: Vec::new(),
            place: self.place(),
            compare: raw.compare.as_ref().map(|compare| compare.command.clone()),
            compare_lengths: self.compare_lengths(),
            rules: self.rules(),
            mix: self.mix(),
            needs: raw.needs.clone(),
            claims: Vec::new(),
            charts: Vec::new(),
        };
        self.add_compare_axes(&mut experiment);
        let rule_axes = experiment.rules.iter().flat_map(CompetingRules::axes);
        experiment.axes.extend(rule_axes);
        self.check_devices(&experiment);
        self.check_mix(&experiment);
        self.add_jobs(&mut experiment);
        self.check_study(&experiment);
        self.check_machine(&experiment);
        let (scope, claims, charts) = (experiment.scope(), raw.claims.iter(), raw.charts.iter());
        let claims = claims.map(|raw| claim(self.problems, raw, &scope));
        experiment.claims = claims.collect();
        let charts = charts.map(|raw| chart(self.problems, raw, &scope));
        experiment.charts = charts.collect();
        experiment
    }

    /// Adds a problem if `before` already has this name.
    fn check_unique<'n>(
        &mut self,
        name: &Spanned<String>,
        kind: &str,
        mut before: impl Iterator<Item = &'n String>,
    ) {
        let text = name.get_ref();
        let message = format!("there are two {kind} `{text}`; give one another name");
        let twice = before.any(|other| other == text);
        self.problems.add_if(twice, name, message);
    }

    fn machine(&mut self) -> Option<SimMachine> {
        let text = self.raw.machine.as_ref()?;
        let machine = SimMachine::from_list(text.get_ref());
        self.problems
            .ok(text, machine.map_err(|fault| fault.to_string()))
    }

    /// Only an experiment on simulated devices of its own has a simulated machine.
    fn check_machine(&mut self, experiment: &Experiment) {
        let reason = experiment.needs_real_time(false);
        if let (Some(text), Some(reason)) = (&self.raw.machine, reason) {
            let message =
                format!("a machine is for simulated devices of the file alone, and {reason}");
            self.problems.add(text, message);
        }
    }

    fn trials(&mut self) -> u32 {
        let Some(trials) = &self.raw.trials else {
            return DEFAULT_TRIALS;
        };
        let wrong = !(1..=1000).contains(trials.get_ref());
        let message = "trials are 1 to 1000; a verdict needs 3";
        self.problems.add_if(wrong, trials, message);
        *trials.get_ref()
    }

    fn interval(&mut self) -> Nanos {
        let Some(text) = &self.raw.interval else {
            return DEFAULT_INTERVAL;
        };
        let interval = self.duration(text).unwrap_or(DEFAULT_INTERVAL);
        let message = format!("the interval is below {MIN_INTERVAL}, the shortest one");
        let wrong = interval < MIN_INTERVAL;
        self.problems.add_if(wrong, text, message);
        interval
    }

    fn duration(&mut self, text: &Spanned<String>) -> Option<Nanos> {
        let parsed = parse_duration(text.get_ref());
        let parsed = parsed.map_err(|e| format!("{e}; write for example \"20s\" or \"100ms\""));
        self.problems.ok(text, parsed)
    }

    fn windows(&mut self, phases: &[Phase]) -> Vec<Window> {
        let mut windows = Vec::new();
        for (name, text) in &self.raw.windows {
            let parsed = window(name, text.get_ref()).and_then(|w| check_start(w, phases));
            windows.extend(self.problems.ok(text, parsed));
        }
        windows
    }

    fn axes(&mut self) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        for raw in &self.raw.axes {
            let name = raw.name.get_ref();
            let taken = ["phase", "job", "window", "time"].contains(&name.as_str());
            let taken = taken || axes.iter().any(|axis| axis.name == *name);
            let message = format!("`{name}` has a meaning already; give the axis another name");
            self.problems.add_if(taken, &raw.name, message);
            let values: Vec<String> = raw.values.get_ref().iter().map(|v| v.0.clone()).collect();
            let mut numbered = values.iter().enumerate();
            if let Some((_, value)) = numbered.find(|(n, value)| values[..*n].contains(value)) {
                let message = format!("`{value}` stands twice; write each value once");
                self.problems.add(&raw.values, message);
            }
            let message = "an axis needs a value at least";
            self.problems
                .add_if(values.is_empty(), &raw.values, message);
            let name = name.clone();
            axes.push(Axis { name, values });
        }
        let points = axes.iter().map(|axis| axis.values.len());
        if points.fold(1, usize::saturating_mul) > MAX_POINTS {
            let message = format!("the axes make more than {MAX_POINTS} points; leave values out");
            self.problems.add(&self.raw.axes[0].values, message);
            // Later checks create all points; a single one suffices to find further mistakes.
            axes.iter_mut().for_each(|axis| axis.values.truncate(1));
        }
        axes
    }

    fn axis_texts(&mut self) -> Vec<AxisTexts> {
        let mut axis_texts = Vec::new();
        for axis in &self.raw.axes {
            let values = axis.values.get_ref();
            for (name, texts) in &axis.with {
                let (axis_len, texts_len) = (values.len(), texts.get_ref().len());
                let message = format!(
                    "the axis has {axis_len} values, and there are {texts_len} of `{name}`; write one for each"
                );
                self.problems.add_if(texts_len != axis_len, texts, message);
                let pairs = values.iter().zip(texts.get_ref());
                let pairs = pairs.map(|(value, text)| (value.0.clone(), text.0.clone()));
                axis_texts.push(AxisTexts {
                    axis: axis.name.get_ref().clone(),
                    name: name.clone(),
                    texts: pairs.collect(),
                });
            }
        }
        axis_texts
    }

    fn phases(&mut self) -> Vec<Phase> {
        let mut phases: Vec<Phase> = Vec::new();
        for raw in &self.raw.phases {
            let name = raw.name.get_ref().clone();
            self.check_unique(&raw.name, "phases", phases.iter().map(|phase| &phase.name));
            let length = self.duration(&raw.length).unwrap_or(Nanos::from_millis(1));
            let wrong = length.0 == 0 || length.as_secs_f64() > MAX_PHASE_S;
            let message = "a phase lasts more than 0 s and at most a day";
            self.problems.add_if(wrong, &raw.length, message);
            phases.push(Phase {
                label: raw.label.clone().unwrap_or_else(|| name.clone()),
                name,
                length,
            });
        }
        phases
    }

    fn check_devices(&mut self, experiment: &Experiment) {
        for (n, raw) in self.raw.devices.iter().enumerate() {
            let message = "`target` is the device that the user names; give this one another name";
            let is_target = raw.name.get_ref() == TARGET;
            self.problems.add_if(is_target, &raw.name, message);
            let before = self.raw.devices[..n].iter();
            let before = before.map(|device| device.name.get_ref());
            self.check_unique(&raw.name, "devices", before);
            let make = |point| raw.fill(&experiment.expand(&point)).parse::<DeviceSpec>();
            let mut points = experiment.points().into_iter();
            let made = points.try_for_each(|point| make(point).map(drop));
            self.problems.ok(&raw.make, made);
            self.check_mount(raw, experiment);
        }
    }

    fn check_mount(&mut self, raw: &DeviceText, experiment: &Experiment) {
        let Some(mount) = &raw.mount else {
            return;
        };
        let has_mix = experiment.mix.is_some();
        let is_other = |point| match raw.fill(&experiment.expand(&point)).parse() {
            Ok(DeviceSpec::RamdiskMq(_)) => false,
            Ok(DeviceSpec::NullBlk(ram)) => !(has_mix && ram.memory_backed),
            Ok(DeviceSpec::Loop(_)) => !has_mix,
            _ => true,
        };
        let wrong = experiment.points().into_iter().any(is_other);
        let message = "a file system is mounted on ramdisk_mq, and with [mix] on null_blk with memory or loop, too; leave `mount` out";
        self.problems.add_if(wrong, mount, message);
        let wrong = self.raw.devices.len() > 1;
        let message = "a file with `mount` makes one device; leave the others out";
        self.problems.add_if(wrong, mount, message);
    }

    fn mix(&mut self) -> Option<TaskMix> {
        let raw = self.raw.mix.as_ref()?;
        let length = self.duration(&raw.length)?;
        let wrong = !MIX_S.contains(&length.as_secs_f64());
        let message = "a trial of the mix lasts 50ms to a day";
        self.problems.add_if(wrong, &raw.length, message);
        let tasks = SettingsText {
            threads: Some(raw.tasks.clone()),
            ..SettingsText::default()
        };
        Some(TaskMix { tasks, length })
    }

    fn check_mix(&mut self, experiment: &Experiment) {
        let (Some(raw), Some(mix)) = (&self.raw.mix, &experiment.mix) else {
            return;
        };
        let tasks = |point| mix.tasks(&experiment.expand(&point)).map(drop);
        let counted = experiment.points().into_iter().try_for_each(tasks);
        self.problems.ok(&raw.tasks, counted);
        let message = "[mix] needs a file system; write a [[device]] with `mount`";
        let wrong = experiment.mounted_device().is_none();
        self.problems.add_if(wrong, &raw.tasks, message);
    }

    fn add_jobs(&mut self, experiment: &mut Experiment) {
        for raw in &self.raw.jobs {
            let base = raw.get_ref();
            let Some(name) = &base.name else {
                self.problems.add(raw, "missing field `name`");
                continue;
            };
            self.check_unique(name, "jobs", experiment.jobs.iter().map(|job| &job.name));
            let mut phases = Vec::new();
            for phase in &self.raw.phases {
                let set = phase.set.get(name.get_ref());
                let span = set.map_or(name.span(), Spanned::span);
                let merge = |set: &Spanned<SettingsText>| set.get_ref().clone().merge(base.clone());
                let settings = set.map_or_else(|| base.clone(), merge);
                phases.push(self.settings(settings, span, experiment));
            }
            let name = name.get_ref().clone();
            experiment.jobs.push(ExperimentJob { name, phases });
        }
        let names: Vec<String> = experiment.jobs.iter().map(|job| job.name.clone()).collect();
        for (name, set) in self.raw.phases.iter().flat_map(|phase| &phase.set) {
            if !names.contains(name) {
                self.problems.add(set, unknown_name("job", name, &names));
            }
            if let Some(given) = &set.get_ref().name {
                self.problems.add(given, "unknown field `name`");
            }
        }
    }

    /// The settings of a job in a phase; `None` if it does no I/O then. `span` is the place of
    /// problems that have no place of their own.
    fn settings(
        &mut self,
        settings: SettingsText,
        span: Range<usize>,
        experiment: &Experiment,
    ) -> Option<SettingsText> {
        if settings.rest == Some(true) {
            return None;
        }
        let check = |point: AxisValues| {
            let job = settings.settings_at(&experiment.expand(&point))?;
            let unfit = |method: &Method| match method {
                Method::HybridKernel(KernelSleep::Steered(rule)) => Steering::new(rule).err(),
                _ => None,
            };
            if let Some(unfit) = job.methods.iter().find_map(unfit) {
                return Err(fault(&settings.method, &unfit));
            }
            if job.cpus.is_none() && experiment.machine.is_some() {
                let message = "a simulated machine has no scheduler that moves threads; \
                               write the number of CPUs that the threads share";
                return Err(fault(&settings.cpus, &message));
            }
            let (device, mut devices) = (job.device, experiment.devices.iter());
            if device == TARGET || devices.any(|known| *known.name.get_ref() == device) {
                return Ok(());
            }
            let message =
                format!("there is no device `{device}`; write target, or make one by [[device]]");
            Err(fault(&settings.device, &message))
        };
        if let Err(wrong) = experiment.points().into_iter().try_for_each(check) {
            self.problems
                .add_at(wrong.span.unwrap_or(span), wrong.message);
        }
        Some(settings)
    }

    fn place(&mut self) -> Option<SetupRequest> {
        let raw = self.raw.place.as_ref()?;
        for (count, least, most) in [
            (&raw.cores, 1, 1024),
            (&raw.threads, 1, 8),
            (&raw.compute, 1, 10_000),
            (&raw.polling, 0, 10_000),
        ] {
            let wrong = !(least..=most).contains(count.get_ref());
            let message = format!("write a whole number from {least} to {most}");
            self.problems.add_if(wrong, count, message);
        }
        if let Some(threshold) = &raw.threshold {
            let wrong = *threshold.get_ref() == 0;
            let message = "a threshold is one task or more";
            self.problems.add_if(wrong, threshold, message);
        }
        let work = self.duration(&raw.work);
        let background = raw.background.as_ref();
        let background =
            background.and_then(|text| self.problems.ok(text, text.get_ref().parse::<Phases>()));
        let threshold = raw.threshold.as_ref().map(|tasks| *tasks.get_ref());
        Some(SetupRequest {
            cores: *raw.cores.get_ref(),
            threads: *raw.threads.get_ref(),
            caches: 1,
            compute: *raw.compute.get_ref(),
            polling: *raw.polling.get_ref(),
            work_s: work.map_or(1.0, |work| work.as_secs_f64()),
            compute_phases: None,
            polling_phases: None,
            background: Some(background.unwrap_or(BACKGROUND)),
            threshold: threshold.unwrap_or(LINUX_THRESHOLD),
            published: Vec::new(),
        })
    }

    /// The competing rules. Their groups and sets make the axes.
    fn rules(&mut self) -> Option<CompetingRules> {
        let raw = self.raw.study.as_ref()?;
        if let Some(axis) = self.raw.axes.first() {
            let message = "the axes of [study] are `rule` and `among`; leave [[axis]] out";
            self.problems.add(&axis.name, message);
        }
        Some(rules::competing_rules(raw, self.problems))
    }

    fn compare_lengths(&mut self) -> Vec<Nanos> {
        let Some(compare) = &self.raw.compare else {
            return Vec::new();
        };
        let lengths = compare.lengths.iter().filter_map(|raw| {
            let length = parse_duration(raw.get_ref()).map_err(|error| error.to_string());
            self.problems.ok(raw, length)
        });
        let lengths: Vec<Nanos> = lengths.collect();
        let wrong = !lengths.is_empty() && lengths.len() != compare.traces.len();
        let message = "`lengths` has a length for each of `traces`, or is left out";
        self.problems.add_if(wrong, &compare.modes, message);
        lengths
    }

    fn add_compare_axes(&mut self, experiment: &mut Experiment) {
        let Some(compare) = &self.raw.compare else {
            return;
        };
        let known = ["timed", "outstanding", "closed"].map(str::to_owned);
        let mut modes = compare.modes.get_ref().iter();
        if let Some(mode) = modes.find(|mode| !known.contains(mode)) {
            self.problems
                .add(&compare.modes, unknown_name("mode", mode, &known));
        }
        for (name, values) in [
            ("trace", &compare.traces),
            ("device", &compare.devices),
            ("mode", compare.modes.get_ref()),
        ] {
            let (name, values) = (name.to_owned(), values.clone());
            experiment.axes.push(Axis { name, values });
        }
    }

    fn check_study(&mut self, experiment: &Experiment) {
        let (no_jobs, no_phases) = (experiment.jobs.is_empty(), experiment.phases.is_empty());
        let other_kinds = [
            experiment.place.is_some(),
            experiment.compare.is_some(),
            experiment.rules.is_some(),
            experiment.mounted_device().is_some(),
        ];
        let others = other_kinds.iter().filter(|kind| **kind).count();
        let name = &self.raw.name;
        let several = others + usize::from(!no_jobs || !no_phases) > 1;
        let message = "a file has jobs in phases, [place], [compare], [study] or a device with `mount`, and only one of them; split it";
        self.problems.add_if(several, name, message);
        let message = "there is no job; write [[job]] with a name, [place], [compare], [study] or a device with `mount`";
        self.problems.add_if(others == 0 && no_jobs, name, message);
        let message = "there is no phase; write [[phase]] with a name and a length";
        let wrong = others == 0 && !no_jobs && no_phases;
        self.problems.add_if(wrong, name, message);
        let no_claims = "there is no claim; write [[claim]] with `says` and `expect`";
        self.problems
            .add_if(self.raw.claims.is_empty(), name, no_claims);
    }
}

fn window(name: &str, text: &str) -> Result<Window, String> {
    let wrong = || format!("`{text}` is no window; write \"0s..2s\", or \"2s..\" for the rest");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let time = |text: &str| parse_duration(text.trim()).map_err(|_| wrong());
    let to = Some(to.trim()).filter(|to| !to.is_empty()).map(time);
    let to_s = to.transpose()?.map(Nanos::as_secs_f64);
    let from_s = time(from)?.as_secs_f64();
    if to_s.is_some_and(|to| to <= from_s) {
        return Err(format!("the window `{text}` ends before it begins"));
    }
    Ok(Window {
        name: name.to_owned(),
        from_s,
        to_s,
    })
}

fn check_start(window: Window, phases: &[Phase]) -> Result<Window, String> {
    let lengths = phases.iter().map(|phase| phase.length.as_secs_f64());
    let Some(longest) = lengths.max_by(f64::total_cmp) else {
        return Ok(window);
    };
    let from_s = window.from_s;
    (from_s < longest).then_some(window).ok_or_else(|| {
        format!(
            "the window begins at {from_s} s, and the longest phase lasts {longest} s; let it begin earlier, \
             or make a phase longer"
        )
    })
}

fn claim(problems: &mut Problems<'_>, raw: &RawClaim, scope: &ClaimScope) -> (Claim, Needs) {
    let mut checked =
        |kind, name: &Option<_>, names: &_| check_name(problems, kind, name.as_ref()?, names);
    let at = raw.at.iter();
    let at = at.map(|(axis, value)| (axis.clone(), value.get_ref().0.clone()));
    let context = ClaimContext {
        window: checked("window", &raw.window, &scope.window_names()),
        phase: checked("phase", &raw.phase, &scope.phases),
        job: checked("job", &raw.job, &scope.jobs),
        at: at.collect(),
    };
    let OneOrMore(texts) = raw.expect.get_ref();
    let message = "a claim needs an expression, such as \"iops > 10 K\"";
    problems.add_if(texts.is_empty(), &raw.expect, message);
    let expects = texts.iter().filter_map(|text| {
        let parsed = parse::expect(text).map_err(|e| e.to_string());
        let checked = parsed.and_then(|expect| match scope.check(&expect, &context) {
            Ok(()) => Ok(expect),
            Err(reason) => Err(format!("`{text}`: {reason}")),
        });
        problems.ok(&raw.expect, checked)
    });
    let claim = Claim {
        says: raw.says.clone(),
        published: raw.published.clone(),
        read_as: raw.read_as.clone(),
        expects: expects.collect(),
        context,
        needs: Vec::new(),
        fitted: raw.fitted.clone(),
    };
    (claim, raw.needs.clone())
}

/// Checks a name that a claim sets for its figures. An unknown name is a problem at its place; the
/// first known name then replaces it, so that the expressions are checked as well.
fn check_name(
    problems: &mut Problems<'_>,
    kind: &str,
    name: &Spanned<String>,
    all: &[String],
) -> Option<String> {
    if all.contains(name.get_ref()) {
        return Some(name.get_ref().clone());
    }
    problems.add(name, unknown_name(kind, name.get_ref(), all));
    all.first().cloned()
}

fn chart(problems: &mut Problems<'_>, raw: &RawChart, scope: &ClaimScope) -> Chart {
    let figure = parse::figure(raw.figure.get_ref()).map_err(|e| e.to_string());
    let figure = figure.and_then(|figure| {
        if scope.figures.contains(&figure.name) {
            Ok(figure)
        } else {
            Err(unknown_name("figure", &figure.name, &scope.figures))
        }
    });
    let figure = problems.ok(&raw.figure, figure);
    let mut check_axis = |at: &Spanned<String>, others: &[&str]| {
        let others = others.iter().map(|&name| name.to_owned());
        let names: Vec<String> = scope.axis_names().into_iter().chain(others).collect();
        if !names.contains(at.get_ref()) {
            problems.add(at, unknown_name("axis", at.get_ref(), &names));
        }
    };
    check_axis(&raw.over, &["time", "phase"]);
    raw.by.iter().for_each(|by| check_axis(by, &[]));
    let point = |(at, value): &(Text, f64)| (at.0.clone(), *value);
    let curve = |curve: &RawCurve| PublishedCurve {
        name: curve.name.clone(),
        points: curve.points.iter().map(point).collect(),
    };
    Chart {
        title: raw.title.clone(),
        figure: figure.map_or_else(String::new, |figure| figure.to_string()),
        over: raw.over.get_ref().clone(),
        by: raw.by.as_ref().map(|by| by.get_ref().clone()),
        published: raw.published.iter().map(curve).collect(),
        ours: Vec::new(),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
pub(super) mod tests;
