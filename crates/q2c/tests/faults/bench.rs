//! A folder for each test, in which the program runs.

pub(crate) use crate::words::{Phrases, has_words, split, words};
use q2c_result::Exit;
use q2c_testkit::{random_mib, strict_json};
use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};
use serde_json::Value;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) const Q2C: &str = env!("CARGO_BIN_EXE_q2c");
/// A simulated device slow enough for short recordings.
pub(crate) const SIM: &str = "sim:400us";
const PATIENCE: Duration = Duration::from_secs(55);
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A temporary folder on a disk, with the home folder, the runs and the targets of a test.
pub(crate) struct FaultBench {
    dir: TempDir,
}

impl FaultBench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        // Some tests run as another user, who must be able to enter the folder.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        FaultBench { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        path.display().to_string()
    }

    /// A loop device over a file; `None` if there are no loop devices.
    pub(crate) fn loop_device(&self, file: &str) -> Option<String> {
        if !works("losetup", &["--version"]) {
            return None;
        }
        let made = self.by("losetup", &["--find", "--show", file]);
        made.status.success().then(|| made.stdout.trim().to_owned())
    }

    /// Writes 1 MiB of random data as a target, and returns the path.
    pub(crate) fn target(&self) -> String {
        self.file("target", &random_mib())
    }

    pub(crate) fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("HOME", self.path("home"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_STATE_HOME", self.path("state"));
        command
    }

    pub(crate) fn q2c(&self, args: &[&str]) -> FaultOutcome {
        self.begin(args).end()
    }

    pub(crate) fn run(&self, line: &str) -> FaultOutcome {
        self.q2c(&words(line))
    }

    /// Runs a short tune of `target` to its end.
    pub(crate) fn tune(&self, target: &str, more: &[&str]) -> FaultOutcome {
        self.q2c(&tune(target, more))
    }

    /// Runs another program, such as one that starts q2c, to its end.
    pub(crate) fn by(&self, program: &str, args: &[&str]) -> FaultOutcome {
        self.start(self.command(program, args)).end()
    }

    /// Runs a command as the user `nobody`, who has no rights.
    pub(crate) fn by_nobody(&self, args: &[&str]) -> FaultOutcome {
        self.by("setpriv", &[&NOBODY[..], args].concat())
    }

    /// Runs a script in a mount namespace of its own.
    pub(crate) fn mounting(&self, script: &str) -> FaultOutcome {
        self.by("unshare", &["-m", "sh", "-c", script])
    }

    /// Starts q2c, sends it a signal once it has printed `text`, and waits for its end.
    pub(crate) fn stopped(&self, args: &[&str], text: &str, signal: Signal) -> FaultOutcome {
        let mut running = self.begin(args);
        running.says(text).signal(signal);
        running.end()
    }

    pub(crate) fn begin(&self, args: &[&str]) -> RunningCommand {
        self.start(self.command(Q2C, args))
    }

    /// Starts `command` in a new process group. Its output goes to files.
    pub(crate) fn start(&self, mut command: Command) -> RunningCommand {
        let folder = tempfile::tempdir_in(self.dir.path()).unwrap();
        let (out, err) = (folder.path().join("stdout"), folder.path().join("stderr"));
        command
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .process_group(0);
        RunningCommand {
            child: command.spawn().unwrap(),
            folder,
        }
    }

    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("runs")) else {
            return Vec::new();
        };
        let paths = entries.map(|e| e.unwrap().path());
        paths.filter(|p| p.is_dir()).collect()
    }

    /// Checks that there is exactly one run folder, that it is complete and has this state. Returns
    /// the folder.
    pub(crate) fn run_is(&self, state: &str) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        assert_whole(&runs[0]);
        assert_eq!(state_of(&runs[0]), state);
        runs[0].clone()
    }

    pub(crate) fn assert_no_runs(&self) {
        let count = fs::read_dir(self.path("runs")).map_or(0, Iterator::count);
        assert_eq!(count, 0);
    }
}

pub(crate) fn tune<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["tune", target, "--seconds", "0.1", "--trials", "1"];
    args.extend(more);
    args
}

/// Arguments like [`tune`], but in real time, for a test that acts while the command runs.
pub(crate) fn real_tune<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&tune(target, more)[..], &["--real-time"]].concat()
}

