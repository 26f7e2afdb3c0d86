//! The experiments that are built in.

use super::{Experiment, ExperimentError};

const TEXTS: [&str; 24] = [
    include_str!("../../../../experiments/miss-rate-interference.toml"),
    include_str!("../../../../experiments/miss-rate-interference-2cpu.toml"),
    include_str!("../../../../experiments/miss-rate-interference-1m.toml"),
    include_str!("../../../../experiments/sleep-ratio-interference.toml"),
    include_str!("../../../../experiments/sleep-ratio-interference-2cpu.toml"),
    include_str!("../../../../experiments/replay-ssd-comparison.toml"),
    include_str!("../../../../experiments/interfaces-by-jobs.toml"),
    include_str!("../../../../experiments/irq-vs-poll-scaling.toml"),
    include_str!("../../../../experiments/poll-vs-hybrid-cpu.toml"),
    include_str!("../../../../experiments/hybrid-tuned.toml"),
    include_str!("../../../../experiments/rule-study.toml"),
    include_str!("../../../../experiments/placement-between-cores.toml"),
    include_str!("../../../../experiments/placement-within-core.toml"),
    include_str!("../../../../experiments/placement-balancer.toml"),
    include_str!("../../../../experiments/blkmq-kernel-version.toml"),
    include_str!("../../../../experiments/blkmq-core-scaling.toml"),
    include_str!("../../../../experiments/blkmq-macro-scaling.toml"),
    include_str!("../../../../experiments/hwqueue-scaling.toml"),
    include_str!("../../../../experiments/nr-requests-scaling.toml"),
    include_str!("../../../../experiments/fs-shared-file-scaling.toml"),
    include_str!("../../../../experiments/stage-bottleneck.toml"),
    include_str!("../../../../experiments/queue-balance.toml"),
    include_str!("../../../../experiments/queue-balance-2cpu.toml"),
    include_str!("../../../../experiments/ramdisk-verification.toml"),
];

/// All built-in experiments.
pub fn built_in_experiments() -> Result<Vec<Experiment>, ExperimentError> {
    TEXTS.iter().map(|text| Experiment::parse(text)).collect()
}

/// The built-in experiment of this name.
pub fn built_in_experiment(name: &str) -> Result<Experiment, ExperimentError> {
    let experiments = built_in_experiments()?;
    let known: Vec<String> = experiments.iter().map(|known| known.name.clone()).collect();
    let experiment = experiments.into_iter().find(|known| known.name == name);
    experiment.ok_or_else(|| ExperimentError::Unknown {
        name: name.to_owned(),
        known: known.join(", "),
    })
}
