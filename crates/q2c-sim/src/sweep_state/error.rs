//! States of sweeps that cannot be made, read or put together.

use q2c_model::Nanos;
use q2c_model::stored::StoredError;
use thiserror::Error;

/// Why a sweep cannot go in parts, or why two states are no parts of one sweep.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepStateError {
    /// Bytes of another kind or version, damaged, or not whole.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// The body has figures that no I/Os have.
    #[error(
        "read the state of a sweep: expected configurations with their sums, found numbers that no I/Os give; make it anew"
    )]
    Broken,
    /// The costs are wrong.
    #[error("sweep in parts: costs: {0}")]
    Costs(String),
    /// The costs have too many corners.
    #[error(
        "sweep in parts: expected costs with up to 15 corner points of the hit delay and 255 over the sleep, found more; sweep the whole"
    )]
    Corners,
    /// The sleeps of a configuration are too long.
    #[error(
        "sweep {0} in parts: expected sleeps up to 0.27 s, and a rule whose state can be handed over, found others; sweep the whole"
    )]
    Rule(String),
    /// An I/O or the sum of all of them is too long.
    #[error(
        "sweep in parts: expected I/Os below 0.54 s and less than 36 years together, found more; sweep the whole"
    )]
    TooLong,
    /// The volumes were added up already.
    #[error(
        "go on with a sweep whose volumes were added up: expected one device, found the sums of several; add I/Os before beside"
    )]
    Ended,
    /// Sums would be too large.
    #[error("add up sweeps: expected sums below 2^61, found more; add up fewer volumes")]
    TooMuch,
    /// Another warm-up or measured time.
    #[error("join states of sweeps: expected a {what} of {expected}, found {found}")]
    OtherTime {
        /// Which of the two.
        what: &'static str,
        /// That of the first.
        expected: Nanos,
        /// That of the second.
        found: Nanos,
    },
    /// Another seed of the draws.
    #[error("join states of sweeps: expected the seed {expected}, found {found}")]
    OtherSeed {
        /// That of the first.
        expected: u64,
        /// That of the second.
        found: u64,
    },
    /// Other costs.
    #[error(
        "join states of sweeps: expected the same costs, found others; sweep both with one calibration"
    )]
    OtherCosts,
    /// Other configurations.
    #[error(
        "join states of sweeps: expected the same configurations, found {found} in place of {expected} (number {number})"
    )]
    OtherConfiguration {
        /// Number of the first one that differs, from 0.
        number: usize,
        /// That of the first.
        expected: String,
        /// That of the second.
        found: String,
    },
    /// A volume counts twice.
    #[error("join states of sweeps: expected different volumes, found {0} in both")]
    SameVolume(String),
    /// Configurations over different volumes.
    #[error("join configurations of a sweep: expected the same volumes, found {0} in one alone")]
    OtherVolume(String),
    /// A configuration counts twice.
    #[error("join configurations of a sweep: expected different ones, found {0} in both")]
    SameConfiguration(String),
    /// Configurations over other I/Os of the same volumes.
    #[error(
        "join configurations of a sweep: expected the same {expected} I/Os, found {found} that are not all the same; feed both alike"
    )]
    OtherIos {
        /// Number of I/Os of the first.
        expected: u64,
        /// Number of I/Os of the second.
        found: u64,
    },
}
