//! The costs that a simulation charges.

use q2c_model::{Bytes, CostModel, Nanos};
use q2c_result::Exit;
use q2c_result::tune::Calibration;
use std::path::PathBuf;
use thiserror::Error;

/// Where the costs of a simulated machine come from.
#[derive(Clone, Debug)]
pub enum Costs {
    /// Every sleep ends this late, and nothing else costs.
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

/// The reasons for which a file of calibrations gives no costs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CostError {
    /// The file cannot be used.
    #[error("read {}: {why}", path.display())]
    Unusable {
        /// Path of the file.
        path: PathBuf,
        /// What was expected and found.
        why: String,
    },
    /// The traces do not say which of the calibrations is theirs.
    #[error(
        "choose a calibration: expected one block size in the trace, found {found}; name one with --bs"
    )]
    Sizes {
        /// The block sizes of the traces.
        found: String,
    },
}

impl CostError {
    /// The exit code of a command that this error ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            CostError::Unusable { .. } => Exit::Input,
            CostError::Sizes { .. } => Exit::Usage,
        }
    }
}

impl Costs {
    /// The name that stands for a machine as publications describe it, in the place of a file.
    pub const PUBLISHED: &str = "published";
    /// The files that have costs, in words.
    pub const FILES: &str =
        "name the calibration.json of a run, or what q2c calibrate --json prints";
    /// The wake-up delay of simulations where nothing else is asked for.
    pub const WAKE_DELAY: Nanos = Nanos(2_000);

    /// The costs, and in words where they come from. Of a file of calibrations, `bs` names the one
    /// to use; without it the traces must have a single block size, the one in `sizes`.
    ///
    /// # Errors
    /// A [`CostError`].
    pub fn choose(
        &self,
        bs: Option<Bytes>,
        sizes: &[Bytes],
    ) -> Result<(CostModel, String), CostError> {
        match self {
            Costs::Published => Ok(published()),
            Costs::Delay(delay) => {
                let words = format!("every sleep ends {delay} late, nothing else costs");
                Ok((CostModel::delayed(*delay), words))
            }
            Costs::Calibrated { path, text } => {
                let bad = |why| CostError::Unusable {
                    path: path.clone(),
                    why,
                };
                let found = calibration(text, bs, sizes)?.map_err(bad)?;
                let (cpu, bs) = (&found.cpu, found.bs);
                let words = format!("calibration for {bs} on {cpu} in {}", path.display());
                Ok((found.cost, words))
            }
        }
    }
}

/// The calibration to use. The inner error says what is wrong with the file.
fn calibration(
    text: &str,
    bs: Option<Bytes>,
    sizes: &[Bytes],
) -> Result<Result<Calibration, String>, CostError> {
    let all: Vec<Calibration> = match serde_json::from_str(text) {
        Ok(all) => all,
        Err(e) => {
            return Ok(Err(format!(
                "expected a list of calibrations, found {e}; {}",
                Costs::FILES
            )));
        }
    };
    let bs = match (bs, sizes) {
        (Some(bs), _) => bs,
        (None, [bs]) => *bs,
        _ => {
            let found = list(sizes.iter().copied());
            return Err(CostError::Sizes { found });
        }
    };
    let Some(found) = all.iter().find(|calibration| calibration.bs == bs) else {
        let have = list(all.iter().map(|calibration| calibration.bs));
        return Ok(Err(format!(
            "expected a calibration for {bs}, found {have}; name another with --bs"
        )));
    };
    let usable = found.cost.check();
    let usable = usable.map_err(|why| format!("take the costs for {bs}: {why}"));
    Ok(usable.map(|()| found.clone()))
}

fn list(sizes: impl Iterator<Item = Bytes>) -> String {
    let words: Vec<String> = sizes.map(|bs| bs.to_string()).collect();
    words.join(", ")
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
