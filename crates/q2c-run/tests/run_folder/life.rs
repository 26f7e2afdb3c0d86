use crate::{FolderPlan, identity, interrupted, new_folder, plan, status};
use q2c_run::run_dir::{Identity, RunDir, RunDirError, RunState, Status, TornLine, read_plan};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn a_run_from_start_to_end() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = new_folder(&root.path().join("runs"));
    let path = folder.path().to_path_buf();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with("Z-demo") && name.len() == "20261120T110747Z-demo".len());
    assert_eq!(status(&path), Status::Running);
    assert_eq!(read_plan::<FolderPlan>(&path).unwrap(), plan());

    folder.append(&[1.5, 2.5]).unwrap();
    folder.publish_json("result.json", &[0.1]).unwrap();
    folder.log("two\nlines").unwrap();
    folder.finish(RunState::Complete).unwrap();

    assert_eq!(status(&path), Status::Complete);
    let text = |name| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(text("cells.jsonl"), "[1.5,2.5]\n");
    assert_eq!(text("result.json"), "[\n  0.1\n]\n");
    assert!(text("log.txt").contains("Z two\n    lines\n"));
    let again = RunDir::resume(&path, &identity());
    assert!(matches!(again, Err(RunDirError::AlreadyComplete { .. })));
}

#[test]
fn a_provenance_names_the_folder_and_the_start() {
    let root = tempfile::tempdir().unwrap();
    let folder = new_folder(root.path());
    let start = Instant::now().checked_sub(Duration::from_secs(20)).unwrap();
    let provenance = folder.provenance(start, Some("node7".to_owned()));
    let earlier_s = folder.record().started_unix_s - provenance.started_unix_s;
    assert!((15..=20).contains(&earlier_s), "{provenance:?}");
    assert!((20.0..25.0).contains(&provenance.seconds), "{provenance:?}");
    assert_eq!(provenance.folder.as_deref(), folder.path().to_str());
    assert_eq!(provenance.host.as_deref(), Some("node7"));
}

#[test]
fn runs_of_one_second_get_folders_of_their_own() {
    let root = tempfile::tempdir().unwrap();
    let folders: Vec<RunDir> = (0..4).map(|_| new_folder(root.path())).collect();
    let paths: BTreeSet<&Path> = folders.iter().map(RunDir::path).collect();
    assert_eq!(paths.len(), 4);
}

#[test]
fn an_error_on_the_way_marks_the_run_interrupted() {
    let root = tempfile::tempdir().unwrap();
    let path = new_folder(root.path()).path().to_path_buf();
    assert_eq!(status(&path), Status::Interrupted);
}

#[test]
fn resume_cuts_a_torn_line_says_so_and_sweeps_leftovers() {
    let root = tempfile::tempdir().unwrap();
    let path = interrupted(root.path());
    let journal = path.join("cells.jsonl");
    fs::write(&journal, "[1]\n[2]\n[3").unwrap();
    fs::write(path.join(".result.json.tmp"), "{\"ha").unwrap();

    let (mut folder, torn) = RunDir::resume(&path, &identity()).unwrap();
    assert_eq!(torn, Some(TornLine { line: 3, bytes: 2 }));
    assert!(!path.join(".result.json.tmp").exists());
    folder.append(&[4]).unwrap();
    assert_eq!(folder.entries::<[u8; 1]>().unwrap(), [[1], [2], [4]]);
    assert_eq!(folder.record().sessions, 2);
    let log = fs::read_to_string(path.join("log.txt")).unwrap();
    assert!(log.contains("line 3 of cells.jsonl was torn"), "{log}");
}

#[test]
fn other_conditions_are_refused_naming_each() {
    let root = tempfile::tempdir().unwrap();
    let path = interrupted(root.path());
    let now = Identity::default()
        .with("kernel", "6.13.0")
        .with("target", "/dev/vdb")
        .with("calibration", "9f");
    let error = RunDir::resume(&path, &now).err().unwrap().to_string();
    assert!(error.contains("kernel: was 6.12.1, is 6.13.0"), "{error}");
    assert!(error.contains("calibration: was nothing, is 9f"), "{error}");
    assert!(!error.contains("target:"), "{error}");
    assert_eq!(status(&path), Status::Interrupted);
}

