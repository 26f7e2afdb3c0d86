//! Where a submitting thread takes its time from, and how it waits.

use q2c_engine::engine::{Completion, Engine, EngineError};
use q2c_sys::Clock;
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::sleep_until;

/// What a wait is for.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// A request is due then: the caller is to be back before.
    pub due: Option<u64>,
    /// It is over then, whatever comes.
    pub limit: u64,
    /// A completion is to be seen at once: no sleep.
    pub look: bool,
}

/// Time as a submitting thread sees it, ns from the replay's start.
pub trait Time {
    /// Now; 0 before the start.
    fn now(&self) -> u64;

    /// Waits for a completion; may come back early, and is to be called again.
    ///
    /// # Errors
    /// The engine is broken.
    fn wait(
        &mut self,
        engine: &mut dyn Engine,
        wait: Wait,
    ) -> Result<Option<Completion>, EngineError>;

    /// Whether the replay's start is still so far that there is time for other work; waits for the rest of it when not.
    fn before_start(&mut self) -> bool {
        false
    }
}

/// The run's clock: sleeps to some time before the moment, then looks. The time before is learned from how late it woke.
pub struct Real {
    clock: Clock,
    start: u64,
    spin: bool,
    margin: u64,
    /// What was waited for last.
    moment: u64,
}

impl Real {
    /// Time before the moment at first, at least, and at most, ns.
    const FIRST: u64 = 60_000;
    const LEAST: u64 = 25_000;
    const MOST: u64 = 5_000_000;
    /// Time before the start at which sleeping ends, ns.
    const START: u64 = 800_000;
    /// A sleep below this is not worth it.
    const SHORTEST: u64 = 10_000;

    /// `start` on the clock is time 0; `spin`: without any sleep.
    pub fn new(clock: Clock, start: u64, spin: bool) -> Self {
        Real {
            clock,
            start,
            spin,
            margin: Self::FIRST,
            moment: 0,
        }
    }

    /// A wake-up that came too late widens the margin by half at most, so that one that was very late does not end all sleeping; any
    /// other moment narrows it by so little that one in a thousand comes too late. So it also narrows where requests follow each other too
    /// closely to sleep, and a sleep is tried again.
    fn learn(&mut self, late: Option<u64>) {
        let wanted = late.map_or(0, |late| late + late / 2 + 10_000);
        self.margin = match wanted > self.margin {
            true => wanted.min(self.margin + self.margin / 2),
            false => self.margin - self.margin / 2048,
        };
        self.margin = self.margin.clamp(Self::LEAST, Self::MOST);
    }
}

impl Time for Real {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now().saturating_sub(self.start)
    }

    fn wait(
        &mut self,
        engine: &mut dyn Engine,
        wait: Wait,
    ) -> Result<Option<Completion>, EngineError> {
        if wait.look || self.spin {
            std::hint::spin_loop();
            return engine.poll();
        }
        let now = self.now();
        let due = wait.due.unwrap_or(u64::MAX);
        if due.saturating_sub(now) < self.margin + Self::SHORTEST {
            // What is overdue waits for something else, and says nothing.
            if due > now && self.moment != due {
                self.moment = due;
                self.learn(None);
            }
            std::hint::spin_loop();
            return engine.poll();
        }
        self.moment = due;
        let until = wait.limit.min(due - self.margin);
        let sleep = until.saturating_sub(now);
        let done = engine.wait_until(monotonic_ns() + sleep)?;
        if done.is_none() {
            self.learn(Some(self.now().saturating_sub(now + sleep)));
        }
        Ok(done)
    }

    fn before_start(&mut self) -> bool {
        let left = self.start.saturating_sub(self.clock.now());
        if left > Self::START {
            if !self.spin {
                sleep_until(monotonic_ns() + Self::START / 4);
            }
            return true;
        }
        while self.clock.now() < self.start {
            std::hint::spin_loop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever happened once, a sleep is tried again; wake-ups that are late all the time are allowed for.
    #[test]
    fn the_margin_follows_and_forgets() {
        let mut time = Real::new(Clock::new(), 0, false);
        time.learn(Some(20_000_000));
        assert_eq!(time.margin, 90_000, "half wider at most");
        (0..30).for_each(|_| time.learn(Some(150_000)));
        // One and a half times as late, and 10 us; a wake-up as late as expected narrows it a little.
        assert!(
            (234_000..=235_000).contains(&time.margin),
            "{}",
            time.margin
        );
        (0..30).for_each(|_| time.learn(Some(20_000_000)));
        assert_eq!(time.margin, Real::MOST);
        (0..12_000).for_each(|_| time.learn(None));
        assert_eq!(time.margin, Real::LEAST);
    }
}
