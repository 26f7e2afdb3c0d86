use super::{AppliedChange, Guard};
use crate::cpu_list;
use crate::restore::entry::RestoreLine;
use crate::restore::journal::{Journal, SettingLock};
use crate::restore::task_affinity::{self, TaskId};
use crate::restore::{ChangeKind, RestoreError, Result, UndoOutcome, sweep};
use q2c_model::CpuId;

/// A journal is compacted when it has this many lines plus four for each change in force.
const COMPACT_FROM: usize = 4_096;

impl Guard {
    /// Takes the right to move tasks, which one guard has at a time. Masks that a killed owner left
    /// are put back first, so that none of them is taken for a user's choice.
    pub fn hold_tasks(&mut self) -> Result<()> {
        sweep::restore_tasks(&self.roots, &self.dir)?;
        let name = task_affinity::lock_name();
        let lock = SettingLock::take(&self.dir, name)?;
        self.held_locks.push((name.to_owned(), lock));
        Ok(())
    }

    /// Lets a task run on these CPUs only. `old` are the CPUs that it gets back; they count for the
    /// first call only. Returns false when the task has ended.
    pub fn allow(&mut self, task: TaskId, old: &[CpuId], cpus: &[CpuId]) -> Result<bool> {
        let (folder, value) = (task.folder(), cpu_list::show(cpus));
        match self.index_of(task) {
            Some(index) => self.add_value(index, &value)?,
            None => {
                let old = cpu_list::show(old);
                let mut change = self.change(ChangeKind::TaskAffinity, &folder, &old, &value);
                change.started = Some(task.start_time);
                self.announce(change, None)?;
            }
        }
        match task_affinity::allow(task, cpus) {
            Ok(()) => Ok(true),
            Err(_) if task.allowed(&self.roots).is_none() => {
                self.forget(task)?;
                Ok(false)
            }
            Err(e) => {
                let action = format!("give CPUs {value} to");
                Err(RestoreError::setting(action, &folder)(e))
            }
        }
    }

    /// Gives a task its old CPUs back now. `None` for a task that this guard did not change.
    pub fn give_back(&mut self, task: TaskId) -> Result<Option<UndoOutcome>> {
        let Some(index) = self.index_of(task) else {
            return Ok(None);
        };
        let AppliedChange { change, values, .. } = &self.applied[index];
        let outcome = task_affinity::put_back(&self.roots, change, values);
        if outcome.is_final() {
            self.forget(task)?;
        }
        Ok(Some(outcome))
    }

    /// Notes that a task has ended, or that somebody else gave it other CPUs: nothing is left to
    /// undo.
    pub fn forget(&mut self, task: TaskId) -> Result<()> {
        let Some(index) = self.index_of(task) else {
            return Ok(());
        };
        let seq = self.applied.remove(index).change.seq;
        self.log(&RestoreLine::Undone { seq })?;
        self.compact()
    }

    fn index_of(&self, task: TaskId) -> Option<usize> {
        let folder = task.folder();
        let is_of_task = |applied: &AppliedChange| {
            applied.change.file == folder && applied.change.started == Some(task.start_time)
        };
        self.applied.iter().position(is_of_task)
    }

    /// Starts a new journal with only the changes in force, once most lines of the old one are
    /// obsolete: a daemon may run for months.
    fn compact(&mut self) -> Result<()> {
        if self.lines < COMPACT_FROM + 4 * self.applied.len() {
            return Ok(());
        }
        let old_journal = self.journal.take();
        self.lines = 0;
        for index in 0..self.applied.len() {
            let AppliedChange { change, values, .. } = &self.applied[index];
            let (seq, values) = (change.seq, values.clone());
            self.log(&RestoreLine::Change(change.clone()))?;
            for value in values {
                self.log(&RestoreLine::Settled { seq, value })?;
            }
        }
        old_journal.map_or(Ok(()), Journal::remove)
    }
}
