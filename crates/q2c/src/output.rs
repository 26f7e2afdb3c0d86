//! stdout is the result, stderr the talk.

use crate::failure::{Fails, Failure};
use q2c_report::terminal::Screen;
use q2c_result::Exit;
use serde::Serialize;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::path::Path;

/// A line of talk. A closed stderr is no reason to stop.
pub fn say(line: &str) {
    writeln!(stderr(), "{line}").ok();
}

/// A result. A reader that has seen enough is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    print_while_read(text).map(|_| ())
}

/// A part of a result that goes on. False when its reader has seen enough.
pub fn print_while_read(text: &str) -> Result<bool, Failure> {
    match writeln!(stdout(), "{}", text.trim_end_matches('\n')) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(
            Exit::Device,
            format!("write the result: {error}"),
        )),
    }
}

/// A result as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&serde_json::to_string_pretty(value).or_exit(Exit::Internal)?)
}

/// The terminal: its width, and colour only where somebody looks.
pub fn screen() -> Screen {
    const WIDTH: u16 = 120;
    let terminal = stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let size = rustix::termios::tcgetwinsize(stdout())
        .ok()
        .map(|size| size.ws_col);
    let width = columns.or(size.filter(|&w| w > 0)).unwrap_or(WIDTH);
    Screen {
        width,
        colour: terminal && std::env::var_os("NO_COLOR").is_none(),
    }
}

/// A file that is there already is not written over: it may be anything.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |exit, why: String| Failure::new(exit, format!("write {}: {why}", path.display()));
    let mut file = match fs::File::create_new(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let why = "expected a new name, found an existing file; remove it or name another";
            return Err(failed(Exit::Usage, why.to_owned()));
        }
        Err(e) => return Err(failed(Exit::Device, e.to_string())),
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|e| {
        // Half a page is worse than none; the first error is the one to report.
        fs::remove_file(path).ok();
        failed(Exit::Device, e.to_string())
    })
}
