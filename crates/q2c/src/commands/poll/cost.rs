//! The costs that a simulation charges.

use crate::output::unread;
use clap::Args;
use q2c_model::{Bytes, Fault, Nanos, parse_duration};
use q2c_result::Warning;
use q2c_run::whole_file;
use q2c_study::{ChosenCosts, Costs, SimTrace};
use std::path::{Path, PathBuf};

/// What a simulated machine charges.
#[derive(Clone, Debug, Args)]
pub(crate) struct CostArgs {
    /// Costs of a machine, which decide the answer: corrected.json or calibration.json of a run, or
    /// what `q2c calibrate --json` prints; or `published`, a machine as the published measurements
    /// of hybrid polling describe it [default: those of the run whose folder the recording lies in]
    #[arg(long, value_name = "FILE")]
    pub cost: Option<PathBuf>,
    /// Every sleep ends this much late, and nothing else costs [default: 2us, where there are no
    /// other costs; poll study and poll search: --cost published]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "cost")]
    pub wake_delay: Option<Nanos>,
}

/// The costs of a simulation of `traces`: those asked for, else those of the run whose folder the
/// recordings lie in, else assumed ones. A file of calibrations has one per block size: `bs` names
/// the one to use; without it the traces must have a single block size, the one in `sizes`.
pub(super) fn costs(
    args: &CostArgs,
    bs: Option<Bytes>,
    sizes: &[Bytes],
    traces: &[SimTrace],
) -> Result<ChosenCosts, Fault> {
    let asked = match (args.wake_delay, &args.cost) {
        (None, None) => {
            let paths: Vec<&Path> = traces.iter().map(|t| Path::new(&t.input.path)).collect();
            let Some(path) = Costs::of_run(&paths) else {
                return Ok(Costs::unasked(None, &[], bs, sizes));
            };
            let disturbed = disturbances(&path)?;
            let run = calibrated(path)?;
            return Ok(Costs::unasked(Some(run), &disturbed, bs, sizes));
        }
        (None, Some(path)) if path.as_os_str() == Costs::PUBLISHED => Costs::Published,
        (None, Some(path)) => calibrated(path.clone())?,
        (Some(delay), _) => Costs::Delay(delay),
    };
    asked.choose(bs, sizes)
}

fn disturbances(costs: &Path) -> Result<Vec<Warning>, Fault> {
    let Some(path) = Costs::result_beside(costs) else {
        return Ok(Vec::new());
    };
    let text = whole_file::read_named_text(&path, whole_file::RESULT);
    let text = text.map_err(|error| unread(&path, error))?;
    Costs::disturbances(&path, &text)
}

fn calibrated(path: PathBuf) -> Result<Costs, Fault> {
    let text = whole_file::read_named_text(&path, whole_file::RESULT);
    let text = text.map_err(|e| unread(&path, format!("{e}; {}", Costs::FILES)))?;
    Ok(Costs::Calibrated { path, text })
}
