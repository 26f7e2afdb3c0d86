//! Completions of the block layer as lanes that can be simulated.

use crate::steer::{ANY_REQUEST, kernel_class, look_interval};
use q2c_capture::latency::Completion;
use q2c_model::{Bytes, DevId, Interpretation, IoRecord, Layer, Nanos, OpFlags, Sectors};
use q2c_policy::{Decision, Io, KernelSleep, Lane, Outcome, PolicySpec, Token};
use q2c_sim::{LaneRecording, Recordings, TraceOptions};

/// The polled reads and writes as lanes of depth 1, and how they were interpreted. Each thread has
/// one lane or more; device time is from the hand-over to the driver to the completion. Threads
/// poll in their think time, too, so it costs CPU. Without a request there is no lane.
pub(crate) fn lanes(completions: &[Completion]) -> (Vec<LaneRecording>, Interpretation) {
    let is_polled = |done: &&Completion| kernel_class(done).is_some();
    let mut polled: Vec<&Completion> = completions.iter().filter(is_polled).collect();
    polled.sort_by_key(|done| issue_ns(done));
    let records: Vec<IoRecord> = polled.into_iter().map(record).collect();
    let mut recordings = Recordings::new(TraceOptions::default());
    recordings.take(&records);
    let Ok((mut lanes, selection)) = recordings.finish() else {
        return Default::default();
    };
    lanes.iter_mut().for_each(|lane| lane.gap_cpu = None);
    (lanes, selection.interpretation)
}

fn record(done: &Completion) -> IoRecord {
    let (device, bytes) = (DevId::default(), Bytes(done.bytes.into()));
    let mut record = IoRecord::new(0, Layer::Block, device, done.op, Sectors(0), bytes);
    record.lane = done.tid;
    record.issue_ns = Some(Nanos(issue_ns(done)));
    record.complete_ns = Some(done.at);
    record.flags = OpFlags::POLLED;
    record
}

/// The lanes with all requests of one class, as a rule that writes `io_poll_delay` sees them.
pub(crate) fn in_one_class(lanes: &[LaneRecording]) -> Vec<LaneRecording> {
    let merge = |lane: &LaneRecording| {
        let mut merged = LaneRecording {
            first_at: lane.first_at,
            ..LaneRecording::default()
        };
        for n in 0..lane.len() {
            merged.push(ANY_REQUEST, lane.submit[n], lane.wait[n], lane.gap[n]);
        }
        merged
    };
    lanes.iter().map(merge).collect()
}

fn issue_ns(done: &Completion) -> u64 {
    done.at.0.saturating_sub(done.latency.0)
}

/// A rule whose decision reaches the device, in whole microseconds, when the daemon looks.
struct DaemonRule {
    rule: Box<dyn Lane>,
    /// The time between two looks.
    interval: Nanos,
    /// Number of the last look, and the decision in force since then.
    last_look: Option<(u64, Decision)>,
}

/// A rule as [`crate::steer::Daemon`] carries it out: one handle per lane.
pub(crate) fn daemon_lanes(policy: &PolicySpec, lanes: usize) -> Vec<Box<dyn Lane>> {
    let interval = look_interval(policy);
    let by_daemon = |rule| {
        Box::new(DaemonRule {
            rule,
            interval,
            last_look: None,
        }) as Box<dyn Lane>
    };
    policy.build(lanes).into_iter().map(by_daemon).collect()
}

impl Lane for DaemonRule {
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        let look = now.0 / self.interval.0;
        let (wanted, token) = self.rule.decide(io, now);
        let decision = match self.last_look {
            Some((last, decision)) if last == look => decision,
            _ => in_whole_us(wanted),
        };
        self.last_look = Some((look, decision));
        (decision, token)
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos) {
        self.rule.complete(io, token, outcome, now);
    }
}

fn in_whole_us(decision: Decision) -> Decision {
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
    use crate::steer::polled_read;
    use proptest::prelude::*;
    use q2c_model::{Direction, Nanos, Op};

    fn done(tid: u32, issue_ns: u64, at: u64) -> Completion {
        let read = polled_read(Nanos(at), Nanos(at - issue_ns));
        Completion { tid, ..read }
    }

    /// Thread 8 has two requests in flight from 110 to 150. Every lane lasts until the end, 400.
    #[test]
    fn threads_are_lanes_and_overlaps_make_more() {
        let completions = [
            done(7, 0, 100),
            done(8, 10, 90),
            done(7, 130, 200),
            done(8, 100, 300),
            done(8, 110, 150),
            done(8, 160, 400),
        ];
        let (lanes, taken_as) = lanes(&completions);
        let times = |lane: &LaneRecording| (lane.wait.to_vec(), lane.gap.to_vec());
        let times: Vec<(Vec<f32>, Vec<f32>)> = lanes.iter().map(times).collect();
        let wanted = [
            (vec![100.0, 70.0], vec![30.0, 200.0]),
            (vec![80.0, 200.0], vec![10.0, 100.0]),
            (vec![40.0, 240.0], vec![10.0, 0.0]),
        ];
        assert_eq!(times, wanted);
        assert!(lanes.iter().all(|lane| lane.gap_cpu.is_none()));
        assert_eq!((taken_as.owners, taken_as.polled), (2, Some(6)));
    }

    #[test]
    fn what_the_kernel_does_not_sleep_for_is_left_out() {
        let [mut unpolled, mut flush] = [done(7, 0, 100); 2];
        unpolled.polled = false;
        (flush.op, flush.bytes) = (Op::Flush, 0);
        assert!(lanes(&[unpolled, flush]).0.is_empty());
    }

    proptest! {
        /// Waits and gaps of a lane add up to the time from its first hand-over to its last
        /// completion.
        #[test]
        fn lanes_have_depth_one(
            requests in proptest::collection::vec((0_u32..3, 0_u64..1_000, 1_u64..300), 1..60)
        ) {
            let completions: Vec<Completion> =
                requests.iter().map(|&(tid, at, took)| done(tid, at, at + took)).collect();
            let (lanes, _) = lanes(&completions);
            prop_assert_eq!(lanes.iter().map(LaneRecording::len).sum::<usize>(), completions.len());
            for lane in &lanes {
                prop_assert!(lane.gap.iter().all(|&gap| gap >= 0.0));
            }
            let total: f64 = lanes.iter().flat_map(|lane| lane.wait.iter()).map(|&w| f64::from(w)).sum();
            prop_assert_eq!(total as u64, requests.iter().map(|(_, _, took)| took).sum::<u64>());
        }
    }

    const READ: Io = Io {
        direction: Direction::Read,
        bytes: 4_096,
    };

    /// The daemon looks every 5 ms; a window of 10 ms counts from the first look after its end.
    #[test]
    fn a_value_stands_until_the_next_look() {
        let policy: PolicySpec = "min:50%,10ms".parse().unwrap();
        let mut lane = daemon_lanes(&policy, 1).remove(0);
        let mut decide = |us: u64, latency_ns: u64| {
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
        assert_eq!(decide(5_100, 100_700), Decision::Poll);
        assert_eq!(decide(9_000, 100_700), Decision::Poll);
        // Half of 100.7 us in whole microseconds.
        assert_eq!(decide(16_000, 60_000), sleep(50));
        assert_eq!(decide(19_000, 60_000), sleep(50));
        // The window has ended, and the look after it has come.
        assert_eq!(decide(26_500, 60_000), sleep(30));
    }
}
