//! The series of `q2c reproduce`: every interval of every job, or every figure of studies without
//! jobs; and the verdicts of all experiments.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{Nanoseconds as Ns, Number, PerSecond, Percent, Seconds, Share};
use super::{Columns, or_empty};
use crate::reproduce::{
    AllResult, ClaimLine, ExperimentLine, Point, PointTrial, ReproduceResult, Tick,
};

/// An interval of a job in a phase, or a figure of a trial.
struct ReproduceFigureRow<'a> {
    point: &'a Point,
    trial: u32,
    of: RowOf<'a>,
}

impl ReproduceFigureRow<'_> {
    /// Phase, job and figure.
    fn texts(&self) -> [&str; 3] {
        match self.of {
            RowOf::Tick { phase, job, .. } => [phase, job, ""],
            RowOf::Figure(name, _) => ["", "", name],
        }
    }
}

enum RowOf<'a> {
    Tick {
        phase: &'a str,
        begin_s: f64,
        job: &'a str,
        tick: &'a Tick,
    },
    Figure(&'a str, f64),
}

measures!(ReproduceResult, columns(), |result| {
    result.points.iter().flat_map(|point| {
        let trials = point.trials.iter();
        trials.flat_map(move |trial| rows(result, point, trial))
    })
});

fn rows<'a>(
    result: &'a ReproduceResult,
    point: &'a Point,
    trial: &'a PointTrial,
) -> impl Iterator<Item = ReproduceFigureRow<'a>> {
    let figures = trial.figures.iter();
    let figures = figures.map(|(name, value)| RowOf::Figure(name, *value));
    let phases = trial.phases.iter().zip(&result.phases);
    let ticks = phases.flat_map(|(phase, label)| {
        phase.jobs.iter().flat_map(move |job| {
            job.ticks.iter().map(move |tick| RowOf::Tick {
                phase: &label.name,
                begin_s: phase.begin_s,
                job: &job.job,
                tick,
            })
        })
    });
    figures.chain(ticks).map(move |of| ReproduceFigureRow {
        point,
        trial: trial.trial,
        of,
    })
}

fn columns<'a>() -> Columns<ReproduceFigureRow<'a>> {
    Columns::new(|_: &ReproduceFigureRow<'a>| None)
        .key("point", |row| {
            let at = row.point.at.iter();
            let at: Vec<String> = at.map(|(axis, value)| format!("{axis}={value}")).collect();
            at.join(" ")
        })
        .key("trial", |row| row.trial.to_string())
        .key("phase", |row| row.texts()[0].to_owned())
        .key("job", |row| row.texts()[1].to_owned())
        .key("figure", |row| row.texts()[2].to_owned())
        .number("end", Seconds, Neither, |row| match row.of {
            RowOf::Tick { begin_s, tick, .. } => Some(begin_s + tick.end_s),
            RowOf::Figure(..) => None,
        })
        .number("iops", PerSecond, More, |row| tick(row, |of| of.rates.iops))
        .number("handled", Number, Neither, |row| tick(row, |of| of.handled))
        .number("miss_rate", Share, Less, |row| {
            tick(row, |of| slept(of, of.rates.miss_rate))
        })
        .number("effective_sleep", Ns, Neither, |row| {
            tick(row, |of| slept(of, of.rates.effective_sleep_ns))
        })
        .number("cpu", Percent, Less, |row| tick(row, |of| of.rates.cpu_pct))
        .number("mean", Ns, Less, |row| tick(row, |of| of.mean_ns))
        .number("p99", Ns, Less, |row| tick(row, |of| of.p99_ns))
        .number("value", Number, Neither, |row| match row.of {
            RowOf::Tick { .. } => None,
            RowOf::Figure(_, value) => Some(value),
        })
}

fn tick(row: &ReproduceFigureRow, value: fn(&Tick) -> f64) -> Option<f64> {
    match row.of {
        RowOf::Tick { tick, .. } => Some(value(tick)),
        RowOf::Figure(..) => None,
    }
}

/// An interval in which no rule handled an I/O has no misses or sleeps.
fn slept(tick: &Tick, value: f64) -> f64 {
    if tick.handled > 0.0 { value } else { f64::NAN }
}

measures!(AllResult, verdicts(), |result| {
    result.experiments.iter().flat_map(|experiment| {
        let claims = experiment.claims.iter();
        claims.map(move |claim| (experiment, claim))
    })
});

fn verdicts<'a>() -> Columns<(&'a ExperimentLine, &'a ClaimLine)> {
    Columns::new(|_: &(&ExperimentLine, &ClaimLine)| None)
        .key("experiment", |(experiment, _)| experiment.name.clone())
        .key("variant_of", |(e, _)| or_empty(e.variant_of.as_ref()))
        .key("claim", |(_, claim)| claim.says.clone())
        .key("published", |(_, claim)| or_empty(claim.published.as_ref()))
        .key("verdict", |(_, claim)| claim.verdict.name().to_owned())
        .key("basis", |(_, claim)| claim.basis.name().to_owned())
        .key("why", |(_, claim)| claim.why.clone())
}
