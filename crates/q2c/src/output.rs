//! The output of the program: results go to stdout, messages to stderr.

use crate::progress::write_above_line;
use q2c_model::{Fault, OrFault};
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::Exit;
use q2c_run::whole_file;
use q2c_service::RecordedFacts;
use q2c_trace::UnfinishedFile;
use rustix::termios::Winsize;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{SystemTime, UNIX_EPOCH};

/// Characters of a message that are printed.
const MAX_MESSAGE_CHARS: usize = 4_000;

/// Prints a message to stderr; a closed stderr is ignored. Messages contain names and texts from
/// files, so control characters are made visible and not sent to the terminal.
pub(crate) fn say(line: &str) {
    if !is_answers_alone() {
        say_in_any_case(line);
    }
}

fn say_in_any_case(line: &str) {
    write_above_line(|| {
        writeln!(stderr(), "{}", fit_terminal(printable(line))).ok();
    });
}

/// Prints the command's fault on stderr, and returns the exit code of the process.
pub(crate) fn say_fault(fault: &Fault) -> ExitCode {
    // A fault takes one line, whatever names it contains.
    let message = fault.message().replace('\n', "\\n");
    say_in_any_case(&format!("q2c: failed to {message}"));
    ExitCode::from(fault.exit().code())
}

/// Breaks a message into lines that fit the terminal on stderr. If stderr is a file or a pipe, the
/// message stays one line, because programs read it by lines.
pub(crate) fn fit_terminal(message: String) -> String {
    if !stderr().is_terminal() {
        return message;
    }
    Screen::new(width_of(stderr()), false).message(&message)
}

/// A message with control characters made visible, except for line ends, and cut if it is very
/// long.
fn printable(message: &str) -> String {
    let mut chars = message.chars();
    let text = visible(chars.by_ref().take(MAX_MESSAGE_CHARS));
    match chars.count() {
        0 => text,
        more => format!("{text}... ({more} more characters)"),
    }
}

/// A text with control characters made visible, except for line ends and tabs.
fn visible(text: impl Iterator<Item = char>) -> String {
    with_escapes(text, &['\n', '\t'], |c| c.escape_unicode().to_string())
}

