//! What a check looks at, and what it finds.

use crate::block::{self, Leaf};
use crate::{Roots, attr, machine};
use q2c_model::CpuId;
use q2c_result::{Machine, Target, Verdict};
use std::path::{Path, PathBuf};

/// How a real `io_uring_setup` ended. The doctor does no I/O itself: the caller tries and tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingProbe {
    /// A ring came up.
    Works,
    /// It was refused, with the error's text.
    Refused(String),
}

/// All that the checks look at.
#[derive(Clone, Debug)]
pub struct Scene<'a> {
    /// The kernel's trees.
    pub(super) roots: &'a Roots,
    /// The machine's facts.
    pub(super) machine: Machine,
    /// The target's facts, when one was named.
    pub(super) target: Option<&'a Target>,
    /// Its disk in sysfs.
    pub(super) leaf: Option<Leaf>,
    /// A tried ring.
    pub(super) ring: Option<RingProbe>,
    /// The restore journals' folder.
    pub(super) journal: Option<PathBuf>,
}

impl<'a> Scene<'a> {
    /// The machine, and the target when one is named.
    #[must_use]
    pub fn new(roots: &'a Roots, target: Option<&'a Target>) -> Scene<'a> {
        let name = target.and_then(|t| Some(t.device.as_ref()?.name.clone()));
        Scene {
            roots,
            machine: machine::read(roots),
            target,
            leaf: name.and_then(|n| block::of_disk_name(roots, &n).ok()),
            ring: None,
            journal: None,
        }
    }

    /// With the outcome of a tried ring.
    #[must_use]
    pub fn with_ring(self, probe: RingProbe) -> Scene<'a> {
        Scene {
            ring: Some(probe),
            ..self
        }
    }

    /// With the folder of the restore journals.
    #[must_use]
    pub fn with_journal(self, dir: &Path) -> Scene<'a> {
        Scene {
            journal: Some(dir.to_owned()),
            ..self
        }
    }

    /// The kernel's version; (0, 0) when it cannot be told.
    pub(super) fn version(&self) -> (u32, u32) {
        machine::kernel_version(&self.machine.kernel).unwrap_or_default()
    }

    pub(super) fn online(&self) -> &[CpuId] {
        &self.machine.cpus_online
    }

    pub(super) fn sys(&self, path: &str) -> Option<String> {
        attr::text(&self.roots.sys(path))
    }

    pub(super) fn proc(&self, path: &str) -> Option<String> {
        attr::text(&self.roots.proc(path))
    }

    /// The disk's name and an attribute of its queue.
    pub(super) fn queue(&self, attribute: &str) -> Option<(&str, String)> {
        let disk = &self.leaf.as_ref()?.disk;
        Some((
            &disk.name,
            attr::text(&disk.dir.join("queue").join(attribute))?,
        ))
    }

    /// A command line item of the kernel.
    pub(super) fn command_line(&self, item: &str) -> Option<String> {
        let line = self.proc("cmdline")?;
        let found = line
            .split_whitespace()
            .find_map(|w| w.strip_prefix(item)?.strip_prefix('='));
        found.map(str::to_owned)
    }
}

/// What a check found: the result's check without its name and group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub verdict: Verdict,
    pub found: String,
    pub means: String,
    pub fix: Option<String>,
}

impl Finding {
    fn new(verdict: Verdict, found: impl Into<String>, means: &str) -> Finding {
        Finding {
            verdict,
            found: found.into(),
            means: means.to_owned(),
            fix: None,
        }
    }

    pub fn pass(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Pass, found, means)
    }

    pub fn warn(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Warn, found, means)
    }

    pub fn invalidates(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Invalidates, found, means)
    }

    pub fn unknown(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Unknown, found, means)
    }

    /// With the line that would change it.
    pub fn fix(self, line: impl Into<String>) -> Finding {
        Finding {
            fix: Some(line.into()),
            ..self
        }
    }
}

/// The line that writes a value to a file of sysfs or procfs.
pub(super) fn write_line(value: &str, path: &str) -> String {
    format!("echo {value} > {path}")
}