/// Changes a run's plan, and its checksum in the run's state, so that the run can be resumed.
pub(crate) fn change_plan(run: &Path, plan: &str) {
    fs::write(run.join("plan.toml"), plan).unwrap();
    let path = run.join("state.json");
    let mut state = json(&path);
    let mut checksum = DefaultHasher::new();
    checksum.write(plan.as_bytes());
    let old_digits = state["plan"].as_str().unwrap().len();
    state["plan"] = format!("{:016x}", checksum.finish()).into();
    assert_eq!(old_digits, 16);
    fs::write(&path, state.to_string()).unwrap();
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

pub(crate) fn result(run: &Path) -> Value {
    json(&run.join("result.json"))
}

pub(crate) fn state_of(run: &Path) -> String {
    let state = json(&run.join("state.json"));
    state["state"].as_str().unwrap().to_owned()
}

/// Checks that a run folder has no temporary file, and that every JSON file in it can be read.
pub(crate) fn assert_whole(run: &Path) {
    for entry in fs::read_dir(run).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(!name.starts_with('.') && !name.ends_with(".tmp"), "{name}");
        let text = fs::read_to_string(&path).unwrap_or_default();
        if name.ends_with(".json") {
            json(&path);
        }
        if name.ends_with(".jsonl") {
            assert_eq!(lines(&path), text.lines().count());
        }
    }
}

/// Number of lines that are valid JSON.
pub(crate) fn lines(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let is_json = |line: &&str| serde_json::from_str::<Value>(line).is_ok();
    text.lines().filter(is_json).count()
}

pub(crate) struct RunningCommand {
    child: Child,
    folder: TempDir,
}

impl RunningCommand {
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// Waits until the command has printed `text` on stderr.
    pub(crate) fn says(&mut self, text: &str) -> &mut Self {
        let begun = Instant::now();
        while !self.text("stderr").contains(text) {
            self.check_patience(begun);
            self.still_runs(text);
        }
        self
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> &mut Self {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self
    }

    /// Waits a moment, and checks that the command still runs. If not, the message names what was
    /// `awaited`.
    pub(crate) fn still_runs(&mut self, awaited: &str) {
        let ended = self.child.try_wait().unwrap();
        let stderr = self.text("stderr");
        assert!(ended.is_none(), "ended before `{awaited}`: {stderr}");
        std::thread::sleep(LOOK_INTERVAL);
    }

    /// Waits for the end of the command. No process of its group may remain.
    pub(crate) fn end(self) -> FaultOutcome {
        let group = Pid::from_child(&self.child);
        let outcome = self.end_with_others();
        let signalled = test_kill_process_group(group);
        assert!(signalled.is_err(), "processes are left");
        outcome
    }

    /// Waits like [`RunningCommand::end`], but other processes may remain for a moment.
    pub(crate) fn end_with_others(mut self) -> FaultOutcome {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            self.check_patience(begun);
            std::thread::sleep(LOOK_INTERVAL);
        };
        FaultOutcome {
            status,
            stdout: self.text("stdout"),
            stderr: self.text("stderr"),
        }
    }

    fn check_patience(&mut self, begun: Instant) {
        if begun.elapsed() > PATIENCE {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
            panic!("no end after {PATIENCE:?}: {}", self.text("stderr"));
        }
    }
}

#[derive(Debug)]
pub(crate) struct FaultOutcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl FaultOutcome {
    /// The printed JSON of a command that must succeed.
    pub(crate) fn json(&self) -> Value {
        self.exits(Exit::Done);
        strict_json(&self.stdout)
    }

    /// Checks that the command failed: with this exit code, nothing on stdout, and a last line on
    /// stderr that says what failed and contains each of `phrases`.
    pub(crate) fn fails(&self, exit: Exit, phrases: &(impl Phrases + ?Sized)) {
        self.exits(exit);
        assert_eq!(self.stdout, "", "{self:#?}");
        let failed = |line: &&str| line.starts_with("q2c: failed to ");
        assert_eq!(self.stderr.lines().filter(failed).count(), 1, "{self:#?}");
        let last = self.stderr.lines().last().unwrap();
        assert!(failed(&last), "{self:#?}");
        has_words(last, phrases);
    }

    /// Checks like [`FaultOutcome::fails`], with nothing else on stderr.
    pub(crate) fn refuses(&self, exit: Exit, phrases: &(impl Phrases + ?Sized)) {
        self.fails(exit, phrases);
        assert_eq!(self.stderr.lines().count(), 1, "{self:#?}");
    }

    pub(crate) fn exits(&self, exit: Exit) {
        let code = i32::from(exit.code());
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
    }

    pub(crate) fn killed_by(&self, signal: Signal) {
        assert_eq!(self.status.signal(), Some(signal.as_raw()), "{self:#?}");
    }
}

pub(crate) fn works(program: &str, args: &[&str]) -> bool {
    let tried = Command::new(program)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

/// True if the test can mount in a namespace of its own.
pub(crate) fn can_mount() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| works("unshare", &["-m", "mount", "-t", "tmpfs", "none", "/mnt"]))
}

/// True if programs can run as another user who may read the built program.
pub(crate) fn can_be_nobody() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| works("setpriv", &[&NOBODY[..], &[Q2C, "--version"]].concat()))
}

/// Arguments of setpriv for a user without rights.
const NOBODY: [&str; 3] = ["--reuid=65534", "--clear-groups", "--inh-caps=-all"];
