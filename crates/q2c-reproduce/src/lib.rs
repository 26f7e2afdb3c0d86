//! Published experiments as files: what they ran, what this machine measures, and verdicts.

mod answer;
pub mod claim;
mod devices;
pub mod file;
pub mod jobs;
mod listing;
pub mod needs;
mod other_load;
mod settings;
pub mod studies;

pub use answer::{RunFacts, answer, judge};
pub use devices::DeviceMaker;
pub use file::{Experiment, ExperimentError};
pub use listing::Lister;
pub use settings::ReproduceSettings;

use std::collections::BTreeMap;

/// The figures that are present and finite, by name.
pub(crate) fn figures<const N: usize>(all: [(&str, Option<f64>); N]) -> BTreeMap<String, f64> {
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let known = |(name, value): (&str, _)| Some((name.to_owned(), finite(value)?));
    all.into_iter().filter_map(known).collect()
}
