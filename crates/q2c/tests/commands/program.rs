//! Runs q2c and reads its output; also has the helpers that most tests use.

pub(crate) use crate::words::{Phrases, has_words, split, words};
pub(crate) use q2c_testkit::{shared_data, strict_json};
pub(crate) use serde_json::{Value, json};
pub(crate) use std::fs;
pub(crate) use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use tempfile::TempDir;

/// A folder for one test, in which q2c runs. It is also the user's home.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with_file(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = Place::new();
        folder.put(name, content);
        folder
    }

    /// A folder on a disk, below the build's folder.
    pub(crate) fn on_disk() -> Self {
        Place(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the words of a line. A word with blanks is put in single quotes.
    pub(crate) fn q2c(&self, line: impl AsRef<str>) -> CommandOutcome {
        run_q2c(self.path(), line.as_ref())
    }

    /// Runs a command that must succeed, and returns what it printed.
    #[track_caller]
    pub(crate) fn done(&self, line: impl AsRef<str>) -> String {
        self.q2c(line).done()
    }

    /// Runs a command that must succeed and print JSON.
    #[track_caller]
    pub(crate) fn json(&self, line: impl AsRef<str>) -> Value {
        self.q2c(line).json()
    }

    /// Runs a command, and sends SIGINT once a line of its stderr contains `text`. The returned
    /// stderr starts after that line. The command's stdout must be short, since it is read last.
    pub(crate) fn interrupted(&self, line: &str, text: &str) -> CommandOutcome {
        let mut command = q2c_command(self.path(), &words(line));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut lines = stderr.lines().map(Result::unwrap);
        if lines.any(|line| line.contains(text)) {
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        }
        let stderr: Vec<String> = lines.collect();
        CommandOutcome {
            stderr: stderr.join("\n"),
            ..CommandOutcome::from(child.wait_with_output().unwrap())
        }
    }

    pub(crate) fn put(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        put(&self.path().join(name), content);
    }

    /// Writes a file like [`Place::put`], and waits until it is on the disk.
    pub(crate) fn put_synced(&self, name: &str, content: impl AsRef<[u8]>) {
        self.put(name, content);
        let file = fs::File::open(self.path().join(name)).unwrap();
        file.sync_all().unwrap();
    }

    pub(crate) fn text(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn only_run(&self) -> PathBuf {
        run_in(self.path())
    }

    /// Lets `q2c report` draw a run or a result in every form. Its JSON equals the result.
    #[track_caller]
    pub(crate) fn reports(&self, run: impl AsRef<Path>, result: &Value) -> Reports {
        let run = run.as_ref().display();
        let report = |form: &str| self.done(format!("report {run} {form}"));
        assert_eq!(strict_json(&report("--json")), *result);
        assert_eq!(report("--html again.html"), "");
        Reports {
            table: report(""),
            csv: report("--csv"),
            page: self.text("again.html"),
        }
    }
}

pub(crate) struct Reports {
    pub table: String,
    pub csv: String,
    pub page: String,
}

pub(crate) trait Lists {
    fn list(&self, key: &str) -> &[Value];
}

impl Lists for Value {
    #[track_caller]
    fn list(&self, key: &str) -> &[Value] {
        let list = self[key].as_array();
        list.unwrap_or_else(|| panic!("no list {key} in {self}"))
    }
}

fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// Skips with the name of the running test, through `q2c_testkit`.
pub(crate) fn skip(reason: &str) {
    q2c_testkit::skip(&test_name(), reason);
}

/// Runs a test like [`timed`], while no other test of `alone` or `waiting` runs.
pub(crate) fn alone(body: impl Fn()) {
    q2c_testkit::run_timed_alone(&test_name(), body);
}

/// Runs a test about time, again if it fails while others use the machine.
pub(crate) fn timed(body: impl Fn()) {
    q2c_testkit::run_timed(&test_name(), body);
}

/// Runs a test like [`timed`], which mostly waits, while no test of `alone` runs.
pub(crate) fn waiting(body: impl Fn()) {
    q2c_testkit::run_timed_waiting(&test_name(), body);
}

pub(crate) struct CommandOutcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for CommandOutcome {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        CommandOutcome {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl CommandOutcome {
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        strict_json(&self.done())
    }

    /// Checks that the command succeeded, and returns the lines of its stdout: the intervals, and
    /// the summary.
    #[track_caller]
    pub(crate) fn lines(self) -> (Vec<Value>, Value) {
        lines(&self.done())
    }

    /// Checks that the command failed with this exit code, printed nothing on stdout, and said each
    /// of `phrases` on stderr.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, phrases: &(impl Phrases + ?Sized)) {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        has_words(&self.stderr, phrases);
        assert_eq!(self.stdout, "");
    }
}

/// The lines of a live view: the intervals, and the summary, which is the last line.
#[track_caller]
pub(crate) fn lines(text: &str) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> = text.lines().map(strict_json).collect();
    let summary = lines.pop().expect("a last line");
    assert_eq!(summary["kind"], "summary");
    for line in &lines {
        assert_eq!(line["kind"], "interval", "{line}");
    }
    (lines, summary)
}

pub(crate) fn run_q2c(folder: &Path, line: &str) -> CommandOutcome {
    q2c(folder, &words(line))
}

/// Runs q2c in `folder`, which is also the user's home.
pub(crate) fn q2c(folder: &Path, arguments: &[&str]) -> CommandOutcome {
    q2c_command(folder, arguments).output().unwrap().into()
}

/// q2c in `folder`, ready to be started.
pub(crate) fn q2c_command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_q2c"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("COLUMNS", "120")
        .stdin(Stdio::null());
    command
}

