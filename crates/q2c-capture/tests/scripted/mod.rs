//! Builds a C program of this folder, which runs code of a probe outside the kernel, and runs it on
//! a script of events.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds `tests/NAME.c` in `folder`.
pub(crate) fn program(folder: &Path, name: &str) -> PathBuf {
    let program = folder.join(name);
    let built = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        // The programs of the kernel have pragmas for clang, and functions that one test leaves
        // unused.
        .args(["-Wno-unknown-pragmas", "-Wno-unused-function"])
        .arg("-I")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf"))
        .arg("-o")
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}.c")))
        .status();
    assert!(built.expect("a C compiler runs").success());
    program
}

/// Runs the program on a script with one event a line. Returns the text that it prints.
pub(crate) fn run_script(program: &Path, script: &str) -> String {
    let mut run = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines: String = script
        .lines()
        .map(|line| format!("{}\n", line.trim()))
        .filter(|line| line.len() > 1)
        .collect();
    let mut input = run.stdin.take().expect("a pipe");
    // The program may print while it reads, and both pipes are of limited size.
    let writes = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let done = run.wait_with_output().expect("it ends");
    writes.join().expect("it writes").expect("it reads");
    assert!(done.status.success(), "{script}");
    String::from_utf8(done.stdout).expect("text")
}
