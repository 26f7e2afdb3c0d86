//! The figures of `q2c reproduce`: every interval of every job, or every figure of a study without
//! jobs; also the verdicts of all experiments.

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
    /// Phase, job and figure.
    names: [&'a str; 3],
    /// End of the interval in seconds since the jobs began, and the interval.
    tick: Option<(f64, &'a Tick)>,
    value: Option<f64>,
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
    let row = |names, tick, value| ReproduceFigureRow {
        point,
        trial: trial.trial,
        names,
        tick,
        value,
    };
    let figures = trial.figures.iter();
    let figures = figures.map(move |(name, value)| row(["", "", name], None, Some(*value)));
    let phases = trial.phases.iter().zip(&result.phases);
    let ticks = phases.flat_map(move |(phase, label)| {
        phase.jobs.iter().flat_map(move |job| {
            let names = [label.name.as_str(), &job.job, ""];
            job.ticks.iter().map(move |tick| {
                let end_s = phase.begin_s + tick.end_s;
                row(names, Some((end_s, tick)), None)
            })
        })
    });
    figures.chain(ticks)
}

fn columns<'a>() -> Columns<ReproduceFigureRow<'a>> {
    Columns::new(|_: &ReproduceFigureRow<'a>| None)
        .key("point", |row| {
            let at = row.point.at.iter();
            let at: Vec<String> = at.map(|(axis, value)| format!("{axis}={value}")).collect();
            at.join(" ")
        })
        .key("trial", |row| row.trial.to_string())
        .key("phase", |row| row.names[0].to_owned())
        .key("job", |row| row.names[1].to_owned())
        .key("figure", |row| row.names[2].to_owned())
        .figure("end", Seconds, Neither, |r| r.tick.map(|(end_s, _)| end_s))
        .figure("iops", PerSecond, More, |row| tick(row, |of| of.rates.iops))
        .figure("handled", Number, Neither, |row| tick(row, |of| of.handled))
        .figure("miss_rate", Share, Less, |row| {
            tick(row, |of| if_handled(of, of.rates.miss_rate))
        })
        .figure("effective_sleep", Ns, Neither, |row| {
            tick(row, |of| if_handled(of, of.rates.effective_sleep_ns))
        })
        .figure("cpu", Percent, Less, |row| tick(row, |of| of.rates.cpu_pct))
        .figure("mean", Ns, Less, |row| tick(row, |of| of.mean_ns))
        .figure("p99", Ns, Less, |row| tick(row, |of| of.p99_ns))
        .figure("value", Number, Neither, |row| row.value)
}

fn tick(row: &ReproduceFigureRow, value: fn(&Tick) -> f64) -> Option<f64> {
    row.tick.map(|(_, tick)| value(tick))
}

/// The value, or NaN if no rule handled an I/O in the interval.
fn if_handled(tick: &Tick, value: f64) -> f64 {
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
