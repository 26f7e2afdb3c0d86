//! The costs that a simulation charges for sleeps, wake-ups, polling and interrupts.

use itertools::Itertools;
use q2c_model::{Bytes, CostModel, Fault, Nanos};
use q2c_result::Warning;
use q2c_result::tune::Calibration;
use serde_json::Value;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Where the costs of a simulated machine come from.
#[derive(Clone, Debug)]
pub enum Costs {
    /// Every sleep ends this late, and nothing else has a cost.
    Delay(Nanos),
    /// A machine as publications describe it.
    Published,
    /// A file of calibrations, one for each block size: `calibration.json` of a run.
    Calibrated {
        /// Path of the file, for messages and for the result.
        path: PathBuf,
        /// The content of the file.
        text: String,
    },
}

/// The costs that were chosen for a simulation.
#[derive(Clone, Debug)]
pub struct ChosenCosts {
    /// The costs.
    pub cost: CostModel,
    /// The source of the costs, in words.
    pub in_words: String,
    /// A warning if the costs were neither asked for nor measured, or if their run was disturbed.
    pub doubt: Option<Warning>,
}

fn unusable(path: &Path, reason: impl Display) -> Fault {
    Fault::input(format_args!("read {}: {reason}", path.display()))
}

// Files of a run's folder.
const RUN_FILE: &str = "plan.toml";
const RESULT_FILE: &str = "result.json";
const COST_FILES: [&str; 2] = ["corrected.json", "calibration.json"];

impl Costs {
    /// The name that the user gives instead of a file, for a machine as publications describe it.
    pub const PUBLISHED: &str = "published";
    /// Help on which files have costs, in words.
    pub const FILES: &str =
        "name the calibration.json of a run, or what q2c calibrate --json prints";
    /// The wake-up delay of simulations without other costs: 2 us.
    pub(crate) const WAKE_DELAY: Nanos = Nanos(2_000);

    /// The costs file of the `q2c tune` run whose folder holds all recordings: the costs that its
    /// trials corrected, else those that it measured first.
    pub fn find_in_run(recordings: &[&Path]) -> Option<PathBuf> {
        let folder = recordings.first()?.parent()?;
        let lies_here = |path: &&Path| path.parent() == Some(folder) && path.is_file();
        let is_run = recordings.iter().all(lies_here) && folder.join(RUN_FILE).is_file();
        let files = COST_FILES.map(|name| folder.join(name)).into_iter();
        files.filter(|_| is_run).find(|path| path.is_file())
    }

    /// Chooses the costs. A file of calibrations needs `bs` to select one; without `bs`, the traces
    /// must have a single block size, the one in `sizes`.
    ///
    /// # Errors
    /// Returns a fault if the file cannot be used, or if it is unclear which calibration applies.
    pub fn choose(&self, bs: Option<Bytes>, sizes: &[Bytes]) -> Result<ChosenCosts, Fault> {
        let (cost, in_words) = match self {
            Costs::Published => published_costs(),
            Costs::Delay(delay) => delayed(*delay),
            Costs::Calibrated { path, text } => {
                let Calibration { cost, cpu, bs, .. } = calibration(path, text, bs, sizes)?;
                let in_words = format!("calibration for {bs} on {cpu} in {}", path.display());
                (cost, in_words)
            }
        };
        Ok(ChosenCosts {
            cost,
            in_words,
            doubt: None,
        })
    }

    /// The result file of the run that wrote the file `costs`; `None` for an unfinished run.
    pub fn result_file(costs: &Path) -> Option<PathBuf> {
        Some(costs.with_file_name(RESULT_FILE)).filter(|path| path.exists())
    }

    /// The disturbances of a run: warnings in `text`, the run's result, which was read from `path`.
    ///
    /// # Errors
    /// Returns a fault if the text is not the result of a run.
    pub fn disturbances(path: &Path, text: &str) -> Result<Vec<Warning>, Fault> {
        let unreadable = |e| {
            let reason = format_args!(
                "expected the result of a run with its warnings, found {e}; name the costs with --cost"
            );
            unusable(path, reason)
        };
        let mut result: Value = serde_json::from_str(text).map_err(unreadable)?;
        let warnings = result.get_mut("warnings").map(Value::take);
        let warnings = serde_json::from_value(warnings.unwrap_or_default());
        let mut warnings: Vec<Warning> = warnings.map_err(unreadable)?;
        warnings.retain(Warning::marks_disturbance);
        Ok(warnings)
    }

