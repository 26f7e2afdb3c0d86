use super::RestoreError;
use super::journal::make_folder;
use crate::attr;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The lock of one setting. It is held until this value is dropped or the process ends in any way.
#[derive(Debug)]
pub(super) struct SettingLock {
    file: File,
}

/// Closing the file is not enough: a child that another thread has just forked has the file open
/// until it runs its program, and with it the lock.
impl Drop for SettingLock {
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl SettingLock {
    /// Takes the lock of the file `setting`, a path with links resolved, in the journal folder
    /// `dir`. It does not wait.
    pub(crate) fn take(dir: &Path, setting: &Path) -> Result<SettingLock, RestoreError> {
        let path = lock_path(dir, setting);
        let journal = |source| RestoreError::Journal {
            path: path.clone(),
            source,
        };
        make_folder(&dir.join("locks"))?;
        // Lock files stay: removing one while another run opens it would give two runs a lock each.
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            // A link would lead the writing of the id to another file.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(&path);
        let mut file = open.map_err(journal)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = attr::text(&path).unwrap_or_else(|| "unknown".into());
                return Err(RestoreError::Busy {
                    path: setting.to_owned(),
                    holder,
                });
            }
            Err(TryLockError::Error(source)) => return Err(journal(source)),
        }
        sign(&mut file).map_err(journal)?;
        Ok(SettingLock { file })
    }
}

/// Writes this process's id into the file, for the message that another run gives.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// The lock file of a setting. Its name is a hash of the path, because paths can be longer than a
/// name may be, and the path's last part, for human readers. Two paths with one hash would merely
/// exclude each other.
fn lock_path(dir: &Path, setting: &Path) -> PathBuf {
    let name = attr::name(setting);
    let hash = fnv1a(setting.as_os_str().as_bytes());
    dir.join("locks").join(format!("{hash:016x}-{name}.lock"))
}

/// FNV-1a, 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second descriptor of the same open file is what a forked child has.
    #[test]
    fn a_lock_ends_with_its_holder_although_a_child_has_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let setting = Path::new("/sys/a");
        let lock = SettingLock::take(folder.path(), setting).unwrap();
        let child = lock.file.try_clone().unwrap();
        assert!(SettingLock::take(folder.path(), setting).is_err());
        drop(lock);
        SettingLock::take(folder.path(), setting).unwrap();
        drop(child);
    }

    #[test]
    fn hash_as_published() {
        // Test vectors of the FNV authors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
