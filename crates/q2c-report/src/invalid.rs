//! What the doctor's checks say of a report's columns.

use q2c_result::{Check, DoctorReport, Verdict};

/// Behind the head of a column that a check invalidates.
pub(crate) const MARK: &str = " \u{2020}";

/// Checks that invalidate something, in their order.
pub(crate) fn checks(report: &DoctorReport) -> impl Iterator<Item = &Check> {
    let all = report.checks.iter();
    all.filter(|check| check.verdict == Verdict::Invalidates)
}

/// Whether a check invalidates this measure.
pub(crate) fn measure(report: &DoctorReport, name: &str) -> bool {
    checks(report).any(|check| check.columns.iter().any(|column| column == name))
}

/// What a check invalidates: `iops, latency`; what it says itself where it names nothing.
pub(crate) fn columns(check: &Check) -> String {
    match check.columns.is_empty() {
        true => check.means.clone(),
        false => check.columns.join(", "),
    }
}

/// One check in a sentence.
pub(crate) fn told(check: &Check) -> String {
    format!("invalidates {}: {}", columns(check), check.found)
}
