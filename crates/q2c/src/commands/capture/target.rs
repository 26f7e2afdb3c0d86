//! The target of a capture.

use crate::args::CaptureArgs;
use crate::failure::{Fails, Failure};
use q2c_capture::By;
use q2c_host::Roots;
use q2c_host::block::{Disk, TargetDisk, of_disk_name, of_path};
use q2c_result::Exit;
use std::path::Path;

/// A device or a file by its name, and the disks whose queues take its requests.
#[derive(Clone)]
pub struct Target {
    /// The name as it was given.
    pub name: String,
    /// The block device that the name leads to.
    pub target_disk: TargetDisk,
    /// The disks whose I/Os are recorded.
    pub disks: Vec<Disk>,
}

impl Target {
    /// Finds the disks of a device's path, of the file system of a file, or of a kernel name.
    pub fn find(roots: &Roots, target: &str) -> Result<Target, Failure> {
        let path = Path::new(target);
        let is_name = !target.contains('/') && !path.exists();
        let target_disk = match is_name {
            true => of_disk_name(roots, target),
            false => of_path(roots, path),
        };
        let target_disk = target_disk.or_exit(Exit::Target)?;
        let disks = target_disk.disks().to_vec();
        Ok(Target {
            name: target.to_owned(),
            target_disk,
            disks,
        })
    }

    /// Names and numbers of the disks.
    pub fn names(&self) -> String {
        let name = |disk: &Disk| format!("{} ({})", disk.name, disk.dev);
        self.disks.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// Says in a line what is recorded, and how. `alone` is true when no command runs.
    pub fn told(&self, args: &CaptureArgs, by: By, alone: bool) -> String {
        let below = match self.target_disk.below.is_empty() {
            true => String::new(),
            false => format!(", below {}", self.target_disk.disk.name),
        };
        let whole = match &self.target_disk.partition {
            Some(partition) => format!(", the whole disk of {partition}"),
            None => String::new(),
        };
        let filter = args
            .filter()
            .map_or(String::new(), |f| format!("; only {f}"));
        let until = match (alone, args.seconds) {
            (true, None) => "; ctrl-c ends it",
            _ => "",
        };
        let names = self.names();
        format!("recording {names}{below}{whole} by {by}{filter}{until}")
    }
}
