use super::budget::Forecast;
use std::fmt;

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// Finished trials, earlier sessions included.
    pub finished: u32,
    /// Trials in the whole run, as currently expected.
    pub total: u32,
    /// Time since this session's start, seconds.
    pub elapsed_s: f64,
    /// Expected time to the end, seconds.
    pub remaining_s: f64,
}

/// The trial that an event is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Name of the cell, for people.
    pub label: String,
    /// Number of the trial within its cell, from 0.
    pub trial: u32,
}

/// An event of a run. Its text is one line, except for newlines in reasons and notes.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The session is about to start.
    Forecast(Forecast),
    /// A trial is about to run.
    Begins(Subject, Position),
    /// A trial ended well.
    Done(Subject, Position, TrialFacts),
    /// A trial failed, for this reason.
    Failed(Subject, Position, String),
    /// A remark, such as a warning of the runner or a note of a trial.
    Note(String),
    /// The work before or between trials, such as `calibrating 4 KiB`.
    Doing(String),
    /// The session is over. The text says how it ended.
    Ended(String, Position),
}

/// Facts about a trial that ended well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialFacts {
    /// Length of the trial, seconds.
    pub seconds: f64,
    /// The trial's [`Plan::metric`](super::Plan::metric); NaN for an outcome without one.
    pub metric: f64,
    /// The metric's [`Plan::UNIT`](super::Plan::UNIT).
    pub unit: &'static str,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, trial {}", self.label, self.trial + 1)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = time_text(self.remaining_s);
        write!(f, "{} of {}, {left} left", self.finished, self.total)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Forecast(forecast) => forecast.fmt(f),
            Event::Begins(subject, _) => write!(f, "{subject} begins"),
            Event::Done(subject, position, facts) if facts.metric.is_nan() => {
                let took = time_text(facts.seconds);
                write!(f, "{subject}: took {took} ({position})")
            }
            Event::Done(subject, position, facts) => {
                let (metric, unit) = (number_text(facts.metric), facts.unit);
                let took = time_text(facts.seconds);
                write!(f, "{subject}: took {took}, {metric} {unit} ({position})")
            }
            Event::Failed(subject, position, reason) => {
                write!(f, "{subject} failed: {reason} ({position})")
            }
            Event::Note(text) | Event::Doing(text) => f.write_str(text),
            Event::Ended(text, position) => {
                write!(f, "{text} after {}", time_text(position.elapsed_s))
            }
        }
    }
}

/// Formats a number of any size: without decimals from 1000 on, else with three.
fn number_text(number: f64) -> String {
    let decimals = if number.abs() >= 1000.0 { 0 } else { 3 };
    format!("{number:.decimals$}")
}

/// Formats a duration in seconds for people: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 05 min`.
pub fn time_text(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_without_a_metric_shows_none() {
        let line = |metric| {
            let subject = Subject {
                label: "a cell".to_owned(),
                trial: 0,
            };
            let position = Position {
                finished: 1,
                total: 2,
                remaining_s: 3.0,
                ..Position::default()
            };
            let facts = TrialFacts {
                seconds: 0.5,
                metric,
                unit: "IOPS",
            };
            Event::Done(subject, position, facts).to_string()
        };
        let with = "a cell, trial 1: took 0.5 s, 7.000 IOPS (1 of 2, 3.0 s left)";
        assert_eq!(line(7.0), with);
        let wanted = "a cell, trial 1: took 0.5 s (1 of 2, 3.0 s left)";
        assert_eq!(line(f64::NAN), wanted);
    }

    #[test]
    fn times_for_people() {
        let shown = [0.44, 9.96, 59.6, 200.0, 7_500.0].map(time_text);
        let wanted = ["0.4 s", "10 s", "1 min 00 s", "3 min 20 s", "2 h 05 min"];
        assert_eq!(shown, wanted);
    }
}
