//! Arguments about the simulated time.

use clap::Args;
use q2c_model::{Nanos, parse_time};
use q2c_sim::Arrival;
use q2c_study::Timing;

/// How long is simulated, and when submissions come.
#[derive(Clone, Debug, Args)]
pub struct TimingArgs {
    /// Simulated time before anything counts
    #[arg(long, value_name = "DURATION", default_value = "400ms", value_parser = parse_time)]
    pub warm_up: Nanos,
    /// Simulated time that counts; a recording is repeated as long [default: each recording's
    /// length, at least 2s]
    #[arg(long, value_name = "DURATION", value_parser = parse_time)]
    pub measure: Option<Nanos>,
    /// Open loop: submissions come as they came in the recording
    ///
    /// Open loop: submissions come when they came in the recording, not when the last completion
    /// allows
    #[arg(long)]
    pub open: bool,
    /// Seed of everything that is drawn: wake-up delays, resampled sets, sources held out, points
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
}

impl TimingArgs {
    /// When submissions come: as recorded with `--open`, else after the recorded think time.
    pub fn arrival(&self) -> Arrival {
        if self.open {
            Arrival::Recorded
        } else {
            Arrival::Think
        }
    }

    /// The simulated time.
    pub fn timing(&self) -> Timing {
        Timing {
            warm_up: self.warm_up,
            measure: self.measure,
            seed: self.seed,
        }
    }
}
