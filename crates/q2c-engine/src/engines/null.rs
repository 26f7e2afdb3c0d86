//! `null`: every request is complete at once. A run on it measures the harness's own cost.

use crate::engine::{Engine, EngineError, EngineFacts, Request, RingCompletion};
use q2c_policy::method::Means;
use q2c_sys::thread::sleep_until;

/// The engine. It holds finished requests that nobody has taken yet; the newest is taken first.
pub struct Null(pub(super) Vec<RingCompletion>);

impl Engine for Null {
    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        let done = |r: &Request| RingCompletion {
            slot: r.slot,
            result: r.length as i32,
        };
        self.0.extend(requests.iter().map(done));
        Ok(())
    }

    #[inline]
    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        Ok(self.0.pop())
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        let done = self.0.pop();
        Ok(done.expect("a request is in flight, as the contract says"))
    }

    fn next_due(&self) -> Option<u64> {
        (!self.0.is_empty()).then_some(0)
    }

    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<RingCompletion>, EngineError> {
        if self.0.is_empty() {
            sleep_until(deadline_ns);
        }
        Ok(self.0.pop())
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts {
            polls_by: Means::Memory,
            sleeps_undisturbed: true,
            ..EngineFacts::default()
        }
    }
}
