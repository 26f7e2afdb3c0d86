//! Stored calibrations. They are used again while machine, kernel, target and CPU are the same.

use crate::workload::Workload;
use q2c_model::Bytes;
use q2c_result::Machine;
use q2c_result::tune::Calibration;
use q2c_run::run_dir::Identity;
use serde::{Deserialize, Serialize};
use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Version of the fit. Raising it makes all stored calibrations unusable.
const FIT: u32 = 7;

/// A calibration could not be stored.
#[derive(Debug, Error)]
#[error("store the calibration in {path}: {source}; it is still used for this run")]
pub struct StoreError {
    /// Path of the file.
    pub path: String,
    /// Error of the write.
    pub source: io::Error,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    identity: Identity,
    calibration: Calibration,
}

/// A folder of calibrations, one file for each machine, kernel, target, CPU and block size.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// The facts that must be equal for a stored calibration to hold.
#[must_use]
pub fn identity(machine: &Machine, target: &str, workload: &Workload) -> Identity {
    let cpus: Vec<String> = workload.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let background: Vec<String> = workload
        .background
        .iter()
        .map(ToString::to_string)
        .collect();
    let or_none = |fact: &Option<String>| fact.clone().unwrap_or_default();
    Identity::default()
        .with("fit", FIT.to_string())
        .with("kernel", &machine.kernel)
        .with("cpu_model", or_none(&machine.cpu_model))
        .with("cpus_online", machine.cpus_online.len().to_string())
        .with("idle_driver", or_none(&machine.idle_driver))
        .with("governor", or_none(&machine.governor))
        .with("target", target)
        .with("engine", workload.engine.to_string())
        .with("pattern", workload.pattern.to_string())
        .with("cpus", cpus.join(","))
        .with("background", background.join(";"))
}

impl Store {
    /// A store in `folder`, which is made when first written to.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Store {
            folder: folder.to_owned(),
        }
    }

    /// The stored calibration for exactly this identity and block size, marked as reused. A file
    /// that cannot be read counts as absent, and its calibration is measured anew.
    #[must_use]
    pub fn load(&self, identity: &Identity, bs: Bytes) -> Option<Calibration> {
        let text = fs::read_to_string(self.path(identity, bs)).ok()?;
        let stored: Stored = serde_json::from_str(&text).ok()?;
        let same = stored.identity == *identity && stored.calibration.bs == bs;
        same.then_some(Calibration {
            reused: true,
            ..stored.calibration
        })
    }

    /// Stores a calibration. The file appears whole or not at all.
    ///
    /// # Errors
    /// When the folder or file cannot be written.
    pub fn save(&self, identity: &Identity, calibration: &Calibration) -> Result<(), StoreError> {
        let path = self.path(identity, calibration.bs);
        let stored = Stored {
            identity: identity.clone(),
            calibration: calibration.clone(),
        };
        let write = || {
            fs::create_dir_all(&self.folder)?;
            let beside = path.with_extension("tmp");
            fs::write(&beside, serde_json::to_string_pretty(&stored)?)?;
            fs::rename(&beside, &path)
        };
        write().map_err(|source| StoreError {
            path: path.display().to_string(),
            source,
        })
    }

    /// Path of a calibration. The name has a hash of the identity only; loading compares the whole
    /// identity.
    fn path(&self, identity: &Identity, bs: Bytes) -> PathBuf {
        let words: Vec<_> = identity.0.iter().collect();
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(words);
        self.folder.join(format!("{hash:016x}-{}.json", bs.0))
    }
}
