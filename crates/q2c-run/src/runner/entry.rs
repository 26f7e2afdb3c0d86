use q2c_model::{Exit, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A finished trial as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry<C, O> {
    /// Key of the cell.
    pub key: String,
    /// Number of the trial within its cell, from 0.
    pub trial: u32,
    /// Session in which it ran, from 1.
    pub session: u32,
    /// End of the trial, Unix time in seconds.
    pub ended_unix_s: f64,
    /// Length of the trial, seconds.
    pub seconds: f64,
    /// The cell itself. A resume compares it with the plan's cell of the same key.
    pub cell: C,
    /// How the trial ended, with its outcome when it went well.
    pub result: TrialResult<O>,
}

impl<C, O: Serialize> Entry<C, O> {
    /// Refuses a journaled trial whose length or end is negative, whose `metric` (in `unit`) is, or
    /// whose outcome has a number above `most`. Where `most` is infinite, an outcome may be any.
    pub(super) fn check(
        &self,
        metric: impl Fn(&O) -> f64,
        (unit, most): (&'static str, f64),
    ) -> Result<(), Fault> {
        let bounded = self.result.ok().filter(|_| most.is_finite());
        let least = [
            (self.seconds, "s of length"),
            (self.ended_unix_s, "s as its end"),
            (bounded.map_or(0.0, metric), unit),
        ];
        let negative = least.into_iter().find(|(value, _)| *value < 0.0);
        let above = || {
            let largest = largest(&serde_json::to_value(bounded).ok()?);
            (largest > most).then_some((largest, "as a figure"))
        };
        match negative.or_else(above) {
            None => Ok(()),
            Some((figure, what)) => {
                let (key, trial) = (&self.key, self.trial);
                let text = format!(
                    "resume: trial {trial} of {key} in the journal has {figure} {what}, which no trial has; take its line out of cells.jsonl, and it runs again"
                );
                Err(Fault::new(Exit::Input, text))
            }
        }
    }
}

/// The largest number in a value, without its sign.
fn largest(value: &Value) -> f64 {
    let most = |values: &mut dyn Iterator<Item = &Value>| values.map(largest).fold(0.0, f64::max);
    match value {
        Value::Number(number) => number.as_f64().unwrap_or(0.0).abs(),
        Value::Array(items) => most(&mut items.iter()),
        Value::Object(fields) => most(&mut fields.values()),
        _ => 0.0,
    }
}

/// How a finished trial ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialResult<O> {
    /// The trial went well and gave this outcome.
    Ok(O),
    /// The trial failed, for this reason.
    Failed(String),
    /// The cell cannot run here, for this reason.
    Impossible(String),
}

impl<O> TrialResult<O> {
    /// The outcome, when the trial went well.
    pub fn ok(&self) -> Option<&O> {
        match self {
            TrialResult::Ok(outcome) => Some(outcome),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures that no trial has come of a damaged or a forged journal.
    #[test]
    fn impossible_figures_are_refused() {
        let refused_figure = |seconds, iops: f64, inside: f64, most| {
            let entry = Entry {
                key: "a".to_owned(),
                trial: 0,
                session: 1,
                ended_unix_s: 1.0,
                seconds,
                cell: (),
                result: TrialResult::Ok((iops, vec![1.0, inside])),
            };
            let checked = entry.check(|(iops, _)| *iops, ("IOPS", most));
            let text = checked.err()?.to_string();
            let (_, figure) = text.split_once(" in the journal has ")?;
            figure.split(' ').next()?.parse::<f64>().ok()
        };
        assert_eq!(refused_figure(1.0, 5e6, 2.0, 1e24), None);
        assert_eq!(refused_figure(-1.0, 5e6, 2.0, 1e24), Some(-1.0));
        assert_eq!(refused_figure(1.0, -5.0, 2.0, 1e24), Some(-5.0));
        assert_eq!(refused_figure(1.0, 5e6, 1e308, 1e24), Some(1e308));
        assert_eq!(refused_figure(1.0, -5.0, 1e308, f64::INFINITY), None);
    }
}