/// Starts a command, and also returns its stdout.
pub(crate) fn spawn(mut command: Command, stderr: Stdio) -> (Child, BufReader<ChildStdout>) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr);
    let mut child = command.spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

#[track_caller]
pub(crate) fn number(value: &Value, pointer: &str) -> f64 {
    let figure = value.pointer(pointer).and_then(Value::as_f64);
    figure.unwrap_or_else(|| panic!("{pointer} in {value}"))
}

/// Checks simulated IOPS: a simulation of 2 s counts whole I/Os, so they come in steps of 0.5.
#[track_caller]
pub(crate) fn assert_iops(actual: f64, wanted: f64) {
    let off = (actual - wanted).abs();
    assert!(off <= 0.5, "{actual}, expected {wanted}");
}

/// Checks that two numbers are equal up to the rounding errors of sums of floats.
#[track_caller]
pub(crate) fn assert_close(got: f64, wanted: f64) {
    let error = (got - wanted).abs();
    assert!(error <= 1e-6 * wanted.abs(), "{got}, expected {wanted}");
}

/// A text in one line, with one blank between its words.
pub(crate) fn unwrapped(text: &str) -> String {
    split(text).join(" ")
}

/// Checks refusals like [`refuses_in`], in an empty folder.
#[track_caller]
pub(crate) fn refuses(cases: &[&str]) {
    refuses_in(tempfile::tempdir().unwrap().path(), cases);
}

/// Checks that q2c refuses commands. A case has the exit code, the command line, and phrases of the
/// message, separated by ` | `.
#[track_caller]
pub(crate) fn refuses_in(folder: &Path, cases: &[&str]) {
    for case in cases {
        let (code, line, phrases) = refusal(case);
        run_q2c(folder, line).refused(code, &phrases);
    }
}

/// The exit code, the command line and the phrases of a case.
pub(crate) fn refusal(case: &str) -> (i32, &str, Vec<&str>) {
    let mut parts = case.split(" | ");
    let mut part = || parts.next().unwrap_or_else(|| panic!("{case}"));
    let (code, line) = (part(), part());
    (code.parse().unwrap(), line, parts.collect())
}

/// The object of the array `list` whose `key` is `name`.
#[track_caller]
pub(crate) fn entry<'a>(result: &'a Value, list: &str, key: &str, name: &str) -> &'a Value {
    let entries = result[list].as_array().expect("an array");
    let matching = entries.iter().find(|entry| entry[key] == name);
    matching.unwrap_or_else(|| panic!("no {name} in {result}"))
}

pub(crate) fn run_in(folder: &Path) -> PathBuf {
    only_in(&folder.join("runs"))
}

pub(crate) fn only_in(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap();
    let entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

/// The texts of `key` in the objects of the array `list`.
#[track_caller]
pub(crate) fn texts<'a>(value: &'a Value, list: &str, key: &str) -> Vec<&'a str> {
    let entries = value[list].as_array().expect("an array").iter();
    let texts = entries.map(|entry| entry[key].as_str().expect("a text"));
    texts.collect()
}

/// Checks that a number is the expected one within a share of it.
#[track_caller]
pub(crate) fn assert_near(actual: f64, expected: f64, share: f64) {
    let off = (actual / expected - 1.0).abs();
    assert!(off <= share, "{actual}, expected {expected}");
}

pub(crate) fn put(path: &Path, content: impl AsRef<[u8]>) {
    fs::write(path, content).unwrap();
}

/// The address of a command's metrics, from its message on stderr.
#[track_caller]
pub(crate) fn read_address(stderr: &mut impl BufRead) -> String {
    let mut line = String::new();
    while !line.contains("/metrics") {
        line.clear();
        let read_bytes = stderr.read_line(&mut line).unwrap();
        assert!(read_bytes > 0, "no address was said");
    }
    let (_, address) = line.split_once("http://").unwrap();
    address.split_once('/').unwrap().0.to_owned()
}

/// Requests a path from an HTTP server, and returns the head and the body of the response.
#[track_caller]
pub(crate) fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}
