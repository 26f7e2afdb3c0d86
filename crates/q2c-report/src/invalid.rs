//! Which columns of a report the doctor's checks invalidate.

use q2c_result::{Check, DoctorReport, Verdict};

/// The mark behind the head of a column that a check invalidates.
pub(crate) const MARK: &str = " \u{2020}";

/// The checks that invalidate something, in the doctor's order.
pub(crate) fn checks(report: &DoctorReport) -> impl Iterator<Item = &Check> {
    let all = report.checks.iter();
    all.filter(|check| check.verdict == Verdict::Invalidates)
}

/// Whether a check invalidates the measure of this name.
pub(crate) fn measure(report: &DoctorReport, name: &str) -> bool {
    checks(report).any(|check| check.columns.iter().any(|column| column == name))
}

/// The names of the measures that a check invalidates: `iops, latency`. A check that names none
/// gives its own explanation.
pub(crate) fn columns(check: &Check) -> String {
    match check.columns.is_empty() {
        true => check.means.clone(),
        false => check.columns.join(", "),
    }
}

/// A sentence on a check that invalidates something.
pub(crate) fn told(check: &Check) -> String {
    format!("invalidates {}: {}", columns(check), check.found)
}
