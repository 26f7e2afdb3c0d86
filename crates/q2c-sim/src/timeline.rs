//! One configuration I/O by I/O: the sleep that the rule asked for, and how the I/O ended.

use crate::recording::LaneRecording;
use crate::reference::{Arrival, Drive, Waiting, simulate_with};
use q2c_model::{CostModel, Nanos};
use q2c_policy::{Decision, Io, Lane, Outcome, Token};
use std::sync::{Arc, Mutex};

/// One I/O of a time line; all times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimelineIo {
    /// Time of the submission's return, counted from the start of the simulation.
    pub at: f64,
    /// The device's latency.
    pub latency: f64,
    /// The sleep asked; 0 when the I/O did not sleep.
    pub asked: f64,
    /// Time from the submission's return to the reaping.
    pub observed: f64,
    /// True if the I/O was complete when its sleep ended.
    pub missed: bool,
}

/// Simulates the first `max_ios` I/Os of a lane under a rule, once, with the reference simulator.
pub fn timeline(
    arrival: Arrival,
    lane: &LaneRecording,
    cost: &CostModel,
    rule: Box<dyn Lane>,
    seed: u64,
    max_ios: usize,
) -> Vec<TimelineIo> {
    let part = lane.part(0..max_ios.min(lane.len()));
    let log = Arc::new(Mutex::new(Vec::with_capacity(part.len())));
    let logged = LoggedLane {
        rule,
        log: Arc::clone(&log),
    };
    let rules = Waiting::rules(vec![Box::new(logged)]);
    let latencies = part.wait.clone();
    let _ = simulate_with(arrival, &[part], cost, rules, Drive::one_pass(seed));
    let moments = std::mem::take(&mut *log.lock().expect("the simulation is over"));
    let with_latency = |(moment, &latency): (TimelineIo, &f32)| TimelineIo {
        latency: latency.into(),
        ..moment
    };
    let moments = moments.into_iter().zip(&*latencies);
    moments.map(with_latency).collect()
}

struct LoggedLane {
    rule: Box<dyn Lane>,
    log: Arc<Mutex<Vec<TimelineIo>>>,
}

impl Lane for LoggedLane {
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        let (decision, token) = self.rule.decide(io, now);
        let asked = match decision {
            Decision::Sleep(asked) => asked.0 as f64,
            _ => 0.0,
        };
        let moment = TimelineIo {
            at: now.0 as f64,
            asked,
            ..TimelineIo::default()
        };
        self.log.lock().expect("one thread").push(moment);
        (decision, token)
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos) {
        if let Some(moment) = self.log.lock().expect("one thread").last_mut() {
            (moment.observed, moment.missed) = (outcome.observed.0 as f64, outcome.missed);
        }
        self.rule.complete(io, token, outcome, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::PolicySpec;

    /// Latencies of 30, 10 and 30 us, and a fixed sleep of 15 us that ends 2 us late. Only the
    /// second I/O is missed, and observed after 17 us.
    #[test]
    fn by_hand() {
        let mut lane = LaneRecording::default();
        for wait in [30e3, 10e3, 30e3, 30e3] {
            lane.push(Io::READ_4K, 0.0, wait, 1e3);
        }
        let rule: PolicySpec = "fixed:15us".parse().unwrap();
        let cost = CostModel::delayed(Nanos(2_000));
        let rule = rule.build(1).pop().unwrap();
        let got = timeline(Arrival::ClosedLoop, &lane, &cost, rule, 1, 3);
        let seen = got.iter().map(|m| (m.at, m.latency, m.observed, m.missed));
        let wanted = [
            (0.0, 30e3, 30e3, false),
            (31e3, 10e3, 17e3, true),
            (49e3, 30e3, 30e3, false),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), wanted);
        assert!(got.iter().all(|m| m.asked == 15e3));
    }
}
