use super::{Event, LineFitter, Progress};
use crate::runner::Position;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The line while trials run.
const TRIALS: &str = "{bar:24} {pos} of {len} trials, {wide_msg}";
/// The line before the number of trials is known.
const ALONE: &str = "{wide_msg}";

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
        bar.set_style(style(ALONE));
        BarProgress { bar, fit }
    }

    /// Lets the bar be drawn again where a further plan follows one that has ended.
    fn wake(&self) {
        if self.bar.is_finished() {
            self.bar.reset();
        }
    }

    fn print(&self, event: &Event) {
        self.bar.println((self.fit)(event.to_string()));
    }

    fn show(&self, position: &Position, message: String) {
        self.wake();
        if self.bar.length().is_none() {
            self.bar.set_style(style(TRIALS));
        }
        self.bar.set_length(u64::from(position.total));
        self.bar.set_position(u64::from(position.finished));
        self.bar.set_message(message);
        self.bar.tick();
    }
}

/// The templates are constants that the test below builds, so the default style is never used.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress for BarProgress {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Begins(subject, position) => {
                let left = crate::runner::event::spoken(position.left_s);
                self.show(position, format!("{left} left; {subject}"));
            }
            Event::Done(subject, position, _) => self.show(position, format!("{subject} done")),
            Event::Failed(_, position, _) => {
                self.print(event);
                self.show(position, "a trial failed".to_owned());
            }
            // What is done between the trials of two plans is not of their number.
            Event::Doing(what) => {
                self.wake();
                self.bar.unset_length();
                self.bar.set_style(style(ALONE));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::progress::tests::polled;

    #[test]
    fn shows_where_the_run_is() {
        for template in [TRIALS, ALONE] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
        let mut progress = BarProgress::with_target(ProgressDrawTarget::hidden(), |line| line);
        let position = Position {
            finished: 3,
            total: 8,
            elapsed_s: 9.0,
            left_s: 200.0,
        };
        progress.event(&Event::Begins(polled(1), position));
        assert_eq!(progress.bar.position(), 3);
        assert_eq!(progress.bar.length(), Some(8));
        let shown = "3 min 20 s left; 4 KiB poll, trial 2";
        assert_eq!(progress.bar.message(), shown);
    }

    /// A run of several plans, as that of tune: the bar of the second one is seen, too.
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
}
