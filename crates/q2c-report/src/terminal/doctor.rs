//! `q2c doctor` in a terminal.

use super::screen::{Screen, Tone};
use super::table::{Column, Field, Table};
use crate::invalid;
use q2c_result::{Check, DoctorReport, Verdict};

/// The report of the checks: a table with findings and their meaning, a summary, and the lines that
/// would mend what is wrong.
#[must_use]
pub fn doctor(report: &DoctorReport, screen: Screen) -> String {
    let mut table = Table::new([
        Column::words("check"),
        Column::words("").left(),
        Column::words("found"),
        Column::words("means"),
    ]);
    for check in &report.checks {
        let (word, tone) = verdict(check.verdict);
        table.add([
            Field::from(&check.id),
            Field::new(tone, word),
            Field::from(&check.found),
            Field::new(Tone::Dim, &check.means),
        ]);
    }
    table.text(screen) + &summary(report, screen) + &fixes(report, screen)
}

/// The word for a verdict, and its tone.
fn verdict(verdict: Verdict) -> (&'static str, Tone) {
    match verdict {
        Verdict::Pass => ("ok", Tone::Good),
        Verdict::Warn => ("warn", Tone::Caution),
        Verdict::Invalidates => ("invalid", Tone::Bad),
        Verdict::Unknown => ("unknown", Tone::Dim),
    }
}

/// A line for each check that invalidates something, for the reports of other commands.
pub(super) fn invalid(report: &DoctorReport, screen: Screen) -> String {
    let line = |check: &Check| {
        let head = format!("doctor {}:", check.id);
        screen.note(Tone::Bad, &head, &invalid::told(check))
    };
    invalid::checks(report).map(line).collect()
}

fn summary(report: &DoctorReport, screen: Screen) -> String {
    let of = |wanted| report.checks.iter().filter(|c| c.verdict == wanted).count();
    let text = format!(
        "{} ok, {} to improve, {} that invalidate results, {} unknown",
        of(Verdict::Pass),
        of(Verdict::Warn),
        of(Verdict::Invalidates),
        of(Verdict::Unknown)
    );
    screen.note(
        Tone::Strong,
        &format!("{} checks:", report.checks.len()),
        &text,
    )
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
