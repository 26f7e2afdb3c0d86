//! The report of `q2c doctor` for each use, and `--fix` on a loop device that the test creates.

use crate::program::*;
use q2c_testkit::{random_mib, with_busy_cpu};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Uses in the order of the report: the word in JSON, and the heading.
const USES: [(&str, &str); 9] = [
    ("measuring", "All measurements:"),
    ("tune", "tune:"),
    ("bench", "bench:"),
    ("capture", "Recording I/Os:"),
    ("kernel-polling", "The kernel's own hybrid polling:"),
    ("spdk", "SPDK:"),
    ("file-systems", "fs bench:"),
    ("ram-devices", "RAM devices:"),
    ("placement", "place:"),
];

#[test]
fn checks_are_sorted_by_use() {
    let folder = Place::new();
    let report = folder.json("doctor --json");
    let uses: Vec<&str> = texts(&report, "uses", "use");
    assert_eq!(uses, USES.map(|(word, _)| word));
    let first_use = |check: &Value| uses.iter().position(|word| check["uses"][0] == *word);
    let checks = report.list("checks");
    assert!(checks.is_sorted_by_key(first_use));
    let ids = texts(&report, "checks", "id");
    for id in split("bpf btf tracefs scx ublk mkfs-ext4 spdk-program restore-pending") {
        assert!(ids.contains(&id), "{id} in {ids:?}");
    }
    for state in report.list("uses") {
        let ready = state["ready"].as_str().unwrap();
        assert!(["ready", "limited", "unknown", "not-ready"].contains(&ready));
        for by in state.list("by") {
            assert!(ids.contains(&by.as_str().unwrap()), "{by}");
        }
    }
    folder.put("doctor.json", report.to_string());
    let again = folder.done("report doctor.json");
    let (head, again) = again.split_once("\n\n").expect("an empty line");
    has_words(head, "\ndisk: ");
    assert!(again.starts_with(USES[0].1), "{again}");
    let text = folder.done("doctor");
    let heading = |line: &str| USES.iter().find(|(_, head)| line.starts_with(head));
    assert!(text.lines().filter_map(heading).eq(&USES), "{text}");
    has_words(&text, " checks: ");
}

/// While a thread keeps a CPU busy, `tune` and `bench` are not ready. Only without a target the
/// report says that no disk was examined.
#[test]
fn a_busy_machine_is_not_ready_and_a_disk_that_nobody_named_is_not_looked_at() {
    let folder = Place::new();
    let report = with_busy_cpu(|| folder.json("doctor --json"));
    let busy = entry(&report, "checks", "id", "busy-at-rest");
    assert_eq!(busy["verdict"], "invalidates", "{busy}");
    for name in ["tune", "bench"] {
        let state = entry(&report, "uses", "use", name);
        assert_eq!(state["ready"], "not-ready", "{state}");
        let by = state.list("by");
        assert!(by.contains(&Value::from("busy-at-rest")), "{state}");
    }
    folder.put("doctor.json", report.to_string());
    let none = "disk: none was looked at; q2c doctor FILE";
    has_words(&folder.done("report doctor.json"), none);
    folder.put("target", random_mib());
    let text = folder.done("doctor target");
    assert!(!text.contains(none), "{text}");
}

#[test]
fn hints_are_those_of_the_user() {
    let report = Place::new().json("doctor --json");
    let root = rustix::process::geteuid().is_root();
    for check in report.list("checks") {
        let Some(fix) = check["fix"].as_str() else {
            continue;
        };
        assert!(!(root && fix.contains("sudo ")), "{fix}");
        let finding = check["found"].as_str().unwrap();
        assert!(!(root && finding.contains("run as root")), "{check}");
    }
}

/// A loop device with wrong settings; dropping it removes the device.
struct LoopDisk {
    folder: Place,
    name: String,
    /// Settings that outlive the device, with their values before the test.
    before: Vec<(PathBuf, String)>,
}

const ONLY: &str = "scheduler,nomerges,wbt";

