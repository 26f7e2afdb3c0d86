use super::{Change, Outcome};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// How long others, such as udev, may still look at a device that was closed a moment ago.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// What the journal has until the module is loaded.
pub(super) const LOADING: &str = "loading";

/// The loaded module as the journal has it: sysfs gives its folder another inode at each loading.
pub(super) fn words(folder: &Path) -> io::Result<String> {
    Ok(format!("module:{}", fs::metadata(folder)?.ino()))
}

/// Unloads the module of `change` where it is still the one that was loaded. `others` are the words
/// of that one; none where the owner ended before it could write them.
pub(super) fn unload(change: &Change, others: &[String]) -> Outcome {
    let present = match words(&change.file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Outcome::Gone,
        Err(e) => return Outcome::Failed { why: e.to_string() },
        Ok(present) => present,
    };
    if !others.is_empty() && !others.contains(&present) {
        return Outcome::Foreign { present };
    }
    let Some(name) = change.file.file_name() else {
        let why = "the journal names no module".into();
        return Outcome::Failed { why };
    };
    let end = Instant::now() + PATIENCE;
    loop {
        let why = match Command::new("rmmod").arg(name).output() {
            Err(error) => format!("run rmmod: {error}"),
            Ok(done) if done.status.success() => return Outcome::Deleted,
            Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        };
        if Instant::now() >= end {
            return Outcome::Failed { why };
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Roots;
    use crate::restore::{Guard, restore_all};

    /// Before it is loaded there is nothing to unload; another one is left alone. Unloading itself
    /// is tried in a guest.
    #[test]
    fn only_the_module_that_was_loaded_is_unloaded() {
        let dir = tempfile::tempdir().unwrap();
        let (roots, journal) = (Roots::live(), dir.path().join("journal"));
        let mut guard = Guard::new(&roots, &journal).unwrap();
        let own = dir.path().join("module/made_up");
        guard.module(&own).unwrap();
        let second = Guard::new(&roots, &journal).unwrap().module(&own);
        assert!(second.unwrap_err().to_string().contains("holds"));
        assert_eq!(guard.undo(), [(own.clone(), Outcome::Gone)]);

        fs::create_dir_all(&own).unwrap();
        guard.module(&own).unwrap();
        guard.module_is_loaded().unwrap();
        // While the first folder is there, the next one has another inode.
        fs::rename(&own, dir.path().join("earlier")).unwrap();
        fs::create_dir_all(&own).unwrap();
        let present = words(&own).unwrap();
        assert_eq!(guard.undo(), [(own, Outcome::Foreign { present })]);
        assert!(restore_all(&roots, &journal).unwrap().is_complete());
    }
}
