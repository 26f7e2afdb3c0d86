use super::entry::RestoreChange;
use super::journal::{self, Contents, DamagedLine, SettingLock};
use super::{ChangeKind, RestoreError, Result, UndoOutcome, made, setting_file, task_affinity};
use crate::{Roots, attr};
use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

/// One change that [`restore_all`] found in a journal, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreItem {
    /// The journal's file.
    pub journal: PathBuf,
    /// The change as the journal has it.
    pub change: RestoreChange,
    /// How the undoing ended.
    pub outcome: UndoOutcome,
}

/// The changes and lines that [`restore_all`] found, and how it dealt with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Changes, in the order in which they were undone.
    pub items: Vec<RestoreItem>,
    /// Lines that could not be used. A journal with a line that is not understood is kept as
    /// `*.damaged` for human readers.
    pub faults: Vec<DamagedLine>,
}

impl RestoreReport {
    /// True if nothing is left to do and every line could be used.
    pub fn is_complete(&self) -> bool {
        self.faults.is_empty() && self.items.iter().all(|i| i.outcome.is_final())
    }
}

/// Undoes the changes of all journals in `dir` whose owner has ended, the last change of each
/// first. A folder that does not exist counts as empty.
/// A setting that cannot be restored is no error but an outcome in the report.
pub fn restore_all(roots: &Roots, dir: &Path) -> Result<RestoreReport> {
    let mut report = RestoreReport::default();
    journal::check_folder(dir)?;
    for path in journals(dir)? {
        finish(roots, dir, &path, &mut report)?;
    }
    Ok(report)
}

/// Changes that owners of this boot left in force when they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// The changes, each with its journal.
    pub changes: Vec<(RestoreChange, PathBuf)>,
    /// Lines that could not be used. Lines without an end are left out: the change that they
    /// announce was not made.
    pub faults: Vec<DamagedLine>,
}

/// Finds the changes that ended owners of this boot left in force; it only reads.
pub fn pending(roots: &Roots, dir: &Path) -> Result<Pending> {
    let mut pending = Pending::default();
    journal::check_folder(dir)?;
    for path in journals(dir)? {
        let Contents { in_force, faults } = match Contents::read(&path) {
            // The journal's owner removed it between the listing and the reading.
            Err(RestoreError::Journal(_, e)) if e.kind() == NotFound => continue,
            other => other?,
        };
        let faults = faults.into_iter().filter(|fault| !fault.truncated);
        pending.faults.extend(faults);
        let ended = |c: &RestoreChange| c.owner.is_of_this_boot(roots) && !c.owner.is_alive(roots);
        let abandoned = in_force.into_iter().map(|(c, _)| c).filter(ended);
        pending.changes.extend(abandoned.map(|c| (c, path.clone())));
    }
    Ok(pending)
}

/// Finishes the journals of killed owners in which CPUs of tasks are left changed.
pub(super) fn restore_tasks(roots: &Roots, dir: &Path) -> Result<()> {
    let mut left = pending(roots, dir)?.changes;
    left.retain(|(change, _)| change.kind == ChangeKind::TaskAffinity);
    left.dedup_by(|(_, a), (_, b)| a == b);
    let mut report = RestoreReport::default();
    left.iter()
        .try_for_each(|(_, path)| finish(roots, dir, path, &mut report))
}

/// The journals in the folder. A missing folder counts as empty, but not one that cannot be read:
/// it may hold changes to be undone.
fn journals(dir: &Path) -> Result<Vec<PathBuf>> {
    let listed =
        fs::read_dir(dir).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut files: Vec<PathBuf> = match listed {
        Err(e) if e.kind() == NotFound => Vec::new(),
        other => other.map_err(|e| RestoreError::Unlisted(dir.to_owned(), e))?,
    };
    files.retain(|p| p.extension().is_some_and(|e| e == "jsonl"));
    attr::sort_by_number(&mut files);
    Ok(files)
}

