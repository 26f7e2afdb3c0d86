//! Checks a file, and makes an [`Experiment`] of it.

use super::problem::{ExperimentError, Problem, Problems};
use super::raw::{RawFile, RawPhase, RawSettings, SpannedValue, Text};
use super::settings::{DeviceAsked, SettingsText, TARGET};
use super::{
    DeviceOf, Experiment, ExperimentJob, Phase, RulesAsked, SCHEMA, With, claims, filled, rules,
};
use q2c_model::{Nanos, parse_duration};
use q2c_place::study::SetupOf;
use q2c_policy::{KernelSleep, Method};
use q2c_result::reproduce::{Axis, VariantOf, Window};
use std::ops::Range;

/// Trials of an experiment that says nothing of them.
const TRIALS: u32 = 5;
const INTERVAL: Nanos = Nanos::from_millis(100);
const LEAST_INTERVAL: Nanos = Nanos::from_millis(10);
/// The longest phase, seconds.
const LONGEST_S: f64 = 86_400.0;
const MOST_POINTS: usize = 10_000;

pub(super) fn checked(text: &str) -> Result<Experiment, ExperimentError> {
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        let mut problems = Problems::new(text);
        let message = error.message().trim().replace('\n', " ");
        problems.add(&error.span().unwrap_or(0..0), message);
        ExperimentError::Wrong(problems.all)
    })?;
    let mut check = ExperimentChecker {
        problems: Problems::new(text),
        raw: &raw,
    };
    let experiment = check.experiment(text);
    let mut wrong: Vec<Problem> = check.problems.all;
    wrong.sort_by_key(|problem| problem.line);
    if wrong.is_empty() {
        Ok(experiment)
    } else {
        Err(ExperimentError::Wrong(wrong))
    }
}

struct ExperimentChecker<'a> {
    problems: Problems<'a>,
    raw: &'a RawFile,
}

