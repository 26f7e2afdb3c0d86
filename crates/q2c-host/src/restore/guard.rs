//! The guard: changes settings and puts them back.

use super::entry::{Change, Line};
use super::journal::Journal;
use super::lock::ObjectLock;
use super::{Outcome, Owner, RestoreError, object, sweep};
use crate::Roots;
use std::fs;
use std::path::{Path, PathBuf};

/// Changes settings under a journal and undoes them last-in-first-out, at the latest when dropped.
#[derive(Debug)]
pub struct Guard {
    dir: PathBuf,
    owner: Owner,
    roots: Roots,
    journal: Option<Journal>,
    applied: Vec<Applied>,
    /// Settings held before, or without, a change.
    held: Vec<(PathBuf, ObjectLock)>,
    next: u64,
}

#[derive(Debug)]
struct Applied {
    change: Change,
    /// Further values that are ours.
    others: Vec<String>,
    /// `None` when the lock was held before, or an earlier change of the same setting holds it.
    _lock: Option<ObjectLock>,
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Value before.
    pub old: String,
    /// Value asked for.
    pub asked: String,
    /// Value read back. Some settings round, and some take any value and do nothing: compare.
    pub now: String,
}

impl Guard {
    /// A guard whose journal lies in `dir`; nothing is made there before the first change.
    ///
    /// # Errors
    /// procfs does not tell who this process is.
    pub fn new(roots: &Roots, dir: &Path) -> Result<Guard, RestoreError> {
        Ok(Guard {
            dir: dir.to_owned(),
            owner: Owner::current(roots)?,
            roots: roots.clone(),
            journal: None,
            applied: Vec::new(),
            held: Vec::new(),
            next: 0,
        })
    }

    /// Holds `object` without changing it: from now on no other run can.
    ///
    /// # Errors
    /// Another run holds the setting, or a killed one left it changed.
    pub fn hold(&mut self, object: &Path) -> Result<(), RestoreError> {
        let object = find(object)?;
        if let Some(lock) = self.lock(&object)? {
            self.held.push((object, lock));
        }
        Ok(())
    }

    /// Sets `object` to `value`. A value that is there already is left, without a journal entry.
    ///
    /// # Errors
    /// Another run holds the setting, a killed one left it changed, the journal cannot be written, or the kernel
    /// refuses the value: the setting is as before. Should the journal's disk fail right after the change, it is
    /// undone with the others.
    pub fn set(&mut self, object: &Path, value: &str) -> Result<Setting, RestoreError> {
        let object = find(object)?;
        let lock = self.lock(&object)?;
        // Read under the lock: before, another run may have been putting its own value back.
        let old = object::read(&object)?;
        let setting = |now: &str| Setting {
            old: old.clone(),
            asked: value.into(),
            now: now.into(),
        };
        if old == value {
            return Ok(setting(&old));
        }
        let change = self.announce(&object, &old, value)?;
        if let Err(refused) = object::write(&object, value) {
            self.log(&Line::Undone { seq: change.seq })?;
            return Err(refused);
        }
        self.applied.push(Applied {
            change,
            others: Vec::new(),
            _lock: lock,
        });
        let now = object::read(&object)?;
        self.settle(&now, value)?;
        Ok(setting(&now))
    }

    /// Sets `object` to `value`, time and again: the journal grows by each value's first use only, and the first change's old
    /// value is what is put back. The value is not read back.
    ///
    /// # Errors
    /// As [`Guard::set`].
    pub fn vary(&mut self, object: &Path, value: &str) -> Result<(), RestoreError> {
        let found = find(object)?;
        let same = |a: &Applied| a.change.object == found;
        let Some(at) = self.applied.iter().position(same) else {
            return self.set(object, value).map(drop);
        };
        let Applied { change, others, .. } = &self.applied[at];
        if change.written != value && !others.iter().any(|other| other == value) {
            let line = Line::Settled {
                seq: change.seq,
                value: value.to_owned(),
            };
            self.log(&line)?;
            self.applied[at].others.push(value.to_owned());
        }
        object::write(&found, value)
    }

    /// Undoes all changes, the last first, and removes the journal when every one is final.
    pub fn undo(&mut self) -> Vec<(PathBuf, Outcome)> {
        let mut outcomes = Vec::new();
        let mut all_final = true;
        while let Some(applied) = self.applied.pop() {
            let Change {
                object,
                old,
                written,
                seq,
                ..
            } = applied.change;
            let mut ours = vec![written.as_str()];
            ours.extend(applied.others.iter().map(String::as_str));
            let outcome = object::put_back(&object, &old, &ours);
            if outcome.is_final() {
                // Should this line fail to be written, a later restore finds the old value and does nothing.
                let _ = self.log(&Line::Undone { seq });
            }
            all_final &= outcome.is_final();
            outcomes.push((object, outcome));
        }
        self.held.clear();
        if all_final && let Some(journal) = self.journal.take() {
            // A journal that cannot be removed holds nothing open, and `restore_all` removes it.
            let _ = journal.remove();
        }
        outcomes
    }

    fn lock(&self, object: &Path) -> Result<Option<ObjectLock>, RestoreError> {
        let held = self.held.iter().any(|(path, _)| path == object);
        if held || self.applied.iter().any(|a| a.change.object == object) {
            return Ok(None);
        }
        let lock = ObjectLock::take(&self.dir, object)?;
        let left = sweep::pending(&self.roots, &self.dir)?;
        match left.into_iter().find(|(change, _)| change.object == object) {
            Some((change, journal)) => Err(RestoreError::Pending {
                path: change.object,
                journal,
            }),
            None => Ok(Some(lock)),
        }
    }

    fn announce(&mut self, object: &Path, old: &str, value: &str) -> Result<Change, RestoreError> {
        let change = Change {
            seq: self.next,
            owner: self.owner.clone(),
            object: object.to_owned(),
            old: old.to_owned(),
            written: value.to_owned(),
        };
        self.log(&Line::Change(change.clone()))?;
        self.next += 1;
        Ok(change)
    }

    fn settle(&mut self, now: &str, asked: &str) -> Result<(), RestoreError> {
        let Some(last) = self.applied.last_mut().filter(|_| now != asked) else {
            return Ok(());
        };
        last.others.push(now.to_owned());
        let seq = last.change.seq;
        self.log(&Line::Settled {
            seq,
            value: now.to_owned(),
        })
    }

    fn log(&mut self, line: &Line) -> Result<(), RestoreError> {
        let journal = match self.journal.take() {
            Some(journal) => journal,
            None => Journal::create(&self.dir, &self.owner)?,
        };
        self.journal.insert(journal).append(line)
    }
}

/// A setting's file, links resolved.
fn find(object: &Path) -> Result<PathBuf, RestoreError> {
    fs::canonicalize(object).map_err(|source| RestoreError::Object {
        what: "find".into(),
        path: object.to_owned(),
        source,
    })
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.undo();
    }
}
