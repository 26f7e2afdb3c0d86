//! Tests every check with every verdict that it can give, on changes to the good machine.

use super::{GOOD, cpu, find, good_target, kernel, queues, remove, report, target, tool};
use crate::tree::Tree;
use Verdict::Invalidates;
use q2c_result::{Target, Verdict};

/// A change to the good machine, the check that it concerns, the verdict, and parts of the finding
/// and of the fix.
pub type Case = (
    &'static str,
    &'static str,
    Verdict,
    &'static str,
    &'static str,
);

const PREFERENCE: &str = "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference";
pub const NVME: &str = "sys/devices/pci0/nvme0";

/// A case's change with its abbreviations expanded.
fn spelled(change: &str) -> String {
    change
        .replace("QUEUE", super::QUEUE)
        .replace("PREFERENCE", PREFERENCE)
        .replace("NVME", NVME)
}

/// The good machine with a change.
pub fn changed(lines: &str) -> Tree {
    let tree = Tree::new(GOOD);
    tree.add(lines);
    tree
}

pub fn verdict(tree: &Tree, target: &Target, id: &str) -> Verdict {
    find(&report(tree, target, None), id).verdict
}

/// The cases of every topic.
const ALL: [&[Case]; 5] = [
    tool::CASES,
    kernel::CASES,
    cpu::CASES,
    queues::CASES,
    target::CASES,
];

#[test]
fn every_verdict() {
    for (change, id, verdict, found, fix) in ALL.iter().copied().flatten() {
        let tree = Tree::new(GOOD);
        let change = spelled(change);
        match change.strip_prefix("- ") {
            Some(path) => remove(&tree.path(path)),
            None => tree.add(&change),
        }
        let checks = report(&tree, &good_target(), None);
        let check = find(&checks, id);
        assert_eq!(check.verdict, *verdict, "{change}: {check:?}");
        let named = !check.columns.is_empty();
        assert_eq!(named, *verdict == Invalidates, "{change}: {check:?}");
        assert!(check.found.contains(found), "{change}: {check:?}");
        assert_eq!(check.fix.is_some(), !fix.is_empty(), "{change}: {check:?}");
        assert!(
            check.fix.as_deref().unwrap_or_default().contains(fix),
            "{change}: {check:?}"
        );
    }
}
