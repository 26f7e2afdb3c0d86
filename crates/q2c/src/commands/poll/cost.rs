//! The costs that a simulation charges.

use crate::args::CostArgs;
use crate::output::unread;
use q2c_model::{Bytes, Fault};
use q2c_result::Warning;
use q2c_run::whole_file;
use q2c_study::{ChosenCosts, Costs, Trace};
use std::path::{Path, PathBuf};

/// The costs of a simulation of `traces`: those asked for, else those of the run whose folder the
/// recordings lie in, else assumed ones. A file of calibrations has one per block size: `bs` names
/// the one to use; without it the traces must have a single block size, the one in `sizes`.
pub(super) fn costs(
    args: &CostArgs,
    bs: Option<Bytes>,
    sizes: &[Bytes],
    traces: &[Trace],
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
