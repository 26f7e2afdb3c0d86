//! What is noted about a ublk device while it exists, in a file beside those of others.

use crate::Roots;
use crate::ramdisk::RamdiskShape;
use crate::restore::Owner;
use q2c_model::{Exit, Fault, OrFault};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A ublk device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number.
    pub id: u32,
    /// The number by which it is known again.
    pub token: u64,
    /// What was asked for.
    pub wanted: RamdiskShape,
    /// The service times in words, as they were asked for.
    pub service: Option<String>,
    /// Folder of the restore journal that names it.
    pub journal: PathBuf,
    /// The server.
    pub server: Owner,
    /// The process that keeps the data.
    pub holder: Owner,
    /// The number of the data's descriptor in the holder.
    pub fd: i32,
}

/// The folder of the records: it is empty after a reboot, as the devices are.
pub fn default_folder() -> PathBuf {
    PathBuf::from("/run/q2c/ramdisk")
}

impl Record {
    /// The block device's name.
    pub fn name(&self) -> String {
        format!("ublkb{}", self.id)
    }

    pub(crate) fn is_served(&self, roots: &Roots) -> bool {
        self.server.is_alive(roots)
    }

    /// The path of the data, in the holder's descriptors.
    pub(crate) fn data(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", self.holder.pid, self.fd).into()
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Fault> {
        let path = folder.join(format!("{}.json", self.name()));
        let new = folder.join(format!(".{}.{}", self.name(), self.server.pid));
        let put = || {
            fs::create_dir_all(folder)?;
            fs::write(&new, serde_json::to_vec_pretty(self)?)?;
            fs::rename(&new, &path)
        };
        put().or_fault(Exit::Environment, format_args!("write {}", path.display()))
    }

    /// Removes the record. It is no error that it is not there.
    pub(crate) fn remove(&self, folder: &Path) {
        fs::remove_file(folder.join(format!("{}.json", self.name()))).ok();
    }

    /// All records in `folder`, by number. A folder that is not there has none.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<Record>, Fault> {
        let listed = match fs::read_dir(folder) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => {
                other.or_fault(Exit::Environment, format_args!("read {}", folder.display()))?
            }
        };
        let mut records = Vec::new();
        for entry in listed {
            let tried = format_args!("read {}", folder.display());
            let path = entry.or_fault(Exit::Environment, tried)?.path();
            if path.extension().is_some_and(|e| e == "json") {
                let read = || Ok(serde_json::from_slice(&fs::read(&path)?)?);
                let record: io::Result<Record> = read();
                let tried = format_args!("read {}", path.display());
                records.push(record.or_fault(Exit::Environment, tried)?);
            }
        }
        records.sort_by_key(|record| record.id);
        Ok(records)
    }

    /// The record of the device `name`, also where it is named by its path.
    pub(crate) fn find(folder: &Path, name: &str) -> Result<Record, Fault> {
        let short = name.strip_prefix("/dev/").unwrap_or(name);
        let mut records = Record::read_all(folder)?.into_iter();
        records
            .find(|record| record.name() == short)
            .ok_or_else(|| {
                let text = format!(
                    "find the RAM device {name}: q2c ramdisk list names those that there are"
                );
                Fault::new(Exit::Target, text)
            })
    }
}

/// The service times of the device `name`, as they were asked for.
pub fn service_of(folder: &Path, name: &str) -> Result<Option<String>, Fault> {
    Ok(Record::find(folder, name)?.service)
}
