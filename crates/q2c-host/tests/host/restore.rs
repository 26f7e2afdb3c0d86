use crate::tree::SysProcTree;
use q2c_host::Roots;
use q2c_host::restore::{
    Guard, Owner, Pending, RestoreError, RestoreReport, UndoOutcome, default_folder, pending,
    restore_all,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Settings in a fake tree, with owners from the live procfs.
struct RestoreBench {
    tree: SysProcTree,
    journal: PathBuf,
}

impl RestoreBench {
    fn new() -> RestoreBench {
        let tree = SysProcTree::new("sys/a = 1\n sys/b = [none] mq-deadline\n journal/");
        let journal = tree.path("journal");
        RestoreBench { tree, journal }
    }

    fn a(&self) -> PathBuf {
        self.tree.path("sys/a")
    }

    fn b(&self) -> PathBuf {
        self.tree.path("sys/b")
    }

    fn restore(&self) -> RestoreReport {
        restore_all(&Roots::live(), &self.journal).unwrap()
    }

    fn guard(&self) -> Guard {
        Guard::new(&Roots::live(), &self.journal).unwrap()
    }

    fn value(&self, name: &str) -> String {
        let text = fs::read_to_string(self.tree.path(name)).unwrap();
        text.trim().to_owned()
    }

    fn values(&self) -> [String; 2] {
        [self.value("sys/a"), self.value("sys/b")]
    }

    fn journals(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.journal).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        files.filter(|path| path.is_file()).collect()
    }

    /// Writes a journal as a killed owner would have left it. A change is name, old and new value.
    fn write_journal(&self, owner: &Owner, changes: &[(&str, &str, &str)], tail: &str) -> PathBuf {
        let line = |(seq, (name, old, written)): (usize, &(&str, &str, &str))| {
            let file = fs::canonicalize(self.tree.path(name)).unwrap();
            let mut json = serde_json::to_value(owner).unwrap();
            json["event"] = "change".into();
            json["seq"] = seq.into();
            json["object"] = file.to_str().into();
            (json["old"], json["written"]) = ((*old).into(), (*written).into());
            format!("{json}\n")
        };
        let name = format!("{}-{}.jsonl", owner.pid, owner.start_time);
        let path = self.journal.join(name);
        let lines: String = changes.iter().enumerate().map(line).collect();
        fs::write(&path, lines + tail).unwrap();
        path
    }

    /// Writes a journal of this process as that of a process that has ended.
    fn write_ended_journal(&self, journal: &str) -> PathBuf {
        let live = Owner::current(&Roots::live()).unwrap().start_time;
        let ended = journal.replace(&live.to_string(), &dead_owner().start_time.to_string());
        let left = self.journal.join("1-2-0.jsonl");
        fs::write(&left, ended).unwrap();
        left
    }

    fn outcomes(&self) -> Vec<UndoOutcome> {
        let items = self.restore().items.into_iter();
        items.map(|item| item.outcome).collect()
    }
}

fn dead_owner() -> Owner {
    // This process's id with another start time stands for an earlier process with the same id.
    Owner {
        start_time: u64::MAX,
        ..Owner::current(&Roots::live()).unwrap()
    }
}

#[test]
fn dropped_guards_undo_in_reverse() {
    let bench = RestoreBench::new();
    let mut guard = bench.guard();
    guard.set(&bench.a(), "2").unwrap();
    guard.set(&bench.b(), "mq-deadline").unwrap();
    let second = guard.set(&bench.a(), "3").unwrap();
    assert_eq!((second.old.as_str(), second.now.as_str()), ("2", "3"));
    let written = fs::read_to_string(&bench.journals()[0]).unwrap();
    assert_eq!(written.lines().count(), 3, "{written}");
    drop(guard);
    assert_eq!(bench.values(), ["1", "none"]);
    assert!(bench.journals().is_empty());
}

#[test]
fn a_panic_restores_too() {
    let bench = RestoreBench::new();
    let path = bench.a();
    let mut guard = bench.guard();
    let ended = std::thread::spawn(move || {
        guard.set(&path, "9").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "9");
        std::panic::resume_unwind(Box::new("stop"));
    });
    assert!(ended.join().is_err());
    assert_eq!(bench.value("sys/a"), "1");
}

