//! `q2c doctor` in a terminal.

use super::screen::{Screen, Tone};
use super::table;
use crate::invalid;
use comfy_table::ColumnConstraint;
use q2c_result::{Check, DoctorReport, Verdict};

/// The report of the checks: a table with findings and their meaning, a summary, and the lines that
/// would mend what is wrong.
#[must_use]
pub fn doctor(report: &DoctorReport, screen: Screen) -> String {
    let mut table = table::empty(screen);
    table.set_header(["", "check", "found", "means"].map(|head| screen.cell(Tone::Strong, head)));
    for check in &report.checks {
        let (word, tone) = verdict(check.verdict);
        table.add_row([
            screen.cell(tone, word),
            screen.cell(Tone::Plain, &check.id),
            screen.cell(Tone::Plain, &check.found),
            screen.cell(Tone::Dim, &check.means),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
        if column.index < 2 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table::text(&table) + &summary(report, screen) + &fixes(report, screen)
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