impl LoopDisk {
    /// `None` if there are no loop devices, or their settings cannot be written.
    fn new() -> Option<LoopDisk> {
        let folder = Place::new();
        let backing = folder.path().join("backing");
        fs::write(&backing, random_mib()).unwrap();
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&backing)
            .output();
        let path = output.ok().filter(|output| output.status.success());
        let path = path.map(|output| String::from_utf8(output.stdout).unwrap());
        let Some(name) = path.and_then(|path| Some(path.trim().strip_prefix("/dev/")?.to_owned()))
        else {
            skip("no loop device");
            return None;
        };
        let queue = Path::new("/sys/block").join(&name).join("queue");
        let before = ["scheduler", "nr_requests", "nomerges", "wbt_lat_usec"].map(|name| {
            let file = queue.join(name);
            let text = fs::read_to_string(&file).unwrap_or_default();
            let chosen = text.split(['[', ']']).nth(1);
            let value = chosen.unwrap_or(text.trim()).to_owned();
            (file, value)
        });
        let disk = LoopDisk {
            folder,
            name,
            before: before.to_vec(),
        };
        for (setting, value) in [
            ("scheduler", "mq-deadline"),
            ("nr_requests", "77"),
            ("iosched/read_expire", "333"),
            ("nomerges", "0"),
        ] {
            if fs::write(disk.setting(setting), value).is_err() {
                skip("no mq-deadline, or settings cannot be written");
                return None;
            }
        }
        Some(disk)
    }

    fn setting(&self, name: &str) -> PathBuf {
        Path::new("/sys/block").join(format!("{}/queue/{name}", self.name))
    }

    /// The values of the settings now, joined to one text.
    fn state(&self) -> String {
        let names = split("scheduler nr_requests iosched/read_expire nomerges wbt_lat_usec");
        let value = |name: &str| fs::read_to_string(self.setting(name)).unwrap_or_default();
        names.into_iter().map(value).collect()
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn line(&self, more: &str) -> String {
        let (name, journal) = (&self.name, self.journal());
        let journal = journal.display();
        format!("doctor --fix --only {ONLY} /dev/{name} --journal {journal} {more}")
    }

    fn fix(&self, more: &str) -> CommandOutcome {
        self.folder.q2c(self.line(more))
    }

    fn restore(&self) -> String {
        let line = format!("restore --journal {}", self.journal().display());
        self.folder.done(line)
    }

    /// Starts the fix with a shell's command. Returns once that command has printed its process id.
    fn start(&self, script: &str) -> (Child, i32) {
        let line = self.line("");
        let arguments = [&words(&line)[..], &["--", "sh", "-c", script]].concat();
        let mut command = q2c_command(self.folder.path(), &arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let output = child.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        (child, line.trim().parse().unwrap())
    }

    fn is_fixed(&self) -> bool {
        let scheduler = fs::read_to_string(self.setting("scheduler")).unwrap();
        let merges = fs::read_to_string(self.setting("nomerges")).unwrap();
        scheduler.contains("[none]") && merges.trim() == "2"
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        for (file, value) in &self.before {
            // A kernel without the setting has no such file.
            fs::write(file, value).ok();
        }
        let path = format!("/dev/{}", self.name);
        let detached = Command::new("losetup").args(["--detach", &path]).status();
        let is_detached = detached.is_ok_and(|status| status.success());
        assert!(is_detached, "detach {path}");
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    let Some(disk) = LoopDisk::new() else { return };
    let before = disk.state();
    let fix = disk.fix("--dry-run --json").json();
    assert_eq!(fix["schema"], "q2c.doctor-fix/1");
    assert_eq!(fix["dry_run"], true);
    let changes = fix.list("changes");
    let scheduler = &changes[0];
    let planned = ["check", "old", "new", "state"].map(|key| scheduler[key].as_str().unwrap());
    assert_eq!(planned, ["scheduler", "mq-deadline", "none", "planned"]);
    let of_device = |change: &Value| change["file"].as_str().unwrap().contains(&disk.name);
    assert!(changes.iter().all(of_device), "{changes:?}");
    disk.folder.put("fix.json", fix.to_string());
    let again = disk.folder.done("report fix.json");
    let text = disk.fix("--dry-run").done();
    assert_eq!(again, text);
    has_words(&text, "settings to be changed | queue/nomerges");
    assert_eq!(disk.state(), before);
    assert!(!disk.journal().exists());
}

#[test]
fn settings_are_changed_for_a_command_and_its_exit_code_is_passed_on() {
    let Some(disk) = LoopDisk::new() else { return };
    let before = disk.state();
    let [scheduler, merges] = ["scheduler", "nomerges"].map(|name| disk.setting(name));
    let script = format!("cat {} {}; exit 3", scheduler.display(), merges.display());
    let ended = disk.fix(&format!("-- sh -c '{script}'"));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    // Standard output belongs to the command alone.
    assert!(ended.stdout.starts_with("[none]"), "{}", ended.stdout);
    assert!(ended.stdout.ends_with("\n2\n"), "{}", ended.stdout);
    let (planned, done) = ended.stderr.split_once("changed: ").unwrap();
    has_words(planned, "mq-deadline");
    has_words(done, "put back: ");
    assert_eq!(disk.state(), before);
    let gone = disk.fix("-- /no/such/program");
    assert_eq!(gone.code, 2, "{}", gone.stderr);
    assert_eq!(disk.state(), before);
    assert_eq!(disk.restore(), "nothing to restore\n");
}

#[test]
fn settings_stay_until_they_are_restored() {
    let Some(disk) = LoopDisk::new() else { return };
    let before = disk.state();
    let fix = disk.fix("--json");
    has_words(&fix.stderr, "q2c restore --journal");
    let fix = fix.json();
    let changed = |change: &Value| change["state"] == "changed";
    assert!(fix.list("changes").iter().all(changed));
    assert!(disk.is_fixed());
    let again = disk.fix("--json").json();
    assert_eq!(again["changes"], Value::Array(vec![]), "it is well already");
    has_words(&disk.restore(), "nomerges");
    assert_eq!(disk.state(), before);
}

#[test]
fn a_signal_is_passed_on_and_settings_are_put_back() {
    let Some(disk) = LoopDisk::new() else { return };
    let before = disk.state();
    let (mut child, _) = disk.start("trap 'exit 9' TERM; echo $$; while :; do sleep 0.05; done");
    assert!(disk.is_fixed());
    let q2c = Pid::from_child(&child);
    kill_process(q2c, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
    assert_eq!(disk.state(), before);
    let (mut child, _) = disk.start("echo $$; exec sleep 600");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert_eq!(disk.state(), before);
}

#[test]
fn what_a_killed_fix_left_is_restored() {
    let Some(disk) = LoopDisk::new() else { return };
    let before = disk.state();
    let (mut child, command_pid) = disk.start("echo $$; exec sleep 600");
    assert!(disk.is_fixed());
    child.kill().unwrap();
    child.wait().unwrap();
    kill_process(Pid::from_raw(command_pid).unwrap(), Signal::KILL).unwrap();
    assert!(disk.is_fixed());
    disk.restore();
    assert_eq!(disk.state(), before);
    assert_eq!(disk.restore(), "nothing to restore\n");
}
