use std::time::{Duration, Instant, SystemTime};

/// The clock of the runner. Tests bring a clock of their own.
pub trait SessionClock {
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
    /// Time since 1970, UTC.
    fn unix(&self) -> Duration;
}

/// The system's clocks.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock(Instant::now())
    }
}

impl SessionClock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
    fn unix(&self) -> Duration {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // Only a clock set before 1970 errs; such a time is shown as 1970.
        since.unwrap_or_default()
    }
}
