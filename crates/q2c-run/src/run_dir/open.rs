use super::error::RunDirError;
use super::files::{
    JOURNAL, LOG, LockedFile, PLAN, STATE, check_name, check_new_name, encode_error, is_locked,
    missing_or_io, publish, read, read_record, remove_temporary_files, sync_folder, without_links,
};
use super::folder::RunDir;
use super::journal::{RunJournal, TornLine};
use super::record::{self, Difference, Identity, RunLog, RunRecord, RunState, SCHEMA, Status};
use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

impl RunDir {
    /// Makes the folder `root/<utc time>-<name>/`, writes the plan into it and sets the state to
    /// running. If a folder of that name exists, `-2`, `-3`, ... is added. After an error no folder
    /// remains.
    pub fn create(
        root: &Path,
        name: &str,
        plan: &impl Serialize,
        identity: &Identity,
    ) -> Result<RunDir, RunDirError> {
        check_name(name)?;
        let plan = encode_plan(plan, root)?;
        let now = SystemTime::now();
        let path = make_folder(root, &format!("{}-{name}", record::folder_time(now)))?;
        Self::fill_new_folder(&path, name, &plan, now, identity)
    }

    /// Makes the folder `name` inside this one for a part that is itself a run. Writes the part's
    /// plan and sets its state to running. [`RunDir::part_path`] returns the folder's path.
    pub fn create_part(
        &self,
        name: &str,
        plan: &impl Serialize,
        identity: &Identity,
    ) -> Result<RunDir, RunDirError> {
        check_new_name(name)?;
        let path = self.part_path(name);
        let plan = encode_plan(plan, &path)?;
        remove_unfinished(&path)?;
        let made = fs::create_dir(&path);
        made.map_err(|e| RunDirError::io("make the folder", &path, e))?;
        sync_folder(self.path())?;
        Self::fill_new_folder(&path, name, &plan, SystemTime::now(), identity)
    }