/// Undoes the changes of one journal if its owner has ended, and removes or puts aside the journal
/// when all are final.
fn finish(roots: &Roots, dir: &Path, path: &Path, report: &mut RestoreReport) -> Result<()> {
    let fail = |e| RestoreError::Journal(path.to_owned(), e);
    let file = match journal::open(path) {
        Err(e) if e.kind() == NotFound => return Ok(()),
        other => other.map_err(fail)?,
    };
    // The owner holds this lock as long as it lives, another restore as long as it works on the
    // journal.
    let has_lock = file.try_lock().is_ok();
    // The owner may have removed the file since it was opened here, and even made another journal
    // under its name. If the file is still there now, nobody else removes it while it is locked
    // here.
    if !journal::is_file_at(&file, path).map_err(fail)? {
        return Ok(());
    }
    let Contents { in_force, faults } = Contents::read_open(&file, path)?;
    let mut all_final = has_lock;
    let mut tasks = Vec::new();
    for (change, values) in in_force.into_iter().rev() {
        let outcome = match (has_lock, change.owner.is_alive(roots)) {
            (_, true) => UndoOutcome::OwnerAlive,
            (true, false) => undo(roots, dir, &change, &values),
            (false, false) => UndoOutcome::AtWork,
        };
        if change.kind == ChangeKind::TaskAffinity && outcome.is_final() {
            tasks.push((change.clone(), values));
        }
        all_final &= outcome.is_final();
        // A served device need not be undone: its server may run on.
        if change.kind == ChangeKind::UblkDevice && outcome == UndoOutcome::OwnerAlive {
            continue;
        }
        let journal = path.to_owned();
        report.items.push(RestoreItem {
            journal,
            change,
            outcome,
        });
    }
    task_affinity::free_heirs(roots, &tasks);
    // The last line of a live owner's journal may have been read before it was fully written.
    let damaged = faults.iter().any(|f| !f.truncated);
    let faults = faults.into_iter().filter(|f| has_lock || !f.truncated);
    report.faults.extend(faults);
    if !all_final {
        return Ok(());
    }
    if !damaged {
        return journal::remove(path);
    }
    fs::rename(path, path.with_extension("damaged")).map_err(fail)?;
    journal::sync_folder(path.parent().unwrap_or(path)).map_err(fail)
}

fn undo(roots: &Roots, dir: &Path, change: &RestoreChange, values: &[String]) -> UndoOutcome {
    if !change.owner.is_of_this_boot(roots) {
        return UndoOutcome::OtherBoot;
    }
    // A new server may hold the device's lock; the token tells whether the device is the owner's.
    // The name of a folder is unique and needs no lock.
    if matches!(change.kind, ChangeKind::UblkDevice | ChangeKind::Folder) {
        return put_back(roots, change, values);
    }
    let lock = match change.kind {
        ChangeKind::TaskAffinity => task_affinity::lock_name(),
        _ => &change.file,
    };
    let _lock = match SettingLock::take(dir, lock) {
        Ok(lock) => lock,
        Err(RestoreError::Busy { holder, .. }) => return UndoOutcome::Busy(holder),
        Err(e) => return UndoOutcome::failed(&e),
    };
    put_back(roots, change, values)
}

/// Undoes a change of any kind. `values` are the further values of its owner.
pub(super) fn put_back(roots: &Roots, change: &RestoreChange, values: &[String]) -> UndoOutcome {
    match change.kind {
        ChangeKind::UblkDevice => made::delete(roots, change),
        ChangeKind::TaskAffinity => task_affinity::put_back(roots, change, values),
        ChangeKind::Module => made::unload(change, values),
        ChangeKind::Folder => match fs::remove_dir(&change.file) {
            Ok(()) => UndoOutcome::Restored,
            Err(e) if e.kind() == NotFound => UndoOutcome::AlreadyOld,
            Err(e) => UndoOutcome::failed(&e),
        },
        ChangeKind::Setting => {
            if let Some(followed) = &change.follows {
                return setting_file::put_back_after(followed, &change.file, &change.old);
            }
            let own_values = values.iter().chain([&change.written]);
            let own_values: Vec<&str> = own_values.map(String::as_str).collect();
            setting_file::put_back(&change.file, &change.old, &own_values)
        }
    }
}
