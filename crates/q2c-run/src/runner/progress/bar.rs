//! A progress bar on the terminal.

use super::{Event, Progress};
use crate::runner::Position;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar. It is drawn between trials only, because a ticking thread would disturb them.
pub struct BarProgress {
    bar: ProgressBar,
}

impl BarProgress {
    /// A bar on stderr.
    #[must_use]
    pub fn on_stderr() -> Self {
        Self::on(ProgressDrawTarget::stderr())
    }

    fn on(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        // The template is a constant that the test below builds, so the default style is never
        // used.
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        BarProgress { bar }
    }

    fn show(&self, position: &Position, message: String) {
        self.bar.set_length(u64::from(position.total));
        self.bar.set_position(u64::from(position.finished));
        self.bar.set_message(message);
        self.bar.tick();
    }
}

impl Progress for BarProgress {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Begins(subject, position) => {
                let left = crate::runner::event::spoken(position.left_s);
                self.show(position, format!("{left} left; {subject}"));
            }
            Event::Done(_, position, _) => self.show(position, String::new()),
            Event::Failed(_, position, _) => {
                self.bar.println(event.to_string());
                self.show(position, String::new());
            }
            Event::Forecast(_) | Event::Note(_) => self.bar.println(event.to_string()),
            Event::Ended(..) => {
                self.bar.println(event.to_string());
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
        assert!(ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}").is_ok());
        let mut progress = BarProgress::on(ProgressDrawTarget::hidden());
        let position = Position {
            finished: 3,
            total: 8,
            elapsed_s: 9.0,
            left_s: 200.0,
        };
        progress.event(&Event::Begins(polled(1), position));
        assert_eq!(
            (progress.bar.position(), progress.bar.length()),
            (3, Some(8))
        );
        assert_eq!(
            progress.bar.message(),
            "3 min 20 s left; 4 KiB poll, trial 2"
        );
    }
}
