//! The doctor's checks as rows of a table.

use crate::invalid;
use q2c_result::{Check, DoctorReport, Verdict};

/// A check with the words and classes of its row.
pub(super) struct CheckRow<'a> {
    pub check: &'a Check,
    /// The verdict as a word.
    pub word: &'static str,
    /// The verdict's class in the style sheet.
    pub class: &'static str,
    /// Names of the measures that the check invalidates; `None` when it names none.
    pub invalid: Option<String>,
}

/// A row for each check: those that invalidate something first, those that pass last.
pub(super) fn rows(report: &DoctorReport) -> Vec<CheckRow<'_>> {
    let row = |check| {
        let (word, class) = verdict(check);
        let invalid = check.verdict == Verdict::Invalidates && !check.columns.is_empty();
        CheckRow {
            check,
            word,
            class,
            invalid: invalid.then(|| invalid::columns(check)),
        }
    };
    let mut rows: Vec<CheckRow<'_>> = report.checks.iter().map(row).collect();
    rows.sort_by_key(|row| match row.check.verdict {
        Verdict::Invalidates => 0,
        Verdict::Warn => 1,
        Verdict::Unknown => 2,
        Verdict::Pass => 3,
    });
    rows
}

fn verdict(check: &Check) -> (&'static str, &'static str) {
    match check.verdict {
        Verdict::Pass => ("ok", "good"),
        Verdict::Warn => ("warn", "caution"),
        Verdict::Invalidates => ("invalidates", "bad"),
        Verdict::Unknown => ("unknown", "dim"),
    }
}
