//! The costs that a simulation charges.

use crate::args::CostArgs;
use crate::failure::Failure;
use q2c_model::{Bytes, CostModel, Nanos};
use q2c_result::Exit;
use q2c_result::tune::Calibration;
use q2c_run::whole_file;

/// The wake-up delay of `q2c poll sim` and `sweep` without an option.
const WAKE_DELAY: Nanos = Nanos(2_000);
/// The value of `--cost` that stands for a machine as publications describe it.
pub(super) const PUBLISHED: &str = "published";

/// The costs, and in words where they come from. A file of calibrations has one per block size:
/// `bs` names the one to use; without it the traces must have a single block size, the one in
/// `sizes`.
pub(super) fn costs(
    args: &CostArgs,
    bs: Option<Bytes>,
    sizes: &[Bytes],
) -> Result<(CostModel, String), Failure> {
    let path = match (args.wake_delay, &args.cost) {
        (None, Some(path)) if path.as_os_str() == PUBLISHED => return Ok(published()),
        (None, Some(path)) => path,
        (delay, _) => {
            let delay = delay.unwrap_or(WAKE_DELAY);
            let words = format!("every sleep ends {delay} late, nothing else costs");
            return Ok((CostModel::delayed(delay), words));
        }
    };
    let bad = |why: String| Failure::new(Exit::Input, format!("read {}: {why}", path.display()));
    let text =
        whole_file::read_named_text(path, whole_file::RESULT).map_err(|e| bad(e.to_string()))?;
    let all: Vec<Calibration> = serde_json::from_str(&text)
        .map_err(|e| bad(format!("expected a list of calibrations, found {e}")))?;
    let list = |sizes: &mut dyn Iterator<Item = Bytes>| {
        let words: Vec<String> = sizes.map(|bs| bs.to_string()).collect();
        words.join(", ")
    };
    let bs = match (bs, sizes.first()) {
        (Some(bs), _) => bs,
        (None, Some(&bs)) if sizes.len() == 1 => bs,
        _ => {
            let found = list(&mut sizes.iter().copied());
            let why = format!(
                "choose a calibration: expected one block size in the trace, found {found}; name one with --bs"
            );
            return Err(Failure::new(Exit::Usage, why));
        }
    };
    let found = all.iter().find(|calibration| calibration.bs == bs);
    let found = found.ok_or_else(|| {
        let have = list(&mut all.iter().map(|calibration| calibration.bs));
        bad(format!(
            "expected a calibration for {bs}, found {have}; name another with --bs"
        ))
    })?;
    found
        .cost
        .check()
        .map_err(|why| bad(format!("take the costs for {bs}: {why}")))?;
    let words = format!(
        "calibration for {bs} on {} in {}",
        found.cpu,
        path.display()
    );
    Ok((found.cost.clone(), words))
}

/// The machine of the publications, and its costs in words.
fn published() -> (CostModel, String) {
    let cost = CostModel::published();
    let us = |ns: f64| ns / 1e3;
    let words = format!(
        "published machine: wake-ups {} us late, {:.2} us of CPU per sleep, {:.2} us per I/O by interrupt",
        us(cost.wake_clear.base_ns.at(0.0)),
        us(cost.sleep_cpu_clear_ns.at(0.0)),
        us(cost.interrupt_cpu_ns)
    );
    (cost, words)
}
