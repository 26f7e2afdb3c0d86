//! Stored calibrations. They are reused while machine, kernel, target and CPU stay the same, unless
//! they are marked as unfit.

use crate::busy::OtherWork;
use crate::workload::Workload;
use q2c_host::own_folder;
use q2c_model::Bytes;
use q2c_result::Machine;
use q2c_result::tune::Calibration;
use q2c_run::run_dir::Identity;
use q2c_run::whole_file;
use serde::{Deserialize, Serialize};
use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::NamedTempFile;
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

/// The store has no usable calibration of this machine.
#[derive(Debug, Error)]
#[error(
    "find a calibration of this machine in {folder}: expected one of this version, kernel and processor, found \
     {found} of another kind; make one with q2c calibrate TARGET"
)]
pub struct NoCalibration {
    /// The folder.
    pub folder: String,
    /// Number of calibrations in the folder.
    pub found: usize,
}

/// A stored calibration, as its file holds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredCalibration {
    identity: Identity,
    /// The calibration; marked as reused once it is loaded.
    pub calibration: Calibration,
    /// The reason why it must not be used; `None` if it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<Unfit>,
}

impl StoredCalibration {
    /// Reads a file of the store. `None` if it is unreadable, or has costs that no machine has.
    fn read(path: &Path) -> Option<Self> {
        let text = whole_file::read_text(path, whole_file::MAX_SMALL).ok()?;
        let stored: StoredCalibration = serde_json::from_str(&text).ok()?;
        stored.calibration.cost.check().is_ok().then_some(stored)
    }
}

/// A folder of calibrations, one file for each machine, kernel, target, CPU and block size.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// The version of the fit, and the facts of the machine on which any calibration depends.
fn machine_facts(machine: &Machine) -> Identity {
    Identity::default()
        .with("fit", FIT.to_string())
        .with("kernel", &machine.kernel)
        .with("cpu_model", machine.cpu_model.clone().unwrap_or_default())
        .with("cpus_online", machine.cpus_online.len().to_string())
}

/// The facts that must be equal to reuse a stored calibration.
pub fn identity(machine: &Machine, target: &str, workload: &Workload) -> Identity {
    let cpus: Vec<String> = workload.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let background = workload.background.iter().map(ToString::to_string);
    let background: Vec<String> = background.collect();
    let or_none = |fact: &Option<String>| fact.clone().unwrap_or_default();
    machine_facts(machine)
        .with("idle_driver", or_none(&machine.idle_driver))
        .with("governor", or_none(&machine.governor))
        .with("target", target)
        .with("engine", workload.engine.to_string())
        .with("pattern", workload.pattern.to_string())
        .with("cpus", cpus.join(","))
        .with("background", background.join(";"))
}

impl Store {
    /// A store in `folder`, which the first write creates.
    pub fn new(folder: &Path) -> Self {
        Store {
            folder: folder.to_owned(),
        }
    }

    /// The calibration; `None` if unreadable, or if other users may have written it.
    pub fn load(&self, identity: &Identity, bs: Bytes) -> Option<StoredCalibration> {
        own_folder::check(&self.folder).ok()?;
        let mut stored = StoredCalibration::read(&self.path(identity, bs))?;
        stored.calibration.reused = true;
        (stored.identity == *identity && stored.calibration.bs == bs).then_some(stored)
    }

    /// The newest usable calibration of this machine, with its target.
    pub fn newest(&self, machine: &Machine) -> Result<(String, Calibration), NoCalibration> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let read = |file: fs::DirEntry| {
            let changed = file.metadata().ok()?.modified().ok()?;
            Some((changed, StoredCalibration::read(&file.path())?))
        };
        let stored: Vec<(SystemTime, StoredCalibration)> = files.filter_map(read).collect();
        let none = || NoCalibration {
            folder: self.folder.display().to_string(),
            found: stored.len(),
        };
        let Identity(facts) = machine_facts(machine);
        let is_usable = |(_, stored): &&(SystemTime, StoredCalibration)| {
            let Identity(stored_facts) = &stored.identity;
            let mut facts = facts.iter();
            stored.unfit.is_none() && facts.all(|(name, fact)| stored_facts.get(name) == Some(fact))
        };
        let usable = stored.iter().filter(is_usable);
        let newest = usable.max_by_key(|(changed, _)| *changed);
        let (_, newest) = newest.ok_or_else(none)?;
        let target = newest.identity.0.get("target").cloned();
        Ok((target.unwrap_or_default(), newest.calibration.clone()))
    }

    /// Stores a calibration atomically, with the reason not to reuse it, if any.
    pub fn save(
        &self,
        identity: &Identity,
        calibration: &Calibration,
        unfit: Option<Unfit>,
    ) -> Result<(), StoreError> {
        let path = self.path(identity, calibration.bs);
        let stored = StoredCalibration {
            identity: identity.clone(),
            calibration: calibration.clone(),
            unfit,
        };
        let write = || {
            own_folder::check(&self.folder)?;
            fs::create_dir_all(&self.folder)?;
            let mut temporary = NamedTempFile::new_in(&self.folder)?;
            temporary.write_all(serde_json::to_string_pretty(&stored)?.as_bytes())?;
            temporary.persist(&path).map_err(|refused| refused.error)?;
            Ok(())
        };
        write().map_err(|source| StoreError {
            path: path.display().to_string(),
            source,
        })
    }

    /// The name contains only a hash of the identity, so loading compares the whole identity.
    fn path(&self, identity: &Identity, bs: Bytes) -> PathBuf {
        let entries: Vec<_> = identity.0.iter().collect();
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(entries);
        self.folder.join(format!("{hash:016x}-{}.json", bs.0))
    }
}

