//! Opens and checks the targets of a replay, and gives each target its devices of the trace.

use crate::{ReplayRequest, TargetSet};
use indexmap::IndexMap;
use itertools::Itertools;
use q2c_engine::engines::SimDevices;
use q2c_engine::{EngineSpec, Medium};
use q2c_host::Roots;
use q2c_host::block::TargetDisk;
use q2c_host::target::{OpenTarget, TargetRequirements, WritePermission, open, simulated};
use q2c_model::{Bytes, DevId, Exit, Fault, OrFault};
use q2c_replay::{Discards, ReplayFacts, check_keeps_schedule};
use q2c_result::TargetKind;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const BLOCK: Bytes = Bytes(4096);
const SECTOR: Bytes = Bytes(512);

/// A site whose targets are open.
#[derive(Debug, Default)]
pub struct OpenTargets {
    /// The site.
    pub site: TargetSet,
    /// The disks under the targets, whose interrupts decide on the CPUs of the submitting threads.
    pub(crate) target_disks: Vec<TargetDisk>,
    /// A text that distinguishes the targets from others with the same names.
    pub(crate) id: String,
    /// Block devices, held open so that nobody else can write them until the replay is over.
    pub held_open: Vec<File>,
}

/// A device of the trace, and the target to which its requests are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceMap {
    /// The device in the trace.
    pub device: DevId,
    /// The path of the target, or the text of a simulated device.
    pub target: String,
}

impl OpenTargets {
    /// Puts all devices on one target. If `namesakes` sites have its name, this one gets a number.
    pub fn with_one_target(
        roots: &Roots,
        request: &ReplayRequest,
        target: &str,
        facts: &ReplayFacts,
        namesakes: usize,
    ) -> Result<Self, Fault> {
        let mut open_site = OpenTargets::default();
        let devices = (0..facts.devices.len()).collect();
        open_site.add(roots, request, target, devices, facts)?;
        open_site.site.name = match namesakes {
            0 => target.to_owned(),
            n => format!("{target} ({})", n + 1),
        };
        Ok(open_site)
    }

    /// Puts each device of `maps` on its target. Devices with the same target share it, and devices
    /// without a map are left out.
    ///
    /// # Errors
    /// Returns a fault if a device is not in the trace or is mapped twice, if a target is unfit, or
    /// if its engine cannot replay.
    pub fn from_maps(
        roots: &Roots,
        request: &ReplayRequest,
        maps: &[DeviceMap],
        facts: &ReplayFacts,
    ) -> Result<Self, Fault> {
        let targets = devices_by_target(maps, facts)?;
        let mut open_site = OpenTargets::default();
        open_site.site.name = targets.keys().join(", ");
        for (target, devices) in targets {
            open_site.add(roots, request, target, devices, facts)?;
        }
        Ok(open_site)
    }

    /// This site with one target, for another trace; `self` keeps the block devices open for both.
    pub(crate) fn for_trace(&self, facts: &ReplayFacts) -> OpenTargets {
        let mut site = self.site.clone();
        for (target, target_facts) in site.targets.iter_mut().zip(&mut site.facts) {
            target.devices = (0..facts.devices.len()).collect();
            if target_facts.kind == TargetKind::Simulated {
                target_facts.size = simulated(&target_facts.path).size.max(span(facts, SECTOR));
                (target.size, target.align) = (target_facts.size, SECTOR);
            }
        }
        OpenTargets {
            site,
            target_disks: self.target_disks.clone(),
            id: self.id.clone(),
            held_open: Vec::new(),
        }
    }

