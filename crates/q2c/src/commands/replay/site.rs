//! Opens and checks targets, and gives each of them its devices of the trace.

use super::job;
use crate::args::{DiscardsName, HowArgs, ReplayArgs};
use crate::failure::{Fails, Failure};
use crate::opened::simulated_facts;
use crate::workbench::{asked_cpus, named_engine};
use q2c_compare::Site;
use q2c_engine::{EngineSpec, Medium};
use q2c_host::Roots;
use q2c_host::block::{Interrupts, Leaf};
use q2c_host::target::{Wanted, WriteLeave, open};
use q2c_model::{Bytes, CpuId};
use q2c_replay::ReplayFacts;
use q2c_result::{Exit, Target};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The block size with which targets are checked.
const BLOCK: Bytes = Bytes(4096);
/// Block size of simulated devices.
const SECTOR: Bytes = Bytes(512);

/// A site (the targets that the trace is replayed on together), with what must stay open meanwhile.
pub struct Open {
    pub site: Site,
    /// The devices behind the targets, whose interrupts decide on the CPUs of the submitting
    /// threads.
    pub leaves: Vec<Leaf>,
    /// Tells the targets from others of the same names.
    pub id: String,
    /// Block devices, held open so that nobody else may write them meanwhile.
    pub held: Vec<File>,
}

impl Open {
    /// Puts all devices of the trace on one target. `before` says how often the target was named
    /// before: later ones get a number in their name.
    pub fn alone(
        how: &HowArgs,
        target: &str,
        facts: &ReplayFacts,
        before: usize,
    ) -> Result<Open, Failure> {
        let mut open = Open::empty(target.to_owned());
        open.add(how, target, (0..facts.devices.len()).collect(), facts)?;
        if before > 0 {
            open.site.name = format!("{target} ({})", before + 1);
        }
        Ok(open)
    }

    /// The site of `q2c replay`: one target, or the targets of `--map`.
    pub fn mapped(args: &ReplayArgs, facts: &ReplayFacts) -> Result<Open, Failure> {
        let usage = |why: String| Failure::new(Exit::Usage, why);
        if let Some(target) = &args.target {
            return Open::alone(&args.how, target, facts, 0);
        }
        if args.map.is_empty() {
            return Err(usage(
                "replay: name a <TARGET>, or one for each device with --map".to_owned(),
            ));
        }
        let mut targets: Vec<(&str, Vec<usize>)> = Vec::new();
        for map in &args.map {
            let device = facts
                .devices
                .iter()
                .position(|device| device.dev == map.device);
            let device = device.ok_or_else(|| {
                let known: Vec<String> = facts
                    .devices
                    .iter()
                    .map(|device| device.dev.to_string())
                    .collect();
                usage(format!(
                    "map {}: the trace's devices are {}",
                    map.device,
                    known.join(", ")
                ))
            })?;
            if targets.iter().any(|(_, devices)| devices.contains(&device)) {
                return Err(usage(format!(
                    "map {} twice: expected each device once",
                    map.device
                )));
            }
            match targets.iter_mut().find(|(target, _)| *target == map.target) {
                Some((_, devices)) => devices.push(device),
                None => targets.push((&map.target, vec![device])),
            }
        }
        let names: Vec<&str> = targets.iter().map(|(target, _)| *target).collect();
        let mut open = Open::empty(names.join(", "));
        for (target, devices) in targets {
            open.add(&args.how, target, devices, facts)?;
        }
        Ok(open)
    }

    fn empty(name: String) -> Open {
        Open {
            site: Site {
                name,
                targets: Vec::new(),
                facts: Vec::new(),
                disks: Vec::new(),
            },
            leaves: Vec::new(),
            id: String::new(),
            held: Vec::new(),
        }
    }

    fn add(
        &mut self,
        how: &HowArgs,
        target: &str,
        devices: Vec<usize>,
        facts: &ReplayFacts,
    ) -> Result<(), Failure> {
        let engine = named_engine(how.engine.as_ref(), target)?;
        check(&engine)?;
        if !engine.needs_file() {
            let known = simulated_facts(target);
            let size = span(facts, SECTOR).max(known.size);
            self.push(
                Medium::None,
                engine,
                size,
                SECTOR,
                devices,
                Target { size, ..known },
            );
            self.id += target;
            return Ok(());
        }
        let roots = Roots::live();
        let write = job::opens_for_writing(how, target);
        if how.discards == Some(DiscardsName::Allow) && !write {
            let why = format!(
                "discard blocks of {target}: it is opened for reading; name it once more with --allow-write"
            );
            return Err(Failure::new(Exit::Usage, why));
        }
        let leave = WriteLeave::for_paths(&how.run.allow_write).or_exit_of(|e| e.exit())?;
        let wanted = Wanted {
            path: Path::new(target).to_owned(),
            write,
            block: BLOCK,
            smallest_block: BLOCK,
            blocks: 1,
        };
        let opened = open(&roots, &wanted, &leave).or_exit_of(|e| e.exit())?;
        if opened.facts.kind == "nvme-generic" {
            let why = format!(
                "replay on {target}: it takes NVMe commands alone; name the namespace's block device"
            );
            return Err(Failure::new(Exit::Target, why));
        }
        if let Some(leaf) = &opened.leaf {
            for disk in leaf.disks() {
                if !self.site.disks.iter().any(|known| known.dev == disk.dev) {
                    self.site.disks.push(disk.clone());
                }
            }
        }
        self.leaves.extend(opened.leaf);
        self.held.extend(opened.claim);
        self.id += &format!("{:?}", opened.id);
        let (size, align) = (opened.facts.size, opened.alignment.offset);
        self.push(
            Medium::File(Arc::new(opened.file)),
            engine,
            size,
            align,
            devices,
            opened.facts,
        );
        Ok(())
    }

