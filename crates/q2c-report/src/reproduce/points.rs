//! The points of an experiment as a table: what was seen of each job in each phase, and the mode in
//! which it really waited.

use crate::mode;
use crate::quantity::{duration, number};
use crate::said::{Field, Table};
use q2c_result::reproduce::{JobSeries, Point, ReproduceResult};
use q2c_stats::{median, sorted};
use std::collections::BTreeMap;

/// The points with what was seen of each job in each phase.
pub(crate) fn points(result: &ReproduceResult) -> Table {
    let rows = result
        .points
        .iter()
        .flat_map(|point| rows_of(point, result));
    let head = [
        "point",
        "phase",
        "job",
        "KIOPS",
        "miss rate %",
        "CPU %",
        "mean U2C",
        "really ran",
    ];
    let table = Table {
        head: head.map(String::from).to_vec(),
        rows: rows.collect(),
        legend: "Median over the trials, whole phase from its begin. CPU: of each thread.",
    };
    match result.axes.is_empty() {
        true => table.without_names(),
        false => table,
    }
    .without_empty_columns()
}

/// A job in a phase over the trials.
#[derive(Default)]
struct Seen {
    kiops: Vec<f64>,
    miss_pct: Vec<f64>,
    cpu_pct: Vec<f64>,
    mean_ns: Vec<f64>,
    modes: Vec<String>,
}

impl Seen {
    fn add(&mut self, job: &JobSeries) {
        let mut all = [0.0; 6];
        for tick in &job.ticks {
            let parts = [
                tick.seconds,
                tick.ios,
                tick.handled,
                tick.handled * tick.rates.miss_rate,
                tick.seconds * tick.rates.cpu_pct,
                tick.ios * tick.mean_ns,
            ];
            all.iter_mut()
                .zip(parts)
                .for_each(|(sum, part)| *sum += part);
        }
        let [seconds, ios, handled, missed, cpu, latency] = all;
        self.kiops.push(ios / seconds / 1e3);
        self.miss_pct.push(100.0 * missed / handled);
        self.cpu_pct.push(cpu / seconds);
        self.mean_ns.push(latency / ios);
        let mode = job.was.as_ref().map(mode::words);
        self.modes
            .extend(mode.filter(|mode| !self.modes.contains(mode)));
    }

    fn fields(&self) -> [Field; 5] {
        let shown = |values: &[f64], text: fn(f64) -> String| match sorted(values) {
            none if none.is_empty() => String::new(),
            values => text(median(&values)),
        };
        [
            shown(&self.kiops, number).into(),
            shown(&self.miss_pct, number).into(),
            shown(&self.cpu_pct, number).into(),
            shown(&self.mean_ns, duration).into(),
            self.modes.join("; ").into(),
        ]
    }
}

fn rows_of(point: &Point, result: &ReproduceResult) -> Vec<Vec<Field>> {
    let at = point
        .at
        .iter()
        .map(|(axis, value)| format!("{axis}={value}"));
    let at = at.collect::<Vec<_>>().join(" ");
    if point.trials.is_empty() {
        let why = point
            .failures
            .first()
            .map_or("no trial was finished", String::as_str);
        return vec![vec![at.into(), format!("not run: {why}").into()]];
    }
    let mut seen: BTreeMap<(usize, &str), Seen> = BTreeMap::new();
    for trial in &point.trials {
        for (n, phase) in trial.phases.iter().enumerate() {
            for job in &phase.jobs {
                seen.entry((n, job.job.as_str())).or_default().add(job);
            }
        }
    }
    let row = |((phase, job), seen): (&(usize, &str), &Seen)| {
        let phase = result
            .phases
            .get(*phase)
            .map_or("", |phase| phase.label.as_str());
        let mut row: Vec<Field> = vec![at.clone().into(), phase.into(), (*job).into()];
        row.extend(seen.fields());
        row
    };
    seen.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Rates;
    use q2c_result::mode::{Mode, ModeKind};
    use q2c_result::reproduce::Tick;

    /// Two intervals of 1 s and 3 s: 100 and 300 I/Os, of which a tenth and a half were missed.
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
            was: Some(Mode {
                kind: ModeKind::Interrupt,
                ..Mode::default()
            }),
            ..JobSeries::default()
        };
        let mut seen = Seen::default();
        seen.add(&job);
        seen.add(&job);
        let told = seen.fields().map(|field| field.text);
        assert_eq!(told, ["0.10", "40.0", "25.0", "1.75 us", "interrupt"]);
    }
}
