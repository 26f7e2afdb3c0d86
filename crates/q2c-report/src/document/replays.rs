//! Documents of replays and comparisons.

use super::{Answer, Document, Reported, Section};
use crate::plots::replay::{Line, plots};
use crate::said::{Said, Weight};
use crate::{compare, replay};
use q2c_result::compare::{CompareResult, Comparison, DeviceRun};
use q2c_result::replay::ReplayResult;

impl Reported for ReplayResult {
    fn document(&self) -> Document<'_> {
        let (job, trace) = (&self.job, &self.trace);
        let words = replay::words(job, trace, &self.trial);
        let (heavy, light): (Vec<Said>, Vec<Said>) = words
            .into_iter()
            .partition(|said| matches!(said.weight, Weight::Caution | Weight::Bad));
        let mut of = Document::new("replay", &self.version, &self.schema)
            .titled(trace.path.clone(), replay::about(self))
            .run(job.seed, self.started_unix_s)
            .complete(self.complete)
            .notices(lost_idle_time(replay::without_idle_time(job, trace)))
            .notices(heavy)
            .section(
                Section::new("Time and sums")
                    .table(replay::sums(self))
                    .table(replay::latencies(job, &self.trial))
                    .told(light)
                    .plots(|| plots(&[Line::only(&self.trial)], true)),
            );
        if let Some(trials) = replay::trials(self) {
            let invalid = replay::invalid_trials("", &self.trials);
            of = of.section(Section::new("Trials").table(trials).told(invalid));
        }
        of = of
            .section(Section::new("How it was replayed").told(replay::job(job, trace)))
            .warnings(&self.warnings);
        of.targets(&self.targets).machine(&self.machine)
    }
}

fn lost_idle_time(lost: Option<String>) -> Option<Said> {
    lost.map(|lost| Said::new(Weight::Caution, "outstanding", lost))
}

impl Reported for CompareResult {
    fn document(&self) -> Document<'_> {
        let is_one = self.comparisons.len() == 1;
        let mut of = Document::new("compare", &self.version, &self.schema)
            .titled(compare::title(self), compare::about(self))
            .run(
                self.comparisons.first().map_or(0, |one| one.job.seed),
                self.started_unix_s,
            )
            .complete(self.complete);
        if !is_one {
            let [time, sum] = compare::overview(self);
            of = of
                .answers(compare::overall(self).into_iter().map(Answer::new))
                .section(Section::new("Completion times").table(time))
                .section(Section::new("Sums").table(sum));
        }
        for one in &self.comparisons {
            let name = (!is_one).then(|| compare::row_name(one));
            of = comparison(of, one, name.as_deref());
        }
        of = of
            .section(Section::new("").plots(move || plots(&lines(self), is_one)))
            .warnings(&self.warnings);
        let devices = self.comparisons.first().map(|one| &one.devices);
        let targets = devices.into_iter().flatten().map(|device| &device.target);
        of.targets(targets).machine(&self.machine)
    }
}

/// Adds a comparison, under its name where there are several.
fn comparison<'a>(of: Document<'a>, one: &Comparison, name: Option<&str>) -> Document<'a> {
    let titled = |plain: &str| match name {
        Some(name) => format!("{plain}: {name}"),
        None => plain.to_owned(),
    };
    let named = |said: Said| Said {
        what: match name {
            Some(name) => format!("{name}: {}", said.what),
            None => said.what,
        },
        ..said
    };
    let answer = |sentence: String| Answer {
        of: name.unwrap_or_default().to_owned(),
        ..Answer::new(sentence)
    };
    let lost = lost_idle_time(replay::without_idle_time(&one.job, &one.trace));
    let notices = lost.into_iter().chain(compare::profile(one));
    let mut devices = Section::new(titled("Devices"))
        .table(compare::sums(one))
        .table(compare::latencies(one));
    if let Some(separations) = compare::separations(one) {
        devices = devices.table(separations);
    }
    let mut of = of
        .answers(compare::verdict(one).into_iter().map(answer))
        .notices(notices.chain(compare::words(one)).map(named))
        .section(devices)
        .section(
            Section::new(titled("How it was replayed")).told(replay::job(&one.job, &one.trace)),
        );
    for device in &one.devices {
        let title = titled(&format!("The shown trial of {}", device.target.path));
        let details = compare::details(one, device);
        of = of.section(Section::new(title).told(details).folded());
    }
    of
}

fn lines(result: &CompareResult) -> Vec<Line<'_>> {
    let several = result.comparisons.len() > 1;
    let all = result.comparisons.iter().flat_map(|one| {
        let devices = one.devices.iter();
        devices.map(move |device| (one, device))
    });
    let name = |one: &Comparison, device: &DeviceRun| {
        if several {
            format!("{}, {}", device.target.path, compare::row_name(one))
        } else {
            device.target.path.clone()
        }
    };
    let line = |(at, (one, device)): (usize, (&Comparison, _))| {
        let device: &DeviceRun = device;
        Some(Line::compared(
            at,
            &name(one, device),
            device.shown.as_ref()?,
        ))
    };
    all.enumerate().filter_map(line).collect()
}
