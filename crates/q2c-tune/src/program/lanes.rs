//! The submitters of a recording: their think times, and whether their I/Os are in sequence.

use q2c_model::stats::Histogram;
use q2c_model::{DevId, Direction, Sectors};
use q2c_result::program::{ProgramPattern, Think};
use q2c_trace::Span;
use std::collections::HashMap;

/// All submitters. I/Os come in the order of their begins.
#[derive(Default)]
pub(crate) struct ProgramLanes {
    lanes: HashMap<u32, ProgramLane>,
    think: Histogram,
    /// Sum of all latencies, ns.
    latencies: u128,
}

struct ProgramLane {
    first: u64,
    /// End of the last I/O so far.
    until: u64,
    /// Time with an I/O in flight, ns.
    busy: u64,
    /// Where the last read and the last write ended.
    ends: [Option<(DevId, u64)>; 2],
}

impl ProgramLanes {
    /// Takes an I/O. Returns whether it begins where the last one of its submitter and direction
    /// ended.
    pub(crate) fn take(&mut self, span: &Span, direction: Direction) -> bool {
        let (begin, end) = (span.begin_ns, span.end_ns.max(span.begin_ns));
        self.latencies += u128::from(end - begin);
        let lane = self.lanes.entry(span.lane).or_insert(ProgramLane {
            first: begin,
            until: begin,
            busy: 0,
            ends: [None; 2],
        });
        let new = lane.busy == 0 && lane.ends == [None; 2];
        if begin >= lane.until {
            if !new {
                self.think.record(begin - lane.until);
            }
            lane.busy += end - begin;
        } else {
            lane.busy += end.saturating_sub(lane.until);
        }
        lane.until = lane.until.max(end);
        let place = &mut lane.ends[direction as usize];
        let follows = *place == Some((span.device, span.sector));
        let length = span.bytes / Sectors::SIZE;
        *place = Some((span.device, span.sector.saturating_add(length)));
        follows
    }

    /// The pattern with what is known of its submitters.
    pub(crate) fn finish(self, pattern: ProgramPattern) -> ProgramPattern {
        let lanes = self.lanes.values();
        let busy: u128 = lanes.clone().map(|lane| u128::from(lane.busy)).sum();
        let time: u128 = lanes.map(|lane| u128::from(lane.until - lane.first)).sum();
        let over = |a: u128, b: u128| if b == 0 { 1.0 } else { a as f64 / b as f64 };
        let think = &self.think;
        ProgramPattern {
            lanes: self.lanes.len() as u32,
            lane_depth: over(self.latencies, busy),
            lane_busy: over(busy, time),
            think: (think.count() > 0).then(|| Think {
                n: think.count(),
                mean_ns: think.mean(),
                p50_ns: think.percentile(0.5),
                p99_ns: think.percentile(0.99),
            }),
            ..pattern
        }
    }
}
