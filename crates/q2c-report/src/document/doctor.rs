//! The document of `q2c doctor`.

use super::{Document, Reported, Section};
use crate::phrase::{distinct, joined, listed, some_listed, when};
use crate::said::{Note, ReportTable, Weight};
use q2c_result::doctor::{Ready, Use, UseState};
use q2c_result::{Check, CheckVerdict, DoctorReport};

impl Reported for DoctorReport {
    fn document(&self) -> Document<'_> {
        let checks = || table(Section::new("Checks"), &Vec::from_iter(&self.checks));
        Document::new("doctor", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled("The machine", counts(self))
            .answers(by_uses(self))
            .notices(without_target(self))
            .sections(self.uses.is_empty().then(checks))
            .sections(self.uses.iter().map(|state| section(self, state)))
            .section(fixes(self))
    }
}

/// Says that no disk was checked, in a report on the machine without a target.
fn without_target(report: &DoctorReport) -> Option<Note> {
    let of_target = |check: &Check| check.group == "target";
    let message = "none was looked at; q2c doctor FILE looks at that of a file or device, too: \
                 scheduler, write-back throttling, merges, interrupts";
    let is_missing = !report.uses.is_empty() && !report.checks.iter().any(of_target);
    is_missing.then(|| Note::caution("disk", message))
}

/// The section of one use: whether the machine is ready for it, its own checks, and the checks of
/// other uses that concern it.
fn section(report: &DoctorReport, state: &UseState) -> Section<'static> {
    let title = format!("{}: {}", used_for(state.of), readiness(report, state));
    let is_own = |check: &&Check| check.uses.first() == Some(&state.of);
    let checks = || report.checks.iter();
    let elsewhere = checks().filter(|check| check.uses.contains(&state.of) && !is_own(check));
    let also = some_listed(elsewhere.map(|check| &check.id));
    let also = also.map(|names| format!("See also: {names}."));
    let own_checks: Vec<&Check> = checks().filter(is_own).collect();
    let section = table(Section::new(title), &own_checks);
    let section = section.remark(also.unwrap_or_default());
    let is_empty = section.parts.is_empty();
    section.remark(when(is_empty, "No check is of this use alone."))
}

fn table(section: Section<'static>, checks: &[&Check]) -> Section<'static> {
    let rows = checks.iter().map(|check| {
        let verdict = check_verdict(check).0;
        [check.id.as_str(), verdict, &check.found, &check.means]
    });
    let table = ReportTable::headed("check |  | found | means", rows);
    section.marked(table, checks.iter().map(|check| check_verdict(check).1))
}

/// True if a check found that something is missing which only a few uses need.
fn is_absence(check: &Check) -> bool {
    check.verdict == CheckVerdict::Invalidates && !check.uses.contains(&Use::Measuring)
}

pub(crate) fn check_verdict(check: &Check) -> (&'static str, Weight) {
    match check.verdict {
        CheckVerdict::Invalidates if is_absence(check) => ("missing", Weight::Caution),
        CheckVerdict::Pass => ("ok", Weight::Plain),
        CheckVerdict::Warn => ("warn", Weight::Caution),
        CheckVerdict::Invalidates => ("invalid", Weight::Bad),
        CheckVerdict::Unknown => ("unknown", Weight::Plain),
    }
}

fn used_for(purpose: Use) -> &'static str {
    match purpose {
        Use::Measuring => "All measurements",
        Use::Tune => "tune",
        Use::Bench => "bench",
        Use::Capture => "Recording I/Os",
        Use::KernelPolling => "The kernel's own hybrid polling",
        Use::Spdk => "SPDK",
        Use::FileSystems => "fs bench",
        Use::RamDevices => "RAM devices",
        Use::Placement => "place",
    }
}

fn readiness(report: &DoctorReport, state: &UseState) -> String {
    // If the reasons are exactly the checks of this use, the table below names them.
    let checks = report.checks.iter();
    let of_use = checks.filter(|check| check.uses.first() == Some(&state.of));
    let ids: Vec<&String> = of_use.map(|check| &check.id).collect();
    let said_below = ids.len() == state.by.len() && ids.iter().all(|id| state.by.contains(id));
    let by = format!(" ({})", listed(&state.by));
    let by = when(!said_below, &by);
    let improve = format!("; {} to improve", state.to_improve);
    let improve = when(state.to_improve > 0, &improve);
    match state.ready {
        Ready::Ready => format!("ready{improve}"),
        Ready::Limited => {
            let limiting = report.checks.iter().filter(|c| state.by.contains(&c.id));
            let lost = listed(distinct(limiting.flat_map(|check| &check.columns)));
            format!("ready but for {lost}{by}{improve}")
        }
        Ready::Unknown => format!("not known{by}{improve}"),
        Ready::NotReady => format!("not ready{by}{improve}"),
    }
}

fn counts(report: &DoctorReport) -> String {
    let count_of = |wanted| report.checks.iter().filter(|c| c.verdict == wanted).count();
    let absent = report.checks.iter().filter(|c| is_absence(c)).count();
    let (disturbing, missing) = match report.uses.as_slice() {
        [] => ("invalid", "missing"),
        _ => (
            "disturbing what is measured",
            "missing, which only some uses need",
        ),
    };
    let counts = [
        (count_of(CheckVerdict::Pass), "ok"),
        (count_of(CheckVerdict::Warn), "to improve"),
        (count_of(CheckVerdict::Invalidates) - absent, disturbing),
        (absent, missing),
        (count_of(CheckVerdict::Unknown), "unknown"),
    ];
    let some = counts.iter().filter(|(n, _)| *n > 0);
    let summary = joined(some.map(|(n, word)| format!("{n} {word}")), "; ");
    format!("{} checks: {summary}", report.checks.len())
}

/// The number of uses at each level of readiness; `None` in a report without uses.
fn by_uses(report: &DoctorReport) -> Option<Note> {
    let levels = [
        (Ready::Ready, "ready"),
        (Ready::Limited, "ready but for a part"),
        (Ready::NotReady, "not ready"),
        (Ready::Unknown, "not known"),
    ];
    let groups = levels.into_iter().filter_map(|(ready, word)| {
        let of_it = report.uses.iter().filter(|state| state.ready == ready);
        let names = some_listed(of_it.map(|state| used_for(state.of)))?;
        Some(format!("{word}: {names}"))
    });
    let sentence = joined(groups, "; ");
    let is_ready = report.uses.iter().all(|state| state.ready == Ready::Ready);
    let what = format!("{} uses", report.uses.len());
    (!sentence.is_empty()).then(|| Note::new(Weight::sure(is_ready), &what, sentence))
}

fn fixes(report: &DoctorReport) -> Section<'static> {
    let checks = report.checks.iter();
    let amiss = checks.filter(|check| check.verdict != CheckVerdict::Pass);
    let lines = amiss.filter_map(|check| Some([format!("# {}", check.id), check.fix.clone()?]));
    Section::new("To change what is amiss").lines(lines.flatten())
}
