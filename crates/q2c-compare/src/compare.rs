//! Compares devices by the trials of a replay: which one serves the trace better, by which metric,
//! and whether the trials can tell.

use super::answer::{RunStart, warnings};
use super::trial::median;
use super::{Ran, ReplaySite};
use q2c_host::machine;
use q2c_replay::ReplayFacts;
use q2c_result::Warning;
use q2c_result::compare::{CompareResult, DeviceRun, SCHEMA, Separation};
use q2c_result::replay::ReplayTrial;
use q2c_stats::{Interval, Ratio, ratio_of_medians};

/// Medians that differ by at most this share count as equal, however narrow the interval.
const SAME: f64 = 0.01;
const COMPLETION: &str = "completion time";
const Q2C: &str = "sum of Q2C";
const U2C: &str = "sum of U2C";

/// Makes the result of a comparison from all sites. Each site has one target; the first site is the
/// one that the others are compared with.
#[must_use]
pub fn compare(
    start: &RunStart,
    facts: &ReplayFacts,
    sites: &[ReplaySite],
    ran: &Ran,
) -> CompareResult {
    let runs: Vec<DeviceRun> = sites.iter().map(|site| device(site, ran)).collect();
    let by_q2c = runs.iter().all(|run| run.sum_q2c_s.is_some());
    let sum = if by_q2c { Q2C } else { U2C };
    let separations = separations(&runs, sum, start.job.seed);
    let verdict = verdict(start, facts, &runs, &separations, sum);
    let shown = runs.iter().filter_map(|run| run.shown.as_ref());
    let mut warned: Vec<Warning> = Vec::new();
    for warning in shown.flat_map(|trial| warnings(facts, trial)) {
        if !warned.contains(&warning) {
            warned.push(warning);
        }
    }
    CompareResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: start.started_unix_s,
        seconds: start.seconds(),
        complete: ran.partial.is_none()
            && matches!(ran.summary.end, q2c_run::runner::End::Complete),
        job: start.job.clone(),
        trace: start.trace(facts),
        machine: machine::read(&start.roots),
        devices: runs.into_iter().map(slim).collect(),
        sum: sum.to_owned(),
        separations,
        verdict,
        warnings: warned,
    }
}

fn device(site: &ReplaySite, ran: &Ran) -> DeviceRun {
    let (trials, failures) = ran.of(&site.name);
    let valid: Vec<&ReplayTrial> = trials.iter().filter(|trial| trial.valid).collect();
    let interval = |number: fn(&ReplayTrial) -> f64| {
        Interval::of(
            &valid
                .iter()
                .map(|trial| number(trial))
                .collect::<Vec<f64>>(),
        )
    };
    let q2c: Option<Vec<f64>> = valid.iter().map(|trial| trial.sum_q2c_s).collect();
    let saturated = valid.iter().filter(|trial| trial.saturated).count();
    DeviceRun {
        target: site.facts.first().cloned().unwrap_or_default(),
        completion_s: interval(|trial| trial.completion_s),
        sum_u2c_s: interval(|trial| trial.sum_u2c_s),
        sum_u2c_intended_s: interval(|trial| trial.sum_u2c_intended_s),
        sum_q2c_s: q2c
            .filter(|sums| !sums.is_empty())
            .map(|sums| Interval::of(&sums)),
        saturated: 2 * saturated > valid.len(),
        shown: median(&trials, |trial| trial.sum_q2c_s.unwrap_or(trial.sum_u2c_s))
            .filter(|trial| trial.valid)
            .cloned(),
        trials,
        failures,
    }
}

/// Drops the windows and curves of all trials: in a result only the shown trial keeps them.
fn slim(mut run: DeviceRun) -> DeviceRun {
    for trial in &mut run.trials {
        trial.windows.clear();
        trial.u2c_ns.curve.clear();
        trial.u2c_intended_ns.curve.clear();
        trial
            .q2c_ns
            .iter_mut()
            .for_each(|spread| spread.curve.clear());
    }
    run
}

/// The metric's value in each valid trial.
fn values(run: &DeviceRun, metric: &str) -> Vec<f64> {
    let valid = run.trials.iter().filter(|trial| trial.valid);
    let value = |trial: &ReplayTrial| match metric {
        COMPLETION => Some(trial.completion_s),
        Q2C => trial.sum_q2c_s,
        _ => Some(trial.sum_u2c_s),
    };
    valid.filter_map(value).collect()
}

fn separations(runs: &[DeviceRun], sum: &str, seed: u64) -> Vec<Separation> {
    let Some((first, others)) = runs.split_first() else {
        return Vec::new();
    };
    let mut separations = Vec::new();
    for run in others {
        for metric in [sum, COMPLETION] {
            let (a, b) = (values(run, metric), values(first, metric));
            let enough = a.len() > 1 && b.len() > 1;
            let ratio = ratio_of_medians(&a, &b, seed).filter(|_| enough);
            let sure = |r: Ratio| (r.low > 1.0 || r.high < 1.0) && (r.ratio - 1.0).abs() > SAME;
            let separates = ratio.is_some_and(sure) && unlike(run, first).is_none();
            separations.push(Separation {
                device: run.target.path.clone(),
                with: first.target.path.clone(),
                metric: metric.to_owned(),
                ratio,
                separates,
            });
        }
    }
    separations
}

