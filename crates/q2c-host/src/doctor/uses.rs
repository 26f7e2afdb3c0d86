use q2c_result::doctor::{Ready, Use, UseState};
use q2c_result::{Check, CheckVerdict, DoctorReport};

/// The uses in the order of the report, each with what it cannot do without: of every list one
/// check must not fail. A check that does not apply is not asked.
const USES: &[(Use, &[&[&str]])] = &[
    (Use::Measuring, &[&["busy-at-rest"]]),
    (Use::Tune, &[&["io-uring"], &["busy-at-rest"]]),
    (Use::Bench, &[&["busy-at-rest"]]),
    (Use::Capture, &[&["bpf", "tracefs"]]),
    (
        Use::KernelPolling,
        &[&["hybrid-kernel"], &["poll-queues"], &["bpf"]],
    ),
    (Use::Spdk, &[&["spdk-program"], &["hugepages"]]),
    (
        Use::FileSystems,
        &[
            &["mkfs-ext4", "mkfs-xfs", "mkfs-btrfs", "mkfs-f2fs"],
            &["mounting"],
        ],
    ),
    (Use::RamDevices, &[&["ramdisk-module", "ublk"]]),
    (Use::Placement, &[]),
];

/// Sorts a report's checks by use, and adds the state of each use. Checks of one use keep their
/// order.
#[must_use]
pub fn by_use(report: DoctorReport) -> DoctorReport {
    let DoctorReport { schema, checks, .. } = report;
    let uses = USES
        .iter()
        .map(|(used_for, needs)| state(*used_for, needs, &checks));
    let uses = uses.collect();
    let mut checks = checks;
    checks.sort_by_key(|check| place(check.uses.first().copied()));
    DoctorReport {
        schema,
        uses,
        checks,
    }
}

fn place(of: Option<Use>) -> usize {
    let at = USES.iter().position(|(one, _)| Some(*one) == of);
    at.unwrap_or(USES.len())
}

fn state(of: Use, needs: &[&[&str]], checks: &[Check]) -> UseState {
    let checks_of_use: Vec<&Check> = checks
        .iter()
        .filter(|check| check.uses.contains(&of))
        .collect();
    let to_improve = checks_of_use
        .iter()
        .filter(|check| check.verdict == CheckVerdict::Warn);
    let (ready, by) = decided(needs, &checks_of_use);
    UseState {
        of,
        ready,
        by,
        to_improve: to_improve.count() as u32,
    }
}

fn decided(needs: &[&[&str]], all: &[&Check]) -> (Ready, Vec<String>) {
    let (mut failed, mut unknown) = (Vec::new(), Vec::new());
    for need in needs {
        let asked = all.iter().filter(|check| need.contains(&check.id.as_str()));
        let asked: Vec<&&Check> = asked.collect();
        let has = |verdict| asked.iter().any(|check| check.verdict == verdict);
        let names = asked.iter().map(|check| check.id.clone());
        if asked.is_empty() || has(CheckVerdict::Pass) || has(CheckVerdict::Warn) {
            continue;
        }
        if has(CheckVerdict::Unknown) {
            unknown.extend(names);
        } else {
            failed.extend(names);
        }
    }
    let refused = |check: &&&Check| check.verdict == CheckVerdict::Invalidates;
    let limits = all.iter().filter(refused).map(|check| check.id.clone());
    match (failed.is_empty(), unknown.is_empty()) {
        (false, _) => (Ready::NotReady, failed),
        (true, false) => (Ready::Unknown, unknown),
        (true, true) => {
            let limits: Vec<String> = limits.collect();
            if limits.is_empty() {
                (Ready::Ready, limits)
            } else {
                (Ready::Limited, limits)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::CheckVerdict::{Invalidates, Pass, Unknown, Warn};

    fn check(id: &str, uses: &[Use], verdict: CheckVerdict) -> Check {
        Check {
            id: id.to_owned(),
            group: "kernel".to_owned(),
            uses: uses.to_vec(),
            verdict,
            columns: Vec::new(),
            found: String::new(),
            means: String::new(),
            fix: None,
        }
    }

    fn sorted(checks: Vec<Check>) -> DoctorReport {
        by_use(DoctorReport {
            checks,
            ..DoctorReport::default()
        })
    }

    fn state_of(report: &DoctorReport, of: Use) -> (Ready, Vec<&str>, u32) {
        let state = report.uses.iter().find(|state| state.of == of).unwrap();
        let by = state.by.iter().map(String::as_str).collect();
        (state.ready, by, state.to_improve)
    }

    #[test]
    fn one_of_two_ways_is_enough() {
        let with = |bpf, tracefs| {
            let report = sorted(vec![
                check("bpf", &[Use::Capture, Use::KernelPolling], bpf),
                check("tracefs", &[Use::Capture], tracefs),
            ]);
            let (ready, by, _) = state_of(&report, Use::Capture);
            (ready, by.join(" "))
        };
        assert_eq!(with(Pass, Pass), (Ready::Ready, String::new()));
        assert_eq!(with(Invalidates, Pass), (Ready::Limited, "bpf".into()));
        assert_eq!(with(Invalidates, Unknown).0, Ready::Unknown);
        let neither = with(Invalidates, Invalidates);
        assert_eq!(neither, (Ready::NotReady, "bpf tracefs".into()));
    }

    /// Recording goes on beside other work; what is measured does not.
    #[test]
    fn nothing_is_measured_on_a_busy_machine() {
        let measured = [Use::Measuring, Use::Tune, Use::Bench];
        let report = sorted(vec![
            check("busy-at-rest", &measured, Invalidates),
            check("io-uring", &[Use::Tune, Use::Bench], Pass),
        ]);
        for one in measured {
            assert_eq!(
                state_of(&report, one),
                (Ready::NotReady, vec!["busy-at-rest"], 0)
            );
        }
        assert_eq!(state_of(&report, Use::Capture).0, Ready::Ready);
    }

    #[test]
    fn every_need_counts_and_checks_stand_where_they_fit_best() {
        let report = sorted(vec![
            check("hybrid-kernel", &[Use::KernelPolling, Use::Bench], Pass),
            check("governor", &[Use::Measuring], Warn),
            check("bpf", &[Use::Capture, Use::KernelPolling], Invalidates),
            check("io-uring", &[Use::Tune, Use::Bench], Unknown),
        ]);
        let order: Vec<&str> = report.checks.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(order, ["governor", "io-uring", "bpf", "hybrid-kernel"]);
        let polling = state_of(&report, Use::KernelPolling);
        assert_eq!(polling, (Ready::NotReady, vec!["bpf"], 0));
        assert_eq!(state_of(&report, Use::Measuring), (Ready::Ready, vec![], 1));
        assert_eq!(state_of(&report, Use::Tune).0, Ready::Unknown);
        assert_eq!(state_of(&report, Use::Bench), (Ready::Ready, vec![], 0));
    }
}
