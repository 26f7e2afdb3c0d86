//! Turns the options into the plan of a replay, and into the description of the job in its result.

use super::site::Open;
use crate::args::{
    CountName, DiscardsName, HowArgs, Idle, LaneName, ModeName, Offsets, OnErrorName, ShareName,
    WritesName,
};
use q2c_engine::EngineSpec;
use q2c_engine::engines::{Memory, SharedBuffers};
use q2c_model::CpuId;
use q2c_replay::{
    Count, Discards, Fit, LaneBy, Mode, OnError, Permits, Plan, ReplayFacts, ShareBy, Writes,
};
use q2c_result::replay::ReplayJob;
use q2c_sys::thread;
use std::path::Path;

/// The largest request that there is memory for, bytes. Longer ones are shortened, and counted.
const LARGEST: u64 = 16 << 20;
/// Memory of a thread's buffers in each direction, bytes, and the least and the largest number of
/// these buffers.
const POOL: usize = 2 << 20;
const LEAST: usize = 2;
const MOST: usize = 256;
/// Number of windows that a timed replay is divided into in the result.
const WINDOWS: usize = 240;

/// What becomes of writes: as asked. Without an option they are allowed where every target is
/// simulated or named by `--allow-write`, and are read otherwise.
pub fn writes(how: &HowArgs, sites: &[Open]) -> WritesName {
    let targets = || sites.iter().flat_map(|open| &open.site.facts);
    let named = |path: &str| {
        how.run
            .allow_write
            .iter()
            .any(|named| named == Path::new(path))
    };
    let all = targets().all(|target| target.kind == "simulated" || named(&target.path));
    how.writes
        .unwrap_or(match all && targets().next().is_some() {
            true => WritesName::Allow,
            false => WritesName::AsReads,
        })
}

/// Whether `target` has to be opened for writing.
pub fn opens_for_writing(how: &HowArgs, target: &str) -> bool {
    let named = how
        .run
        .allow_write
        .iter()
        .any(|named| named == Path::new(target));
    match how.writes {
        Some(WritesName::Allow) => true,
        Some(_) => how.precondition.is_some(),
        None => named || how.precondition.is_some(),
    }
}

fn discards(how: &HowArgs, writes: WritesName) -> DiscardsName {
    // Kernel AIO has no discards: they would fail.
    let has = !matches!(how.engine, Some(EngineSpec::Libaio(_)));
    how.discards.unwrap_or(match writes {
        WritesName::Allow if has => DiscardsName::Allow,
        _ => DiscardsName::Skip,
    })
}

/// The mode as `q2c_replay` takes it.
pub fn mode(how: &HowArgs) -> Mode {
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

/// The plan as `q2c_replay` takes it. It has no targets, as they are those of the sites.
pub fn plan(how: &HowArgs, facts: &ReplayFacts, writes: WritesName, cpus: Vec<CpuId>) -> Plan {
    // A request that begins or ends within a block is widened to whole blocks, so a buffer needs
    // one block (4 KiB) more.
    let size = facts.largest.0.clamp(1, LARGEST).next_multiple_of(4096) as usize + 4096;
    let discards = discards(how, writes);
    Plan {
        mode: mode(how),
        targets: Vec::new(),
        fit: match how.offsets {
            Offsets::Modulo => Fit::Modulo,
            Offsets::Clip => Fit::Clip,
            Offsets::Scale => Fit::Scale,
            Offsets::Dense => Fit::Dense,
        },
        permits: Permits {
            writes: match writes {
                WritesName::Skip => Writes::Skip,
                WritesName::AsReads => Writes::AsReads,
                WritesName::Allow => Writes::Allow,
            },
            discards: match discards {
                DiscardsName::Skip => Discards::Skip,
                DiscardsName::Allow => Discards::Allow,
            },
        },
        submitters: usize::from(how.submitters),
        share: match how.share {
            ShareName::Offset => ShareBy::Offset,
            ShareName::Cpu => ShareBy::Cpu,
            ShareName::Hctx => ShareBy::Hctx,
        },
        cpus,
        room: thread::allowed_cpus().map_or(1, |cpus| cpus.len()),
        spin: how.spin,
        in_flight: how.in_flight,
        memory: Memory {
            slots: usize::from(how.in_flight),
            size,
            shared: Some(SharedBuffers {
                pool: (POOL / size).clamp(LEAST, MOST),
                compressible: how.compress,
            }),
        },
        on_error: match how.on_error {
            OnErrorName::Stop => OnError::Stop,
            OnErrorName::GoOn => OnError::GoOn,
        },
        seed: how.run.seed,
        windows: WINDOWS,
        range: how.part.map(|part| (part.from, part.to)),
    }
}

/// The job as the result describes it.
pub fn job(
    how: &HowArgs,
    sites: &[Open],
    writes: WritesName,
    cpus: &[CpuId],
    trials: u32,
) -> ReplayJob {
    let engines = sites.iter().flat_map(|open| &open.site.targets);
    let mut engines: Vec<String> = engines.map(|target| target.engine.to_string()).collect();
    engines.dedup();
    let only = |mode, name: String| (how.mode == mode).then_some(name);
    ReplayJob {
        mode: how.mode.name(),
        speed: if how.mode == ModeName::Timed {
            how.speed
        } else {
            1.0
        },
        idle: only(ModeName::Outstanding, how.idle.name()),
        count: only(ModeName::Outstanding, how.count.name()),
        lane: only(ModeName::Closed, how.lane.name()),
        engine: engines.join(", "),
        submitters: how.submitters.into(),
        by: how.share.name(),
        cpus: cpus.to_vec(),
        spin: how.spin,
        in_flight_cap: how.in_flight.into(),
        offsets: how.offsets.name(),
        writes: writes.name(),
        discards: discards(how, writes).name(),
        data: match how.compress {
            0 => "random".to_owned(),
            percent => format!("compress={percent}%"),
        },
        on_error: how.on_error.name(),
        max_lateness: how.max_lateness,
        precondition: how
            .precondition
            .map(|precondition| precondition.to_string()),
        trials,
        seed: how.run.seed,
    }
}
