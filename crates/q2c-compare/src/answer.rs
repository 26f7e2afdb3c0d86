//! The result of a replay on one site.

use super::trial::median;
use super::{Ran, Variant, words};
use q2c_host::{Roots, machine};
use q2c_model::replay::Change;
use q2c_replay::ReplayFacts;
use q2c_result::Warning;
use q2c_result::replay::{ChangeKind, ReplayJob, ReplayResult, ReplayTrial, SCHEMA, TraceFacts};
use std::time::{SystemTime, UNIX_EPOCH};

/// The facts of a run that are known when it begins.
pub struct RunStart {
    /// How the trace is replayed.
    pub job: ReplayJob,
    /// The path of the trace as the user gave it.
    pub path: String,
    /// The tool that made the trace.
    pub source: String,
    /// Start of the run, Unix time in seconds.
    pub started_unix_s: u64,
    /// The trees that the facts of the machine are read from.
    pub roots: Roots,
}

impl RunStart {
    /// Facts of a run that begins now.
    #[must_use]
    pub fn new(roots: &Roots, job: ReplayJob, path: &str, source: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        RunStart {
            job,
            path: path.to_owned(),
            source: source.to_owned(),
            started_unix_s: now.map_or(0, |now| now.as_secs()),
            roots: roots.clone(),
        }
    }

    /// Seconds since the start of the run.
    pub(super) fn seconds(&self) -> f64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0.0, |now| now.as_secs_f64() - self.started_unix_s as f64)
            .max(0.0)
    }

    pub(super) fn trace(&self, facts: &ReplayFacts) -> TraceFacts {
        words::trace(facts, &self.path, &self.source)
    }
}

/// Makes the result of a variant on its one site; `None` when there is no trial with figures. The
/// trial with the median sum of U2C is the one that is shown.
#[must_use]
pub fn replay(start: &RunStart, variant: &Variant<'_>, ran: &Ran) -> Option<ReplayResult> {
    let site = variant.sites.first()?;
    let facts = variant.facts;
    let (trials, failures) = ran.of(&variant.key(site));
    let shown = median(&trials, |trial| trial.sum_u2c_s)?.clone();
    let mut warnings = warnings(facts, &shown);
    warnings.extend(failures.iter().map(|why| failed(why)));
    let left_out: Vec<Warning> = ran.left_out().collect();
    let asked = trials.len() as u32 >= start.job.trials || !left_out.is_empty();
    warnings.extend(left_out);
    Some(ReplayResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: start.started_unix_s,
        seconds: start.seconds(),
        complete: trials.iter().all(|trial| trial.whole) && asked,
        job: start.job.clone(),
        trace: start.trace(facts),
        machine: machine::read(&start.roots),
        targets: site.facts.clone(),
        trial: shown,
        trials,
        warnings,
    })
}

fn failed(why: &str) -> Warning {
    Warning::new(
        "trial-failed",
        format!("a trial {why}"),
        "it is not among the figures",
        "",
    )
}

/// Warnings about changes of the trace and losses that make a trial's figures misleading.
pub(super) fn warnings(facts: &ReplayFacts, trial: &ReplayTrial) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (kind, count) in &trial.changed {
        if let ChangeKind::Known(change) = kind {
            warnings.extend(less_work(*change, *count));
        }
    }
    if facts.timeless > 0 {
        warnings.push(Warning::new(
            "without-time",
            format!("{} requests have no time", facts.timeless),
            "they are not replayed",
            "",
        ));
    }
    if facts.back_in_time > 0 {
        warnings.push(Warning::new(
            "back-in-time",
            format!(
                "{} requests lie before the one before them",
                facts.back_in_time
            ),
            "they are submitted together with it, in the order of the trace",
            "q2c trace import --sort sorts them",
        ));
    }
    if trial.q2c_excess > 0 {
        warnings.push(Warning::new(
            "not-by-request",
            format!(
                "the sum of Q2C has {} I/Os more than reads and writes were submitted",
                trial.q2c_excess
            ),
            "requests were several I/Os before they were queued, and each has its own term",
            "compare sums of U2C, or name whole devices of which requests are one I/O each",
        ));
    }
    if trial.q2c_lost > 0 {
        warnings.push(Warning::new(
            "capture-lost",
            format!(
                "{} I/Os are missing from the sum of Q2C, which has {}",
                trial.q2c_lost, trial.q2c_ios
            ),
            "the sum is too low by these",
            "",
        ));
    }
    warnings
}

/// The warning about a change by which the device does less work than the trace asks for; `None`
/// for other changes.
fn less_work(change: Change, count: u64) -> Option<Warning> {
    const LEFT_OUT: (&str, &str) = ("requests-left-out", "");
    const SPARED: (&str, &str) = (
        "writes-changed",
        "--writes allow with --allow-write TARGET writes them: what is there is lost",
    );
    let (id, todo) = match change {
        Change::WriteRead | Change::WriteLeftOut => SPARED,
        Change::NoTarget
        | Change::DiscardLeftOut
        | Change::OtherLeftOut
        | Change::Empty
        | Change::Beyond
        | Change::Unrecorded => LEFT_OUT,
        Change::Aligned | Change::Shortened | Change::Scaled | Change::Dense | Change::Modulo => {
            return None;
        }
    };
    let found = format!("{count} {}", change.text());
    let means = "the device does less work than the trace asks for";
    Some(Warning::new(id, found, means, todo))
}
