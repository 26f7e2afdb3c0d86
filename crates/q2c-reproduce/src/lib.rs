//! Published experiments from files: what they ran, what this machine gives, and each published
//! claim judged.

mod ahead;
mod answer;
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