    fn add(
        &mut self,
        roots: &Roots,
        request: &ReplayRequest,
        target: &str,
        devices: Vec<usize>,
        facts: &ReplayFacts,
    ) -> Result<(), Fault> {
        let engine = EngineSpec::for_target(request.engine.as_ref(), target);
        let engine = engine.or_exit(Exit::Usage)?;
        check_keeps_schedule(&engine).or_exit(Exit::Usage)?;
        let (medium, align, info) = if engine.needs_file() {
            let opened = open_target(roots, request, target)?;
            for disk in opened.target_disk.iter().flat_map(TargetDisk::disks) {
                if !self.site.disks.iter().any(|known| known.dev == disk.dev) {
                    self.site.disks.push(disk.clone());
                }
            }
            self.target_disks.extend(opened.target_disk);
            self.held_open.extend(opened.held_device);
            self.id += &opened.id.to_string();
            let medium = Medium::File(Arc::new(opened.file));
            (medium, opened.alignment.offset, opened.facts)
        } else {
            // Each target has its own simulated devices, even if another target has the same name.
            let devices = SimDevices::new(q2c_study::service_times);
            let mut info = simulated(target);
            info.service_times = devices.recorded_facts(&engine).or_exit(Exit::Input)?;
            info.size = info.size.max(span(facts, SECTOR));
            self.id += target;
            (devices.medium(&engine).or_exit(Exit::Input)?, SECTOR, info)
        };
        self.site.targets.push(q2c_replay::ReplayTarget {
            medium,
            engine,
            size: info.size,
            align,
            devices,
        });
        self.site.facts.push(info);
        Ok(())
    }
}

/// The targets in the order of `maps`, each with the indices of its devices in the trace.
fn devices_by_target<'a>(
    maps: &'a [DeviceMap],
    facts: &ReplayFacts,
) -> Result<IndexMap<&'a str, Vec<usize>>, Fault> {
    let mut targets: IndexMap<&str, Vec<usize>> = IndexMap::new();
    for DeviceMap { device, target } in maps {
        let mut devices = facts.devices.iter().map(|device| device.dev);
        let Some(index) = devices.position(|dev| dev == *device) else {
            let known = facts.devices.iter().map(|device| device.dev).join(", ");
            return Err(Fault::usage(format_args!(
                "map {device}: the trace's devices are {known}; name one of them"
            )));
        };
        if targets.values().flatten().contains(&index) {
            let text = format_args!("map {device} twice: expected each device once");
            return Err(Fault::usage(text));
        }
        targets.entry(target).or_default().push(index);
    }
    Ok(targets)
}

fn open_target(roots: &Roots, request: &ReplayRequest, target: &str) -> Result<OpenTarget, Fault> {
    let write = request.opens_for_writing(target);
    if request.discards == Some(Discards::Allow) && !write {
        return Err(Fault::usage(format_args!(
            "discard blocks of {target}: it is opened for reading; name it once more with --allow-write"
        )));
    }
    let permission = WritePermission::for_paths(&request.allow_write)?;
    let requirements = TargetRequirements {
        path: Path::new(target).to_owned(),
        write,
        block: BLOCK,
        smallest_block: BLOCK,
        blocks: 1,
    };
    let opened = open(roots, &requirements, &permission)?;
    if opened.facts.kind == TargetKind::NvmeGeneric {
        let problem = "it takes NVMe commands alone; name the namespace's block device";
        let text = format!("replay on {target}: {problem}");
        return Err(Fault::new(Exit::Target, text));
    }
    Ok(opened)
}

/// Bytes that hold all devices of the trace one after another, so that no offset wraps around.
fn span(facts: &ReplayFacts, align: Bytes) -> Bytes {
    let spans = facts.devices.iter();
    let spans = spans.map(|device| device.span.next_multiple_of(align.0));
    Bytes(spans.fold(0, u64::saturating_add).min(1 << 62))
}

/// Aligns all targets to the largest blocks among them, so that all get the same work.
pub(crate) fn align_alike(sites: &mut [OpenTargets], facts: &ReplayFacts) {
    let targets = sites.iter().flat_map(|open| &open.site.targets);
    let Some(largest) = targets.map(|target| target.align).max() else {
        return;
    };
    let sites = sites.iter_mut().map(|open| &mut open.site);
    let targets = sites.flat_map(|site| site.targets.iter_mut().zip(&mut site.facts));
    for (target, target_facts) in targets {
        target.align = largest;
        if !matches!(target.medium, Medium::File(_)) {
            target.size = target.size.max(span(facts, largest));
            target_facts.size = target.size;
        }
    }
}

#[cfg(test)]
mod tests;
