//! Published experiments as files: what they ran, what this machine measures, and verdicts.

mod ahead;
mod answer;
pub mod claim;
mod devices;
pub mod file;
pub mod jobs;
pub mod needs;
mod others;
mod settings;
pub mod studies;

pub use ahead::Ahead;
pub use answer::{About, answer, judged};
pub use devices::Maker;
pub use file::{Experiment, ExperimentError};
pub use settings::ReproduceSettings;

use std::collections::BTreeMap;

/// The figures that are present and finite, by name.
pub(crate) fn known<const N: usize>(all: [(&str, Option<f64>); N]) -> BTreeMap<String, f64> {
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let known = |(name, value): (&str, _)| Some((name.to_owned(), finite(value)?));
    all.into_iter().filter_map(known).collect()
}