#[test]
fn values_set_by_others_are_left_alone() {
    let bench = RestoreBench::new();
    let mut guard = bench.guard();
    guard.set(&bench.a(), "2").unwrap();
    fs::write(bench.a(), "7\n").unwrap();
    let ends = guard.undo();
    assert!(matches!(&ends[0].1, UndoOutcome::Foreign(present) if present == "7"));
    assert_eq!(bench.value("sys/a"), "7");
    assert!(bench.journals().is_empty());
}

#[test]
fn a_value_already_there_leaves_no_trace() {
    let bench = RestoreBench::new();
    let mut guard = bench.guard();
    guard.set(&bench.b(), "none").unwrap();
    assert_eq!(bench.value("sys/b"), "[none] mq-deadline");
    assert!(bench.journals().is_empty());
}

#[test]
fn one_run_at_a_time_per_setting() {
    let bench = RestoreBench::new();
    let (mut first, mut second) = (bench.guard(), bench.guard());
    first.set(&bench.a(), "2").unwrap();
    let refused = second.set(&bench.a(), "3").unwrap_err();
    let pid = std::process::id().to_string();
    assert!(matches!(refused, RestoreError::Busy { holder, .. } if holder == pid));
    second.set(&bench.b(), "mq-deadline").unwrap();
    drop(first);
    second.set(&bench.a(), "3").unwrap();
    drop(second);
    assert_eq!(bench.values(), ["1", "none"]);
}

#[test]
fn a_setting_can_be_held_before_it_is_changed() {
    let bench = RestoreBench::new();
    let a = bench.a();
    let (mut first, mut second) = (bench.guard(), bench.guard());
    first.hold(&a).unwrap();
    first.hold(&a).unwrap();
    assert!(bench.journals().is_empty());
    for refused in [second.hold(&a), second.vary(&a, "1"), second.vary(&a, "5")] {
        assert!(matches!(refused, Err(RestoreError::Busy { .. })));
    }
    first.vary(&a, "7").unwrap();
    assert_eq!(first.undo().len(), 1);
    assert_eq!(bench.value("sys/a"), "1");
    second.hold(&a).unwrap();

    drop(second);
    bench.write_journal(&dead_owner(), &[("sys/a", "1", "7")], "");
    let pending = bench.guard().hold(&a);
    assert!(matches!(pending, Err(RestoreError::Pending { .. })));
}

#[test]
fn settings_that_cannot_be_changed_say_so() {
    let bench = RestoreBench::new();
    let missing = bench.guard().set(&bench.tree.path("sys/none"), "1");
    let missing = missing.unwrap_err().to_string();
    assert!(missing.contains("sys/none"), "{missing}");
    let gone = bench.tree.path("sys/c");
    fs::write(&gone, "1").unwrap();
    let mut guard = bench.guard();
    guard.set(&gone, "2").unwrap();
    fs::remove_file(&gone).unwrap();
    assert_eq!(guard.undo()[0].1, UndoOutcome::Gone);
}

/// The changes of a dead owner are undone, the last first, except those that were never made, were
/// undone before the kill, or were since replaced by somebody else. A value that the kernel rounded
/// counts as the owner's.
#[test]
fn what_a_dead_owner_left_is_undone() {
    use UndoOutcome::{AlreadyOld, Foreign, Restored};
    let twice: &[_] = &[("sys/a", "1", "2"), ("sys/a", "2", "3")];
    let rounded: &[_] = &[("sys/a", "1", "127"), ("sys/b", "none", "mq-deadline")];
    let settled = r#"{"event":"settled","seq":0,"value":"124"}"#;
    let tail = format!("{settled}\n{{\"event\":\"undone\",\"seq\":1}}\n");
    let foreign = Foreign("5".to_owned());
    for (changes, tail, present, outcomes, after) in [
        (twice, "", ["3", "[none]"], vec![Restored, Restored], "1"),
        (&twice[..1], "", ["1", "[none]"], vec![AlreadyOld], "1"),
        (&twice[..1], "", ["5", "[none]"], vec![foreign], "5"),
        (
            rounded,
            tail.as_str(),
            ["124", "[mq-deadline]"],
            vec![Restored],
            "1",
        ),
    ] {
        let bench = RestoreBench::new();
        bench.write_journal(&dead_owner(), changes, tail);
        fs::write(bench.a(), present[0]).unwrap();
        fs::write(bench.b(), present[1]).unwrap();
        let file = fs::canonicalize(bench.a()).unwrap();
        let left = pending(&Roots::live(), &bench.journal).unwrap();
        assert_eq!(left.changes[0].0.file, file);
        let refused = bench.guard().set(&file, "9").unwrap_err();
        assert!(matches!(refused, RestoreError::Pending { .. }), "{refused}");
        assert_eq!(bench.outcomes(), outcomes);
        assert_eq!(bench.values(), [after, present[1]]);
        assert!(bench.journals().is_empty());
    }
}

