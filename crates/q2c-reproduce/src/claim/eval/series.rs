//! The figures of a trial at a place: of a study without phases, or of a job's intervals.

use crate::claim::scope::FigurePlace;
use q2c_model::stats::{median, sorted};
use q2c_result::reproduce::{JobSeries, PhaseTrial, PointTrial, Tick};

/// The figures that jobs have in every phase, with their meaning and unit.
pub(crate) const FIGURES: [&str; 9] = [
    "iops",              // I/Os per second
    "miss_rate",         // misses over the I/Os that a sleep rule handled, 0..1
    "effective_sleep",   // sum of sleeps asked over the I/Os that a sleep rule handled, ns
    "cpu",               // CPU time of the job's threads over time, per thread, 0..1
    "latency",           // mean U2C, ns
    "p50",               // median over the intervals of each interval's median of U2C, ns
    "p99",               // median over the intervals of each interval's 99th percentile of U2C, ns
    "kiops_per_core",    // thousand I/Os per second and CPU that was busy for the job, whole phase
    "interrupts_per_io", // interrupts of the target's device over the I/Os of all jobs, whole phase
];

/// This many first [`FIGURES`] are computed over a window; the others over the whole phase.
const WINDOWED_FIGURES: usize = 7;

pub(crate) struct WholePhase<'a> {
    trial: &'a PointTrial,
    phase: Option<&'a PhaseTrial>,
    job: Option<&'a JobSeries>,
}

impl<'a> WholePhase<'a> {
    pub(crate) fn from_trial(trial: &'a PointTrial, place: &FigurePlace) -> Self {
        let phase = trial.phases.get(place.phase);
        let job = phase.and_then(|phase| phase.jobs.iter().find(|job| job.job == place.job));
        WholePhase { trial, phase, job }
    }

    /// The shortest time between two changes of the sleep that the job's rule makes, seconds.
    pub(crate) fn rule_period_s(&self) -> Option<f64> {
        self.job.and_then(|job| job.rule_period_s)
    }

    /// The intervals whose middle lies in the place's window.
    fn ticks(&self, place: &FigurePlace) -> Result<Vec<&'a Tick>, String> {
        let idle = || format!("the job {} did no I/O in this phase", place.job);
        let job = self.job.ok_or_else(idle)?;
        let inside = |tick: &&Tick| {
            let middle = tick.end_s - tick.seconds / 2.0;
            let window = place.window.as_ref();
            window.is_none_or(|w| middle >= w.from_s && w.to_s.is_none_or(|to| middle < to))
        };
        let ticks: Vec<&Tick> = job.ticks.iter().filter(inside).collect();
        if ticks.is_empty() {
            Err(format!(
                "none of the {} intervals of its series lies in the window; a longer window, or a \
                 larger --scale, has more",
                job.ticks.len()
            ))
        } else {
            Ok(ticks)
        }
    }
}

/// True if a figure covers the whole phase, whatever window a claim names.
pub(crate) fn covers_whole_phase(name: &str) -> bool {
    !FIGURES[..WINDOWED_FIGURES].contains(&name)
}

pub fn figure_at(name: &str, place: &FigurePlace, whole: &WholePhase<'_>) -> Result<f64, String> {
    if let Some(value) = whole.trial.figures.get(name) {
        return Ok(*value);
    }
    if let Some(value) = whole.job.and_then(|job| job.figures.get(name)) {
        return Ok(*value);
    }
    match name {
        "kiops_per_core" => per_core(whole, place),
        "interrupts_per_io" => interrupts_per_io(whole),
        _ => figure_over_ticks(name, &whole.ticks(place)?)
            .map_err(|reason| unseen_reason(name, whole).unwrap_or(reason)),
    }
}

fn unseen_reason(name: &str, whole: &WholePhase<'_>) -> Option<String> {
    let of_sleeps = ["miss_rate", "effective_sleep"].contains(&name);
    let reason = whole.job?.sleeps_unseen.as_ref().filter(|_| of_sleeps)?;
    let text = format!("the kernel's sleeps could not be watched: {reason}");
    Some(text)
}

/// Each interval's end, seconds since the phase's start, and its figure. At least one has a figure.
pub(crate) fn interval_figures(
    name: &str,
    place: &FigurePlace,
    whole: &WholePhase<'_>,
) -> Result<Vec<(f64, Option<f64>)>, String> {
    let ticks = whole.ticks(place)?;
    let value = |tick: &&Tick| (tick.end_s, figure_over_ticks(name, &[*tick]).ok());
    let values: Vec<(f64, Option<f64>)> = ticks.iter().map(value).collect();
    if values.iter().any(|(_, value)| value.is_some()) {
        Ok(values)
    } else {
        figure_at(name, place, whole).map(|_| values)
    }
}

fn figure_over_ticks(name: &str, ticks: &[&Tick]) -> Result<f64, String> {
    let seconds: f64 = ticks.iter().map(|tick| tick.seconds).sum();
    let by = |weight: fn(&Tick) -> f64, value: fn(&Tick) -> f64| {
        let sum: f64 = ticks.iter().map(|tick| weight(tick)).sum();
        let weighted: f64 = ticks.iter().map(|tick| weight(tick) * value(tick)).sum();
        (sum > 0.0).then(|| weighted / sum)
    };
    let percentile = |value: fn(&Tick) -> f64| {
        let busy = ticks.iter().filter(|tick| tick.ios > 0.0);
        let values = sorted(&busy.map(|tick| value(tick)).collect::<Vec<_>>());
        (!values.is_empty()).then(|| median(&values))
    };
    let figure = match name {
        "iops" => Some(ticks.iter().map(|tick| tick.ios).sum::<f64>() / seconds),
        "cpu" => by(|tick| tick.seconds, |tick| tick.rates.cpu_pct / 100.0),
        "miss_rate" => by(|tick| tick.handled, |tick| tick.rates.miss_rate),
        "effective_sleep" => by(|tick| tick.handled, |tick| tick.rates.effective_sleep_ns),
        "latency" => by(|tick| tick.ios, |tick| tick.mean_ns),
        "p50" => percentile(|tick| tick.p50_ns),
        "p99" => percentile(|tick| tick.p99_ns),
        _ => return Err(no_figure_reason(name)),
    };
    figure.ok_or_else(|| match name {
        "miss_rate" | "effective_sleep" => "no sleep rule handled an I/O".to_owned(),
        _ => "no I/O was done".to_owned(),
    })
}

fn no_figure_reason(name: &str) -> String {
    match name {
        "queue_spread" => "no two hardware queues were seen".to_owned(),
        "request_waits" => {
            "sleeps for a request could not be counted here; that takes kprobes and root".to_owned()
        }
        _ => format!("this study has no figure `{name}`"),
    }
}

fn per_core(whole: &WholePhase<'_>, place: &FigurePlace) -> Result<f64, String> {
    let busy = whole.job.and_then(|job| job.busy_cpus);
    let busy = busy.ok_or("the machine's busy CPUs could not be read")?;
    let whole_phase = FigurePlace {
        window: None,
        ..place.clone()
    };
    Ok(figure_over_ticks("iops", &whole.ticks(&whole_phase)?)? / 1e3 / busy)
}

fn interrupts_per_io(whole: &WholePhase<'_>) -> Result<f64, String> {
    let none = "the device's interrupts could not be read";
    let phase = whole.phase.ok_or(none)?;
    let count = phase.interrupts.ok_or(none)? as f64;
    let ticks = phase.jobs.iter().flat_map(|job| &job.ticks);
    Ok(count / ticks.map(|tick| tick.ios).sum::<f64>())
}
