//! The progress of an experiment: a reason for which many points fail is told once.

use q2c_run::runner::{Event, Progress};

/// Passes events on, but for failures whose reason was told before. They are counted, and told at
/// the end.
pub(super) struct ToldOnce {
    display: Box<dyn Progress>,
    reasons: Vec<FailureReason>,
}

struct FailureReason {
    reason: String,
    /// The name of the point with which it was told, then those that failed for it later.
    points: Vec<String>,
}

impl ToldOnce {
    pub(crate) fn new(display: Box<dyn Progress>) -> Self {
        ToldOnce {
            display,
            reasons: Vec::new(),
        }
    }

    fn note(&mut self, point: &str, reason: &str) -> bool {
        let point = point.to_owned();
        let existing = self.reasons.iter_mut().find(|known| known.reason == reason);
        if let Some(existing) = existing {
            existing.points.push(point);
            return false;
        }
        self.reasons.push(FailureReason {
            reason: reason.to_owned(),
            points: vec![point],
        });
        true
    }
}

impl FailureReason {
    /// How many more failed; `None` for none.
    fn more(&self) -> Option<String> {
        let more = self.points.len() - 1;
        let mut points = self.points.clone();
        points.sort_unstable();
        points.dedup();
        let each_once = points.len() == self.points.len();
        let noun = if each_once { "point" } else { "trial" };
        let many = if more == 1 { "" } else { "s" };
        let FailureReason { reason, .. } = self;
        (more > 0).then(|| format!("{more} more {noun}{many} failed for the same reason: {reason}"))
    }
}

impl Progress for ToldOnce {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Failed(subject, _, reason) if !self.note(&subject.label, reason) => return,
            Event::Ended(..) => {
                for note in self.reasons.iter().filter_map(FailureReason::more) {
                    self.display.event(&Event::Note(note));
                }
            }
            _ => {}
        }
        self.display.event(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_run::runner::{Position, Subject};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct EventLog(Arc<Mutex<Vec<String>>>);

    impl Progress for EventLog {
        fn event(&mut self, event: &Event) {
            self.0.lock().unwrap().push(event.to_string());
        }
    }

    #[test]
    fn a_reason_is_told_once_and_the_others_are_counted() {
        let heard = EventLog::default();
        let mut progress = ToldOnce::new(Box::new(heard.clone()));
        let mut fail = |label: &str, trial: u32, reason: &str| {
            let subject = Subject {
                label: label.to_owned(),
                trial,
            };
            progress.event(&Event::Failed(
                subject,
                Position::default(),
                reason.to_owned(),
            ));
        };
        for label in ["a", "b", "c"] {
            fail(label, 0, "no module");
        }
        fail("d", 0, "late");
        fail("d", 1, "late");
        fail("e", 0, "alone");
        progress.event(&Event::Ended("done".to_owned(), Position::default()));
        let heard = heard.0.lock().unwrap().clone();
        assert_eq!(
            heard,
            [
                "a, trial 1 failed: no module (0 of 0, 0.0 s left)",
                "d, trial 1 failed: late (0 of 0, 0.0 s left)",
                "e, trial 1 failed: alone (0 of 0, 0.0 s left)",
                "2 more points failed for the same reason: no module",
                "1 more trial failed for the same reason: late",
                "done after 0.0 s",
            ]
        );
    }
}
