//! `q2c doctor` in a terminal.

use super::screen::{Screen, Tone};
use super::table::{Column, Field, Table};
use q2c_result::doctor::{Ready, Use, UseState};
use q2c_result::{Check, DoctorReport, Verdict};

/// The report of the checks: by use whether the machine is ready, with a table of findings and
/// their meaning, a summary, and the lines that would mend what is wrong.
#[must_use]
pub fn doctor(report: &DoctorReport, screen: Screen) -> String {
    let uses = report.uses.iter();
    let sections = uses.map(|state| section(report, state, screen));
    let text = match report.uses.is_empty() {
        true => table(report.checks.iter(), screen),
        false => sections.collect::<Vec<_>>().join("\n") + "\n",
    };
    without_target(report, screen) + &text + &summary(report, screen) + &fixes(report, screen)
}

/// Says that no disk was looked at, at the head of a report on the machine without a target.
fn without_target(report: &DoctorReport, screen: Screen) -> String {
    let of_target = |check: &Check| check.group == "target";
    if report.uses.is_empty() || report.checks.iter().any(of_target) {
        return String::new();
    }
    let words = "none was looked at; q2c doctor FILE looks at that of a file or device, too: \
                 scheduler, write-back throttling, merges, interrupts";
    screen.note(Tone::Caution, "disk:", words) + "\n"
}

/// One use: its heading, the checks that stand under it, and those of other uses that concern it.
fn section(report: &DoctorReport, state: &UseState, screen: Screen) -> String {
    let head = format!("{}:", used_for(state.of));
    let mut text = screen.note(Tone::Strong, &head, &readiness(report, state));
    let own = |check: &&Check| check.uses.first() == Some(&state.of);
    if report.checks.iter().any(|check| own(&check)) {
        text += &table(report.checks.iter().filter(own), screen);
    }
    let elsewhere = report
        .checks
        .iter()
        .filter(|check| check.uses.contains(&state.of) && check.uses.first() != Some(&state.of));
    let names: Vec<&str> = elsewhere.map(|check| check.id.as_str()).collect();
    if !names.is_empty() {
        text += &screen.legend(&format!("See also: {}.", names.join(", ")));
    }
    text
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
    let by = match said_below {
        true => String::new(),
        false => format!(" ({})", state.by.join(", ")),
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

/// The checks as a table, or as a sentence each where the table's cells would be narrow.
fn table<'a>(checks: impl Iterator<Item = &'a Check>, screen: Screen) -> String {
    if screen.columns() < WIDE {
        return checks.map(|check| sentence(check, screen)).collect();
    }
    let mut table = Table::new([
        Column::words("check"),
        Column::words("").left(),
        Column::words("found"),
        Column::words("means"),
    ]);
    for check in checks {
        let (word, tone) = verdict(check);
        table.add([
            Field::from(&check.id),
            Field::new(tone, word),
            Field::from(&check.found),
            Field::new(Tone::Dim, &check.means),
        ]);
    }
    table.text(screen)
}

/// From so many columns on the checks stand in a table.
const WIDE: u16 = 100;

fn sentence(check: &Check, screen: Screen) -> String {
    let (word, tone) = verdict(check);
    let words = format!("{}: {}; {}", check.id, check.found, check.means);
    screen.note(tone, word, &words)
}

/// Whether a check found something that a few uses need and others do not miss.
fn is_absence(check: &Check) -> bool {
    let of_few = !check.uses.contains(&Use::Measuring);
    check.verdict == Verdict::Invalidates && of_few
}

/// The word for a check's verdict, and its tone.
fn verdict(check: &Check) -> (&'static str, Tone) {
    match check.verdict {
        Verdict::Invalidates if is_absence(check) => ("missing", Tone::Caution),
        Verdict::Pass => ("ok", Tone::Good),
        Verdict::Warn => ("warn", Tone::Caution),
        Verdict::Invalidates => ("invalid", Tone::Bad),
        Verdict::Unknown => ("unknown", Tone::Dim),
    }
}

fn summary(report: &DoctorReport, screen: Screen) -> String {
    let of = |wanted| report.checks.iter().filter(|c| c.verdict == wanted).count();
    let absent = report.checks.iter().filter(|c| is_absence(c)).count();
    let disturbs = of(Verdict::Invalidates) - absent;
    let (one, few) = match report.uses.is_empty() {
        true => ("invalid", ""),
        false => ("disturbing what is measured", ", which only some uses need"),
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
    let head = format!("{} checks:", report.checks.len());
    by_uses(report, screen) + &screen.note(Tone::Strong, &head, &words.join("; "))
}

/// How ready the machine is, by use; nothing in a report that is not sorted by use.
fn by_uses(report: &DoctorReport, screen: Screen) -> String {
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
    match all.is_empty() {
        true => String::new(),
        false => {
            let head = format!("{} uses:", report.uses.len());
            screen.note(Tone::Strong, &head, &all.join("; "))
        }
    }
}

fn fixes(report: &DoctorReport, screen: Screen) -> String {
    let fix = |check: &Check| {
        let line = check
            .fix
            .as_deref()
            .filter(|_| check.verdict != Verdict::Pass)?;
        Some(format!(
            "{}\n    {}\n",
            screen.paint(Tone::Strong, &check.id),
            screen.paint(Tone::Plain, line)
        ))
    };
    let fixes: String = report.checks.iter().filter_map(fix).collect();
    match fixes.is_empty() {
        true => String::new(),
        false => format!("\nTo change what is amiss:\n{fixes}"),
    }
}
