mod tasks;

use super::entry::{LeaderSetting, RestoreChange, RestoreLine};
use super::journal::{Journal, SettingLock};
use super::{
    ChangeKind, Owner, RestoreError, Result, UndoOutcome, made, setting_file, sweep, task_affinity,
};
use crate::Roots;
use crate::signals::Orderly;
use std::fs;
use std::path::{Path, PathBuf};

/// Changes settings under a journal and undoes the changes, the last first, at the latest when it
/// is dropped.
///
/// A setting that the guard has changed or holds is locked against other guards until
/// [`Guard::undo`] or the drop. The journal is made before the first change, and removed when every
/// change is undone or needs no undoing any more.
#[derive(Debug)]
pub struct Guard {
    dir: PathBuf,
    owner: Owner,
    roots: Roots,
    /// `None` until the first change is announced.
    journal: Option<Journal>,
    /// The changes that are not undone, in the order in which they were made.
    applied: Vec<AppliedChange>,
    /// Settings that [`Guard::hold`] locked, with their locks.
    held_locks: Vec<(PathBuf, SettingLock)>,
    next_seq: u64,
    /// Lines of the journal so far.
    lines: usize,
    /// A signal must let the changes be undone.
    _orderly: Orderly,
}

#[derive(Debug)]
struct AppliedChange {
    change: RestoreChange,
    /// Further values that this guard wrote, or that the kernel made of a written one.
    values: Vec<String>,
    /// `None` when `held_locks` or an earlier change of the same setting has the lock.
    _lock: Option<SettingLock>,
}

/// How [`Guard::set`] left a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetOutcome {
    /// The value before the call.
    pub old: String,
    /// The value read back. Compare it with the one that was to be set: some settings round, and
    /// some take any value and do nothing.
    pub now: String,
}

impl Guard {
    /// Makes a guard whose journal will lie in `dir`. Nothing is made there before the first lock
    /// or change.
    pub fn new(roots: &Roots, dir: &Path) -> Result<Guard> {
        Ok(Guard {
            dir: dir.to_owned(),
            owner: Owner::current(roots)?,
            roots: roots.clone(),
            journal: None,
            applied: Vec::new(),
            held_locks: Vec::new(),
            next_seq: 0,
            lines: 0,
            _orderly: Orderly::begin(),
        })
    }

    /// Locks the setting in `file` without changing it: until [`Guard::undo`] or the drop no other
    /// run can change it.
    pub fn hold(&mut self, file: &Path) -> Result<()> {
        let file = resolve(file)?;
        if let Some(lock) = self.lock(&file)? {
            self.held_locks.push((file, lock));
        }
        Ok(())
    }

    /// Sets the setting in `file` to `value`. If it has that value already, nothing is written, not
    /// even to the journal. After an error the setting is as before, unless the journal's disk
    /// failed after the change: then it is undone with the others.
    pub fn set(&mut self, file: &Path, value: &str) -> Result<SetOutcome> {
        let file = resolve(file)?;
        let lock = self.lock(&file)?;
        // Read under the lock: until then another run may have been putting its old value back.
        let old = setting_file::read(&file)?;
        if old == value {
            let now = old.clone();
            return Ok(SetOutcome { old, now });
        }
        self.announce(self.change(ChangeKind::Setting, &file, &old, value), lock)?;
        if let Err(refused) = setting_file::write(&file, value) {
            self.cancel_last()?;
            return Err(refused);
        }
        let now = setting_file::read(&file)?;
        self.settle(&now, value)?;
        Ok(SetOutcome { old, now })
    }

    /// Notes in the journal that the kernel may reset the setting in `file` when this guard sets
    /// the one in `leader`, which comes after this call. It is put back once `leader` has its value
    /// again.
    pub(crate) fn note_follower(&mut self, file: &Path, leader: &Path) -> Result<()> {
        let (file, leader) = (resolve(file)?, resolve(leader)?);
        let lock = self.lock(&file)?;
        let old = setting_file::read(&file)?;
        let mut change = self.change(ChangeKind::Setting, &file, &old, &old);
        let old = setting_file::read(&leader)?;
        change.follows = Some(LeaderSetting { file: leader, old });
        self.announce(change, lock)
    }

