//! The clock of a submitting thread, and how the thread waits.

use q2c_engine::engine::{Engine, EngineError, RingCompletion};
use q2c_engine::{SimulatedThread, Time};

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitSpec {
    /// When the next request is due. The wait returns earlier, so that it can be submitted in time.
    pub due_ns: Option<u64>,
    /// The moment by which the wait returns, even if nothing has happened.
    pub limit_ns: u64,
    /// True if a completion must be seen at once, so that the thread looks and does not sleep.
    pub polls: bool,
    /// True if the due request waits until another thread has submitted one that it overlaps.
    pub for_others: bool,
}

/// Time as a submitting thread sees it, ns from the start. In tests a device drives it.
pub trait ThreadClock {
    /// The present time; 0 before the start.
    fn now_ns(&self) -> u64;

    /// Waits for a completion. It may return early with `None`; the caller then calls it again.
    fn wait(
        &mut self,
        engine: &mut dyn Engine,
        wait: WaitSpec,
    ) -> Result<Option<RingCompletion>, EngineError>;

    /// Waits a little and returns true, or, shortly before the start, waits for it and returns
    /// false.
    fn wait_before_start(&mut self) -> bool {
        false
    }

    /// This thread has submitted requests, for which other threads may wait.
    #[inline]
    fn note_progress(&self) {}
}

/// The run's clock. It sleeps until a margin before the due time, learned from late wake-ups.
pub(crate) struct RunClock<T> {
    time: T,
    /// The clock of [`Engine::wait_until`].
    engine_time: T,
    start_ns: u64,
    spin: bool,
    margin_ns: u64,
    /// The due time of the last wait. Without a sleep, each due time narrows the margin once.
    last_due_ns: u64,
}

impl<T: Time> RunClock<T> {
    /// The initial, smallest and largest margin, ns.
    const INITIAL_MARGIN_NS: u64 = 60_000;
    const MIN_MARGIN_NS: u64 = 25_000;
    const MAX_MARGIN_NS: u64 = 5_000_000;
    /// Time before the start at which sleeping ends, ns.
    const AWAKE_BEFORE_START_NS: u64 = 800_000;
    /// The shortest sleep that is worth its cost, ns.
    const MIN_SLEEP_NS: u64 = 10_000;

    /// Time 0 is `start_ns` of `time`. With `spin` the thread never sleeps.
    pub(crate) fn new(time: T, engine_time: T, start_ns: u64, spin: bool) -> Self {
        RunClock {
            time,
            engine_time,
            start_ns,
            spin,
            margin_ns: Self::INITIAL_MARGIN_NS,
            last_due_ns: 0,
        }
    }

    /// Adapts the margin: `late_ns` is how late a sleep ended, `None` for a due time without a
    /// sleep. A late wake-up widens the margin by at most half, so that a single very late one does
    /// not end all sleeping. Everything else narrows it, so little that about one wake-up in a
    /// thousand is too late. It narrows also if requests follow each other too closely for a sleep,
    /// so that a sleep is tried again.
    fn adapt_margin(&mut self, late_ns: Option<u64>) {
        let wanted_ns = late_ns.map_or(0, |late| late + late / 2 + 10_000);
        let margin_ns = if wanted_ns > self.margin_ns {
            wanted_ns.min(self.margin_ns + self.margin_ns / 2)
        } else {
            self.margin_ns - self.margin_ns / 2048
        };
        self.margin_ns = margin_ns.clamp(Self::MIN_MARGIN_NS, Self::MAX_MARGIN_NS);
    }

    /// Looks once. Simulated time skips the looks that can find neither a completion nor a due
    /// request.
    fn look(
        &self,
        engine: &mut dyn Engine,
        wait: WaitSpec,
    ) -> Result<Option<RingCompletion>, EngineError> {
        self.time.look_again(|now_ns| {
            let until_ns = wait.limit_ns.min(wait.due_ns.unwrap_or(u64::MAX));
            let next_ns = until_ns.saturating_add(self.start_ns);
            next_ns
                .min(engine.next_due().unwrap_or(u64::MAX))
                .max(now_ns)
        });
        engine.poll()
    }
}

