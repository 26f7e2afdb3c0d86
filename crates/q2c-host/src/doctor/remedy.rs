use super::facts::DoctorFacts;
use crate::attr;
use q2c_result::doctor::WhyLeft;
use std::path::PathBuf;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Settings, and the line that writes them.
    Set(Vec<RemedySetting>, String),
    /// A line for the user, and why q2c does not follow it.
    Line(WhyLeft, String),
    Nothing(WhyLeft),
}

impl Remedy {
    pub(crate) fn line(&self) -> Option<&str> {
        match self {
            Remedy::Set(_, line) | Remedy::Line(_, line) => Some(line),
            Remedy::Nothing(_) => None,
        }
    }

    /// An option of the kernel or a driver.
    pub(crate) fn boot(line: impl Into<String>) -> Remedy {
        Remedy::Line(WhyLeft::Boot, line.into())
    }
}

impl DoctorFacts<'_> {
    pub(super) fn write_line(&self, value: &str, path: &str) -> String {
        if self.root {
            format!("echo {value} > {path}")
        } else {
            format!("echo {value} | sudo tee {path}")
        }
    }

    pub(super) fn run_line(&self, command: &str) -> String {
        if self.root {
            command.to_owned()
        } else {
            format!("sudo {command}")
        }
    }

    pub(super) fn program(&self, command: &str) -> Remedy {
        Remedy::Line(WhyLeft::Program, self.run_line(command))
    }

    pub(super) fn set_sys(&self, value: &str, path: &str) -> Remedy {
        let line = self.write_line(value, &format!("/sys/{path}"));
        Remedy::Set(vec![RemedySetting::new(self.roots.sys(path), value)], line)
    }

    pub(super) fn set_proc(&self, value: &str, path: &str) -> Remedy {
        let line = self.write_line(value, &format!("/proc/{path}"));
        Remedy::Set(vec![RemedySetting::new(self.roots.proc(path), value)], line)
    }

    /// Writes a value to a file below `/sys` or `/proc`, which q2c leaves to the user.
    pub(super) fn by_hand(&self, value: &str, path: &str) -> Remedy {
        Remedy::Line(WhyLeft::Others, self.write_line(value, path))
    }

    /// Writes a value to an attribute of every online CPU. `resets` are other attributes that the
    /// kernel may reset with it.
    pub(super) fn set_cpus(&self, value: &str, attribute: &str, resets: &[&str]) -> Remedy {
        let setting = |&cpu| {
            let there = |name: &&str| self.roots.cpu(cpu, name).exists();
            let reset = resets.iter().copied().filter(there);
            RemedySetting {
                resets: reset.map(|name| self.roots.cpu(cpu, name)).collect(),
                ..RemedySetting::new(self.roots.cpu(cpu, attribute), value)
            }
        };
        let settings = self.online().iter().map(setting);
        let settings = settings.filter(|setting| setting.file.exists()).collect();
        let tee = self.run_line(&format!("tee /sys/devices/system/cpu/cpu*/{attribute}"));
        Remedy::Set(settings, format!("echo {value} | {tee}"))
    }

    /// Writes a value to an attribute of the queue of the target's disk. A new scheduler brings
    /// settings of its own, and resets the number of requests.
    pub(super) fn set_queue(&self, value: &str, attribute: &str) -> Option<Remedy> {
        let disk = &self.target_disk.as_ref()?.disk;
        let queue = disk.dir.join("queue");
        let resets = match attribute {
            "scheduler" => ["nr_requests", "wbt_lat_usec"]
                .map(|name| queue.join(name))
                .into_iter()
                .chain(attr::entries(&queue.join("iosched")))
                .filter(|file| attr::text(file).is_some())
                .collect(),
            _ => Vec::new(),
        };
        let setting = RemedySetting {
            resets,
            ..RemedySetting::new(queue.join(attribute), value)
        };
        let path = format!("/sys/block/{}/queue/{attribute}", disk.name);
        Some(Remedy::Set(vec![setting], self.write_line(value, &path)))
    }

    /// What shows a fact that stands in debugfs alone; `None` where debugfs can be read.
    pub(super) fn show_debugfs(&self) -> Option<Remedy> {
        let readable = !attr::entries(&self.roots.sys("kernel/debug")).is_empty();
        (!readable).then(|| {
            if self.root {
                self.program("mount -t debugfs none /sys/kernel/debug")
            } else {
                self.program("q2c doctor")
            }
        })
    }
}