impl ExperimentChecker<'_> {
    fn experiment(&mut self, text: &str) -> Experiment {
        let raw = self.raw;
        let schema = &raw.schema;
        if schema.get_ref() != SCHEMA {
            let message = format!(
                "the schema is `{}`; write schema = \"{SCHEMA}\"",
                schema.get_ref()
            );
            self.problems.add(&schema.span(), message);
        }
        self.name(&raw.name);
        let phases = self.phases();
        let mut experiment = Experiment {
            text: text.to_owned(),
            name: raw.name.get_ref().clone(),
            title: raw.title.clone(),
            setting: raw.setting.clone(),
            variant_of: raw.variant_of.as_ref().map(|variant| VariantOf {
                name: variant.name.get_ref().clone(),
                reason: variant.reason.clone(),
            }),
            trials: self.trials(),
            interval: self.interval(),
            capture: raw.capture,
            windows: self.windows(&phases),
            devices: Vec::new(),
            axes: self.axes(),
            with: self.with(),
            phases,
            jobs: Vec::new(),
            place: self.place(),
            compare: self
                .raw
                .compare
                .as_ref()
                .map(|compare| compare.command.clone()),
            rules: self.rules(),
            needs: claims::needs(&mut self.problems, &raw.needs),
            claims: Vec::new(),
            charts: Vec::new(),
        };
        self.compared(&mut experiment);
        let axes = experiment.rules.iter().flat_map(RulesAsked::axes);
        experiment.axes.extend(axes.collect::<Vec<_>>());
        self.devices(&mut experiment);
        self.jobs(&mut experiment);
        self.kind(&experiment);
        for claim in &raw.claims {
            let claim = claims::claim(&mut self.problems, claim, &experiment);
            experiment.claims.push(claim);
        }
        for chart in &raw.charts {
            let chart = claims::chart(&mut self.problems, chart, &experiment);
            experiment.charts.push(chart);
        }
        experiment
    }

    /// A name of an experiment is also the name of its folder.
    fn name(&mut self, name: &SpannedValue<String>) {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.get_ref().is_empty() || !name.get_ref().chars().all(good) {
            let message =
                "a name has lower-case letters, digits and dashes, such as \"my-experiment\"";
            self.problems.add(&name.span(), message);
        }
    }

    fn once<'n>(
        &mut self,
        name: &SpannedValue<String>,
        kind: &str,
        mut others: impl Iterator<Item = &'n String>,
    ) {
        let name_text = name.get_ref();
        if others.any(|other| other == name_text) {
            let message = format!("there are two {kind} `{name_text}`; give one another name");
            self.problems.add(&name.span(), message);
        }
    }

    fn trials(&mut self) -> u32 {
        let Some(trials) = &self.raw.trials else {
            return TRIALS;
        };
        if !(1..=1000).contains(trials.get_ref()) {
            self.problems
                .add(&trials.span(), "trials are 1 to 1000; a verdict needs 3");
        }
        *trials.get_ref()
    }

    fn interval(&mut self) -> Nanos {
        let Some(text) = &self.raw.interval else {
            return INTERVAL;
        };
        let interval = self.duration(text).unwrap_or(INTERVAL);
        if interval < LEAST_INTERVAL {
            let message = format!("the interval is below {LEAST_INTERVAL}, the shortest one");
            self.problems.add(&text.span(), message);
        }
        interval
    }

    fn duration(&mut self, text: &SpannedValue<String>) -> Option<Nanos> {
        let parsed = parse_duration(text.get_ref());
        let parsed = parsed.map_err(|e| format!("{e}; write for example \"20s\" or \"100ms\""));
        self.problems.ok(&text.span(), parsed)
    }

    fn windows(&mut self, phases: &[Phase]) -> Vec<Window> {
        let mut windows = Vec::new();
        for (name, text) in &self.raw.windows {
            let parsed = window(name, text.get_ref()).and_then(|window| within(window, phases));
            windows.extend(self.problems.ok(&text.span(), parsed));
        }
        windows
    }

    fn axes(&mut self) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        for raw in &self.raw.axes {
            let name = raw.name.get_ref();
            let taken = ["phase", "job", "window", "time"].contains(&name.as_str());
            if taken || axes.iter().any(|axis| axis.name == *name) {
                let message = format!("`{name}` has a meaning already; give the axis another name");
                self.problems.add(&raw.name.span(), message);
            }
            let values: Vec<String> = raw.values.get_ref().iter().map(|v| v.0.clone()).collect();
            let twice = values
                .iter()
                .enumerate()
                .find(|(n, v)| values[..*n].contains(v));
            if let Some((_, value)) = twice {
                let message = format!("`{value}` stands twice; write each value once");
                self.problems.add(&raw.values.span(), message);
            }
            if values.is_empty() {
                self.problems
                    .add(&raw.values.span(), "an axis needs a value at least");
            }
            axes.push(Axis {
                name: name.clone(),
                values,
            });
        }
        let points = axes.iter().map(|axis| axis.values.len());
        if points.fold(1, usize::saturating_mul) > MOST_POINTS {
            let message = format!("the axes make more than {MOST_POINTS} points; leave values out");
            self.problems.add(&self.raw.axes[0].values.span(), message);
            // Later checks make all points. One point is enough for them to find further faults.
            axes.iter_mut().for_each(|axis| axis.values.truncate(1));
        }
        axes
    }

    fn with(&mut self) -> Vec<With> {
        let mut axis_texts = Vec::new();
        for axis in &self.raw.axes {
            let values = axis.values.get_ref().len();
            for (name, texts) in &axis.with {
                let text_count = texts.get_ref().len();
                if text_count != values {
                    let message = format!(
                        "the axis has {values} values, and there are {text_count} of `{name}`; write one for each"
                    );
                    self.problems.add(&texts.span(), message);
                }
                axis_texts.push(With {
                    axis: axis.name.get_ref().clone(),
                    name: name.clone(),
                    texts: texts.get_ref().iter().map(|text| text.0.clone()).collect(),
                });
            }
        }
        axis_texts
    }

    fn phases(&mut self) -> Vec<Phase> {
        let mut phases: Vec<Phase> = Vec::new();
        for raw in &self.raw.phases {
            let name = raw.name.get_ref();
            self.once(&raw.name, "phases", phases.iter().map(|phase| &phase.name));
            let length = self.duration(&raw.length).unwrap_or(Nanos::from_millis(1));
            if length.0 == 0 || length.as_secs_f64() > LONGEST_S {
                self.problems.add(
                    &raw.length.span(),
                    "a phase lasts more than 0 s and at most a day",
                );
            }
            phases.push(Phase {
                name: name.clone(),
                label: raw.label.clone().unwrap_or_else(|| name.clone()),
                length,
            });
        }
        phases
    }

    fn devices(&mut self, experiment: &mut Experiment) {
        for raw in &self.raw.devices {
            let name = raw.name.get_ref();
            if name == TARGET {
                let message =
                    "`target` is the device that the user names; give this one another name";
                self.problems.add(&raw.name.span(), message);
            }
            self.once(
                &raw.name,
                "devices",
                experiment.devices.iter().map(|device| &device.name),
            );
            for point in experiment.points() {
                let made =
                    filled(raw.make.get_ref(), &experiment.full(&point)).parse::<DeviceAsked>();
                if self.problems.ok(&raw.make.span(), made).is_none() {
                    break;
                }
            }
            experiment.devices.push(DeviceOf {
                name: name.clone(),
                make: raw.make.get_ref().clone(),
            });
        }
    }

    fn jobs(&mut self, experiment: &mut Experiment) {
        for raw in &self.raw.jobs {
            let name = raw.name.get_ref();
            self.once(
                &raw.name,
                "jobs",
                experiment.jobs.iter().map(|job| &job.name),
            );
            let base = raw.settings();
            let mut phases = Vec::new();
            for phase in &self.raw.phases {
                let set = phase.set.get(name);
                let span = set.map_or(raw.name.span(), SpannedValue::span);
                let settings = match set {
                    Some(set) => set.get_ref().over(&base),
                    None => base.clone(),
                };
                phases.push(self.settings(&settings, &span, experiment));
            }
            experiment.jobs.push(ExperimentJob {
                name: name.clone(),
                phases,
            });
        }
        for phase in &self.raw.phases {
            self.known_jobs(phase, experiment);
        }
    }

    fn known_jobs(&mut self, phase: &RawPhase, experiment: &Experiment) {
        let names = experiment.jobs.iter().map(|job| job.name.as_str());
        let names: Vec<&str> = names.collect();
        for (name, set) in &phase.set {
            if !names.contains(&name.as_str()) {
                let message = format!("there is no job `{name}`; there are {}", names.join(", "));
                self.problems.add(&set.span(), message);
            }
        }
    }

    /// `None` where it rests. `span` is where what has no place of its own is told.
    fn settings(
        &mut self,
        raw: &RawSettings,
        span: &Range<usize>,
        experiment: &Experiment,
    ) -> Option<SettingsText> {
        if raw.rest == Some(true) {
            return None;
        }
        let text = |given: &Option<SpannedValue<String>>, default: &str| {
            given
                .as_ref()
                .map_or(default.to_owned(), |at| at.get_ref().clone())
        };
        let number =
            |given: &Option<SpannedValue<Text>>| given.as_ref().map(|at| at.get_ref().0.clone());
        let methods = raw.method.as_ref().map(|at| at.get_ref().0.clone());
        let settings = SettingsText {
            device: text(&raw.device, TARGET),
            engine: raw.engine.as_ref().map(|at| at.get_ref().clone()),
            methods: methods.unwrap_or_else(|| vec!["interrupt".to_owned()]),
            pattern: text(&raw.pattern, "randread"),
            bs: text(&raw.bs, "4k"),
            depth: number(&raw.depth).unwrap_or_else(|| "1".to_owned()),
            threads: number(&raw.threads).unwrap_or_else(|| "1".to_owned()),
            cpus: number(&raw.cpus),
        };
        for point in experiment.points() {
            let at = settings.settings_at(&experiment.full(&point));
            let Some(at) = self.problems.ok(&place_of(raw, &at, span), at) else {
                break;
            };
            let steered =
                |method: &Method| matches!(method, Method::HybridKernel(KernelSleep::Steered(_)));
            if at.methods.iter().any(steered) {
                let span = raw.method.as_ref().map_or(span.clone(), SpannedValue::span);
                let message = "hybrid-kernel:RULE needs a daemon that sets the kernel's sleep again and again; \
                               write hybrid-kernel, hybrid-kernel:57us or hybrid:RULE";
                self.problems.add(&span, message);
                break;
            }
            let mut devices = experiment.devices.iter();
            let known = devices.any(|device| device.name == at.device);
            if at.device != TARGET && !known {
                let span = raw.device.as_ref().map_or(span.clone(), SpannedValue::span);
                let message = format!(
                    "there is no device `{}`; write target, or make one by [[device]]",
                    at.device
                );
                self.problems.add(&span, message);
                break;
            }
        }
        Some(settings)
    }

    fn place(&mut self) -> Option<SetupOf> {
        let raw = self.raw.place.as_ref()?;
        for (count, least, most) in [
            (&raw.cores, 1, 1024),
            (&raw.threads, 1, 8),
            (&raw.compute, 1, 10_000),
            (&raw.polling, 0, 10_000),
        ] {
            if !(least..=most).contains(count.get_ref()) {
                let message = format!("write a whole number from {least} to {most}");
                self.problems.add(&count.span(), message);
            }
        }
        let work = self.duration(&raw.work);
        Some(SetupOf {
            cores: *raw.cores.get_ref(),
            threads: *raw.threads.get_ref(),
            caches: 1,
            compute: *raw.compute.get_ref(),
            polling: *raw.polling.get_ref(),
            work_s: work.map_or(1.0, |work| work.as_secs_f64()),
            compute_phases: None,
            polling_phases: None,
            published: Vec::new(),
        })
    }

    /// The rules that compete. Their groups are the axes.
    fn rules(&mut self) -> Option<RulesAsked> {
        let raw = self.raw.study.as_ref()?;
        if let Some(axis) = self.raw.axes.first() {
            let message = "the axes of [study] are `rule` and `among`; leave [[axis]] out";
            self.problems.add(&axis.name.span(), message);
        }
        Some(rules::asked(raw, &mut self.problems))
    }

    fn compared(&mut self, experiment: &mut Experiment) {
        let Some(compare) = &self.raw.compare else {
            return;
        };
        let known = ["timed", "outstanding", "closed"];
        let mut modes = compare.modes.get_ref().iter();
        let other = modes.find(|mode| !known.contains(&mode.as_str()));
        if let Some(mode) = other {
            let message = format!("there is no mode `{mode}`; there are {}", known.join(", "));
            self.problems.add(&compare.modes.span(), message);
        }
        let lists = [
            ("trace", &compare.traces),
            ("device", &compare.devices),
            ("mode", compare.modes.get_ref()),
        ];
        let axes = lists.map(|(name, values)| Axis {
            name: name.to_owned(),
            values: values.clone(),
        });
        experiment.axes.extend(axes);
    }

    fn kind(&mut self, experiment: &Experiment) {
        let name = self.raw.name.span();
        let jobs = !experiment.jobs.is_empty() || !experiment.phases.is_empty();
        let kinds = [
            jobs,
            experiment.place.is_some(),
            experiment.compare.is_some(),
            experiment.rules.is_some(),
        ];
        let other = kinds[1..].contains(&true);
        match (other, kinds.iter().filter(|kind| **kind).count()) {
            (_, 2..) => self.problems.add(
                &name,
                "a file has jobs in phases, [place], [compare] or [study], and only one of them; split it",
            ),
            (false, _) if experiment.jobs.is_empty() => {
                self.problems.add(
                    &name,
                    "there is no job; write [[job]] with a name, [place], [compare] or [study]",
                );
            }
            (false, _) if experiment.phases.is_empty() => {
                self.problems.add(
                    &name,
                    "there is no phase; write [[phase]] with a name and a length",
                );
            }
            _ => {}
        }
        if experiment.claims.is_empty() && self.raw.claims.is_empty() {
            self.problems.add(
                &name,
                "there is no claim; write [[claim]] with `says` and `expect`",
            );
        }
    }
}

