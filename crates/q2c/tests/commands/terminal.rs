//! A terminal for tests.

use crate::words::words;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A terminal of 24 lines in which q2c runs.
pub(crate) struct Terminal {
    master: File,
    pub slave: OwnedFd,
    before: Termios,
    pub child: Child,
    written: Receiver<Vec<u8>>,
    /// Bytes that do not make a complete character yet.
    unread: Vec<u8>,
    seen: String,
}

impl Terminal {
    /// q2c with this command line, in the tests' folder and 100 columns.
    pub(crate) fn with(line: &str) -> Self {
        Self::of_columns(100, Path::new("."), line)
    }

    /// q2c with this command line, in `folder` and this number of columns.
    pub(crate) fn of_columns(columns: u16, folder: &Path, line: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size).unwrap();
        let before = tcgetattr(&slave).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_q2c"))
            .args(words(line))
            .current_dir(folder)
            .env("TERM", "xterm-256color")
            .env_remove("COLUMNS")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let master = File::from(master);
        let (sender, written) = channel();
        let mut reader = master.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal {
            master,
            slave,
            before,
            child,
            written,
            unread: Vec::new(),
            seen: String::new(),
        }
    }

    fn read(&mut self, patience: Duration) -> bool {
        match self.written.recv_timeout(patience) {
            Ok(bytes) => {
                self.unread.extend(bytes);
                let end = match std::str::from_utf8(&self.unread) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => self.unread.len(),
                };
                let complete: Vec<u8> = self.unread.drain(..end).collect();
                self.seen += &String::from_utf8_lossy(&complete);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Reads what there is for a moment, and says whether `text` is in what is unread.
    pub(crate) fn has_shown(&mut self, text: &str) -> bool {
        self.read(Duration::from_millis(50));
        self.seen.contains(text)
    }

    /// Waits until `text` is written, after the text of the previous call.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) {
        let begun = Instant::now();
        while !self.seen.contains(text) {
            let patient = begun.elapsed() < Duration::from_secs(30);
            assert!(patient, "no {text}: {}", self.seen);
            let ended = self.child.try_wait().unwrap().is_some();
            assert!(!ended, "ended: {}", self.seen);
            self.read(Duration::from_millis(50));
        }
        let from = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..from);
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end. Returns the exit code and the text since the last wait. Checks that the
    /// terminal's modes are as before.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            self.read(Duration::from_millis(20));
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let patient = begun.elapsed() < Duration::from_secs(30);
            assert!(patient, "no end: {}", self.seen);
        };
        while self.read(Duration::from_millis(200)) {}
        let after = tcgetattr(&self.slave).unwrap();
        let modes = |t: &Termios| (t.local_modes, t.input_modes, t.output_modes);
        assert_eq!(modes(&after), modes(&self.before), "raw mode is over");
        (status.code(), std::mem::take(&mut self.seen))
    }
}

/// Checks that the text never exceeds the width of a terminal with `columns` columns. Above a
/// progress bar, a line is padded with blanks to the edge instead of ended.
#[track_caller]
pub(crate) fn fits(columns: usize, text: &str) {
    let drawn = text.replace("\u{1b}[2K", "\n");
    for line in without_escapes(&drawn).split(['\n', '\r']) {
        let line: Vec<char> = line.trim_end().chars().collect();
        let mut filled = line.chunks(columns);
        filled.next_back();
        let is_padded = |part: &[char]| part.ends_with(&[' ', ' ']);
        let line: String = line.iter().collect();
        assert!(filled.all(is_padded), "{line}\n{text}");
    }
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let is_end = |c: char| c.is_ascii_alphabetic();
    let texts = parts.map(|part| part.split_once(is_end).map_or("", |(_, text)| text));
    first + &texts.collect::<String>()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // If the test passed, the program has already ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
