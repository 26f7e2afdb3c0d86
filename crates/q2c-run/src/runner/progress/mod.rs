//! Display of a run's progress. Nothing here writes to stdout, which is for results.

use super::event::Event;
use crate::runner::Position;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write, stderr};

/// A display of a run's progress.
pub trait Progress {
    /// Shows an event. The call must return quickly and leave no thread running, since a trial may
    /// be about to start.
    fn event(&mut self, event: &Event);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentProgress;

impl Progress for SilentProgress {
    fn event(&mut self, _: &Event) {}
}

/// Breaks a text into lines that fit the terminal.
pub type LineFitter = fn(String) -> String;

/// A progress bar if stderr is a terminal, with event lines that `fit` breaks. Else plain lines on
/// stderr, at most one per second for successful trials.
pub fn on_stderr(fit: LineFitter) -> Box<dyn Progress> {
    if stderr().is_terminal() {
        Box::new(BarProgress::on_stderr(fit))
    } else {
        Box::new(LineProgress::new(stderr(), 1.0))
    }
}

/// The template while trials run.
const TRIALS_TEMPLATE: &str = "{bar:24} {pos} of {len} trials, {wide_msg}";
/// The template before the number of trials is known.
const MESSAGE_TEMPLATE: &str = "{wide_msg}";

/// A progress bar. It is drawn between trials only, because a ticking thread would disturb them.
pub(crate) struct BarProgress {
    bar: ProgressBar,
    fit: LineFitter,
}

impl BarProgress {
    /// A bar on stderr, with lines above it that `fit` breaks to the width of the terminal.
    pub(crate) fn on_stderr(fit: LineFitter) -> Self {
        Self::with_target(ProgressDrawTarget::stderr(), fit)
    }

    fn with_target(target: ProgressDrawTarget, fit: LineFitter) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style(MESSAGE_TEMPLATE));
        BarProgress { bar, fit }
    }

    /// Makes the bar visible again when a further plan follows one that has ended.
    fn show_again(&self) {
        if self.bar.is_finished() {
            self.bar.reset();
        }
    }

    fn print(&self, event: &Event) {
        self.bar.println((self.fit)(event.to_string()));
    }

    fn show(&self, position: &Position, message: String) {
        self.show_again();
        if self.bar.length().is_none() {
            self.bar.set_style(style(TRIALS_TEMPLATE));
        }
        self.bar.set_length(u64::from(position.total));
        self.bar.set_position(u64::from(position.finished));
        self.bar.set_message(message);
        self.bar.tick();
    }
}

/// The default style is never used: a test below builds each of these constant templates.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress for BarProgress {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Begins(subject, position) => {
                let left = crate::runner::event::time_text(position.remaining_s);
                self.show(position, format!("{left} left; {subject}"));
            }
            Event::Done(subject, position, _) => self.show(position, format!("{subject} done")),
            Event::Failed(_, position, _) => {
                self.print(event);
                self.show(position, "a trial failed".to_owned());
            }
            // Work between the trials of two plans does not count as one of their trials.
            Event::Doing(what) => {
                self.show_again();
                self.bar.unset_length();
                self.bar.set_style(style(MESSAGE_TEMPLATE));
                self.bar.set_message(what.clone());
                self.bar.tick();
            }
            Event::Forecast(_) | Event::Note(_) => self.print(event),
            Event::Ended(..) => {
                self.print(event);
                self.bar.finish_and_clear();
            }
        }
    }
}

/// Writes one line per event, except for the starts of trials. A successful trial that ends too
/// soon after the last written line is only counted, and the next line states the count.
pub(crate) struct LineProgress<W> {
    out: W,
    gap_s: f64,
    last_s: Option<f64>,
    skipped: u32,
}

impl<W: Write> LineProgress<W> {
    /// Writes to `out`; successful trials get at most one line per `gap_s` seconds.
    pub(crate) fn new(out: W, gap_s: f64) -> Self {
        LineProgress {
            out,
            gap_s,
            last_s: None,
            skipped: 0,
        }
    }

    fn is_early(&self, now_s: f64) -> bool {
        self.last_s.is_some_and(|last| now_s - last < self.gap_s)
    }
}

impl<W: Write> Progress for LineProgress<W> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Begins(..) => return,
            Event::Done(_, position, _) if self.is_early(position.elapsed_s) => {
                self.skipped += 1;
                return;
            }
            Event::Done(_, position, _) => self.last_s = Some(position.elapsed_s),
            _ => {}
        }
        let skipped = match std::mem::take(&mut self.skipped) {
            0 => String::new(),
            n => format!(" (before it {n} lines left out)"),
        };
        // A failed write must not end the run: the reader may have closed its pipe.
        let _ = writeln!(self.out, "{event}{skipped}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::{Position, Subject, TrialFacts};

    pub(super) fn polled(trial: u32) -> Subject {
        Subject {
            label: "4 KiB poll".to_owned(),
            trial,
        }
    }

    #[test]
    fn shows_where_the_run_is() {
        for template in [TRIALS_TEMPLATE, MESSAGE_TEMPLATE] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
        let mut progress = BarProgress::with_target(ProgressDrawTarget::hidden(), |line| line);
        let position = Position {
            finished: 3,
            total: 8,
            elapsed_s: 9.0,
            remaining_s: 200.0,
        };
        progress.event(&Event::Begins(polled(1), position));
        assert_eq!(progress.bar.position(), 3);
        assert_eq!(progress.bar.length(), Some(8));
        let shown = "3 min 20 s left; 4 KiB poll, trial 2";
        assert_eq!(progress.bar.message(), shown);
    }

    /// A run of several plans, like that of tune, also shows the bar of the second plan.
    #[test]
    fn a_further_plan_and_what_is_done_between_are_shown() {
        let mut progress = BarProgress::with_target(ProgressDrawTarget::hidden(), |line| line);
        let position = Position {
            finished: 1,
            total: 8,
            ..Position::default()
        };
        progress.event(&Event::Doing("calibrating 4 KiB".to_owned()));
        assert_eq!(progress.bar.length(), None);
        assert_eq!(progress.bar.message(), "calibrating 4 KiB");
        progress.event(&Event::Begins(polled(0), position));
        progress.event(&Event::Ended("all trials done".to_owned(), position));
        assert!(progress.bar.is_finished());
        progress.event(&Event::Doing("simulating".to_owned()));
        assert!(!progress.bar.is_finished() && progress.bar.length().is_none());
        progress.event(&Event::Begins(polled(1), position));
        assert!(!progress.bar.is_finished());
        assert_eq!(progress.bar.length(), Some(8));
    }

    fn done(elapsed_s: f64) -> Event {
        let position = Position {
            finished: 1,
            total: 4,
            elapsed_s,
            remaining_s: 12.0,
        };
        let facts = TrialFacts {
            seconds: 0.5,
            metric: 2.0,
            unit: "s",
        };
        Event::Done(polled(0), position, facts)
    }

    #[test]
    fn frequent_trials_share_a_line_and_notes_always_show() {
        let mut lines = LineProgress::new(Vec::new(), 1.0);
        for event in [
            done(0.5),
            done(1.0),
            done(1.4),
            done(1.5),
            done(1.6),
            Event::Note("the budget is short".to_owned()),
        ] {
            lines.event(&event);
        }
        let line = "4 KiB poll, trial 1: took 0.5 s, 2.000 s (1 of 4, 12 s left)";
        let expected = format!(
            "{line}\n{line} (before it 2 lines left out)\nthe budget is short (before it 1 lines left out)\n"
        );
        assert_eq!(String::from_utf8(lines.out).unwrap(), expected);
    }
}
