//! The replay that the arguments of `q2c replay` and `q2c compare` ask for.

use crate::args::{HowArgs, ModeName};
use q2c_compare::ReplayRequest;
use q2c_model::CpuId;
use q2c_model::replay::Mode;

/// How the trace is replayed.
pub fn request(how: &HowArgs) -> ReplayRequest {
    let cpus = |cpus: &[u32]| cpus.iter().copied().map(CpuId).collect();
    ReplayRequest {
        mode: mode(how),
        share: how.share,
        engine: how.engine.clone(),
        submitters: how.submitters,
        cpus: how.cpus.as_deref().map(cpus),
        spin: how.spin,
        in_flight: how.in_flight,
        fit: how.offsets,
        writes: how.writes,
        discards: how.discards,
        compressible_pct: how.compress,
        precondition: how.precondition,
        on_error: how.on_error,
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
            count: how.count,
            idle: how.idle,
        },
        ModeName::Closed => Mode::Closed { lane: how.lane },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::replay;
    use q2c_compare::{OpenSite, PreparedReplay};
    use q2c_host::Roots;
    use q2c_model::replay::{Count, Discards, Fit, Idle, LaneBy, OnError, ShareBy, Writes};
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
            idle: Idle::Keep,
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

    /// Every name of an option's values, typed and told in the result.
    fn typed_and_told(option: &str, names: &[&str], field: &str) {
        for name in names {
            let job = job(&format!("{option} {name}"));
            let told = serde_json::to_value(job).unwrap();
            assert_eq!(told[field], *name);
        }
    }

    #[test]
    fn results_name_values_as_they_are_typed() {
        typed_and_told("--mode", &["timed", "outstanding", "closed"], "mode");
        typed_and_told("--mode outstanding --idle", Idle::NAMES, "idle");
        typed_and_told("--mode outstanding --count", Count::NAMES, "count");
        typed_and_told("--mode closed --lane", LaneBy::NAMES, "lane");
        typed_and_told("--share", ShareBy::NAMES, "by");
        typed_and_told("--offsets", Fit::NAMES, "offsets");
        typed_and_told("--writes", Writes::NAMES, "writes");
        typed_and_told("--discards", Discards::NAMES, "discards");
        typed_and_told("--on-error", OnError::NAMES, "on_error");
    }
}