/// Why a stored calibration is not reused but measured again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unfit {
    /// The machine did other work during the measurement.
    #[error("{cpus:.2} CPUs were busy with other work when it was measured")]
    Busy {
        /// Number of CPUs that were busy just before.
        cpus: f64,
    },
    /// The trials of a run contradicted it.
    #[error("the trials of a run contradicted it")]
    Contradicted,
}

impl Unfit {
    /// Why a calibration measured now is unfit. Background jobs keep CPUs busy on purpose.
    pub fn now(workload: &Workload) -> Option<Self> {
        Self::from_others(workload.others())
    }

    fn from_others(others: OtherWork) -> Option<Self> {
        let cpus = others.busy_cpus;
        others.uses_idle_time.then_some(Unfit::Busy { cpus })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{CostModel, CpuId, Nanos};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn calibration() -> Calibration {
        Calibration {
            engine: "io_uring".to_owned(),
            bs: Bytes(4096),
            cpu: CpuId(0),
            irq_cpu: None,
            reused: false,
            seconds: 1.0,
            cost: CostModel::delayed(Nanos(3_000)),
            points: Vec::new(),
        }
    }

    #[test]
    fn links_are_not_followed_and_folders_of_everybody_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let (store, id) = (
            Store::new(&folder.path().join("store")),
            Identity::default(),
        );
        fs::create_dir(&store.folder).unwrap();
        let path = store.path(&id, Bytes(4096));
        for name in [path.clone(), path.with_extension("tmp")] {
            symlink(&precious, name).unwrap();
        }
        store.save(&id, &calibration(), None).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert!(!path.is_symlink());
        let read = store.load(&id, Bytes(4096)).unwrap();
        assert_eq!(read.calibration.cost, calibration().cost);
        assert_eq!(read.unfit, None);

        fs::set_permissions(&store.folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(store.load(&id, Bytes(4096)).is_none());
        store.save(&id, &calibration(), None).unwrap_err();
    }

    #[test]
    fn a_calibration_is_stored_with_the_reason_not_to_use_it() {
        let folder = tempfile::tempdir().unwrap();
        let (store, id) = (Store::new(folder.path()), Identity::default());
        let busy = Unfit::Busy { cpus: 1.4 };
        for unfit in [Some(busy), Some(Unfit::Contradicted), None] {
            store.save(&id, &calibration(), unfit).unwrap();
            let read = store.load(&id, Bytes(4096)).unwrap();
            assert_eq!((read.unfit, read.calibration.reused), (unfit, true));
        }
    }

    #[test]
    fn the_newest_calibration_of_this_machine_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let here = Machine {
            kernel: "6.1.0".to_owned(),
            ..Machine::default()
        };
        let id = |fit: u32, kernel: &str, target: &str| {
            let id = Identity::default().with("fit", fit.to_string());
            let id = id.with("kernel", kernel).with("cpu_model", "");
            id.with("cpus_online", "0").with("target", target)
        };
        let save = |id: Identity| store.save(&id, &calibration(), None).unwrap();
        save(id(FIT - 1, "6.1.0", "old"));
        save(id(FIT, "5.10.0", "other"));
        let none = store.newest(&here).unwrap_err().to_string();
        assert!(none.contains("found 2 of another"), "{none}");
        save(id(FIT, "6.1.0", "mine"));
        let mut bad = calibration();
        bad.cost.submit_ns = -1e6;
        store.save(&id(FIT, "6.1.0", "bad"), &bad, None).unwrap();
        assert_eq!(store.newest(&here).unwrap().0, "mine");
    }

    #[test]
    fn costs_that_no_machine_has_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (store, id) = (Store::new(folder.path()), Identity::default());
        for submit_ns in [-1e6, 1e300] {
            let mut bad = calibration();
            bad.cost.submit_ns = submit_ns;
            store.save(&id, &bad, None).unwrap();
            assert!(store.load(&id, Bytes(4096)).is_none(), "{submit_ns}");
        }
    }

    #[test]
    fn a_calibration_of_a_busy_machine_is_unfit() {
        assert_eq!(Unfit::from_others(OtherWork::from_idle_cpus(0.1)), None);
        let busy = Unfit::from_others(OtherWork::from_idle_cpus(1.4));
        assert_eq!(busy, Some(Unfit::Busy { cpus: 1.4 }));
    }
}
