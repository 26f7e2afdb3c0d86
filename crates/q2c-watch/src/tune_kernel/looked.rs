//! Rules in the simulator as the daemon carries them out.

use crate::steer::look_time;
use q2c_model::Nanos;
use q2c_policy::{Decision, Io, KernelSleep, Lane, Outcome, PolicySpec, Token};

/// A rule whose decision reaches the device, in whole microseconds, when the daemon looks.
struct DaemonRule {
    rule: Box<dyn Lane>,
    every: Nanos,
    /// Number of the last look, and the decision that stands since.
    stands: Option<(u64, Decision)>,
}

/// The handles of a rule, one per lane, as [`crate::steer::Daemon`] carries it out.
pub(crate) fn looked(policy: &PolicySpec, lanes: usize) -> Vec<Box<dyn Lane>> {
    let every = look_time(policy);
    let one = |rule| {
        Box::new(DaemonRule {
            rule,
            every,
            stands: None,
        }) as Box<dyn Lane>
    };
    policy.build(lanes).into_iter().map(one).collect()
}

impl Lane for DaemonRule {
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        let look = now.0 / self.every.0;
        let (new, token) = self.rule.decide(io, now);
        let stands = match self.stands {
            Some((at, decision)) if at == look => decision,
            _ => carried_out(new),
        };
        self.stands = Some((look, stands));
        (stands, token)
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos) {
        self.rule.complete(io, token, outcome, now);
    }
}

fn carried_out(decision: Decision) -> Decision {
    match decision {
        Decision::Sleep(time) => {
            let us = KernelSleep::whole_us(time);
            Decision::Sleep(Nanos::from_micros(us.into()))
        }
        Decision::Poll | Decision::Interrupt => Decision::Poll,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Direction;

    const READ: Io = Io {
        direction: Direction::Read,
        bytes: 4_096,
    };

    /// The daemon looks every 5 ms; a window of 10 ms counts from the first look after its end.
    #[test]
    fn a_value_stands_until_the_next_look() {
        let policy: PolicySpec = "min:50%,10ms".parse().unwrap();
        let mut lane = looked(&policy, 1).remove(0);
        let mut at = |us: u64, latency_ns: u64| {
            let now = Nanos::from_micros(us);
            let (decision, token) = lane.decide(READ, now);
            let outcome = Outcome {
                observed: Nanos(latency_ns),
                missed: false,
            };
            let done = Nanos(now.0 + latency_ns);
            lane.complete(READ, token, outcome, done);
            decision
        };
        let sleep = |us| Decision::Sleep(Nanos::from_micros(us));
        assert_eq!(at(5_100, 100_700), Decision::Poll);
        assert_eq!(at(9_000, 100_700), Decision::Poll);
        // Half of 100.7 us in whole microseconds.
        assert_eq!(at(16_000, 60_000), sleep(50));
        assert_eq!(at(19_000, 60_000), sleep(50));
        // The window has ended, and the look after it has come.
        assert_eq!(at(26_500, 60_000), sleep(30));
    }
}
