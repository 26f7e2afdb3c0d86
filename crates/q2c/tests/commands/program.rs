//! Runs q2c and reads its output.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a command ended.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Checks that the command succeeded, and returns its stdout.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    /// Checks that the command succeeded, and returns its stdout as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.done()).unwrap()
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

/// Runs q2c in `folder`, which also stands for the user's home.
pub fn q2c(folder: &Path, arguments: &[&str]) -> Ended {
    let output = Command::new(env!("CARGO_BIN_EXE_q2c"))
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// The number at a JSON pointer of a value.
#[track_caller]
pub fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} in {value}"))
}

/// Checks that two numbers are equal up to the rounding of sums of floats.
#[track_caller]
pub fn close(got: f64, wanted: f64) {
    let error = (got - wanted).abs();
    assert!(error <= 1e-6 * wanted.abs(), "{got}, expected {wanted}");
}

/// The path of a file of the shared sample data. When it is absent, the skip is printed and
/// counted, and `None` is returned.
pub fn shared_data(test: &str, name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("Q2C_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    let line = format!("skipped: {test}: no {name} (Q2C_SHARED_DATA names its folder)\n");
    print!("{line}");
    if let Some(log) = std::env::var_os("Q2C_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .expect("the skip log can be opened");
        // One write, so that lines of tests that run at the same time stay whole.
        log.write_all(line.as_bytes())
            .expect("the skip log can be written");
    }
    None
}

/// The only run in `folder`.
pub fn run_in(folder: &Path) -> PathBuf {
    let runs = fs::read_dir(folder.join("runs")).unwrap();
    let runs: Vec<PathBuf> = runs.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}
