//! How far the kernel reads ahead on a file system, set for the length of a trial.

use q2c_host::Roots;
use q2c_host::restore::Guard;
use q2c_model::Bytes;
use q2c_result::fs::FileSystem;
use std::fs;
use std::path::{Path, PathBuf};

/// A setting in force. Dropping this value restores the old one.
pub(crate) struct ReadaheadGuard(Option<Guard>);

impl ReadaheadGuard {
    /// Sets how far the kernel reads ahead in files that are opened from then on.
    pub(crate) fn set(
        roots: &Roots,
        journal: Option<&Path>,
        setting: Option<&Path>,
        wanted: Option<Bytes>,
    ) -> Result<Self, String> {
        let Some(wanted) = wanted else {
            return Ok(ReadaheadGuard(None));
        };
        let setting =
            setting.ok_or("set readahead: this kernel has no such setting for the file system")?;
        let journal =
            journal.ok_or("set readahead: there is no folder for the journal of settings")?;
        let kib = (wanted.0 >> 10).to_string();
        let guard = Guard::new(roots, journal).and_then(|mut guard| {
            guard.keep(setting, &kib)?;
            Ok(guard)
        });
        let guard = guard.map_err(|error| error.to_string())?;
        Ok(ReadaheadGuard(Some(guard)))
    }

    pub(crate) fn restore(self) -> Result<(), String> {
        let Some(mut guard) = self.0 else {
            return Ok(());
        };
        let mut outcomes = guard.undo().into_iter();
        let failed = outcomes.find(|(_, outcome)| !outcome.is_final());
        failed.map_or(Ok(()), |(file, outcome)| {
            Err(format!("put {} back: {outcome}", file.display()))
        })
    }
}

/// The sysfs file of the setting: the device's, or Btrfs's own, as Btrfs can have several devices.
pub(crate) fn setting(roots: &Roots, fs: FileSystem, device: &Path) -> Option<PathBuf> {
    let path = match fs {
        FileSystem::Btrfs => btrfs(roots, device)?,
        _ if device.join("partition").exists() => device.join("../queue/read_ahead_kb"),
        _ => device.join("queue/read_ahead_kb"),
    };
    path.exists().then_some(path)
}

fn btrfs(roots: &Roots, device: &Path) -> Option<PathBuf> {
    let name = fs::canonicalize(device).ok()?;
    let name = name.file_name()?;
    let entries = fs::read_dir(roots.sys("fs/btrfs")).ok()?;
    let mut folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let folder = folders.find(|folder| folder.join("devices").join(name).exists())?;
    Some(folder.join("bdi/read_ahead_kb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "128\n").unwrap();
    }

    #[test]
    fn settings_of_disks_partitions_and_btrfs() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let roots = Roots::under(root);
        let disk = root.join("sys/block/loop3");
        assert_eq!(setting(&roots, FileSystem::Xfs, &disk), None);
        put(&disk.join("queue/read_ahead_kb"));
        put(&disk.join("loop3p1/partition"));
        let setting_file = setting(&roots, FileSystem::Xfs, &disk).unwrap();
        assert_eq!(setting_file, disk.join("queue/read_ahead_kb"));
        let of_partition = setting(&roots, FileSystem::Ext4, &disk.join("loop3p1")).unwrap();
        let real = |path| fs::canonicalize::<PathBuf>(path).unwrap();
        assert_eq!(real(of_partition), real(setting_file));
        assert_eq!(setting(&roots, FileSystem::Btrfs, &disk), None);
        let btrfs_folder = root.join("sys/fs/btrfs/an-id");
        put(&btrfs_folder.join("devices/loop3"));
        put(&btrfs_folder.join("bdi/read_ahead_kb"));
        let setting_file = setting(&roots, FileSystem::Btrfs, &disk).unwrap();
        assert_eq!(setting_file, btrfs_folder.join("bdi/read_ahead_kb"));
    }

    #[test]
    fn the_setting_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("read_ahead_kb");
        put(&file);
        let journal = folder.path().join("journal");
        fs::create_dir(&journal).unwrap();
        let roots = Roots::live();
        let set = |setting, bytes| ReadaheadGuard::set(&roots, Some(&journal), setting, bytes);
        let bytes = Some(Bytes(512 << 10));
        let guard = set(Some(&file), bytes).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap().trim(), "512");
        guard.restore().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap().trim(), "128");
        set(None, None).unwrap().restore().unwrap();
        assert!(set(None, bytes).is_err());
    }
}
