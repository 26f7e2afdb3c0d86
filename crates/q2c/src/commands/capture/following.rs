//! Handles the I/Os of a capture while it runs, and decides when it ends.

use super::Child;
use crate::progress::Line;
use q2c_capture::{Follower, Recorder};
use q2c_host::Roots;
use q2c_host::tasks::{Kin, ProcessFamily};
use q2c_model::{Exit, Fault};
use q2c_run::runner::time_text;
use q2c_trace::recording::{RecordedIo, RecordingSorter};
use q2c_trace::span::NONE_32;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) trait CaptureWatcher {
    fn io(&mut self, io: &RecordedIo);

    /// Called after each read of the rings. Returns false to end the capture.
    ///
    /// # Errors
    /// The I/Os so far cannot be shown.
    fn update(&mut self, recorder: &Recorder) -> Result<bool, Fault>;
}

/// A watcher that counts the I/Os and shows their number on a terminal each second.
pub(crate) struct CaptureCounter {
    /// `None` if a command runs, since its output uses the terminal.
    line: Option<Line>,
    begun: Instant,
    length_s: Option<f64>,
    last_update: Duration,
    pub ios: u64,
    /// Counts of the command's own I/Os; `None` without a command.
    pub command_ios: Option<CommandIos>,
}

impl CaptureCounter {
    /// Time between two updates of the number. Drawing loads the machine that is observed.
    const UPDATE_INTERVAL: Duration = Duration::from_secs(1);

    /// A watcher for a capture of `length_s`; `None` means no limit. `alone` is true if no command
    /// runs.
    pub(crate) fn new(length_s: Option<f64>, alone: bool, command_ios: Option<CommandIos>) -> Self {
        CaptureCounter {
            line: alone.then(|| Line::with_message("")),
            begun: Instant::now(),
            length_s,
            last_update: Duration::ZERO,
            ios: 0,
            command_ios,
        }
    }
}

fn progress(ios: u64, now: Duration, length_s: Option<f64>) -> String {
    let now = time_text(now.as_secs_f64());
    let length_suffix = length_s.map_or_else(String::new, |s| format!(" of {}", time_text(s)));
    format!("{ios} I/Os in {now}{length_suffix}")
}

impl CaptureWatcher for CaptureCounter {
    fn io(&mut self, io: &RecordedIo) {
        self.ios += 1;
        if let Some(command_ios) = &mut self.command_ios {
            command_ios.io(io);
        }
    }

    fn update(&mut self, _: &Recorder) -> Result<bool, Fault> {
        let now = self.begun.elapsed();
        if let Some(line) = &self.line
            && now >= self.last_update + Self::UPDATE_INTERVAL
        {
            line.say(progress(self.ios, now, self.length_s));
            self.last_update = now;
        }
        Ok(true)
    }
}

/// Records the I/Os of a capture. The capture ends when its time is over, its command has ended,
/// its watcher stops it, or a signal arrives. A command that still runs then is ended.
pub(super) struct CaptureFollower<'a, W> {
    pub begun: Instant,
    pub length: Option<Duration>,
    pub child: &'a mut Child,
    pub recording: &'a mut RecordingSorter,
    pub watch: &'a mut W,
    pub stop: &'a AtomicBool,
}

