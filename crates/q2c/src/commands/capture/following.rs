//! What becomes of the I/Os of a capture while it runs, and when it ends.

use super::{Child, OfCommand};
use crate::progress::Line;
use q2c_capture::{Follower, Recorder};
use q2c_model::Fault;
use q2c_run::runner::spoken;
use q2c_trace::recording::{Recorded, RecordingSorter};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureEnd {
    /// As asked: the time was over, the command had ended, nobody watched any more, or a signal
    /// came and nothing else would have ended the capture.
    Asked,
    /// By a signal before its time was over or its command had ended.
    Stopped,
}

pub(crate) trait CaptureWatcher {
    fn io(&mut self, io: &Recorded);

    /// Is called after each look into the rings. Returns false when the capture shall end.
    ///
    /// # Errors
    /// When the I/Os that were seen cannot be shown.
    fn look(&mut self, recorder: &Recorder) -> Result<bool, Fault>;
}

/// A watcher that counts the I/Os, and shows their number on a terminal each second.
pub(crate) struct CaptureCounter {
    /// `None` where a command runs, whose output has the terminal.
    line: Option<Line>,
    begun: Instant,
    length: Option<f64>,
    shown: Duration,
    pub ios: u64,
    /// What was counted of the command; `None` without one.
    pub of_command: Option<OfCommand>,
}

impl CaptureCounter {
    /// How often the number is drawn again. Drawing is work on the machine that is watched.
    const EVERY: Duration = Duration::from_secs(1);

    /// A watcher of a capture of so many seconds; `None` for one without an end.
    /// `alone` is true when no command runs.
    pub(crate) fn new(length: Option<f64>, alone: bool, of_command: Option<OfCommand>) -> Self {
        CaptureCounter {
            line: alone.then(|| Line::still("")),
            begun: Instant::now(),
            length,
            shown: Duration::ZERO,
            ios: 0,
            of_command,
        }
    }
}

fn in_words(ios: u64, now: Duration, length: Option<f64>) -> String {
    let now = spoken(now.as_secs_f64());
    let length_suffix = length.map_or_else(String::new, |length| format!(" of {}", spoken(length)));
    format!("{ios} I/Os in {now}{length_suffix}")
}

impl CaptureWatcher for CaptureCounter {
    fn io(&mut self, io: &Recorded) {
        self.ios += 1;
        if let Some(of_command) = &mut self.of_command {
            of_command.io(io);
        }
    }

    fn look(&mut self, _: &Recorder) -> Result<bool, Fault> {
        let now = self.begun.elapsed();
        if let Some(line) = &self.line
            && now >= self.shown + Self::EVERY
        {
            line.say(in_words(self.ios, now, self.length));
            self.shown = now;
        }
        Ok(true)
    }
}

/// Keeps the I/Os of a capture until its time is over, its command has ended, its watcher wants no
/// more, or a signal came. A command that still runs is ended then.
pub(super) struct CaptureFollower<'a, W> {
    pub begun: Instant,
    pub length: Option<Duration>,
    pub child: &'a mut Child,
    pub recording: &'a mut RecordingSorter,
    pub watch: &'a mut W,
    pub stop: &'a AtomicBool,
}

impl<W: CaptureWatcher> Follower for CaptureFollower<'_, W> {
    type End = CaptureEnd;
    type Error = Fault;

    fn take(&mut self, io: Recorded) -> Result<(), Fault> {
        self.watch.io(&io);
        self.recording.push(io)
    }

    fn look(&mut self, recorder: &Recorder) -> Result<ControlFlow<CaptureEnd, Duration>, Fault> {
        if self.stop.load(Ordering::Acquire) {
            self.child.stop()?;
            // When nothing else would end the capture, the signal is its normal end.
            let open = self.length.is_none() && !self.child.is_there();
            let end = if open {
                CaptureEnd::Asked
            } else {
                CaptureEnd::Stopped
            };
            return Ok(ControlFlow::Break(end));
        }
        if self.child.is_over()? {
            return Ok(ControlFlow::Break(CaptureEnd::Asked));
        }
        let length = self.length;
        let left = length.map(|length| length.saturating_sub(self.begun.elapsed()));
        if left.is_some_and(|left| left.is_zero()) || !self.watch.look(recorder)? {
            self.child.stop()?;
            return Ok(ControlFlow::Break(CaptureEnd::Asked));
        }
        Ok(ControlFlow::Continue(left.unwrap_or(Duration::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_tells_its_number_and_its_time() {
        let now = Duration::from_millis(3_040);
        assert_eq!(in_words(812, now, Some(10.0)), "812 I/Os in 3.0 s of 10 s");
        assert_eq!(in_words(0, now, None), "0 I/Os in 3.0 s");
    }
}
