//! Which columns of a report the doctor's checks invalidate.

use crate::said::{Said, Weight};
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
    report.checks.iter().any(|check| check.invalidates(name))
}

/// The names of the measures that a check invalidates: `iops, latency`. A check that names none
/// gives its own explanation.
pub(crate) fn columns(check: &Check) -> String {
    match check.columns.is_empty() {
        true => check.means.clone(),
        false => check.columns.join(", "),
    }
}

/// A sentence for each check that invalidates something, but for those that were `said`.
pub(crate) fn notices(report: &DoctorReport, said: impl Fn(&Check) -> bool) -> Vec<Said> {
    let checks = checks(report).filter(|check| !said(check));
    let notice =
        |check: &Check| Said::new(Weight::Bad, &format!("doctor {}", check.id), told(check));
    checks.map(notice).collect()
}

/// A sentence on a check that invalidates something, behind the check's name, which it does not
/// repeat: a check of a method can have the method's name.
pub(crate) fn told(check: &Check) -> String {
    let others = check.columns.iter().filter(|column| **column != check.id);
    let others: Vec<&str> = others.map(String::as_str).collect();
    let what = match (others.len() == check.columns.len(), others.is_empty()) {
        (true, _) => format!("invalidates {}", columns(check)),
        (false, true) => "not available".to_owned(),
        (false, false) => format!("not available, nor {}", others.join(", ")),
    };
    format!("{what}: {}", check.found)
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
            verdict: Verdict::Invalidates,
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
            assert_eq!(told(&check(columns)), wanted);
        }
    }
}
