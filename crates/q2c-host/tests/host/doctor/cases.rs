//! Tests every check with every verdict that it can give, on changes to the good machine.

use super::{GOOD, cpu, find, good_target, kernel, queues, remove, report, target, tool};
use crate::tree::SysProcTree;
use q2c_result::{CheckVerdict, Target};

const PREFERENCE: &str = "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference";
pub(crate) const NVME: &str = "sys/devices/pci0/nvme0";

/// A case's change with its abbreviations expanded.
fn spell_out(change: &str) -> String {
    change
        .replace("QUEUE", super::QUEUE)
        .replace("PREFERENCE", PREFERENCE)
        .replace("NVME", NVME)
}

pub(crate) fn tree_with(lines: &str) -> SysProcTree {
    let tree = SysProcTree::new(GOOD);
    tree.add(lines);
    tree
}

pub(crate) fn verdict(tree: &SysProcTree, target: &Target, id: &str) -> CheckVerdict {
    find(&report(tree, target, None), id).verdict
}

/// A line has a change to the good machine, the check that it concerns, the verdict, and parts of
/// the finding and of the fix (`-` for none). `- path` removes a file or folder.
const ALL: [&str; 5] = [
    tool::CASES,
    kernel::CASES,
    cpu::CASES,
    queues::CASES,
    target::CASES,
];

#[test]
fn every_verdict() {
    let lines = ALL.iter().flat_map(|cases| cases.lines()).map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(" ; ").map(str::trim).collect();
        let [change, id, verdict, found, fix] = fields[..] else {
            panic!("{line}");
        };
        let tree = SysProcTree::new(GOOD);
        let change = spell_out(change);
        match change.strip_prefix("- ") {
            Some(path) => remove(&tree.path(path)),
            None => tree.add(&change),
        }
        let checks = report(&tree, &good_target(), None);
        let check = find(&checks, id);
        assert_eq!(format!("{:?}", check.verdict), verdict, "{line}: {check:?}");
        let named = !check.columns.is_empty();
        let invalidates = check.verdict == CheckVerdict::Invalidates;
        assert_eq!(named, invalidates, "{line}: {check:?}");
        assert!(check.found.contains(found), "{line}: {check:?}");
        let fix_line = check.fix.as_deref().unwrap_or("-");
        assert_eq!(fix_line == "-", fix == "-", "{line}: {check:?}");
        assert!(fix_line.contains(fix), "{line}: {check:?}");
    }
}
