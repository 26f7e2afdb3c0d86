//! The result of a replay on one site, and the warnings of replays.

use super::trial::median_trial;
use super::{ReplayTrials, Variant};
use q2c_engine::TimeSource;
use q2c_host::target::never_written;
use q2c_host::{Roots, cpu_time, machine};
use q2c_model::Bytes;
use q2c_model::lost::TAKE_TRACEFS;
use q2c_model::replay::Change;
use q2c_replay::ReplayFacts;
use q2c_result::replay::{CapturedBy, ReplayJob, ReplayResult, ReplayTrial, SCHEMA, TraceFacts};
use q2c_result::{Machine, Provenance, Warning};
use std::time::{Duration, Instant};

/// The start of a command that replays.
#[derive(Clone, Copy, Debug)]
pub struct CommandStart {
    /// Time of the start.
    pub started: Instant,
    /// CPUs that other work kept busy before the run; `None` if that could not be read.
    pub busy_cpus: Option<f64>,
}

impl CommandStart {
    /// Measures the busy CPUs for 0.2 s, on a busy machine for 1 s. In simulated time other work
    /// disturbs nothing, so nothing is measured.
    pub fn measure(started: Instant, roots: &Roots, time: &TimeSource) -> Self {
        let measured = || cpu_time::idle_busy_cpus(roots, Duration::from_millis(200));
        CommandStart {
            started,
            busy_cpus: time.real().and_then(|_| measured()),
        }
    }

    /// The busy CPUs, if they are more than on a quiet machine.
    pub fn disturbing_cpus(&self) -> Option<f64> {
        self.busy_cpus.filter(|cpus| *cpus > cpu_time::QUIET_CPUS)
    }
}

/// The facts of the machine of `time`.
pub fn read_machine(roots: &Roots, time: &TimeSource) -> Machine {
    match time.world() {
        Some(world) => machine::simulated(world.machine(), world.cpus()),
        None => machine::read(roots),
    }
}

/// The facts of a run that are known at its start.
pub struct RunStart {
    /// How the trace is replayed.
    pub job: ReplayJob,
    /// The path of the trace as the user gave it.
    pub path: String,
    /// The tool that made the trace.
    pub source: String,
    /// The start of the command.
    pub command: CommandStart,
    /// The facts of the machine, which may be simulated.
    pub machine: Machine,
}

impl RunStart {
    /// Collects the facts of a run of a command that started with `command`.
    pub fn new(
        machine: Machine,
        job: ReplayJob,
        path: &str,
        source: &str,
        command: CommandStart,
    ) -> Self {
        RunStart {
            job,
            path: path.to_owned(),
            source: source.to_owned(),
            command,
            machine,
        }
    }

    pub(super) fn trace(&self, facts: &ReplayFacts) -> TraceFacts {
        let devices = facts.devices.iter();
        let spans = devices.clone().map(|device| device.span);
        let latencies_s = facts.latency_sum_ns as f64 / 1e9;
        TraceFacts {
            path: self.path.clone(),
            source: self.source.clone(),
            requests: facts.requests,
            ops: facts.ops.clone(),
            devices: devices.map(|d| (d.dev.to_string(), d.requests)).collect(),
            bytes: facts.bytes,
            largest: facts.largest,
            span: Bytes(spans.max().unwrap_or(0)),
            length_s: facts.length().as_secs_f64(),
            completed: facts.completed,
            idle_share: facts.idle_share(),
            back_in_time: facts.back_in_time,
            sum_latency_s: facts.has_completions().then_some(latencies_s),
            layer: facts.layer,
        }
    }
}

/// The result of a variant on its first site, showing the median trial; `None` without a trial.
pub fn replay(
    start: &RunStart,
    variant: &Variant<'_>,
    run: &ReplayTrials,
    provenance: Provenance,
) -> Option<ReplayResult> {
    let site = variant.sites.first()?;
    let facts = variant.facts;
    let (trials, failures) = run.cell_outcomes(&variant.key(site));
    let shown = median_trial(&trials, |trial| trial.sum_u2c_s)?.clone();
    let failure_warning = |reason: &String| {
        let finding = format!("a trial {reason}");
        Warning::new("trial-failed", finding, "it is not among the figures", "")
    };
    let mut warnings: Vec<Warning> = busy_warning(&start.command).into_iter().collect();
    warnings.extend(site.facts.iter().filter_map(never_written));
    warnings.extend(trial_warnings(facts, &shown));
    warnings.extend(failures.iter().map(failure_warning));
    let left_out: Vec<Warning> = run.left_out_warnings().collect();
    let all_ran = trials.len() as u32 >= start.job.trials || !left_out.is_empty();
    warnings.extend(left_out);
    Some(ReplayResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provenance,
        complete: trials.iter().all(|trial| trial.whole) && all_ran,
        job: start.job.clone(),
        trace: start.trace(facts),
        machine: start.machine.clone(),
        targets: site.facts.clone(),
        trial: shown,
        trials,
        warnings,
    })
}