/// The place of the setting that is wrong, as far as its error names it.
fn place_of<T>(raw: &RawSettings, found: &Result<T, String>, span: &Range<usize>) -> Range<usize> {
    let Err(reason) = found else {
        return span.clone();
    };
    let begins = |word: &str| reason.starts_with(word);
    let number = |at: &Option<SpannedValue<Text>>| at.as_ref().map(SpannedValue::span);
    let text = |at: &Option<SpannedValue<String>>| at.as_ref().map(SpannedValue::span);
    let setting_span = match () {
        () if begins("threads") => number(&raw.threads),
        () if begins("cpus") => number(&raw.cpus),
        () if begins("depth") => number(&raw.depth),
        () if reason.contains("engine") => text(&raw.engine),
        () if reason.contains("method") || reason.contains("rule") => {
            raw.method.as_ref().map(SpannedValue::span)
        }
        () if reason.contains("pattern") => text(&raw.pattern),
        () => text(&raw.bs),
    };
    setting_span.unwrap_or_else(|| span.clone())
}

fn window(name: &str, text: &str) -> Result<Window, String> {
    let wrong = || format!("`{text}` is no window; write \"0s..2s\", or \"2s..\" for the rest");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let time = |text: &str| parse_duration(text.trim()).map_err(|_| wrong());
    let to = match to.trim() {
        "" => None,
        to => Some(time(to)?.as_secs_f64()),
    };
    let from_s = time(from)?.as_secs_f64();
    if to.is_none_or(|to| to > from_s) {
        Ok(Window {
            name: name.to_owned(),
            from_s,
            to_s: to,
        })
    } else {
        Err(format!("the window `{text}` ends before it begins"))
    }
}

fn within(window: Window, phases: &[Phase]) -> Result<Window, String> {
    let lengths = phases.iter().map(|phase| phase.length.as_secs_f64());
    let Some(longest) = lengths.max_by(f64::total_cmp) else {
        return Ok(window);
    };
    if window.from_s < longest {
        Ok(window)
    } else {
        Err(format!(
            "the window begins at {} s, and the longest phase lasts {longest} s; let it begin earlier, \
             or make a phase longer",
            window.from_s
        ))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
pub(super) mod tests;
