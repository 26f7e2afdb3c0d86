use q2c_host::Roots;
use q2c_host::block::{Disk, NoDisk, TargetDisk, of_path_or_name};

/// A device or a file by its name, and the disks whose queues take its requests.
#[derive(Clone, Debug)]
pub struct CaptureTarget {
    /// The name as it was given.
    pub name: String,
    /// The block device that the name leads to.
    pub target_disk: TargetDisk,
}

impl CaptureTarget {
    /// Finds the disks of a device's path, of the file system of a file, or of a kernel name.
    pub fn find(roots: &Roots, name: &str) -> Result<CaptureTarget, NoDisk> {
        Ok(CaptureTarget {
            name: name.to_owned(),
            target_disk: of_path_or_name(roots, name)?,
        })
    }

    /// The disks whose I/Os are recorded.
    pub fn disks(&self) -> &[Disk] {
        self.target_disk.disks()
    }

    /// Names and numbers of the disks, separated by commas.
    pub fn names(&self) -> String {
        let name = |disk: &Disk| format!("{} ({})", disk.name, disk.dev);
        self.disks().iter().map(name).collect::<Vec<_>>().join(", ")
    }
}
