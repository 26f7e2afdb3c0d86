//! Makes the plan of a replay from a request and its open sites, and the description of the job for
//! the result.

use super::open_site::align_alike;
use crate::{OpenTargets, ReplayRequest, TraceSource, Variant};
use itertools::Itertools;
use q2c_engine::engines::{Memory, SharedBuffers};
use q2c_host::Roots;
use q2c_host::topology::{AllowedCpus, UnnamedCpus, interrupted_cpus};
use q2c_model::{CpuId, Fault};
use q2c_replay::{Permits, ReplayFacts, ReplayPlan, Writes};
use q2c_result::replay::ReplayJob;
use q2c_result::{Target, TargetKind};
use q2c_run::Identity;

/// The largest request, bytes, which bounds the memory. Longer requests are shortened and counted.
const MAX_BYTES: u64 = 16 << 20;
/// Bytes of a thread's buffers for each direction; `MIN_BUFFERS` and `MAX_BUFFERS` bound their
/// number.
const POOL_BYTES: usize = 2 << 20;
const MIN_BUFFERS: usize = 2;
const MAX_BUFFERS: usize = 256;
/// Number of windows that a timed replay is divided into in the result.
const WINDOWS: usize = 240;
const KEEPS_NO_DATA: &str = "write the targets before a replay in simulated time: a simulated device \
    keeps no data; leave --precondition out, or say --real-time";
const FREE_MACHINE: &str = "use --cpus or --spin in simulated time: expected a machine with costs, \
    found none; name one with --machine, or leave the option out";

/// A replay that is ready to run.
#[derive(Clone, Debug)]
pub struct PreparedReplay {
    /// The plan. It has no targets, because each site has its own.
    pub plan: ReplayPlan,
    /// The job as the result describes it.
    pub job: ReplayJob,
    /// Distinguishes the targets from others with the same names.
    pub identity: Identity,
}

impl PreparedReplay {
    /// Chooses the CPUs of the submitting threads, and how writes and discards are treated. Each
    /// site gets `trials` trials; `facts` are those of the trace.
    pub fn new(
        roots: &Roots,
        request: &ReplayRequest,
        facts: &ReplayFacts,
        sites: &[OpenTargets],
        trials: u32,
    ) -> Result<Self, Fault> {
        if request.machine.is_some() && request.precondition.is_some() {
            return Err(Fault::usage(KEEPS_NO_DATA));
        }
        let (cpus, room) = choose_cpus(roots, request, sites)?;
        let writes = writes(request, sites);
        let identity = sites.iter().fold(Identity::default(), |identity, open| {
            identity.with(&open.site.name, &open.id)
        });
        Ok(PreparedReplay {
            job: job(request, sites, writes, &cpus, trials),
            plan: plan(request, facts, writes, cpus, room),
            identity,
        })
    }
}

/// The CPUs of the submitting threads, and how many there are for all threads. On a machine whose
/// steps take no time, no thread has a CPU.
fn choose_cpus(
    roots: &Roots,
    request: &ReplayRequest,
    sites: &[OpenTargets],
) -> Result<(Vec<CpuId>, usize), Fault> {
    let named = request.cpus.as_deref().filter(|cpus| !cpus.is_empty());
    let (allowed, interrupted) = match &request.machine {
        None => {
            let disks = sites.iter().flat_map(|open| &open.target_disks);
            (AllowedCpus::read()?, interrupted_cpus(roots, disks))
        }
        Some(machine) if machine.is_free() => {
            if named.is_some() || request.spin {
                return Err(Fault::usage(FREE_MACHINE));
            }
            return Ok((Vec::new(), machine.cpus() as usize));
        }
        Some(machine) => {
            let cpus = (0..machine.cpus()).map(CpuId).collect();
            (AllowedCpus::from_sorted(cpus), Vec::new())
        }
    };
    let cpus = allowed.choose(named, UnnamedCpus::AwayFrom(&interrupted))?;
    Ok((cpus.cpus, allowed.count()))
}