    /// Leaves the changes in force when the process ends, for `q2c restore` to undo. Their journal
    /// stays.
    pub fn leave_in_force(mut self) {
        self.applied.clear();
        self.journal = None;
    }

    /// Locks the setting in `file`, also where it has the value already, and sets it to exactly
    /// `value`.
    pub fn keep(&mut self, file: &Path, value: &str) -> Result<()> {
        self.hold(file)?;
        let now = self.set(file, value)?.now;
        if now == value {
            return Ok(());
        }
        Err(RestoreError::NotKept(
            file.to_owned(),
            value.to_owned(),
            now,
        ))
    }

    /// Sets the setting in `file` to `value`, for callers that do so again and again. The journal
    /// grows only when a value is used for the first time. The value before the first change is the
    /// one that is put back. Only the first value is read back.
    pub fn vary(&mut self, file: &Path, value: &str) -> Result<()> {
        let real_path = resolve(file)?;
        let is_of_file = |a: &AppliedChange| a.change.file == real_path;
        let Some(index) = self.applied.iter().position(is_of_file) else {
            return self.set(file, value).map(drop);
        };
        self.add_value(index, value)?;
        setting_file::write(&real_path, value)
    }

    /// Notes in the journal that this process is about to make the ublk device with the character
    /// device `file`, or to take it over from a server that has ended. [`Guard::undo`] deletes the
    /// device if it still exists.
    pub fn device(&mut self, file: &Path, token: u64) -> Result<()> {
        self.announce_object(ChangeKind::UblkDevice, file, &made::token_text(token))
    }

    /// Notes in the journal that the kernel module with this folder in sysfs is about to be loaded.
    /// [`Guard::undo`] unloads it where it is still there.
    pub fn module(&mut self, folder: &Path) -> Result<()> {
        self.announce_object(ChangeKind::Module, folder, made::LOADING)
    }

    /// Notes in the journal that an empty folder is about to be made for a mount that only this
    /// process sees, under a name that nobody else uses. [`Guard::undo`] removes it.
    pub fn folder(&mut self, folder: &Path) -> Result<()> {
        let change = self.change(ChangeKind::Folder, folder, "absent", "made");
        self.announce(change, None)
    }

    /// Notes in the journal, under the lock of `file`, that a new object is about to be made.
    fn announce_object(&mut self, kind: ChangeKind, file: &Path, written: &str) -> Result<()> {
        let lock = SettingLock::take(&self.dir, file)?;
        self.announce(self.change(kind, file, "absent", written), Some(lock))
    }

    /// Announces a change in the journal before it is made, and remembers to undo it.
    fn announce(&mut self, change: RestoreChange, _lock: Option<SettingLock>) -> Result<()> {
        self.log(&RestoreLine::Change(change.clone()))?;
        self.next_seq += 1;
        let values = Vec::new();
        self.applied.push(AppliedChange {
            change,
            values,
            _lock,
        });
        Ok(())
    }

    /// Notes that the last module that [`Guard::module`] announced is loaded now, so that it is not
    /// taken for one that somebody loads later.
    pub fn note_loaded_module(&mut self) -> Result<()> {
        let Some(index) = self.applied.len().checked_sub(1) else {
            return Ok(());
        };
        let path = &self.applied[index].change.file;
        let loaded_text = made::module_text(path).map_err(RestoreError::setting("find", path))?;
        self.add_value(index, &loaded_text)
    }

