//! Rules that may change their sleep with every I/O, by their own code; lanes share no state here.

use super::trace::LanePosition;
use super::{AloneCounts, AloneSimulator};
use crate::batch::LONGEST;
use crate::batch::priced::PricedSleep;
use q2c_model::Nanos;
use q2c_policy::{Decision, Lane, Outcome};

pub(super) fn run(
    rule: &mut dyn Lane,
    lane: &mut LanePosition,
    counted: &mut AloneCounts,
    machine: &AloneSimulator<'_>,
    horizon: i64,
) -> bool {
    let trace = &machine.traces[lane.lane];
    let columns = &trace.columns;
    let costs = &machine.costs;
    let mut sleep = PricedSleep::POLLING;
    while !machine.is_over(lane) {
        if lane.start >= horizon {
            return true;
        }
        let i = lane.at;
        let (io, wait) = (trace.io(i), columns.wait[i] as i32);
        let recorded = columns.submit[i] as i32;
        let (decision, token) = rule.decide(io, Nanos(lane.returns(trace) as u64));
        counted.too_long |= matches!(decision, Decision::Sleep(asked) if asked.0 > LONGEST);
        let (end, asked, submit) = match decision {
            Decision::Interrupt => (costs.interrupted(wait, recorded), 0, recorded),
            Decision::Poll => {
                let end = PricedSleep::POLLING.end(wait, (0.0, 0.0), costs);
                (end, 0, recorded)
            }
            Decision::Sleep(asked) => match &costs.plain {
                Some(plain) if asked > Nanos::ZERO => {
                    let asked = asked.0.min(LONGEST) as i32;
                    (costs.known_end(plain, asked, wait), asked, recorded)
                }
                _ => {
                    if sleep.asked as u64 != asked.0 {
                        sleep = machine.price(asked);
                    }
                    let end = sleep.end(wait, machine.draws.draws_at(lane.draw), costs);
                    (end, sleep.asked, sleep.submission(recorded))
                }
            },
        };
        let done = lane.start + i64::from(submit) + i64::from(end.observed);
        counted.add(lane, machine, &end, asked, submit);
        let outcome = Outcome {
            observed: Nanos(end.observed.max(0) as u64),
            missed: end.missed,
        };
        rule.complete(io, token, outcome, Nanos(done as u64));
        counted.last = counted.last.max(lane.next(done, trace));
    }
    false
}
