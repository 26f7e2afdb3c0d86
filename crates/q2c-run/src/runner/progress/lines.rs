use super::{Event, Progress};
use std::io::Write;

/// Writes one line per event, except for the starts of trials. Of trials that went well, those that
/// end too soon after the last written line are only counted, and the next line tells their number.
pub(crate) struct LineProgress<W> {
    out: W,
    gap_s: f64,
    last_s: Option<f64>,
    skipped: u32,
}

impl<W: Write> LineProgress<W> {
    /// Writes to `out`; trials that went well get at most one line per `gap_s` seconds.
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
    use crate::runner::progress::tests::polled;
    use crate::runner::{Position, TrialFacts};

    fn done(elapsed_s: f64) -> Event {
        let position = Position {
            finished: 1,
            total: 4,
            elapsed_s,
            left_s: 12.0,
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