/// A resume with another plan would mix trials of two plans in one run.
#[test]
fn another_plan_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = interrupted(root.path());
    let plan = fs::read_to_string(path.join("plan.toml")).unwrap();
    fs::write(path.join("plan.toml"), format!("{plan}\n# by hand\n")).unwrap();
    let error = RunDir::resume(&path, &identity()).err().unwrap();
    let error = error.to_string();
    assert!(error.contains("plan.toml: was checksum"), "{error}");
    fs::write(path.join("plan.toml"), plan).unwrap();
    RunDir::resume(&path, &identity()).unwrap();
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for path in [root.path().to_path_buf(), root.path().join("none")] {
        let refused = RunDir::resume(&path, &identity());
        assert!(matches!(refused, Err(RunDirError::NotARun { .. })));
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

/// A part is a run of its own: it is resumed and inspected as any other, and keeps its state when
/// the whole ends.
#[test]
fn a_part_of_a_run_is_a_run() {
    let root = tempfile::tempdir().unwrap();
    let whole = new_folder(root.path());
    let part = whole.create_part("jobs-2", &plan(), &identity()).unwrap();
    assert_eq!(part.path(), whole.path().join("jobs-2"));
    let path = whole.part_path("jobs-2");
    assert_eq!(status(&path), Status::Running);
    let twice = whole.create_part("jobs-2", &plan(), &identity());
    assert!(matches!(twice, Err(RunDirError::Io { .. })), "it is there");
    drop(part);
    assert_eq!(status(&path), Status::Interrupted);
    whole.finish(RunState::Complete).unwrap();
    let (part, _) = RunDir::resume(&path, &identity()).unwrap();
    part.finish(RunState::Complete).unwrap();
    assert_eq!(status(&path), Status::Complete);
    assert_eq!(read_plan::<FolderPlan>(&path).unwrap(), plan());
}

/// A crash can leave the folder of a part without a state. The part is then created anew, unless
/// the folder has a file that q2c did not put there.
#[test]
fn a_part_that_was_not_finished_in_the_making_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    let whole = new_folder(root.path());
    let path = whole.part_path("jobs-2");
    for file in ["cells.jsonl", "plan.toml", ".state.json.tmp", "notes"] {
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(file), "x").unwrap();
        let part = whole.create_part("jobs-2", &plan(), &identity());
        match file {
            "notes" => {
                assert!(matches!(part, Err(RunDirError::Io { .. })));
                assert_eq!(fs::read(path.join("notes")).unwrap(), b"x");
            }
            _ => {
                drop(part.unwrap());
                assert_eq!(fs::read(path.join("cells.jsonl")).unwrap(), b"");
                fs::remove_dir_all(&path).unwrap();
            }
        }
    }
    for bad in ["cells.jsonl", "..", "a/b"] {
        let part = whole.create_part(bad, &plan(), &identity());
        assert!(matches!(part, Err(RunDirError::BadName { .. })), "{bad}");
    }
}

/// Another user with write access to the folder of an interrupted run has put links there. They
/// lead to a file of the run's owner.
#[test]
fn links_in_a_run_folder_are_not_followed() {
    for name in ["log.txt", "cells.jsonl", ".state.json.tmp"] {
        let root = tempfile::tempdir().unwrap();
        let path = interrupted(root.path());
        let precious = root.path().join("precious");
        let content = fs::read(path.join("cells.jsonl")).unwrap();
        fs::write(&precious, &content).unwrap();
        fs::remove_file(path.join(name)).ok();
        std::os::unix::fs::symlink(&precious, path.join(name)).unwrap();
        let resumed = RunDir::resume(&path, &identity());
        assert_eq!(resumed.is_ok(), name.ends_with(".tmp"), "{name}");
        assert_eq!(fs::read(&precious).unwrap(), content, "{name}");
    }
}
