//! Sentences on what the doctor's checks invalidate, and on what disturbed the trials.

use crate::note::Note;
use crate::phrase::{listed, listed_if_any};
use q2c_result::{Check, CheckVerdict, DoctorReport, Warning};

/// The dagger that follows the head of a column which a check invalidates.
pub(crate) const MARK: &str = " \u{2020}";

/// The checks that invalidate something, in the doctor's order.
pub(crate) fn invalidating_checks(report: &DoctorReport) -> impl Iterator<Item = &Check> {
    let checks = report.checks.iter();
    checks.filter(|check| check.verdict == CheckVerdict::Invalidates)
}

/// The names of the measures that a check invalidates: `iops, latency`. If it names none, its own
/// explanation takes their place.
pub(crate) fn invalid_columns(check: &Check) -> String {
    listed_if_any(&check.columns).unwrap_or_else(|| check.means.clone())
}

/// A sentence on a check that invalidates something. It does not repeat the check's name: a check
/// of a method can have the method's name.
pub(crate) fn check_note(check: &Check) -> Note {
    let others = check.columns.iter().filter(|column| **column != check.id);
    let others: Vec<&String> = others.collect();
    let names_itself = others.len() < check.columns.len();
    let effect = match (names_itself, others.is_empty()) {
        (false, _) => format!("invalidates {}", invalid_columns(check)),
        (true, true) => "not available".to_owned(),
        (true, false) => format!("not available, nor {}", listed(others)),
    };
    let heading = format!("doctor {}", check.id);
    Note::bad(&heading, format!("{effect}: {}", check.found))
}

/// A caveat for each of `warnings` that reports a disturbance of the trials. What to do about it is
/// in the warning itself.
pub(crate) fn caveats<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> Vec<String> {
    let warnings = warnings.into_iter();
    let disturbances = warnings.filter(|warning| warning.marks_disturbance());
    let caveats = disturbances.map(|it| format!("{}; {} [{}]", it.found, it.means, it.id));
    caveats.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::doctor::Use;

    #[test]
    fn a_check_does_not_say_its_name_again() {
        let check = |columns: &[&str]| Check {
            id: "hybrid-kernel".to_owned(),
            group: "kernel".to_owned(),
            uses: vec![Use::KernelPolling],
            verdict: CheckVerdict::Invalidates,
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            found: "kernel 6.18".to_owned(),
            means: "it needs Linux 4.10 to 5.18".to_owned(),
            fix: None,
        };
        for (columns, wanted) in [
            (
                &["hybrid-kernel", "hipri"][..],
                "not available, nor hipri: kernel 6.18",
            ),
            (&["hybrid-kernel"], "not available: kernel 6.18"),
            (&["iops"], "invalidates iops: kernel 6.18"),
            (&[], "invalidates it needs Linux 4.10 to 5.18: kernel 6.18"),
        ] {
            assert_eq!(check_note(&check(columns)).text, wanted);
        }
    }
}
