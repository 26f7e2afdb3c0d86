//! The replay that the arguments of `q2c replay` and `q2c compare` ask for.

use crate::args::{
    CountName, DiscardsName, HowArgs, Idle, LaneName, ModeName, Offsets, OnErrorName, ShareName,
    WritesName,
};
use q2c_compare::ReplayRequest;
use q2c_model::CpuId;
use q2c_replay::{Count, Discards, Fit, LaneBy, Mode, OnError, ShareBy, Writes};

/// How the trace is replayed.
pub fn request(how: &HowArgs) -> ReplayRequest {
    let cpus = |cpus: &[u32]| cpus.iter().copied().map(CpuId).collect();
    ReplayRequest {
        mode: mode(how),
        share: match how.share {
            ShareName::Offset => ShareBy::Offset,
            ShareName::Cpu => ShareBy::Cpu,
            ShareName::Hctx => ShareBy::Hctx,
        },
        engine: how.engine.clone(),
        submitters: how.submitters,
        cpus: how.cpus.as_deref().map(cpus),
        spin: how.spin,
        in_flight: how.in_flight,
        fit: match how.offsets {
            Offsets::Modulo => Fit::Modulo,
            Offsets::Clip => Fit::Clip,
            Offsets::Scale => Fit::Scale,
            Offsets::Dense => Fit::Dense,
        },
        writes: how.writes.map(|writes| match writes {
            WritesName::Skip => Writes::Skip,
            WritesName::AsReads => Writes::AsReads,
            WritesName::Allow => Writes::Allow,
        }),
        discards: how.discards.map(|discards| match discards {
            DiscardsName::Skip => Discards::Skip,
            DiscardsName::Allow => Discards::Allow,
        }),
        compressible_pct: how.compress,
        precondition: how.precondition,
        on_error: match how.on_error {
            OnErrorName::Stop => OnError::Stop,
            OnErrorName::GoOn => OnError::GoOn,
        },
        capture: how.capture.then_some(how.by),
        max_lateness: how.max_lateness,
        part: how.part.map(|part| (part.from, part.to)),
        allow_write: how.run.allow_write.clone(),
        seed: how.run.seed,
    }
}

/// The mode with the options that it has. Options of other modes mean nothing.
fn mode(how: &HowArgs) -> Mode {
    match how.mode {
        ModeName::Timed => Mode::Timed { speed: how.speed },
        ModeName::Outstanding => Mode::Outstanding {
            count: match how.count {
                CountName::Requests => Count::Requests,
                CountName::Bytes => Count::Bytes,
                CountName::Blocks => Count::Blocks,
            },
            keep_idle: how.idle == Idle::Keep,
        },
        ModeName::Closed => Mode::Closed {
            lane: match how.lane {
                LaneName::Lane => LaneBy::Lane,
                LaneName::Pid => LaneBy::Pid,
                LaneName::Cpu => LaneBy::Cpu,
                LaneName::Device => LaneBy::Device,
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::replay;
    use clap::ValueEnum;
    use q2c_compare::{OpenSite, PreparedReplay};
    use q2c_host::Roots;
    use q2c_replay::ReplayFacts;
    use q2c_result::replay::ReplayJob;

    fn job(words: &str) -> ReplayJob {
        let request = request(&replay(&format!("trace null {words}")).how);
        let facts = ReplayFacts::default();
        let site = OpenSite::of_one(&Roots::live(), &request, "null", &facts, 0).unwrap();
        PreparedReplay::new(&Roots::live(), &request, &facts, &[site], 1)
            .unwrap()
            .job
    }

    #[test]
    fn options_of_other_modes_mean_nothing() {
        let of = |words: &str| request(&replay(&format!("t d {words}")).how).mode;
        assert_eq!(of("--speed 2x --lane pid"), Mode::Timed { speed: 2.0 });
        let outstanding = Mode::Outstanding {
            count: Count::Blocks,
            keep_idle: true,
        };
        let words = "--mode outstanding --count blocks --idle keep --speed 3";
        assert_eq!(of(words), outstanding);
        let closed = Mode::Closed { lane: LaneBy::Cpu };
        assert_eq!(of("--mode closed --lane cpu"), closed);
    }

    #[test]
    fn what_is_not_typed_is_left_to_the_library() {
        let asked = request(&replay("t d").how);
        assert!(asked.writes.is_none() && asked.discards.is_none() && asked.cpus.is_none());
        assert_eq!(asked.capture, None);
        let asked = request(&replay("t d --capture --cpus 3,1 --part 1s..2s").how);
        assert_eq!(asked.capture, Some(None));
        assert_eq!(asked.cpus, Some(vec![CpuId(3), CpuId(1)]));
        assert!(asked.part.is_some());
    }

    /// Every value of every option of `names`, typed and told in the result.
    fn typed_and_told<T: ValueEnum>(option: &str, told: impl Fn(ReplayJob) -> String) {
        for value in T::value_variants() {
            let name = value.to_possible_value().unwrap();
            let name = name.get_name();
            assert_eq!(told(job(&format!("{option} {name}"))), name);
        }
    }

    #[test]
    fn results_name_values_as_they_are_typed() {
        typed_and_told::<ModeName>("--mode", |job| job.mode);
        typed_and_told::<Idle>("--mode outstanding --idle", |job| job.idle.unwrap());
        typed_and_told::<CountName>("--mode outstanding --count", |job| job.count.unwrap());
        typed_and_told::<LaneName>("--mode closed --lane", |job| job.lane.unwrap());
        typed_and_told::<ShareName>("--share", |job| job.by);
        typed_and_told::<Offsets>("--offsets", |job| job.offsets);
        typed_and_told::<WritesName>("--writes", |job| job.writes);
        typed_and_told::<DiscardsName>("--discards", |job| job.discards);
        typed_and_told::<OnErrorName>("--on-error", |job| job.on_error);
    }
}
