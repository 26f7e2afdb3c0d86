use crate::run_dir::{RunDir, RunDirError, RunRecord, Status};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A run folder that was found.
#[derive(Debug)]
pub struct FoundRun {
    /// The run's folder.
    pub path: PathBuf,
    /// The content of `state.json` and the run's real state, or the error that hides them.
    pub state: Result<(RunRecord, Status), RunDirError>,
}

/// The runs in the folder `root`, the latest first; runs that cannot be read come last. Folders
/// that are not runs are left out.
pub fn runs(root: &Path) -> io::Result<Vec<FoundRun>> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        match RunDir::inspect(&path) {
            Err(RunDirError::NotARun { .. }) => {}
            state => runs.push(FoundRun { path, state }),
        }
    }
    let started_s = |run: &FoundRun| match &run.state {
        Ok((record, _)) => record.started_unix_s,
        Err(_) => 0,
    };
    // The names of runs that started in the same second end in numbers, which order them.
    runs.sort_by(|a, b| (started_s(b), &b.path).cmp(&(started_s(a), &a.path)));
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Identity, RunState};

    #[test]
    fn the_latest_run_is_first_and_other_folders_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        let plan = std::collections::BTreeMap::from([("a", 1)]);
        let identity = Identity::default().with("target", "/dev/null");
        let make = |name: &str| RunDir::create(root.path(), name, &plan, &identity);
        let first = make("bench").unwrap();
        let first_path = first.path().to_owned();
        first.finish(RunState::Complete).unwrap();
        let second = make("bench").unwrap();
        fs::create_dir(root.path().join("something")).unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let listed = runs(root.path()).unwrap();
        let path_and_status = |run: &FoundRun| {
            let status = run.state.as_ref().map(|(_, status)| *status);
            (run.path.clone(), status.ok())
        };
        let statuses: Vec<_> = listed.iter().map(path_and_status).collect();
        let expected = [
            (second.path().to_owned(), Some(Status::Running)),
            (first_path, Some(Status::Complete)),
        ];
        assert_eq!(statuses, expected);
        assert!(runs(&root.path().join("none")).is_err());
    }
}