pub(super) fn busy_warning(command: &CommandStart) -> Option<Warning> {
    const MEANS: &str =
        "latencies are disturbed, and the replayer may be late where it waits for a CPU";
    cpu_time::busy_before(command.busy_cpus?, "replayed", MEANS)
}

pub(super) fn trial_warnings(facts: &ReplayFacts, trial: &ReplayTrial) -> Vec<Warning> {
    let changes = trial.changed.iter();
    let changes = changes.filter_map(|(change, count)| less_work_warning(*change, *count));
    let excess = trial.q2c_excess.max(0).unsigned_abs();
    // The `#` in a finding stands for the count.
    let counted = [
        (facts.no_times, WITHOUT_TIME),
        (facts.duplicates, DUPLICATE),
        (facts.untimed, TIMES_FALL),
        (facts.back_in_time, BACK_IN_TIME),
        (excess, NOT_BY_REQUEST),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let counted = counted.map(|(count, [id, finding, means, todo])| {
        Warning::new(id, finding.replace('#', &count.to_string()), means, todo)
    });
    changes.chain(counted).chain(lost_warning(trial)).collect()
}

const WITHOUT_TIME: [&str; 4] = [
    "without-time",
    "# requests have no time",
    "they are not replayed",
    "",
];
const DUPLICATE: [&str; 4] = [
    "duplicate",
    "# records were there twice",
    "each is replayed once",
    "",
];
const TIMES_FALL: [&str; 4] = [
    "times-fall",
    "the recorded times of # requests fall",
    "they are replayed in the order of the trace; their recorded latencies are in no figure",
    "",
];
const BACK_IN_TIME: [&str; 4] = [
    "back-in-time",
    "# requests lie before the one before them",
    "they are submitted together with it, in the order of the trace",
    "q2c trace import --sort sorts them",
];
const NOT_BY_REQUEST: [&str; 4] = [
    "not-by-request",
    "the sum of Q2C has # I/Os more than reads and writes were submitted",
    "requests were several I/Os before they were queued, and each has its own term",
    "compare sums of U2C, or name whole devices of which requests are one I/O each",
];

fn lost_warning(trial: &ReplayTrial) -> Option<Warning> {
    let (lost, ios) = (trial.q2c_lost, trial.q2c_ios);
    let subject = if lost == 1 { "I/O is" } else { "I/Os are" };
    let todo = match trial.q2c_source {
        Some(CapturedBy::Tracefs) => "go by the sum of U2C, which has all".to_owned(),
        _ => format!("with --capture {TAKE_TRACEFS}, or go by the sum of U2C, which has all"),
    };
    let finding = format!("{lost} {subject} missing from the sum of Q2C, which has {ios}");
    let means = "the sum is too low by these";
    (lost > 0).then(|| Warning::new("capture-lost", finding, means, &todo))
}

/// The warning of a change that gives the device less work than the trace asks for, else `None`.
fn less_work_warning(change: Change, count: u64) -> Option<Warning> {
    let (id, todo) = match change {
        Change::WriteRead | Change::WriteLeftOut => {
            let todo =
                "--writes allow with --allow-write TARGET writes them: what is there is lost";
            ("writes-changed", todo)
        }
        Change::Shortened => {
            let todo = "name targets as large as the trace's devices";
            ("requests-shortened", todo)
        }
        other if other.is_less_work() => ("requests-left-out", ""),
        _ => return None,
    };
    let finding = format!("{count} {}", change.text());
    let means = "the device does less work than the trace asks for";
    Some(Warning::new(id, finding, means, todo))
}

#[cfg(test)]
mod tests;
