//! CPU lists as the kernel writes them: `0-3,8,10-11`.

use itertools::Itertools;
use q2c_model::CpuId;

/// Greatest CPU number that is accepted. Linux is built for at most 8192 CPUs so far.
const MAX_CPU: u32 = 65_535;

/// The CPUs of a list, in the list's order; `None` when `text` is no list or names a CPU that no
/// machine has. Empty text is an empty list.
pub fn parse(text: &str) -> Option<Vec<CpuId>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last > MAX_CPU {
            return None;
        }
        cpus.extend((first..=last).map(CpuId));
    }
    Some(cpus)
}

/// The text of a list, with consecutive CPUs joined to ranges. `cpus` must be in ascending order.
pub fn show(cpus: &[CpuId]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &CpuId(n) in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => runs.push((n, n)),
        }
    }
    let range_text = |&(first, last): &(u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    runs.iter().map(range_text).join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_as_the_kernel_prints_them() {
        let numbers = |t| parse(t).map(|l| l.iter().map(|c| c.0).collect::<Vec<_>>());
        assert_eq!(numbers("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(numbers(""), Some(vec![]));
        assert_eq!(numbers("3-1"), None);
        assert_eq!(numbers("0,x"), None);
        assert_eq!(numbers("0-65535").map(|l| l.len()), Some(65_536));
        assert_eq!(numbers("0-4294967295"), None);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(set in proptest::collection::btree_set(0u32..200, 0..40)) {
            let cpus: Vec<CpuId> = set.into_iter().map(CpuId).collect();
            prop_assert_eq!(parse(&show(&cpus)), Some(cpus));
        }
    }
}
