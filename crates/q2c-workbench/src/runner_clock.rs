//! The clock of the runner: that of the machine on which trials run.

use q2c_engine::TimeSource;
use q2c_run::runner::{SessionClock, SystemClock};
use std::time::Duration;

/// The clock that budgets and lengths of trials are counted by. In a world it shows simulated time.
pub struct RunnerClock {
    time: TimeSource,
    system: SystemClock,
}

impl RunnerClock {
    /// The clock of a run whose trials take their times from `time`.
    pub fn new(time: &TimeSource) -> Self {
        RunnerClock {
            time: time.clone(),
            system: SystemClock::default(),
        }
    }

    fn simulated(&self) -> Option<Duration> {
        let world = self.time.world()?;
        Some(Duration::from_nanos(world.now()))
    }
}

impl SessionClock for RunnerClock {
    fn monotonic(&self) -> Duration {
        self.simulated().unwrap_or_else(|| self.system.monotonic())
    }

    fn unix(&self) -> Duration {
        self.simulated().unwrap_or_else(|| self.system.unix())
    }
}
