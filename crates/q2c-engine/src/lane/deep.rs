use super::Wait;
use crate::{EngineError, EngineLane, RingCompletion, Sample, Time};
use std::sync::atomic::Ordering;

impl<T: Time> EngineLane<'_, T> {
    /// Reaps the requests that a lane with `carries` has in flight. `wait` MUST be the one that
    /// they were submitted under.
    pub(crate) fn drain(&mut self, wait: &mut Wait) -> Result<(), EngineError> {
        if let Wait::Hybrid(rule) = wait {
            return self.drain_hybrid(rule.as_mut());
        }
        while self.in_flight > 0 {
            self.reap(matches!(wait, Wait::Poll))?;
            self.in_flight -= 1;
        }
        Ok(())
    }

    /// Keeps `depth` requests in flight: each completed request is replaced at once.
    pub(super) fn deep(&mut self, poll: bool, end: u64) -> Result<(), EngineError> {
        // A device whose queue is full lets each submission of the first fill wait.
        while self.in_flight < self.depth && !self.stop.load(Ordering::Relaxed) {
            self.launch(self.in_flight, poll)?;
            self.in_flight += 1;
        }
        while self.in_flight > 0 {
            let (slot, now) = self.reap(poll)?;
            let (over, halted) = (now >= end, self.stop.load(Ordering::Relaxed));
            if halted || over && !self.carries {
                self.in_flight -= 1;
                continue;
            }
            self.launch(slot, poll)?;
            if over {
                break;
            }
        }
        Ok(())
    }

    /// Takes one completion. Returns its slot and the time at which it was seen.
    fn reap(&mut self, poll: bool) -> Result<(u16, u64), EngineError> {
        let done = if poll {
            self.spin()?
        } else {
            self.engine.wait()?
        };
        let now = self.time.now();
        self.land(done, now);
        Ok((done.slot, now))
    }

    fn launch(&mut self, slot: u16, poll: bool) -> Result<(), EngineError> {
        let request = self.next_request(slot);
        self.slots[slot as usize] = (self.time.now(), request.offset);
        if poll {
            self.engine.submit(&[request])
        } else {
            self.engine.submit_interrupting(&[request])
        }
    }

    pub(super) fn land(&mut self, done: RingCompletion, now: u64) {
        let (submit_ns, offset) = self.slots[done.slot as usize];
        self.record(Sample::one_call(
            submit_ns,
            offset,
            now - submit_ns,
            done.result,
        ));
    }
}
