//! The stages of a trial: polled slices and parts alternate, so that both see the same drift.

use q2c_advice::settle_time;
use q2c_model::Nanos;
use q2c_policy::LaneMethod;
use q2c_workbench::workload::{StageId, Stages, Step};

/// Settling time of methods that learn nothing.
const SETTLE: Nanos = Nanos::from_millis(100);
/// Fewest I/Os of one lane that a part must have time for.
const IOS_PER_PART: f64 = 100.0;

/// Lengths in seconds of all measured parts of a trial together, of a part, and of a slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StageLengths {
    pub measured: f64,
    pub part: f64,
    pub slice: f64,
}

impl StageLengths {
    /// Lengthens parts and slices for a lane that would do too few I/Os in them.
    pub(crate) fn stretch_for(self, lane_iops: f64) -> Self {
        let factor = (IOS_PER_PART / (self.part * lane_iops)).max(1.0);
        let part = (self.part * factor).min(self.measured);
        StageLengths {
            part,
            slice: self.slice * (part / self.part),
            ..self
        }
    }

    fn parts(&self) -> usize {
        (self.measured / self.part).round().max(1.0) as usize
    }
}

#[derive(Default)]
pub(super) struct StageTimetable {
    pub stages: Stages,
    pub slices: Vec<StageId>,
    pub parts: Vec<StageId>,
}

impl StageTimetable {
    pub(crate) fn new(method: &LaneMethod, lengths: &StageLengths) -> Self {
        let settle = method.policy().map_or(SETTLE, settle_time);
        let slice = Nanos::from_secs_f64(lengths.slice);
        let parts = lengths.parts();
        let part = Nanos::from_secs_f64(lengths.measured / parts as f64);
        let mut timetable = StageTimetable::default();
        // The first slice comes after the settling time, since the first I/Os are different.
        timetable.stages.push(Step::By(method.clone()), settle);
        timetable.push_slice(slice);
        for _ in 0..parts {
            let part = timetable.stages.push(Step::Resume, part);
            timetable.parts.push(part);
            timetable.push_slice(slice);
        }
        timetable
    }

    fn push_slice(&mut self, length: Nanos) {
        let slice = self.stages.push(Step::POLL, length);
        self.slices.push(slice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: StageLengths = StageLengths {
        measured: 1.0,
        part: 0.1,
        slice: 0.05,
    };

    /// The length is settling and one slice, then ten parts and slices: 0.1 + 0.05 + 10 * 0.15 s.
    #[test]
    fn slices_stand_on_both_sides_of_every_part() {
        let timetable = StageTimetable::new(&LaneMethod::Interrupt, &LENGTHS);
        assert_eq!((timetable.parts.len(), timetable.slices.len()), (10, 11));
        assert!((timetable.stages.seconds() - 1.65).abs() < 1e-9);
        let slices: Vec<usize> = timetable.slices.iter().map(|s| s.index()).collect();
        for part in timetable.parts.iter().map(|part| part.index()) {
            assert!(slices.contains(&(part - 1)) && slices.contains(&(part + 1)));
        }
    }

    /// 100 I/Os take 0.2 s at 500 IOPS; at 50 IOPS a part is as long as the trial.
    #[test]
    fn parts_are_longer_on_a_slow_device() {
        assert_eq!(LENGTHS.stretch_for(20_000.0), LENGTHS);
        let slow = LENGTHS.stretch_for(500.0);
        assert!((slow.part - 0.2).abs() < 1e-9 && (slow.slice - 0.1).abs() < 1e-9);
        assert_eq!(LENGTHS.stretch_for(50.0).part, 1.0);
    }
}
