//! The points of an experiment as a table: the figures of each job in each phase, and the mode in
//! which the job really waited.

use crate::mode;
use crate::phrase::joined;
use crate::quantity::{duration, number};
use crate::said::ReportTable;
use q2c_model::stats::{median, sorted};
use q2c_result::reproduce::{JobSeries, Point, ReproduceResult, Tick};
use std::collections::BTreeMap;

pub(super) fn points(result: &ReproduceResult) -> ReportTable {
    const HEADS: &str = "point | phase | job | KIOPS | miss rate % | CPU % | mean U2C | really ran";
    let points = result.points.iter();
    let table = ReportTable::headed(HEADS, points.flat_map(|point| rows_of(point, result)))
        .legend("Median over the trials, whole phase from its begin. CPU: of each thread.");
    let table = match result.axes.as_slice() {
        [] => table.without_names(),
        _ => table,
    };
    table.without_empty_columns()
}

/// The figures of a job in a phase, one value per trial.
#[derive(Default)]
struct JobPhaseFigures {
    kiops: Vec<f64>,
    miss_pct: Vec<f64>,
    cpu_pct: Vec<f64>,
    mean_ns: Vec<f64>,
    modes: Vec<String>,
}

impl JobPhaseFigures {
    fn add(&mut self, job: &JobSeries) {
        let sum = |part: fn(&Tick) -> f64| job.ticks.iter().map(part).sum::<f64>();
        let (seconds, ios) = (sum(|t| t.seconds), sum(|t| t.ios));
        let missed = sum(|t| t.handled * t.rates.miss_rate);
        self.kiops.push(ios / seconds / 1e3);
        self.miss_pct.push(100.0 * missed / sum(|t| t.handled));
        self.cpu_pct
            .push(sum(|t| t.seconds * t.rates.cpu_pct) / seconds);
        self.mean_ns.push(sum(|t| t.ios * t.mean_ns) / ios);
        let mode = job.was.as_ref().map(mode::words);
        self.modes
            .extend(mode.filter(|mode| !self.modes.contains(mode)));
    }

    fn fields(&self) -> [String; 5] {
        let shown = |values: &[f64], text: fn(f64) -> String| match sorted(values) {
            none if none.is_empty() => String::new(),
            values => text(median(&values)),
        };
        [
            shown(&self.kiops, number),
            shown(&self.miss_pct, number),
            shown(&self.cpu_pct, number),
            shown(&self.mean_ns, duration),
            self.modes.join("; "),
        ]
    }
}

fn rows_of(point: &Point, result: &ReproduceResult) -> Vec<Vec<String>> {
    let axes = point.at.iter();
    let at = joined(axes.map(|(axis, value)| format!("{axis}={value}")), " ");
    if point.trials.is_empty() {
        let failure = point.failures.first();
        let reason = failure.map_or("no trial was finished", String::as_str);
        return vec![vec![at, format!("not run: {reason}")]];
    }
    let mut seen: BTreeMap<(usize, &str), JobPhaseFigures> = BTreeMap::new();
    for trial in &point.trials {
        for (n, phase) in trial.phases.iter().enumerate() {
            for job in &phase.jobs {
                seen.entry((n, job.job.as_str())).or_default().add(job);
            }
        }
    }
    let row = |((phase, job), seen): (&(usize, &str), &JobPhaseFigures)| {
        let phase = result.phases.get(*phase);
        let phase = phase.map_or(String::new(), |phase| phase.label.clone());
        let mut row = vec![at.clone(), phase, (*job).to_owned()];
        row.extend(seen.fields());
        row
    };
    seen.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Rates;
    use q2c_result::mode::{ModeKind, WaitMode};

    /// Two intervals: 1 s with 100 I/Os, a tenth of them misses; 3 s with 300, half of them misses.
    #[test]
    fn whole_phases_are_weighted_by_hand() {
        let tick = |seconds: f64, miss_rate: f64, mean_ns: f64| Tick {
            seconds,
            ios: 100.0 * seconds,
            handled: 100.0 * seconds,
            rates: Rates {
                cpu_pct: 10.0 * seconds,
                miss_rate,
                ..Rates::default()
            },
            mean_ns,
            ..Tick::default()
        };
        let job = JobSeries {
            ticks: vec![tick(1.0, 0.1, 1_000.0), tick(3.0, 0.5, 2_000.0)],
            was: Some(WaitMode {
                kind: ModeKind::Interrupt,
                ..WaitMode::default()
            }),
            ..JobSeries::default()
        };
        let mut seen = JobPhaseFigures::default();
        seen.add(&job);
        seen.add(&job);
        assert_eq!(
            seen.fields(),
            ["0.10", "40.0", "25.0", "1.75 us", "interrupt"]
        );
    }
}
