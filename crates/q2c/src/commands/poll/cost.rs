//! The costs that a simulation charges.

use crate::args::CostArgs;
use crate::failure::{Fails, Failure};
use q2c_model::{Bytes, CostModel};
use q2c_result::Exit;
use q2c_run::whole_file;
use q2c_study::{CostError, Costs};

/// The costs, and in words where they come from. A file of calibrations has one per block size:
/// `bs` names the one to use; without it the traces must have a single block size, the one in
/// `sizes`.
pub(super) fn costs(
    args: &CostArgs,
    bs: Option<Bytes>,
    sizes: &[Bytes],
) -> Result<(CostModel, String), Failure> {
    let costs = match (args.wake_delay, &args.cost) {
        (None, Some(path)) if path.as_os_str() == Costs::PUBLISHED => Costs::Published,
        (None, Some(path)) => {
            let text = whole_file::read_named_text(path, whole_file::RESULT);
            let bad = |e| {
                let why = format!("read {}: {e}; {}", path.display(), Costs::FILES);
                Failure::new(Exit::Input, why)
            };
            Costs::Calibrated {
                path: path.clone(),
                text: text.map_err(bad)?,
            }
        }
        (delay, _) => Costs::Delay(delay.unwrap_or(Costs::WAKE_DELAY)),
    };
    costs.choose(bs, sizes).or_exit_of(CostError::exit)
}
