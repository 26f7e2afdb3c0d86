//! The names of processes, as a recording gives them.

use q2c_trace::is_cut_name;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Names of processes by id. If a process has several names, the earliest one counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProcessNames {
    /// By id: the time of the first I/O with the name (ns), and the name.
    names: BTreeMap<u32, (u64, String)>,
    /// Ids of further processes, whose names are not kept; at most [`ProcessNames::MAX_NAMES`].
    nameless: BTreeSet<u32>,
}

impl ProcessNames {
    /// Most processes whose names are kept.
    pub(crate) const MAX_NAMES: usize = 1 << 12;

    /// Takes the process name of an I/O at the time `at`. I/Os come in the order of time.
    #[inline]
    pub(crate) fn add(&mut self, pid: u32, at: u64, name: &str) {
        if self.names.contains_key(&pid) {
            return;
        }
        if self.names.len() < Self::MAX_NAMES {
            self.names.insert(pid, (at, name.to_owned()));
        } else if self.nameless.len() < Self::MAX_NAMES {
            self.nameless.insert(pid);
        }
    }

    pub(crate) fn has_other_name(&self, pid: u32, name: &str) -> bool {
        self.names.get(&pid).is_some_and(|(_, known)| known != name)
    }

    /// Adds the names of another part. Of all names, the earliest ones are kept.
    pub(crate) fn merge(&mut self, other: ProcessNames) {
        for (pid, name) in other.names {
            let kept = self.names.entry(pid).or_insert_with(|| name.clone());
            if name < *kept {
                *kept = name;
            }
        }
        self.nameless.extend(other.nameless);
        if self.names.len() > Self::MAX_NAMES {
            let known = self.names.iter();
            let mut by_time: Vec<_> = known.map(|(pid, (at, _))| (*at, *pid)).collect();
            by_time.sort_unstable();
            for (_, pid) in by_time.split_off(Self::MAX_NAMES) {
                self.names.remove(&pid);
                self.nameless.insert(pid);
            }
        }
        self.nameless.retain(|pid| !self.names.contains_key(pid));
        while self.nameless.len() > Self::MAX_NAMES {
            self.nameless.pop_last();
        }
    }

    pub(crate) fn by_id(&self) -> BTreeMap<u32, String> {
        let known = self.names.iter();
        known.map(|(pid, (_, name))| (*pid, name.clone())).collect()
    }

    /// Number of kept names that the kernel cut short, and of processes without a kept name.
    pub(crate) fn left_out_counts(&self) -> (usize, usize) {
        let cut = self.names.values().filter(|(_, name)| is_cut_name(name));
        (cut.count(), self.nameless.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Parts in any order give the same names, even if there are more names than are kept.
        #[test]
        fn parts_have_the_names_of_the_whole(
            pids in prop::collection::vec(0..9_000_u32, 0..12_000),
            cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(pids.len() + 1);
            let names_of = |from: usize, to: usize| {
                let mut names = ProcessNames::default();
                for (at, pid) in pids[..to].iter().enumerate().skip(from) {
                    names.add(*pid, at as u64, &format!("process {pid}"));
                }
                names
            };
            let whole = names_of(0, pids.len());
            let (first, second) = (names_of(0, cut), names_of(cut, pids.len()));
            for (mut one, two) in [(first.clone(), second.clone()), (second, first)] {
                one.merge(two);
                prop_assert_eq!(&one.by_id(), &whole.by_id());
                prop_assert!(whole.nameless.len() == ProcessNames::MAX_NAMES || one.nameless == whole.nameless);
            }
        }
    }

    #[test]
    fn the_first_name_counts() {
        let named = |at, name| {
            let mut names = ProcessNames::default();
            names.add(7, at, name);
            names
        };
        for (mut one, two) in [
            (named(1, "sh"), named(2, "db")),
            (named(2, "db"), named(1, "sh")),
        ] {
            one.merge(two);
            assert_eq!(one.by_id(), BTreeMap::from([(7, "sh".to_owned())]));
        }
    }
}