/// A trace in one mode that is ready to run on its sites.
pub struct PreparedVariant<'a> {
    /// The plan with its sites.
    pub variant: Variant<'a>,
    /// The job as the result describes it.
    pub job: ReplayJob,
    /// Distinguishes the targets from others with the same names.
    pub identity: Identity,
}

impl<'a> PreparedVariant<'a> {
    /// Assigns the trace to the sites and makes its plan, with this number of trials on each site.
    pub fn new(
        name: String,
        trace: &'a TraceSource,
        request: &ReplayRequest,
        open_sites: &[OpenTargets],
        trials: u32,
    ) -> Result<Self, Fault> {
        let facts = &trace.facts;
        let mut sites: Vec<OpenTargets> = open_sites.iter().map(|s| s.for_trace(facts)).collect();
        align_alike(&mut sites, facts);
        let prepared = PreparedReplay::new(&Roots::live(), request, facts, &sites, trials)?;
        let variant = Variant {
            name,
            plan: prepared.plan,
            facts,
            sites: sites.into_iter().map(|open| open.site).collect(),
        };
        Ok(PreparedVariant {
            variant,
            job: prepared.job,
            identity: prepared.identity,
        })
    }
}

/// The treatment of writes: the requested one, else writing if all targets permit it, else reading.
fn writes(request: &ReplayRequest, sites: &[OpenTargets]) -> Writes {
    let may_write = |target: &Target| {
        target.kind == TargetKind::Simulated || request.allows_writing(&target.path)
    };
    let mut targets = sites.iter().flat_map(|open| &open.site.facts).peekable();
    let all_may = targets.peek().is_some() && targets.all(may_write);
    match request.writes {
        Some(asked) => asked,
        None if all_may => Writes::Allow,
        None => Writes::AsReads,
    }
}

fn plan(
    request: &ReplayRequest,
    facts: &ReplayFacts,
    writes: Writes,
    cpus: Vec<CpuId>,
    allowed_cpus: usize,
) -> ReplayPlan {
    // A request that starts or ends within a block is widened to whole blocks, so a buffer needs
    // one block (4 KiB) more.
    let size = facts.largest.0.clamp(1, MAX_BYTES).next_multiple_of(4096) as usize + 4096;
    ReplayPlan {
        mode: request.mode,
        targets: Vec::new(),
        fit: request.offsets,
        permits: Permits {
            writes,
            discards: request.discards(writes),
        },
        submitters: usize::from(request.submitters),
        share: request.share,
        cpus,
        room: allowed_cpus,
        spin: request.spin,
        in_flight: request.in_flight,
        memory: Memory {
            slots: usize::from(request.in_flight),
            size,
            shared: Some(SharedBuffers {
                pool: (POOL_BYTES / size).clamp(MIN_BUFFERS, MAX_BUFFERS),
                compressible: request.compress,
            }),
        },
        on_error: request.on_error,
        seed: request.seed,
        windows: WINDOWS,
        selection: request.selection.clone(),
    }
}

fn job(
    request: &ReplayRequest,
    sites: &[OpenTargets],
    writes: Writes,
    cpus: &[CpuId],
    trials: u32,
) -> ReplayJob {
    let engines = sites.iter().flat_map(|open| &open.site.targets);
    let mut engines = engines.map(|target| target.engine.to_string()).dedup();
    ReplayJob {
        mode: request.mode,
        engine: engines.join(", "),
        submitters: request.submitters.into(),
        by: request.share,
        cpus: cpus.to_vec(),
        spin: request.spin,
        in_flight_cap: request.in_flight.into(),
        offsets: request.offsets,
        writes,
        discards: request.discards(writes),
        compressible_pct: request.compress,
        on_error: request.on_error,
        max_lateness: request.max_lateness,
        precondition: request.precondition.map(|passes| passes.to_string()),
        trials,
        seed: request.seed,
        process: request.selection.process.as_ref().map(ToString::to_string),
    }
}

#[cfg(test)]
mod tests;