fn verdict(
    start: &RunStart,
    facts: &ReplayFacts,
    runs: &[DeviceRun],
    separations: &[Separation],
    sum: &str,
) -> Vec<String> {
    let mut says = Vec::new();
    let timed = start.job.mode == "timed";
    for (run, pair) in runs.iter().skip(1).zip(separations.chunks(2)) {
        let [by_sum, by_time] = pair else {
            continue;
        };
        if let Some(why) = unlike(run, &runs[0]) {
            says.push(why);
            continue;
        }
        says.push(better(by_sum));
        says.push(time(by_time, by_sum, runs, timed));
    }
    if start.job.mode == "outstanding" {
        let idle = facts.idle_share_of_devices().unwrap_or(0.0) * 100.0;
        let left_out = start.job.idle.as_deref() == Some("squeeze");
        says.push(match left_out {
            true => format!(
                "outstanding replay does not reproduce a trace that idles: its devices have nothing in flight {idle:.0} % of their time, \
                 which was left out; timed replay reproduces it"
            ),
            false => format!(
                "outstanding replay: the trace's devices have nothing in flight {idle:.0} % of their time, which was kept"
            ),
        });
    }
    if sum == U2C && runs.iter().any(|run| run.sum_q2c_s.is_some()) {
        says.push("sums are of U2C: not every device has a valid sum of Q2C".to_owned());
    } else if sum == U2C {
        says.push(
            "sums are of U2C, what the replayer sees; the block layer's sum of Q2C needs --capture and devices of the kernel's".to_owned(),
        );
    }
    for run in runs.iter().filter(|run| run.completion_s.trials == 0) {
        let why = run
            .trials
            .iter()
            .flat_map(|trial| &trial.invalid)
            .map(|why| &why.says)
            .chain(&run.failures)
            .next();
        let why = why.map_or("none was run", String::as_str);
        says.push(format!("{} has no valid trial: {why}", run.target.path));
    }
    says
}

/// Says so when two devices did not do the same work. Requests and bytes may differ by a hundredth,
/// which alignment can cause.
fn unlike(run: &DeviceRun, first: &DeviceRun) -> Option<String> {
    let (a, b) = (run.shown.as_ref()?, first.shown.as_ref()?);
    let near = |a: u64, b: u64| a.abs_diff(b) * 100 <= a.max(b);
    (!near(a.issued, b.issued) || !near(a.bytes, b.bytes)).then(|| {
        format!(
            "{} and {} cannot be compared: they did not do the same work, {} requests of {} MiB against {} of {} MiB; see what was changed, and name targets of one \
             size or other --offsets",
            run.target.path, first.target.path, a.issued, a.bytes >> 20, b.issued, b.bytes >> 20
        )
    })
}

fn better(by: &Separation) -> String {
    let Separation {
        device,
        with,
        metric,
        ..
    } = by;
    match by.ratio {
        Some(r) if by.separates => {
            let (best, other, share) = match r.ratio < 1.0 {
                true => (device, with, [r.ratio, r.low, r.high]),
                false => (with, device, [1.0 / r.ratio, 1.0 / r.high, 1.0 / r.low]),
            };
            format!(
                "{best} serves this trace better: its {metric} is {:.3} [{:.3}, {:.3}] of that of {other}",
                share[0], share[1], share[2]
            )
        }
        Some(r) => format!(
            "{device} and {with} cannot be told apart by their {metric}: ratio {:.3} [{:.3}, {:.3}]",
            r.ratio, r.low, r.high
        ),
        None => format!(
            "{device} and {with} cannot be compared by their {metric}: fewer than two valid trials each"
        ),
    }
}

fn time(by: &Separation, by_sum: &Separation, runs: &[DeviceRun], timed: bool) -> String {
    let Separation { device, with, .. } = by;
    let of = |path: &str| runs.iter().find(|run| run.target.path == *path);
    let idle = [with, device].map(|path| {
        of(path)
            .and_then(|run| run.shown.as_ref())
            .map_or(0.0, |trial| trial.idle_share)
    });
    let idle = idle.map(|share| format!("{:.0} %", share * 100.0));
    match by.ratio {
        None => format!(
            "{device} and {with} cannot be compared by completion time: fewer than two valid trials each"
        ),
        Some(r) if by.separates => {
            let full: Vec<&str> = runs
                .iter()
                .filter(|run| run.saturated)
                .map(|run| run.target.path.as_str())
                .collect();
            let full = match full.as_slice() {
                [] => String::new(),
                some => format!("; the trace overloads {}", some.join(" and ")),
            };
            let both = if by_sum.separates {
                "completion time separates them as well"
            } else {
                "completion time separates them"
            };
            format!(
                "{both}: ratio of {device} to {with} {:.3} [{:.3}, {:.3}]{full}",
                r.ratio, r.low, r.high
            )
        }
        Some(r) if timed => format!(
            "completion time cannot tell (ratio {:.4}): the trace leaves {with} idle {} and {device} {} of the time",
            r.ratio, idle[0], idle[1]
        ),
        Some(r) => format!(
            "completion time does not separate them: ratio {:.3} [{:.3}, {:.3}]",
            r.ratio, r.low, r.high
        ),
    }
}
