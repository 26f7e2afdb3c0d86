//! What is known of tasks by their names: the user's rules, and those of well-known programs.

use crate::predictor::Class;
use serde::Deserialize;

/// Rules by the names of threads. A rule is a name; a `*` at its end stands for any ending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hints {
    /// Threads that poll, whatever else is seen of them.
    pub polling: Vec<String>,
    /// Threads that compute, whatever else is seen of them.
    pub compute: Vec<String>,
    /// Threads that are never moved.
    pub leave: Vec<String>,
}

/// Pollers in user space that no kernel function sees: SPDK's reactors, DPDK's lcores, Open
/// vSwitch's PMD threads, VPP's workers.
const POLLERS: [&str; 4] = ["reactor_*", "dpdk-*", "pmd*", "vpp_wk*"];
/// The kernel's threads that poll submission queues of io_uring: since Linux 5.12, and before.
const SUBMISSION: [&str; 2] = ["iou-sqp-*", "io_uring-sq"];

impl Hints {
    /// Reads a file of hints, in TOML.
    ///
    /// # Errors
    /// It is not TOML, or has other keys; the text says where.
    pub fn read(text: &str) -> Result<Hints, String> {
        toml::from_str(text).map_err(|e| e.to_string().trim_end().replace('\n', " "))
    }

    /// The class that the user gives to threads of this name; `None` without a rule for it.
    pub(crate) fn class(&self, comm: &str) -> Option<Class> {
        let polls = fits_any(&self.polling, comm).then_some(Class::Polling);
        polls.or(fits_any(&self.compute, comm).then_some(Class::Compute))
    }

    /// True if threads of this name are never moved.
    pub(crate) fn never_moves(&self, comm: &str) -> bool {
        fits_any(&self.leave, comm)
    }
}

/// True if the thread polls a submission queue of io_uring in the kernel.
pub(crate) fn is_submission_thread(comm: &str) -> bool {
    fits_any(&SUBMISSION, comm)
}

/// True if the name is that of a well-known poller in user space.
pub(crate) fn is_known_poller(comm: &str) -> bool {
    fits_any(&POLLERS, comm)
}

fn fits_any(rules: &[impl AsRef<str>], comm: &str) -> bool {
    let mut rules = rules.iter().map(AsRef::as_ref);
    rules.any(|rule| match rule.strip_suffix('*') {
        Some(prefix) => comm.starts_with(prefix),
        None => comm == rule,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_names_or_their_beginnings() {
        let hints = Hints::read("polling = ['poll*']\ncompute = ['solver']\nleave = ['db*']");
        let hints = hints.unwrap();
        assert_eq!(hints.class("poller 3"), Some(Class::Polling));
        assert_eq!(hints.class("solver"), Some(Class::Compute));
        assert_eq!(hints.class("solver2"), None);
        assert!(hints.never_moves("dbwriter") && !hints.never_moves("a db"));
        assert!(is_submission_thread("iou-sqp-117") && !is_submission_thread("iou-wrk-117"));
        assert!(is_known_poller("reactor_0") && is_known_poller("dpdk-worker1"));
        assert!(!is_known_poller("fio"));
        assert!(Hints::read("poling = []").unwrap_err().contains("poling"));
    }
}