    fn push(
        &mut self,
        medium: Medium,
        engine: EngineSpec,
        size: Bytes,
        align: Bytes,
        devices: Vec<usize>,
        facts: Target,
    ) {
        self.site.targets.push(q2c_replay::Target {
            medium,
            engine,
            size,
            align,
            devices,
        });
        self.site.facts.push(facts);
    }
}

/// Size of a simulated target that has room for all devices of the trace, so that no offset begins
/// again at its start.
fn span(facts: &ReplayFacts, align: Bytes) -> Bytes {
    let spans = facts.devices.iter();
    let spans = spans.map(|device| device.span.next_multiple_of(align.0));
    Bytes(spans.fold(0, u64::saturating_add).min(1 << 62))
}

/// Aligns all targets to the largest blocks among them. Otherwise they would not get the same work.
pub fn align_alike(sites: &mut [Open], facts: &ReplayFacts) {
    let targets = sites.iter().flat_map(|open| &open.site.targets);
    let Some(most) = targets.map(|target| target.align).max() else {
        return;
    };
    let sites = sites.iter_mut().map(|open| &mut open.site);
    let targets = sites.flat_map(|site| site.targets.iter_mut().zip(&mut site.facts));
    for (target, told) in targets {
        target.align = most;
        if matches!(target.medium, Medium::None) {
            target.size = target.size.max(span(facts, most));
            told.size = target.size;
        }
    }
}

/// Refuses engines that cannot replay: only an engine that submits without waiting can keep a
/// schedule.
fn check(engine: &EngineSpec) -> Result<(), Failure> {
    let refused = match engine {
        EngineSpec::Pvsync2(_) => "it waits for each request in its call",
        EngineSpec::IoUringCmd { .. } => "it sends commands past the block layer",
        EngineSpec::IoUring(options) if options.iopoll => {
            "it polls in its calls, which keeps no schedule"
        }
        EngineSpec::Fault { inner, .. } => return check(inner),
        _ => return Ok(()),
    };
    let why = format!("replay with {engine}: {refused}; use io_uring or libaio");
    Err(Failure::new(Exit::Usage, why))
}

/// CPUs of the submitting threads: as asked, else the allowed ones from the last to the first. CPUs
/// that take most of a device's interrupts come last.
pub fn cpus(how: &HowArgs, sites: &[Open]) -> Result<Vec<CpuId>, Failure> {
    let allowed = q2c_sys::thread::allowed_cpus().or_exit(Exit::Environment)?;
    if let Some(asked) = &how.cpus {
        return asked_cpus(asked, &allowed);
    }
    let roots = Roots::live();
    let leaves = sites.iter().flat_map(|open| &open.leaves);
    let busiest = leaves.filter_map(|leaf| {
        Interrupts::read(&roots, leaf)
            .ok()?
            .busiest()
            .first()
            .copied()
    });
    let busiest: Vec<CpuId> = busiest.collect();
    let (taken, free): (Vec<CpuId>, Vec<CpuId>) = allowed
        .into_iter()
        .rev()
        .partition(|cpu| busiest.contains(cpu));
    Ok(free.into_iter().chain(taken).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_blocks_hold_for_all() {
        let mut sites: Vec<Open> = [512, 4096, 512].map(|align| site(Bytes(align))).into();
        // Three devices whose ends lie in the middle of a block.
        let device = |minor| q2c_replay::TraceDevice {
            dev: q2c_model::DevId { major: 8, minor },
            requests: 1,
            span: (1 << 20) + 512,
            idle: q2c_model::Nanos(0),
            whole: q2c_model::Nanos(0),
        };
        let facts = ReplayFacts {
            devices: (0..3).map(device).collect(),
            ..ReplayFacts::default()
        };
        align_alike(&mut sites, &facts);
        for site in sites.iter().map(|open| &open.site) {
            assert_eq!(site.targets[0].align, Bytes(4096));
            assert_eq!(site.targets[0].size, Bytes(3 * ((1 << 20) + 4096)));
            assert_eq!(site.facts[0].size, site.targets[0].size);
        }
        align_alike(&mut [], &facts);
    }

    fn site(align: Bytes) -> Open {
        let mut open = Open::empty("null".to_owned());
        let (size, facts) = (Bytes(1 << 20), simulated_facts("null"));
        open.push(Medium::None, EngineSpec::Null, size, align, vec![0], facts);
        open
    }
}
