use super::{RestoreChange, UndoOutcome};
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
pub(super) fn unload(change: &RestoreChange, others: &[String]) -> UndoOutcome {
    let present = match words(&change.file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return UndoOutcome::Gone,
        Err(e) => return UndoOutcome::Failed { why: e.to_string() },
        Ok(present) => present,
    };
    if !others.is_empty() && !others.contains(&present) {
        return UndoOutcome::Foreign { present };
    }
    let Some(name) = change.file.file_name() else {
        return UndoOutcome::Failed {
            why: "the journal names no module".into(),
        };
    };
    let end = Instant::now() + PATIENCE;
    loop {
        let reason = match Command::new("rmmod").arg(name).output() {
            Err(error) => format!("run rmmod: {error}"),
            Ok(done) if done.status.success() => return UndoOutcome::Deleted,
            Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        };
        if Instant::now() >= end {
            return UndoOutcome::Failed { why: reason };
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
        let module_folder = dir.path().join("module/made_up");
        guard.module(&module_folder).unwrap();
        let second = Guard::new(&roots, &journal).unwrap().module(&module_folder);
        assert!(second.unwrap_err().to_string().contains("holds"));
        assert_eq!(guard.undo(), [(module_folder.clone(), UndoOutcome::Gone)]);

        fs::create_dir_all(&module_folder).unwrap();
        guard.module(&module_folder).unwrap();
        guard.module_is_loaded().unwrap();
        // While the first folder is there, the next one has another inode.
        fs::rename(&module_folder, dir.path().join("earlier")).unwrap();
        fs::create_dir_all(&module_folder).unwrap();
        let present = words(&module_folder).unwrap();
        assert_eq!(
            guard.undo(),
            [(module_folder, UndoOutcome::Foreign { present })]
        );
        assert!(restore_all(&roots, &journal).unwrap().is_complete());
    }
}