#[test]
fn live_owners_and_other_boots_are_not_touched() {
    let bench = RestoreBench::new();
    fs::write(bench.a(), "2").unwrap();
    let me = Owner::current(&Roots::live()).unwrap();
    let own_journal = bench.write_journal(&me, &[("sys/a", "1", "2")], "");
    assert_eq!(bench.outcomes(), [UndoOutcome::OwnerAlive]);
    assert!(own_journal.exists());
    fs::remove_file(own_journal).unwrap();
    let other_boot = Owner {
        boot_id: "another".into(),
        ..me
    };
    bench.write_journal(&other_boot, &[("sys/a", "1", "2")], "");
    assert_eq!(bench.outcomes(), [UndoOutcome::OtherBoot]);
    assert_eq!(bench.value("sys/a"), "2");
    assert!(bench.journals().is_empty());
}

#[test]
fn a_setting_held_by_a_live_run_is_left_for_later() {
    let bench = RestoreBench::new();
    let mut guard = bench.guard();
    guard.set(&bench.a(), "2").unwrap();
    let left = bench.write_journal(&dead_owner(), &[("sys/a", "0", "2")], "");
    let outcomes = bench.outcomes();
    let busy = |o: &UndoOutcome| matches!(o, UndoOutcome::Busy { .. });
    assert!(outcomes.iter().any(busy), "{outcomes:?}");
    assert!(left.exists());
    assert_eq!(bench.value("sys/a"), "2");
}

/// A restore holds the lock of the journal that it works on.
#[test]
fn a_journal_that_another_restore_works_on_is_left_to_it() {
    let bench = RestoreBench::new();
    fs::write(bench.a(), "2").unwrap();
    let left = bench.write_journal(&dead_owner(), &[("sys/a", "1", "2")], "");
    let other = fs::File::open(&left).unwrap();
    other.lock().unwrap();
    assert_eq!(bench.outcomes(), [UndoOutcome::AtWork]);
    assert_eq!(bench.value("sys/a"), "2");
    other.unlock().unwrap();
    assert_eq!(bench.outcomes(), [UndoOutcome::Restored]);
}

#[test]
fn damaged_lines_are_reported_and_the_others_used() {
    let bench = RestoreBench::new();
    fs::write(bench.a(), "2").unwrap();
    let tail = "{\"event\":\"chan\u{0}\n{\"event\":\"ch";
    let path = bench.write_journal(&dead_owner(), &[("sys/a", "1", "2")], tail);
    let left = pending(&Roots::live(), &bench.journal).unwrap();
    let fault_lines: Vec<usize> = left.faults.iter().map(|fault| fault.line).collect();
    assert_eq!((left.changes.len(), fault_lines), (1, vec![2]));
    let report = bench.restore();
    let faults = report.faults.iter().map(|f| (f.line, f.truncated));
    assert!(faults.eq([(2, false), (3, true)]));
    assert!(!report.is_complete());
    assert_eq!(bench.value("sys/a"), "1");
    assert_eq!(bench.journals(), [path.with_extension("damaged")]);
}

#[test]
fn a_line_cut_short_by_the_crash_announced_nothing() {
    let bench = RestoreBench::new();
    let path = bench.write_journal(&dead_owner(), &[("sys/a", "1", "2")], "");
    let whole = fs::read_to_string(&path).unwrap();
    for cut in 1..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        fs::write(bench.a(), "2").unwrap();
        let report = bench.restore();
        let counts = (report.items.len(), report.faults.len());
        assert_eq!(counts, (0, 1), "cut at {cut}");
        assert_eq!(bench.value("sys/a"), "2");
        assert!(!path.exists());
    }
}