/// Replaces the hidden characters of a text by escapes, except for those in `allowed`.
fn with_escapes(
    text: impl Iterator<Item = char>,
    allowed: &[char],
    escape: impl Fn(char) -> String,
) -> String {
    let mut escaped = String::new();
    for c in text {
        if is_hidden(c) && !allowed.contains(&c) {
            escaped += &escape(c);
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// True if a terminal acts on a character instead of showing it: control characters, and those that
/// change the direction of writing.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// JSON with hidden characters in strings as escapes, which mean the same to a parser.
pub(crate) fn escape_json(json: &str) -> String {
    with_escapes(json.chars(), &['\n'], |c| {
        format!("\\u{:04x}", u32::from(c))
    })
}

/// Reports which recorded service times a simulated device has. Other devices have none.
pub(crate) fn say_service_times(device: &str, times: Option<&RecordedFacts>) {
    if let Some(times) = times.map(q2c_report::service_times) {
        say(&format!("{device}: service times: {times}"));
    }
}

/// Prints a result to stdout. A closed pipe is not a failure.
pub(crate) fn print(text: &str) -> Result<(), Fault> {
    print_while_read(text).map(|_| ())
}

/// Prints a part of a longer result to stdout. Returns false if the reader has closed the pipe.
pub(crate) fn print_while_read(text: &str) -> Result<bool, Fault> {
    check_written(writeln!(stdout(), "{}", text.trim_end_matches('\n')))
}

/// Prints a line of a live view, `to_stderr` if stdout is reserved for the result. Returns false if
/// the reader has closed the pipe.
pub(crate) fn print_line(line: &str, to_stderr: bool) -> Result<bool, Fault> {
    if to_stderr {
        say(line);
        return Ok(true);
    }
    print_while_read(line)
}

/// A text that replaces its predecessor on a terminal; elsewhere the texts follow each other.
#[derive(Default)]
pub(crate) struct Redrawn {
    shown_lines: usize,
}

impl Redrawn {
    /// Shows a text in place of the last one. Returns false if the reader has closed the pipe.
    pub(crate) fn show(&mut self, text: &str) -> Result<bool, Fault> {
        let text = text.trim_end();
        let mut clear_last = String::new();
        if self.shown_lines > 0 && stdout().is_terminal() {
            clear_last = format!("\x1b[{}F\x1b[J", self.shown_lines);
        }
        self.shown_lines = text.lines().count();
        print_while_read(&(clear_last + text))
    }
}

/// True if a text written to stdout arrived; false if the reader has closed the pipe.
pub(crate) fn check_written(written: io::Result<()>) -> Result<bool, Fault> {
    match written.and_then(|()| stdout().flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).or_fault(Exit::Device, "write the result"),
    }
}

pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Fault> {
    let json = serde_json::to_string_pretty(value).or_exit(Exit::Internal)?;
    print(&escape_json(&json))
}

/// Prints a result to stdout, as JSON if `as_json` is set, else as a report for people.
pub(crate) fn show(result: &(impl Serialize + Reported), as_json: bool) -> Result<Exit, Fault> {
    show_as(result, as_json, |screen| {
        let document = result.document();
        if is_answers_alone() {
            document.head(screen)
        } else {
            document.text(screen)
        }
    })
}

/// Prints a result like [`show`], with `text` as the report for people.
pub(crate) fn show_as(
    result: &impl Serialize,
    as_json: bool,
    text: impl FnOnce(Screen) -> String,
) -> Result<Exit, Fault> {
    if as_json {
        print_json(result)?;
    } else {
        print(&text(screen()))?;
    }
    Ok(Exit::Done)
}

/// Prints a value to stdout as a line of JSON and flushes it. Returns false if the reader has
/// closed the pipe.
pub(crate) fn print_json_line(value: &impl Serialize) -> Result<bool, Fault> {
    let line = serde_json::to_string(value).or_exit(Exit::Internal)?;
    print_while_read(&escape_json(&line))
}

/// Prints a table as CSV. On a terminal, control characters in names are made visible.
pub(crate) fn print_csv(table: &str) -> Result<(), Fault> {
    if stdout().is_terminal() {
        print(&visible(table.chars()))
    } else {
        print(table)
    }
}

/// The height of the terminal: `LINES`, else the height it reports, else 24 lines.
pub(crate) fn height() -> u16 {
    terminal_size("LINES", stdout(), |size| size.ws_row, 24)
}

/// The width of the output, and whether it has colour. Only a terminal has colour, unless
/// `NO_COLOR` is set.
pub(crate) fn screen() -> Screen {
    let colour = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Screen {
        verbose: VERBOSE.load(Relaxed),
        ..Screen::new(width_of(stdout()), colour)
    }
}

static VERBOSE: AtomicBool = AtomicBool::new(false);
static ANSWERS_ALONE: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_answers_alone() -> bool {
    ANSWERS_ALONE.load(Relaxed)
}

/// Results show their answers alone from now on, and messages are not shown.
pub(crate) fn set_answers_alone(is_alone: bool) {
    ANSWERS_ALONE.store(is_alone, Relaxed);
}

pub(crate) fn set_verbose(is_verbose: bool) {
    VERBOSE.store(is_verbose, Relaxed);
}

/// The width of lines for an output: `COLUMNS`, else the width of its terminal, else 120 columns.
fn width_of(output: impl AsFd) -> u16 {
    terminal_size("COLUMNS", output, |size| size.ws_col, 120)
}

/// The value of an environment variable, else the terminal's width or height, else the default.
fn terminal_size(variable: &str, output: impl AsFd, side: fn(Winsize) -> u16, default: u16) -> u16 {
    let value = std::env::var(variable).ok();
    let value = value.and_then(|text| text.parse().ok());
    let size = rustix::termios::tcgetwinsize(output).map_or(0, side);
    value.unwrap_or(if size > 0 { size } else { default })
}

/// The present Unix time in seconds, for the start of a result.
pub(crate) fn unix_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

pub(crate) fn read_fault(path: &Path, reason: impl Display) -> Fault {
    Fault::input(format!("read {}: {reason}", path.display()))
}

/// Reads a file that a user wrote by hand and named on the command line.
pub(crate) fn read_text(path: &Path) -> Result<String, Fault> {
    whole_file::read_named_text(path, whole_file::MAX_TEXT).map_err(|error| read_fault(path, error))
}

/// Writes a new file. An existing file is never overwritten, since it may be anything.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    NewFile::create(path)?.write(bytes)
}

/// A new file, created before the work whose result it will hold, so that an existing name or a
/// missing folder stops the work before it starts. Until the file is complete it has a hidden name.
/// If the value is dropped without [`write`](NewFile::write), the file is removed.
pub(crate) struct NewFile {
    path: PathBuf,
    file: UnfinishedFile,
}

impl NewFile {
    /// Creates the file. An existing file is never overwritten, since it may be anything.
    pub(crate) fn create(path: &Path) -> Result<Self, Fault> {
        if path.symlink_metadata().is_ok() {
            let reason = "expected a new name, found an existing file; remove it or name another";
            return Err(write_fault(Exit::Usage, path, reason));
        }
        let file = UnfinishedFile::create_for(path).map_err(|e| {
            let reason = format!("{e}; name a file in another folder");
            write_fault(Exit::from_output_error(&e), path, &reason)
        })?;
        Ok(NewFile {
            path: path.to_owned(),
            file,
        })
    }

    pub(crate) fn if_named(path: Option<&PathBuf>) -> Result<Option<Self>, Fault> {
        path.map(|path| NewFile::create(path)).transpose()
    }

    pub(crate) fn write_page(self, result: &impl Reported) -> Result<(), Fault> {
        let page = result.document().page().or_exit(Exit::Internal)?;
        self.write_and_say("report:", page.as_bytes())
    }

    /// Writes the file, and prints `word` and the file's path.
    pub(crate) fn write_and_say(self, word: &str, bytes: &[u8]) -> Result<(), Fault> {
        let path = self.path.clone();
        self.write(bytes)?;
        say(&format!("{word} {}", path.display()));
        Ok(())
    }

    /// Writes the complete file, waits until it is on the disk, and gives it its name.
    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<(), Fault> {
        let written = self.file.write_all(bytes);
        let written = written.and_then(|()| self.file.as_file().sync_all());
        written.map_err(|error| write_fault(Exit::Device, &self.path, &error.to_string()))?;
        self.file.name_or_keep(&self.path).map_err(|(error, kept)| {
            let note = kept.map(|path| format!("; the file is kept whole as {}", path.display()));
            let reason = format!("{error}{}", note.unwrap_or_default());
            write_fault(Exit::from_output_error(&error), &self.path, &reason)
        })
    }
}

fn write_fault(exit: Exit, path: &Path, reason: &str) -> Fault {
    Fault::new(exit, format!("write {}: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A terminal acts on none of the characters, and a JSON parser gets the original name.
    #[test]
    fn hidden_characters_are_shown_and_kept() {
        let name = "a\u{202e}b\u{9b}31mc\u{7}";
        assert_eq!(printable(name), "a\\u{202e}b\\u{9b}31mc\\u{7}");
        let json = escape_json(&serde_json::to_string_pretty(&[name]).unwrap());
        assert_eq!(json, "[\n  \"a\\u202eb\\u009b31mc\\u0007\"\n]");
        let back: [String; 1] = serde_json::from_str(&json).unwrap();
        assert_eq!(back, [name]);
    }

    #[test]
    fn a_new_file_has_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let count = || fs::read_dir(folder.path()).unwrap().count();
        let made = NewFile::create(&path).unwrap();
        assert!(!path.exists(), "a file without its content has the name");
        assert_eq!(count(), 1);
        drop(made);
        assert_eq!(count(), 0);
        let late = NewFile::create(&path).unwrap();
        fs::write(&path, "whole").unwrap();
        // The name was taken meanwhile, but the result is not lost.
        let refused = late.write(b"other").unwrap_err();
        assert_eq!(refused.exit(), Exit::Usage);
        let (_, kept) = refused.message().split_once("whole as ").unwrap();
        assert_eq!(fs::read(kept).unwrap(), b"other");
        fs::remove_file(kept).unwrap();
        let refusal = |path: &Path| NewFile::create(path).err().map(|failure| failure.exit());
        assert_eq!(refusal(&path), Some(Exit::Usage));
        assert_eq!(count(), 1);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(write_new(&path, b"other").unwrap_err().exit(), Exit::Usage);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        let nowhere = folder.path().join("none/page.html");
        assert_eq!(refusal(&nowhere), Some(Exit::Usage));
    }

    #[test]
    fn nothing_in_a_message_reaches_the_terminal_as_a_command() {
        for (said, wanted) in [
            ("read a/ä.csv: no end", "read a/ä.csv: no end"),
            ("\u{1b}]0;t\u{7}", "\\u{1b}]0;t\\u{7}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("x\u{202e}gpj", "x\\u{202e}gpj"),
        ] {
            assert_eq!(printable(said), wanted);
        }
        let long = printable(&"x".repeat(5_000_000));
        let end = "x... (4996000 more characters)";
        assert!(long.ends_with(end), "{}", long.len());
    }
}