impl<T: Time> ThreadClock for RunClock<T> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.time.now().saturating_sub(self.start_ns)
    }

    fn wait(
        &mut self,
        engine: &mut dyn Engine,
        wait: WaitSpec,
    ) -> Result<Option<RingCompletion>, EngineError> {
        if wait.polls || self.spin {
            return self.look(engine, wait);
        }
        let now_ns = self.now_ns();
        let due_ns = wait.due_ns.unwrap_or(u64::MAX);
        if due_ns.saturating_sub(now_ns) < self.margin_ns + Self::MIN_SLEEP_NS {
            // An overdue request waits for something other than its time, so it says nothing about
            // the margin.
            if due_ns > now_ns && self.last_due_ns != due_ns {
                self.last_due_ns = due_ns;
                self.adapt_margin(None);
            }
            return self.look(engine, wait);
        }
        self.last_due_ns = due_ns;
        let until_ns = wait.limit_ns.min(due_ns - self.margin_ns);
        let sleep_ns = until_ns.saturating_sub(now_ns);
        let done = engine.wait_until(self.engine_time.now() + sleep_ns)?;
        if done.is_none() {
            let late_ns = self.now_ns().saturating_sub(now_ns + sleep_ns);
            self.adapt_margin(Some(late_ns));
        }
        Ok(done)
    }

    fn wait_before_start(&mut self) -> bool {
        let left_ns = self.start_ns.saturating_sub(self.time.now());
        if left_ns > Self::AWAKE_BEFORE_START_NS {
            if self.spin {
                self.time.spin_until(self.start_ns);
            } else {
                self.time.sleep(Self::AWAKE_BEFORE_START_NS / 4);
            }
            return true;
        }
        while self.time.now() < self.start_ns {
            self.time.spin_until(self.start_ns);
        }
        false
    }
}

/// The clock of a thread in a world whose steps take no time. It sleeps until exactly the next
/// event, so nothing is late.
pub(crate) struct EventClock<'a> {
    time: SimulatedThread<'a>,
    start_ns: u64,
}

impl<'a> EventClock<'a> {
    /// Time 0 is `start_ns` of `time`.
    pub(crate) fn new(time: SimulatedThread<'a>, start_ns: u64) -> Self {
        EventClock { time, start_ns }
    }
}

impl ThreadClock for EventClock<'_> {
    fn now_ns(&self) -> u64 {
        self.time.now().saturating_sub(self.start_ns)
    }

    fn wait(
        &mut self,
        engine: &mut dyn Engine,
        wait: WaitSpec,
    ) -> Result<Option<RingCompletion>, EngineError> {
        let due_ns = wait.due_ns.filter(|_| !wait.for_others);
        let until_ns = wait.limit_ns.min(due_ns.unwrap_or(u64::MAX));
        if wait.for_others {
            self.time.listen();
        }
        let done = engine.wait_until(until_ns.saturating_add(self.start_ns));
        if wait.for_others {
            self.time.stop_listening();
        }
        done
    }

    fn wait_before_start(&mut self) -> bool {
        let left_ns = self.start_ns.saturating_sub(self.time.now());
        self.time.sleep(left_ns);
        false
    }

    fn note_progress(&self) {
        self.time.wake_listeners();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_engine::Real;
    use q2c_sys::Clock;

    /// After one very late wake-up it sleeps again; wake-ups that are always late widen the margin.
    #[test]
    fn the_margin_follows_and_forgets() {
        let (time, engine_time) = (Real(Clock::new()), Real(Clock::MONOTONIC));
        let mut clock = RunClock::new(time, engine_time, 0, false);
        clock.adapt_margin(Some(20_000_000));
        assert_eq!(clock.margin_ns, 90_000, "half wider at most");
        (0..30).for_each(|_| clock.adapt_margin(Some(150_000)));
        // The margin becomes one and a half times the lateness plus 10 us. A wake-up with the
        // expected lateness narrows it a little.
        let margin_ns = clock.margin_ns;
        assert!((234_000..=235_000).contains(&margin_ns), "{margin_ns}");
        (0..30).for_each(|_| clock.adapt_margin(Some(20_000_000)));
        assert_eq!(clock.margin_ns, RunClock::<Real>::MAX_MARGIN_NS);
        (0..12_000).for_each(|_| clock.adapt_margin(None));
        assert_eq!(clock.margin_ns, RunClock::<Real>::MIN_MARGIN_NS);
    }
}