    /// Path of the folder of a part of this run.
    pub fn part_path(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Fills a folder that was just made, or removes it after an error.
    fn fill_new_folder(
        path: &Path,
        name: &str,
        plan: &str,
        now: SystemTime,
        identity: &Identity,
    ) -> Result<RunDir, RunDirError> {
        let record = RunRecord {
            schema: SCHEMA.to_owned(),
            state: RunState::Running,
            name: name.to_owned(),
            started_unix_s: record::unix_s(now),
            changed_unix_s: record::unix_s(now),
            sessions: 1,
            pid: std::process::id(),
            identity: identity.clone(),
            plan: checksum(plan.as_bytes()),
        };
        Self::write_files(path, plan, record).inspect_err(|_| {
            // The folder was made a moment ago and holds no measurement. An error of the removal is
            // ignored, since the first error is the one to report.
            let _ = fs::remove_dir_all(path);
        })
    }

    fn write_files(path: &Path, plan: &str, record: RunRecord) -> Result<RunDir, RunDirError> {
        let file = open_journal(path, OpenOptions::new().create_new(true))?;
        let file = LockedFile::lock(file, path)?;
        let (journal, _) = RunJournal::open(file, &path.join(JOURNAL), b"")?;
        publish(path, PLAN, |out| out.write_all(plan.as_bytes()))?;
        let mut folder = Self::with_log(path, journal, record)?;
        folder.log(&format!("run {} started", folder.record.name))?;
        folder.write_record()?;
        Ok(folder)
    }

    fn with_log(
        path: &Path,
        journal: RunJournal,
        record: RunRecord,
    ) -> Result<RunDir, RunDirError> {
        Ok(RunDir {
            path: path.to_path_buf(),
            journal,
            log: RunLog::open(path)?,
            record,
        })
    }

    /// Opens an interrupted or crashed run to continue it. Returns the incomplete last line of the
    /// journal if a crash left one; the line has been cut off.
    pub fn resume(path: &Path, now: &Identity) -> Result<(RunDir, Option<TornLine>), RunDirError> {
        let file = open_journal(path, &mut OpenOptions::new())?;
        let file = LockedFile::lock(file, path)?;
        let mut record = read_record(path)?;
        check_resumable(path, &record, now)?;
        let (journal, torn) = RunJournal::open(file, &path.join(JOURNAL), &read(path, JOURNAL)?)?;
        remove_temporary_files(path)?;
        record.state = RunState::Running;
        record.sessions += 1;
        record.pid = std::process::id();
        let mut folder = Self::with_log(path, journal, record)?;
        folder.write_record()?;
        folder.log(&format!("session {} started", folder.record.sessions))?;
        if let Some(TornLine { line, bytes }) = torn {
            folder.log(&format!(
                "line {line} of {JOURNAL} was torn by a crash: {bytes} bytes cut off"
            ))?;
        }
        Ok((folder, torn))
    }

    /// Returns the content of `state.json` and the real state of the run. This holds a shared lock
    /// for a moment; a [`RunDir::resume`] by another process in that moment is refused.
    pub fn inspect(path: &Path) -> Result<(RunRecord, Status), RunDirError> {
        let file = open_journal(path, &mut OpenOptions::new())?;
        let is_held = is_locked(file, path)?;
        let record = read_record(path)?;
        let status = record.status(is_held);
        Ok((record, status))
    }
}

fn make_folder(root: &Path, name: &str) -> Result<PathBuf, RunDirError> {
    fs::create_dir_all(root).map_err(|e| RunDirError::not_made(root, e))?;
    for copy in 1u32.. {
        let path = match copy {
            1 => root.join(name),
            _ => root.join(format!("{name}-{copy}")),
        };
        match fs::create_dir(&path) {
            Ok(()) => return sync_folder(root).map(|()| path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(RunDirError::not_made(&path, e)),
        }
    }
    unreachable!("more than four thousand million runs in one second")
}

fn encode_plan(plan: &impl Serialize, folder: &Path) -> Result<String, RunDirError> {
    toml::to_string_pretty(plan).map_err(|e| encode_error(&folder.join(PLAN), &e))
}

/// Removes the folder of a part if a crash interrupted its creation: it then has no state file, and
/// so no measurement. A folder with further files stays, and the part cannot be created.
fn remove_unfinished(path: &Path) -> Result<(), RunDirError> {
    if !path.is_dir() || path.join(STATE).exists() {
        return Ok(());
    }
    remove_temporary_files(path)?;
    let failed = |e| RunDirError::io("remove", path, e);
    for name in [JOURNAL, PLAN, LOG] {
        match fs::remove_file(path.join(name)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
    }
    fs::remove_dir(path).map_err(failed)
}

pub(super) fn open_journal(path: &Path, options: &mut OpenOptions) -> Result<File, RunDirError> {
    let file = without_links(options.read(true).append(true)).open(path.join(JOURNAL));
    file.map_err(|e| missing_or_io(path, JOURNAL, e))
}

/// Compares the plan with the one at the run's start; `None` if they are equal.
fn plan_difference(path: &Path, record: &RunRecord) -> Result<Option<Difference>, RunDirError> {
    let stored = &record.plan;
    let now = checksum(&read(path, PLAN)?);
    Ok((*stored != now).then(|| Difference {
        key: PLAN.to_owned(),
        stored: Some(format!("checksum {stored}")),
        now: Some(format!("checksum {now}")),
    }))
}

/// A checksum that finds accidental changes. The hash function may differ between builds of q2c,
/// but a run's identity already refuses another build.
fn checksum(plan: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(plan);
    format!("{:016x}", hasher.finish())
}

fn check_resumable(path: &Path, run: &RunRecord, identity: &Identity) -> Result<(), RunDirError> {
    let path = path.to_path_buf();
    if run.state == RunState::Complete {
        return Err(RunDirError::AlreadyComplete(path));
    }
    let mut differences = run.identity.differences(identity);
    differences.extend(plan_difference(&path, run)?);
    if differences.is_empty() {
        Ok(())
    } else {
        Err(RunDirError::OtherConditions(path, differences))
    }
}
