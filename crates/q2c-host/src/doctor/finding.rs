//! The finding of a check, and the remedy that would mend it.

use super::facts::DoctorFacts;
use crate::attr;
use q2c_result::CheckVerdict;
use q2c_result::doctor::LeftReason;
use std::path::PathBuf;

/// The result of one check. The registry adds name and group to make a [`q2c_result::Check`], whose
/// documentation explains the fields.
pub(super) struct Finding {
    pub verdict: CheckVerdict,
    pub columns: Vec<String>,
    pub found: String,
    pub means: String,
    pub remedy: Option<Remedy>,
}

impl Finding {
    pub(crate) fn new(verdict: CheckVerdict, found: impl Into<String>, means: &str) -> Finding {
        Finding {
            verdict,
            columns: Vec::new(),
            found: found.into(),
            means: means.to_owned(),
            remedy: None,
        }
    }

    pub(crate) fn pass(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(CheckVerdict::Pass, found, means)
    }

    pub(crate) fn warn(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(CheckVerdict::Warn, found, means)
    }

    /// Passes with the first meaning, or warns with the second one.
    pub(crate) fn pass_or_warn(
        passes: bool,
        found: impl Into<String>,
        good: &str,
        bad: &str,
    ) -> Finding {
        if passes {
            return Finding::pass(found, good);
        }
        Finding::warn(found, bad)
    }

    pub(crate) fn invalidates(columns: &[&str], found: impl Into<String>, means: &str) -> Finding {
        Finding {
            columns: columns.iter().map(|&c| c.to_owned()).collect(),
            ..Finding::new(CheckVerdict::Invalidates, found, means)
        }
    }

    pub(crate) fn unknown(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(CheckVerdict::Unknown, found, means)
    }

    /// Adds the remedy, unless the check passed.
    pub(crate) fn mend(mut self, remedy: impl Into<Option<Remedy>>) -> Finding {
        if self.verdict != CheckVerdict::Pass {
            self.remedy = remedy.into();
        }
        self
    }
}

/// A setting that takes effect at once: a file of sysfs or procfs, and the value that it should
/// have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RemedySetting {
    pub file: PathBuf,
    pub value: String,
    /// Settings that the kernel may reset when this one changes.
    pub resets: Vec<PathBuf>,
}

impl RemedySetting {
    pub(crate) fn new(file: PathBuf, value: &str) -> RemedySetting {
        RemedySetting {
            file,
            value: value.to_owned(),
            resets: Vec::new(),
        }
    }
}

pub(super) enum Remedy {
    /// Settings, and the line that writes them.
    Set(Vec<RemedySetting>, String),
    /// A line for the user, and why q2c does not follow it.
    Line(LeftReason, String),
    Nothing(LeftReason),
}

impl Remedy {
    pub(crate) fn line(self) -> Option<String> {
        match self {
            Remedy::Set(_, line) | Remedy::Line(_, line) => Some(line),
            Remedy::Nothing(_) => None,
        }
    }

    /// The remedy by an option of the kernel or a driver, which takes effect when either starts
    /// again.
    pub(crate) fn boot(line: impl Into<String>) -> Remedy {
        Remedy::Line(LeftReason::Boot, line.into())
    }
}

impl DoctorFacts<'_> {
    pub(super) fn write_line(&self, value: &str, path: &str) -> String {
        if self.is_root {
            format!("echo {value} > {path}")
        } else {
            format!("echo {value} | sudo tee {path}")
        }
    }

    pub(super) fn run_line(&self, command: &str) -> String {
        let sudo = if self.is_root { "" } else { "sudo " };
        format!("{sudo}{command}")
    }

    pub(super) fn command(&self, command: &str) -> Remedy {
        Remedy::Line(LeftReason::Program, self.run_line(command))
    }

    /// The remedy to run `command` as root; `None` if this process is root already.
    pub(super) fn as_root(&self, command: &str) -> Option<Remedy> {
        (!self.is_root).then(|| self.command(command))
    }

    fn set(&self, setting: RemedySetting, path: &str) -> Remedy {
        let line = self.write_line(&setting.value, path);
        Remedy::Set(vec![setting], line)
    }

    pub(super) fn set_sys(&self, value: &str, path: &str) -> Remedy {
        let setting = RemedySetting::new(self.roots.sys(path), value);
        self.set(setting, &format!("/sys/{path}"))
    }

    pub(super) fn set_proc(&self, value: &str, path: &str) -> Remedy {
        let setting = RemedySetting::new(self.roots.proc(path), value);
        self.set(setting, &format!("/proc/{path}"))
    }

    /// The remedy to write a value below `/sys` or `/proc`, which q2c leaves to the user.
    pub(super) fn manual_remedy(&self, value: &str, path: &str) -> Remedy {
        Remedy::Line(LeftReason::Others, self.write_line(value, path))
    }

    /// The remedy that writes a value to an attribute of every online CPU. `resets` are other
    /// attributes that the kernel may reset with it.
    pub(super) fn set_cpus(&self, value: &str, attribute: &str, resets: &[&str]) -> Remedy {
        let setting = |&cpu| {
            let files = resets.iter().map(|name| self.roots.cpu(cpu, name));
            RemedySetting {
                resets: files.filter(|file| file.exists()).collect(),
                ..RemedySetting::new(self.roots.cpu(cpu, attribute), value)
            }
        };
        let mut settings: Vec<_> = self.online().iter().map(setting).collect();
        settings.retain(|setting| setting.file.exists());
        let tee = self.run_line(&format!("tee /sys/devices/system/cpu/cpu*/{attribute}"));
        Remedy::Set(settings, format!("echo {value} | {tee}"))
    }

    /// The remedy that writes a value to an attribute of the target disk's queue. A new scheduler
    /// brings settings of its own, and resets the number of requests.
    pub(super) fn set_queue(&self, value: &str, attribute: &str) -> Option<Remedy> {
        let disk = &self.target_disk.as_ref()?.disk;
        let queue = disk.dir.join("queue");
        let mut setting = RemedySetting::new(queue.join(attribute), value);
        if attribute == "scheduler" {
            setting.resets = attr::entries(&queue.join("iosched"));
            let queue_resets = ["nr_requests", "wbt_lat_usec"].map(|name| queue.join(name));
            setting.resets.splice(..0, queue_resets);
            setting.resets.retain(|file| attr::text(file).is_some());
        }
        let path = format!("/sys/block/{}/queue/{attribute}", disk.name);
        Some(self.set(setting, &path))
    }

    /// The remedy that makes debugfs readable; `None` where it can be read already.
    pub(super) fn show_debugfs(&self) -> Option<Remedy> {
        let readable = !attr::entries(&self.roots.sys("kernel/debug")).is_empty();
        let mount = "mount -t debugfs none /sys/kernel/debug";
        (!readable).then(|| self.command(if self.is_root { mount } else { "q2c doctor" }))
    }
}