    /// Writes a further value of a change to the journal before it is made.
    fn add_value(&mut self, index: usize, value: &str) -> Result<()> {
        let AppliedChange { change, values, .. } = &self.applied[index];
        if change.written == value || values.iter().any(|other| other == value) {
            return Ok(());
        }
        let (seq, value) = (change.seq, value.to_owned());
        self.log(&RestoreLine::Settled {
            seq,
            value: value.clone(),
        })?;
        self.applied[index].values.push(value);
        Ok(())
    }

    /// Notes that the change that was announced last was not made.
    pub fn cancel_last(&mut self) -> Result<()> {
        let Some(applied) = self.applied.pop() else {
            return Ok(());
        };
        let seq = applied.change.seq;
        self.log(&RestoreLine::Undone { seq })
    }

    /// Undoes all changes, the last first, and releases the locks. The journal is removed when
    /// nothing is left to do. Returns each setting's file with the outcome.
    pub fn undo(&mut self) -> Vec<(PathBuf, UndoOutcome)> {
        let mut outcomes = Vec::new();
        let mut all_final = true;
        let mut tasks = Vec::new();
        while let Some(applied) = self.applied.pop() {
            let AppliedChange { change, values, .. } = applied;
            let outcome = sweep::put_back(&self.roots, &change, &values);
            let (file, seq) = (change.file.clone(), change.seq);
            if change.kind == ChangeKind::TaskAffinity {
                tasks.push((change, values));
            }
            if outcome.is_final() {
                // If this line cannot be written, a later restore finds the old value and does
                // nothing.
                let _ = self.log(&RestoreLine::Undone { seq });
            }
            all_final &= outcome.is_final();
            outcomes.push((file, outcome));
        }
        task_affinity::free_heirs(&self.roots, &tasks);
        self.held_locks.clear();
        if all_final && let Some(journal) = self.journal.take() {
            // A journal that cannot be removed has no change left to undo; `restore_all` removes it
            // later.
            let _ = journal.remove();
        }
        outcomes
    }

    /// Locks a setting; `None` when this guard has the lock already. A change that a killed run
    /// left is an error.
    fn lock(&self, file: &Path) -> Result<Option<SettingLock>> {
        let is_held = self.held_locks.iter().any(|(path, _)| path == file);
        if is_held || self.applied.iter().any(|a| a.change.file == file) {
            return Ok(None);
        }
        let lock = SettingLock::take(&self.dir, file)?;
        let mut changes = sweep::pending(&self.roots, &self.dir)?.changes.into_iter();
        match changes.find(|(change, _)| change.file == file) {
            Some((RestoreChange { file: path, .. }, journal)) => {
                Err(RestoreError::Pending { path, journal })
            }
            None => Ok(Some(lock)),
        }
    }

    fn change(&self, kind: ChangeKind, file: &Path, old: &str, value: &str) -> RestoreChange {
        RestoreChange {
            kind,
            seq: self.next_seq,
            owner: self.owner.clone(),
            file: file.to_owned(),
            old: old.to_owned(),
            written: value.to_owned(),
            started: None,
            follows: None,
        }
    }

    /// Notes the value that the kernel took, if it is not the one asked for, so that it counts as
    /// this guard's own.
    fn settle(&mut self, now: &str, asked: &str) -> Result<()> {
        let Some(last) = self.applied.last_mut().filter(|_| now != asked) else {
            return Ok(());
        };
        let (seq, value) = (last.change.seq, now.to_owned());
        last.values.push(value.clone());
        self.log(&RestoreLine::Settled { seq, value })
    }

    fn log(&mut self, line: &RestoreLine) -> Result<()> {
        let journal = match self.journal.take() {
            Some(journal) => journal,
            None => Journal::create(&self.dir, &self.owner)?,
        };
        self.lines += 1;
        self.journal.insert(journal).append(line)
    }
}

/// Resolves the links of a setting's path, so that one setting has one name.
fn resolve(file: &Path) -> Result<PathBuf> {
    fs::canonicalize(file).map_err(RestoreError::setting("find", file))
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.undo();
    }
}
