use q2c_policy::PolicySpec;
use thiserror::Error;

/// The limits of a batch; [`simulate`](crate::simulate) has none of them.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum BatchError {
    /// The rule has no batch form with this cost model, or its sleep or window is too long.
    #[error(
        "simulate {0} in a batch: it takes fixed sleeps up to 0.27 s, windows up to 1.07 s, and pas with known delays; simulate it alone"
    )]
    Rule(PolicySpec),
    /// The curves of the cost model have too many corner points.
    #[error(
        "simulate in a batch: it takes cost models of up to 15 corner points of the hit delay and 255 over the sleep; simulate each configuration alone"
    )]
    Corners,
    /// An I/O's submission or device time is too long.
    #[error(
        "simulate I/O {io} in a batch: it takes times below 0.54 s, found {ns:.0} ns; simulate each configuration alone"
    )]
    TooLong {
        /// The I/O's number in the trace, from 0.
        io: u64,
        /// The longer of the submission time and the device time.
        ns: f64,
    },
}