#[test]
fn no_folder_holds_nothing() {
    let report = restore_all(&Roots::live(), Path::new("/nonexistent/q2c")).unwrap();
    assert!(report.is_complete() && report.items.is_empty());
}

#[test]
fn the_usual_folder() {
    let folder = |root, xdg: Option<&str>, home: Option<&str>| {
        default_folder(root, xdg.map(Path::new), home.map(Path::new))
    };
    let system = Some("/var/lib/q2c/restore".into());
    assert_eq!(folder(true, Some("/s"), None), system);
    let state = Some("/s/q2c/restore".into());
    assert_eq!(folder(false, Some("/s"), Some("/h")), state);
    let home = Some("/h/.local/state/q2c/restore".into());
    assert_eq!(folder(false, Some("relative"), Some("/h")), home);
    assert_eq!(folder(false, None, None), None);
}

#[test]
fn sweeps_and_runs_at_the_same_time() {
    let bench = RestoreBench::new();
    /// Ends the sweeper also when this thread panics, which would otherwise wait for it.
    struct StopOnDrop<'a>(&'a std::sync::atomic::AtomicBool);
    impl Drop for StopOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        let stop_sweeper = StopOnDrop(&done);
        let sweeper = s.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let report = bench.restore();
                let alive = |o: &UndoOutcome| matches!(o, UndoOutcome::OwnerAlive);
                assert!(report.items.iter().all(|i| alive(&i.outcome)), "{report:?}");
            }
        });
        let lost = (2..100).filter(|n| {
            let mut guard = bench.guard();
            guard.set(&bench.a(), &n.to_string()).unwrap();
            // The journal of a change in force must be there for a later sweep.
            let there = bench.journals().len() == 1;
            drop(guard);
            !there || bench.value("sys/a") != "1"
        });
        let lost = lost.count();
        drop(stop_sweeper);
        sweeper.join().unwrap();
        assert_eq!(lost, 0);
    });
}

/// A setting that its owner changes again and again. The journal grows by a line per new value, and
/// the value before the first change is put back. After a kill, every value that the owner wrote
/// counts as its own.
#[test]
fn a_varied_setting_is_ours_at_every_value() {
    let bench = RestoreBench::new();
    let a = bench.a();
    let mut guard = bench.guard();
    for value in ["7", "9", "7", "9", "12", "9"] {
        guard.vary(&a, value).unwrap();
        assert_eq!(bench.value("sys/a"), value);
    }
    let journal = fs::read_to_string(&bench.journals()[0]).unwrap();
    assert_eq!(journal.lines().count(), 3, "{journal}");
    guard.undo();
    assert_eq!(bench.value("sys/a"), "1");
    assert!(bench.journals().is_empty());

    let tail = "{\"event\":\"settled\",\"seq\":0,\"value\":\"9\"}\n{\"event\":\"settled\",\"seq\":0,\"value\":\"12\"}\n";
    for (present, wanted) in [("7", "1"), ("9", "1"), ("12", "1"), ("13", "13")] {
        bench.write_journal(&dead_owner(), &[("sys/a", "1", "7")], tail);
        fs::write(&a, present).unwrap();
        bench.outcomes();
        assert_eq!(bench.value("sys/a"), wanted);
    }
}

/// A folder that does not exist has no journals. One that cannot be listed may have some: here it
/// is a file, which even root cannot list.
#[test]
fn a_folder_that_cannot_be_listed_is_no_empty_one() {
    let bench = RestoreBench::new();
    let roots = bench.tree.roots();
    let none = bench.tree.path("none");
    assert_eq!(pending(&roots, &none).unwrap(), Pending::default());
    assert!(restore_all(&roots, &none).unwrap().items.is_empty());
    let file = bench.a();
    let pending_error = pending(&roots, &file).map(drop).unwrap_err();
    let restored = restore_all(&roots, &file).map(drop).unwrap_err();
    for refused in [pending_error, restored] {
        use RestoreError::{Folder, Unlisted};
        assert!(matches!(refused, Folder { .. } | Unlisted { .. }));
    }
}

