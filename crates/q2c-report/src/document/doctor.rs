//! The document of `q2c doctor`.

use super::{Answer, Document, Reported, Section};
use crate::said::{Said, Table, Weight};
use q2c_result::doctor::{Ready, Use, UseState};
use q2c_result::{Check, DoctorReport, Verdict};

impl Reported for DoctorReport {
    fn document(&self) -> Document<'_> {
        let mut of = Document::new("doctor", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled("The machine", counts(self))
            .answers(by_uses(self))
            .notices(without_target(self));
        of = if self.uses.is_empty() {
            of.section(table(Section::new("Checks"), self.checks.iter()))
        } else {
            self.uses
                .iter()
                .fold(of, |of, state| of.section(section(self, state)))
        };
        of.section(fixes(self))
    }
}

/// Says that no disk was looked at, in a report on the machine without a target.
fn without_target(report: &DoctorReport) -> Option<Said> {
    let of_target = |check: &Check| check.group == "target";
    let words = "none was looked at; q2c doctor FILE looks at that of a file or device, too: \
                 scheduler, write-back throttling, merges, interrupts";
    let is_missing = !report.uses.is_empty() && !report.checks.iter().any(of_target);
    is_missing.then(|| Said::new(Weight::Caution, "disk", words))
}

/// One use: whether the machine is ready for it, its checks, and those of other uses that concern
/// it.
fn section(report: &DoctorReport, state: &UseState) -> Section<'static> {
    let readiness = readiness(report, state);
    let title = format!("{}: {readiness}", used_for(state.of));
    let is_own = |check: &&Check| check.uses.first() == Some(&state.of);
    let elsewhere = report
        .checks
        .iter()
        .filter(|check| check.uses.contains(&state.of) && !is_own(check));
    let names: Vec<&str> = elsewhere.map(|check| check.id.as_str()).collect();
    let also = if names.is_empty() {
        String::new()
    } else {
        format!("See also: {}.", names.join(", "))
    };
    let section = table(Section::new(title), report.checks.iter().filter(is_own)).remark(also);
    if section.parts.is_empty() {
        section.remark("No check is of this use alone.")
    } else {
        section
    }
}

fn table<'a>(
    section: Section<'static>,
    checks: impl Iterator<Item = &'a Check>,
) -> Section<'static> {
    let checks: Vec<&Check> = checks.collect();
    let row = |check: &&Check| {
        vec![
            check.id.clone(),
            check_verdict(check).0.to_owned(),
            check.found.clone(),
            check.means.clone(),
        ]
    };
    let weights = checks.iter().map(|check| check_verdict(check).1).collect();
    let table = Table::of(["check", "", "found", "means"], checks.iter().map(row));
    section.marked(table, weights)
}

/// Whether a check found something that a few uses need and others do not miss.
fn is_absence(check: &Check) -> bool {
    let of_few = !check.uses.contains(&Use::Measuring);
    check.verdict == Verdict::Invalidates && of_few
}

/// The word for a check's verdict, and its weight.
pub(crate) fn check_verdict(check: &Check) -> (&'static str, Weight) {
    match check.verdict {
        Verdict::Invalidates if is_absence(check) => ("missing", Weight::Caution),
        Verdict::Pass => ("ok", Weight::Plain),
        Verdict::Warn => ("warn", Weight::Caution),
        Verdict::Invalidates => ("invalid", Weight::Bad),
        Verdict::Unknown => ("unknown", Weight::Plain),
    }
}

fn used_for(of: Use) -> &'static str {
    match of {
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

/// Whether the machine is ready for a use, in a few words.
fn readiness(report: &DoctorReport, state: &UseState) -> String {
    // Where every check below is among the reasons and none of elsewhere, the table names them.
    let own = report.checks.iter();
    let own = own.filter(|check| check.uses.first() == Some(&state.of));
    let own: Vec<&str> = own.map(|check| check.id.as_str()).collect();
    let said_below =
        own.len() == state.by.len() && own.iter().all(|id| state.by.iter().any(|by| by == id));
    let by = if said_below {
        String::new()
    } else {
        format!(" ({})", state.by.join(", "))
    };
    let improve = match state.to_improve {
        0 => String::new(),
        n => format!("; {n} to improve"),
    };
    match state.ready {
        Ready::Ready => format!("ready{improve}"),
        Ready::Limited => {
            let all = report.checks.iter();
            let of = all.filter(|check| state.by.contains(&check.id));
            let mut lost: Vec<&str> = Vec::new();
            for column in of.flat_map(|check| &check.columns) {
                if !lost.contains(&column.as_str()) {
                    lost.push(column);
                }
            }
            format!("ready but for {}{by}{improve}", lost.join(", "))
        }
        Ready::Unknown => format!("not known{by}{improve}"),
        Ready::NotReady => format!("not ready{by}{improve}"),
    }
}

/// The checks by their verdicts.
fn counts(report: &DoctorReport) -> String {
    let of = |wanted| report.checks.iter().filter(|c| c.verdict == wanted).count();
    let absent = report.checks.iter().filter(|c| is_absence(c)).count();
    let disturbs = of(Verdict::Invalidates) - absent;
    let (one, few) = if report.uses.is_empty() {
        ("invalid", "")
    } else {
        ("disturbing what is measured", ", which only some uses need")
    };
    let counts = [
        (of(Verdict::Pass), "ok", ""),
        (of(Verdict::Warn), "to improve", ""),
        (disturbs, one, ""),
        (absent, "missing", few),
        (of(Verdict::Unknown), "unknown", ""),
    ];
    let some = counts.iter().filter(|(n, ..)| *n > 0);
    let words: Vec<String> = some
        .map(|(n, word, more)| format!("{n} {word}{more}"))
        .collect();
    format!("{} checks: {}", report.checks.len(), words.join("; "))
}

/// How ready the machine is, by use; `None` in a report that is not sorted by use.
fn by_uses(report: &DoctorReport) -> Option<Answer> {
    let named = |ready: Ready, word: &str| {
        let of_it = report.uses.iter().filter(|state| state.ready == ready);
        let names: Vec<&str> = of_it.map(|state| used_for(state.of)).collect();
        (!names.is_empty()).then(|| format!("{word}: {}", names.join(", ")))
    };
    let all = [
        named(Ready::Ready, "ready"),
        named(Ready::Limited, "ready but for a part"),
        named(Ready::NotReady, "not ready"),
        named(Ready::Unknown, "not known"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    let is_ready = report.uses.iter().all(|state| state.ready == Ready::Ready);
    let weight = if is_ready {
        Weight::Good
    } else {
        Weight::Caution
    };
    let of = format!("{} uses", report.uses.len());
    (!all.is_empty()).then(|| Said::new(weight, &of, all.join("; ")).into())
}

/// The lines that would change what is amiss, each behind the name of its check.
fn fixes(report: &DoctorReport) -> Section<'static> {
    let fix = |check: &Check| {
        let line = check
            .fix
            .clone()
            .filter(|_| check.verdict != Verdict::Pass)?;
        Some([format!("# {}", check.id), line])
    };
    let lines = report.checks.iter().filter_map(fix).flatten();
    Section::new("To change what is amiss").lines(lines)
}
