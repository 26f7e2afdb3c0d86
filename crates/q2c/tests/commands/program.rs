//! Runs q2c and reads its output.

pub use q2c_testkit::shared_data;
use q2c_testkit::strict_json;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a command ended.
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Checks that the command succeeded, and returns its stdout.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    /// Checks that the command succeeded, and returns its stdout as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        strict_json(&self.done())
    }

    /// Checks that the command succeeded, and returns the lines of its stdout: those of intervals,
    /// and the summary.
    #[track_caller]
    pub fn lines(self) -> (Vec<Value>, Value) {
        lines(&self.done())
    }

    /// Checks that the command failed with this exit code, printed nothing on stdout, and named
    /// each of `words` on stderr.
    #[track_caller]
    pub fn refused(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word}: {}", self.stderr);
        }
        assert_eq!(self.stdout, "");
    }
}

/// The lines of a live view: those of intervals, and the summary, which is the last line.
#[track_caller]
pub fn lines(text: &str) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> = text.lines().map(strict_json).collect();
    let summary = lines.pop().expect("a last line");
    assert_eq!(summary["kind"], "summary");
    for line in &lines {
        assert_eq!(line["kind"], "interval", "{line}");
    }
    (lines, summary)
}

/// Runs q2c in `folder`, which also stands for the user's home.
pub fn q2c(folder: &Path, arguments: &[&str]) -> Finished {
    let output = q2c_command(folder, arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Finished {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// q2c in `folder`, ready to be started.
pub fn q2c_command(folder: &Path, arguments: &[&str]) -> Command {
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

/// The number at a JSON pointer of a value.
#[track_caller]
pub fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} in {value}"))
}

/// Checks simulated IOPS: a simulation of 2 s counts whole I/Os, so they come in steps of 0.5.
#[track_caller]
pub fn close_iops(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 0.5, "{found}, expected {wanted}");
}

/// Checks that two numbers are equal up to the rounding of sums of floats.
#[track_caller]
pub fn close(got: f64, wanted: f64) {
    let error = (got - wanted).abs();
    assert!(error <= 1e-6 * wanted.abs(), "{got}, expected {wanted}");
}

/// Checks that q2c refuses each command with its exit code and names the word.
#[track_caller]
pub fn refuses(commands: &[(i32, &str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    for (code, words, said) in commands {
        let words: Vec<&str> = words.split(' ').collect();
        q2c(folder.path(), &words).refused(*code, &[said]);
    }
}

/// The object of the array `list` whose `key` is `name`.
#[track_caller]
pub fn entry<'a>(result: &'a Value, list: &str, key: &str, name: &str) -> &'a Value {
    let entries = result[list].as_array().expect("an array");
    let found = entries.iter().find(|entry| entry[key] == name);
    found.unwrap_or_else(|| panic!("no {name} in {result}"))
}

/// The only run in `folder`.
pub fn run_in(folder: &Path) -> PathBuf {
    let runs = fs::read_dir(folder.join("runs")).unwrap();
    let runs: Vec<PathBuf> = runs.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}

/// The address at which a command serves its metrics, by what it says on stderr.
#[track_caller]
pub fn served_at(stderr: &mut impl BufRead) -> String {
    let mut said = String::new();
    while !said.contains("/metrics") {
        said.clear();
        assert!(
            stderr.read_line(&mut said).unwrap() > 0,
            "no address was said"
        );
    }
    let (_, address) = said.split_once("http://").unwrap();
    address.split_once('/').unwrap().0.to_owned()
}

/// Asks a server of HTTP for a path: the head of the answer, and its body.
#[track_caller]
pub fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}