impl<W: CaptureWatcher> Follower for CaptureFollower<'_, W> {
    /// `Interrupted` if a signal ended a capture that has a time or a command to end it. Else
    /// `Done`: then the signal was the end that the user wanted, or there was no signal.
    type End = Exit;
    type Error = Fault;

    fn take(&mut self, io: RecordedIo) -> Result<(), Fault> {
        self.watch.io(&io);
        self.recording.push(io)
    }

    fn look(&mut self, recorder: &Recorder) -> Result<ControlFlow<Exit, Duration>, Fault> {
        if self.stop.load(Ordering::Acquire) {
            self.child.stop()?;
            // If neither a time nor a command limits the capture, a signal is its normal end.
            let bound = self.length.is_some() || self.child.exists();
            let end = if bound { Exit::Interrupted } else { Exit::Done };
            return Ok(ControlFlow::Break(end));
        }
        if self.child.is_over()? {
            return Ok(ControlFlow::Break(Exit::Done));
        }
        let length = self.length;
        let remaining = length.map(|length| length.saturating_sub(self.begun.elapsed()));
        if remaining.is_some_and(|time| time.is_zero()) || !self.watch.update(recorder)? {
            self.child.stop()?;
            return Ok(ControlFlow::Break(Exit::Done));
        }
        Ok(ControlFlow::Continue(remaining.unwrap_or(Duration::MAX)))
    }
}

/// Counts the I/Os of a command and its children. The I/Os of other processes are recorded too.
pub(crate) struct CommandIos {
    family: ProcessFamily,
    /// I/Os of the command and its children, by the name of the process.
    names: BTreeMap<String, u64>,
    all: u64,
    /// I/Os of processes that had ended before they could be looked up.
    gone: u64,
}

impl CommandIos {
    pub(crate) fn new(roots: &Roots, command_pid: u32) -> Self {
        CommandIos {
            family: ProcessFamily::new(roots, command_pid),
            names: BTreeMap::new(),
            all: 0,
            gone: 0,
        }
    }

    pub(crate) fn io(&mut self, io: &RecordedIo) {
        self.all += 1;
        let pid = io.span.pid;
        match self.family.kin(if pid == NONE_32 { 0 } else { pid }) {
            Kin::Member => *self.names.entry(io.name().unwrap_or_default()).or_default() += 1,
            Kin::Gone => self.gone += 1,
            Kin::Other => {}
        }
    }

    pub(crate) fn ios(&self) -> u64 {
        self.names.values().sum()
    }

    /// Says how many recorded I/Os belong to the command, and how to select them.
    pub(crate) fn message(&self, trace: &Path) -> String {
        let names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        let (ios, total) = (self.ios(), self.all);
        let mut sentence = format!("{ios} of {total} I/Os are of the command and its children");
        if names.len() > 1 {
            sentence += &format!(" ({})", names.join(", "));
        }
        if self.gone > 0 {
            sentence += &format!(
                "; whether {} more are, is not known: their processes had ended before they were looked up",
                self.gone
            );
        }
        let filter = format!("; q2c analyze {} --process", trace.display());
        match &names[..] {
            [] => sentence,
            [one] => format!("{sentence}{filter} {one} takes them alone"),
            _ => format!("{sentence}{filter} NAME takes those of one name alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_tells_its_number_and_its_time() {
        let now = Duration::from_millis(3_040);
        assert_eq!(progress(812, now, Some(10.0)), "812 I/Os in 3.0 s of 10 s");
        assert_eq!(progress(0, now, None), "0 I/Os in 3.0 s");
    }

    #[test]
    fn the_commands_ios_are_told_with_the_way_to_take_them() {
        let mut counter = CommandIos::new(&Roots::live(), 7);
        (counter.all, counter.gone) = (30, 0);
        let sentence = |counter: &CommandIos| counter.message(Path::new("t.parquet"));
        let none = "0 of 30 I/Os are of the command and its children";
        assert_eq!(sentence(&counter), none);
        counter.names.insert("fio".to_owned(), 20);
        assert_eq!(
            sentence(&counter),
            "20 of 30 I/Os are of the command and its children; q2c analyze t.parquet --process \
             fio takes them alone"
        );
        counter.names.insert("sh".to_owned(), 2);
        counter.gone = 3;
        assert_eq!(
            sentence(&counter),
            "22 of 30 I/Os are of the command and its children (fio, sh); whether 3 more are, is \
             not known: their processes had ended before they were looked up; q2c analyze \
             t.parquet --process NAME takes those of one name alone"
        );
    }
}