/// Lock files have names that anybody can work out.
#[test]
fn a_link_in_the_place_of_a_lock_is_not_followed() {
    let bench = RestoreBench::new();
    let precious = bench.tree.path("sys/precious");
    fs::write(&precious, "precious").unwrap();
    drop(bench.guard().set(&bench.a(), "2").unwrap());
    let locks = fs::read_dir(bench.journal.join("locks")).unwrap();
    for lock in locks {
        let lock = lock.unwrap().path();
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink(&precious, &lock).unwrap();
    }
    let refused = bench.guard().set(&bench.a(), "3");
    assert!(matches!(refused, Err(RestoreError::Journal { .. })));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(bench.value("sys/a"), "1");
}

/// The values in a journal are written to settings, so it must be this user's own.
#[test]
fn journals_that_others_could_write_are_not_used() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let bench = RestoreBench::new();
    fs::write(bench.a(), "2").unwrap();
    let path = bench.write_journal(&dead_owner(), &[("sys/a", "1", "2")], "");
    let chmod =
        |mode| fs::set_permissions(&bench.journal, fs::Permissions::from_mode(mode)).unwrap();
    let refused = || {
        let error = restore_all(&Roots::live(), &bench.journal).unwrap_err();
        pending(&Roots::live(), &bench.journal).unwrap_err();
        assert_eq!(bench.value("sys/a"), "2");
        error
    };
    chmod(0o777);
    assert!(matches!(refused(), RestoreError::Folder { .. }));
    bench.guard().set(&bench.b(), "3").unwrap_err();
    chmod(0o700);
    let journal = path.with_extension("kept");
    fs::rename(&path, &journal).unwrap();
    std::os::unix::fs::symlink(&journal, &path).unwrap();
    assert!(matches!(refused(), RestoreError::Journal { .. }));
    fs::remove_file(&path).unwrap();
    fs::rename(&journal, &path).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(65_534), None).unwrap();
        assert!(matches!(refused(), RestoreError::Journal { .. }));
        chown(&path, Some(0), None).unwrap();
    } else {
        q2c_testkit::skip("journals of another user", "not root");
    }
    assert_eq!(bench.outcomes(), [UndoOutcome::Restored]);
}

/// A served ublk device does not count as left behind, and a missing one needs no undoing.
#[test]
fn devices_of_ended_servers_are_undone_and_served_ones_left() {
    let bench = RestoreBench::new();
    // No machine has as many ublk devices.
    let device = Path::new("/dev/ublkc4294967295");
    let mut guard = bench.guard();
    guard.device(device, 7).unwrap();
    let written = fs::read_to_string(&bench.journals()[0]).unwrap();
    assert!(written.contains(r#""kind":"ublk-device""#), "{written}");
    let report = bench.restore();
    assert!(report.is_complete() && report.items.is_empty());
    assert_eq!(bench.journals().len(), 1, "a live server lost its journal");
    let other = bench.guard().device(device, 8);
    assert!(matches!(other, Err(RestoreError::Busy { .. })), "{other:?}");

    // The same journal of a server that has ended.
    guard.cancel_last().unwrap();
    drop(guard);
    let left = bench.write_ended_journal(&written);
    assert_eq!(bench.outcomes(), [UndoOutcome::Gone]);
    assert!(!left.exists());
}

/// The folder of a mount is removed by its owner, and by a restore when the owner was killed, but
/// never with what somebody put into it.
#[test]
fn folders_of_mounts_are_removed_while_they_are_empty() {
    let bench = RestoreBench::new();
    let parent = tempfile::tempdir().unwrap();
    let point = parent.path().join("point");
    let mut guard = bench.guard();
    guard.folder(&point).unwrap();
    fs::create_dir(&point).unwrap();
    let written = fs::read_to_string(&bench.journals()[0]).unwrap();
    drop(guard);
    assert!(!point.exists());

    let left = bench.write_ended_journal(&written);
    fs::create_dir_all(point.join("kept")).unwrap();
    assert!(matches!(bench.outcomes()[..], [UndoOutcome::Failed { .. }]));
    fs::remove_dir(point.join("kept")).unwrap();
    assert_eq!(bench.outcomes(), [UndoOutcome::Restored]);
    assert!(!point.exists() && !left.exists());
}