    /// The costs if the user asked for none: those of `run`, the file that [`Costs::find_in_run`]
    /// found, if they have the block size; else a fixed wake-up delay. `disturbances` is from
    /// [`Costs::disturbances`].
    pub fn run_or_assumed(
        run: Option<Costs>,
        disturbances: &[Warning],
        bs: Option<Bytes>,
        sizes: &[Bytes],
    ) -> ChosenCosts {
        let choice = run.map(|costs| costs.choose(bs, sizes));
        if let Some(Ok(chosen)) = choice {
            return ChosenCosts {
                in_words: format!("{}, the run of the recording", chosen.in_words),
                doubt: (!disturbances.is_empty()).then(|| disturbed_warning(disturbances)),
                ..chosen
            };
        }
        let unusable = choice.and_then(Result::err);
        let (cost, in_words) = delayed(Costs::WAKE_DELAY);
        ChosenCosts {
            doubt: Some(assumed_warning(&in_words, unusable.as_ref())),
            cost,
            in_words,
        }
    }
}

fn delayed(delay: Nanos) -> (CostModel, String) {
    let in_words = format!("every sleep ends {delay} late, nothing else costs");
    (CostModel::delayed(delay), in_words)
}

/// `unusable` is the reason why the costs of the recording's run are not used.
fn assumed_warning(in_words: &str, unusable: Option<&Fault>) -> Warning {
    let run_remark = unusable.map_or_else(String::new, |reason| {
        format!("; those of the recording's run do not serve: {reason}")
    });
    Warning::new(
        "costs-assumed",
        format!("no costs were named: {in_words}{run_remark}"),
        "costs decide the answer, and these were not measured: with those of your machine another rule may win, or polling",
        "name those of a run of q2c tune, --cost RUN/corrected.json (q2c runs lists the runs), or measure: q2c calibrate TARGET --json > costs.json, then --cost costs.json",
    )
}

fn disturbed_warning(disturbances: &[Warning]) -> Warning {
    let findings = disturbances.iter().map(|w| &w.found).join("; ");
    Warning::new(
        "costs-disturbed",
        format!("the costs are of a run that was disturbed: {findings}"),
        "with the costs of this machine at rest another rule may win, or polling",
        "run q2c tune again on a quiet machine, and take its recording",
    )
}

fn calibration(
    path: &Path,
    text: &str,
    bs: Option<Bytes>,
    sizes: &[Bytes],
) -> Result<Calibration, Fault> {
    let calibrations: Vec<Calibration> = serde_json::from_str(text).map_err(|e| {
        let files = Costs::FILES;
        unusable(
            path,
            format_args!("expected a list of calibrations, found {e}; {files}"),
        )
    })?;
    let bs = match (bs, sizes) {
        (Some(bs), _) => bs,
        (None, [bs]) => *bs,
        _ => {
            let trace_sizes = sizes.iter().join(", ");
            return Err(Fault::usage(format_args!(
                "choose a calibration: expected one block size in the trace, found {trace_sizes}; name one with --bs"
            )));
        }
    };
    let Some(chosen) = calibrations.iter().find(|c| c.bs == bs) else {
        let available = calibrations.iter().map(|c| c.bs).join(", ");
        let reason =
            format!("expected a calibration for {bs}, found {available}; name another with --bs");
        return Err(unusable(path, reason));
    };
    let check = chosen.cost.check();
    check.map_err(|reason| unusable(path, format!("take the costs for {bs}: {reason}")))?;
    Ok(chosen.clone())
}

fn published_costs() -> (CostModel, String) {
    let cost = CostModel::published();
    let us = |ns: f64| ns / 1e3;
    let in_words = format!(
        "published machine: wake-ups {} us late, {:.2} us of CPU per sleep, {:.2} us per I/O by interrupt",
        us(cost.wake_clear.base_ns.value_at(0.0)),
        us(cost.sleep_cpu_clear_ns.value_at(0.0)),
        us(cost.interrupt_cpu_ns)
    );
    (cost, in_words)
}
