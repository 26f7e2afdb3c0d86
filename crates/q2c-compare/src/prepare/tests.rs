use super::*;
use crate::request::tests::request;
use q2c_engine::EngineSpec;
use q2c_model::Bytes;
use q2c_replay::{Discards, LaneBy, Mode};

fn facts(largest: u64) -> ReplayFacts {
    ReplayFacts {
        largest: Bytes(largest),
        ..ReplayFacts::default()
    }
}

fn simulated(request: &ReplayRequest) -> OpenTargets {
    OpenTargets::with_one_target(&Roots::live(), request, "null", &facts(4096), 0).unwrap()
}

#[test]
fn writes_are_read_unless_all_targets_may_be_written() {
    let mut asked = request();
    let site = simulated(&asked);
    assert_eq!(writes(&asked, &[]), Writes::AsReads);
    assert_eq!(writes(&asked, &[site]), Writes::Allow);
    let mut file = simulated(&asked);
    file.site.facts[0].kind = TargetKind::File;
    let sites = [simulated(&asked), file];
    assert_eq!(writes(&asked, &sites), Writes::AsReads);
    asked.allow_write = vec!["null".into()];
    assert_eq!(writes(&asked, &sites), Writes::Allow);
    asked.writes = Some(Writes::Skip);
    assert_eq!(writes(&asked, &sites), Writes::Skip);
}

#[test]
fn discards_follow_writes_except_with_kernel_aio() {
    let mut asked = request();
    assert_eq!(asked.discards(Writes::Allow), Discards::Allow);
    assert_eq!(asked.discards(Writes::AsReads), Discards::Skip);
    asked.engine = Some("libaio".parse::<EngineSpec>().unwrap());
    assert_eq!(asked.discards(Writes::Allow), Discards::Skip);
    // docs/replay.md says that libaio has no discards; that also holds if they were asked for.
    asked.discards = Some(Discards::Allow);
    assert_eq!(asked.discards(Writes::Allow), Discards::Skip);
    asked.engine = None;
    assert_eq!(asked.discards(Writes::Skip), Discards::Allow);
}

#[test]
fn buffers_have_room_for_the_largest_request_and_a_block() {
    let size = |largest| {
        let plan = plan(&request(), &facts(largest), Writes::Skip, Vec::new(), 1);
        plan.memory.size
    };
    assert_eq!(size(1), 8192);
    assert_eq!(size(4097), 8192 + 4096);
    assert_eq!(size(1 << 40), (16 << 20) + 4096);
}

#[test]
fn a_job_has_the_settings_of_its_plan() {
    let asked = ReplayRequest {
        mode: Mode::Closed { lane: LaneBy::Pid },
        compress: 30,
        ..request()
    };
    let site = simulated(&asked);
    let prepared = PreparedReplay::new(&Roots::live(), &asked, &facts(4096), &[site], 3).unwrap();
    let (job, plan) = (prepared.job, prepared.plan);
    assert_eq!((job.mode, plan.mode), (asked.mode, asked.mode));
    assert_eq!((job.writes, job.discards), (Writes::Allow, Discards::Allow));
    let Permits { writes, discards } = plan.permits;
    assert_eq!((writes, discards), (job.writes, job.discards));
    assert_eq!((job.offsets, job.by), (plan.fit, plan.share));
    assert_eq!((job.compressible_pct, job.trials), (30, 3));
}

#[test]
fn sites_of_one_name_are_told_apart_by_a_number() {
    let asked = request();
    let twice =
        OpenTargets::with_one_target(&Roots::live(), &asked, "null", &facts(4096), 1).unwrap();
    let sites = [simulated(&asked), twice];
    let prepared = PreparedReplay::new(&Roots::live(), &asked, &facts(4096), &sites, 1).unwrap();
    let names: Vec<&String> = prepared.identity.0.keys().collect();
    assert_eq!(names, ["null", "null (2)"]);
    assert!(!prepared.plan.cpus.is_empty());
}
