//! The study of mounts: a file system on a made device, the memory that the device takes, and what
//! a read of the whole device leaves in the page cache.

use crate::devices::ExperimentDevice;
use crate::jobs::{AxisValues, JobsPlan};
use q2c_host::Roots;
use q2c_model::{Bytes, Exit, Fault, OrFault};
use q2c_result::fs::FileSystem;
use q2c_result::reproduce::PointTrial;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;

/// The figures of a mounted device.
pub(crate) const FIGURES: [&str; 4] = [
    "mounts",          // 1 if the file system could be made on the device and mounted, else 0
    "size",            // the device's size, bytes
    "memory_taken",    // memory in use with device and file system, less that without them, bytes
    "page_cache_gain", // growth of the page cache by a read of the whole device, bytes
];

/// The study as a plan for the runner.
pub struct MountPlan<'a> {
    /// The experiment and its resources, as those of jobs.
    pub jobs: &'a JobsPlan<'a>,
    /// Name of the device.
    pub device: &'a str,
    /// The file system that is made on it.
    pub fs: FileSystem,
}

impl MountPlan<'_> {
    fn measure(
        &self,
        at: &AxisValues,
        notes: &mut Vec<String>,
    ) -> Result<BTreeMap<String, f64>, CellError> {
        let JobsPlan {
            experiment,
            resources,
            ..
        } = self.jobs;
        let read = || MemoryUse::read(&resources.site.roots).map_err(|fault| cell_error(&fault));
        let before = read()?;
        let devices = resources.maker.make(&experiment.devices, at);
        let devices = devices.map_err(CellError::Cell)?;
        let device = &devices[self.device];
        let mounted = match resources.maker.mount(device, self.fs) {
            Ok(mounted) => mounted,
            Err(fault) if fault.exit() != Exit::Device => return Err(cell_error(&fault)),
            Err(refusal) => {
                notes.push(format!("failed to {refusal}"));
                return Ok(figures(device.span, None));
            }
        };
        let mounted_use = read()?;
        let file = read_whole(device).map_err(|fault| cell_error(&fault))?;
        let cached = read()?;
        // Until here, the device's pages stay in the page cache.
        drop((file, mounted));
        Ok(figures(device.span, Some([before, mounted_use, cached])))
    }
}

impl Plan for MountPlan<'_> {
    type Cell = AxisValues;
    type Outcome = PointTrial;
    const UNIT: &'static str = "bytes of memory";

    fn cells(&self) -> Vec<CellPlan<AxisValues>> {
        self.jobs.cells()
    }

    fn metric(&self, trial: &PointTrial) -> f64 {
        let taken = trial.figures.get("memory_taken");
        taken.copied().unwrap_or(f64::NAN)
    }

    fn run(
        &mut self,
        cell: &CellPlan<AxisValues>,
        context: &mut Context<'_>,
    ) -> Result<PointTrial, CellError> {
        let at = self.jobs.experiment.expand(&cell.cell);
        Ok(PointTrial {
            trial: context.trial,
            figures: self.measure(&at, &mut context.notes)?,
            ..PointTrial::default()
        })
    }
}

fn cell_error(fault: &Fault) -> CellError {
    CellError::Cell(format!("failed to {fault}"))
}

fn read_whole(device: &ExperimentDevice) -> Result<File, Fault> {
    let read = || {
        let mut file = File::open(&device.path)?;
        let count = io::copy(&mut file, &mut io::sink())?;
        let complete = count == device.span.0;
        complete
            .then_some(file)
            .ok_or_else(|| io::Error::other(format!("it ended after {count} B")))
    };
    let tried = format_args!("read {}", device.path.display());
    read().or_fault(Exit::Environment, tried)
}

/// `memory` is that before the device, with device and file system, and after the read; `None` if
/// the file system could not be mounted.
fn figures(size: Bytes, memory: Option<[MemoryUse; 3]>) -> BTreeMap<String, f64> {
    let taken = memory.map(|[before, mounted, _]| mounted.taken - before.taken);
    let gain = memory.map(|[_, mounted, cached]| cached.page_cache - mounted.page_cache);
    crate::figures([
        ("mounts", Some(f64::from(u8::from(memory.is_some())))),
        ("size", Some(size.0 as f64)),
        ("memory_taken", taken),
        ("page_cache_gain", gain),
    ])
}

/// The memory of the machine in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MemoryUse {
    /// Memory that is neither free nor given back on demand. It is worked out as a rest, because no
    /// line of `meminfo` counts the pages of a module.
    taken: f64,
    /// Data of files and of block devices.
    page_cache: f64,
}

impl MemoryUse {
    fn read(roots: &Roots) -> Result<Self, Fault> {
        let text = |name| fs::read_to_string(roots.proc(name));
        let tried = "read the use of memory from /proc/meminfo and /proc/zoneinfo";
        let both = text("meminfo").and_then(|meminfo| Ok((meminfo, text("zoneinfo")?)));
        let (meminfo, zoneinfo) = both.or_fault(Exit::Environment, tried)?;
        Self::parse(&meminfo, &zoneinfo).ok_or_else(|| Fault::environment(tried))
    }

    /// `MemFree` leaves out the free pages that each CPU keeps in a list of its own, which may be
    /// tens of MiB: `zoneinfo` counts them.
    fn parse(meminfo: &str, zoneinfo: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = meminfo.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            let kib: f64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kib * 1024.0)
        };
        let counts = zoneinfo.lines().filter_map(|line| {
            let count = line.trim_start().strip_prefix("count:")?;
            count.trim().parse::<f64>().ok()
        });
        let free = field("MemFree")? + counts.sum::<f64>() * rustix::param::page_size() as f64;
        let page_cache = field("Buffers")? + field("Cached")?;
        Some(MemoryUse {
            taken: field("MemTotal")? - free - page_cache - field("SReclaimable")?,
            page_cache,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1024.0 * 1024.0;

    /// 1000 MiB of memory. `free` and the rest are MiB, `listed` pages in the lists of two CPUs.
    fn memory(free: u32, buffers: u32, cached: u32, reclaimable: u32, listed: u32) -> MemoryUse {
        let kib = |mib: u32| mib * 1024;
        let meminfo = format!(
            "MemTotal: {} kB\nMemFree: {} kB\nMemAvailable: 7 kB\nBuffers: {} kB\nCached: {} kB\n\
             SwapCached: 9 kB\nSlab: 8 kB\nSReclaimable: {} kB\n",
            kib(1000),
            kib(free),
            kib(buffers),
            kib(cached),
            kib(reclaimable)
        );
        let zoneinfo = format!(
            "Node 0, zone Normal\n  pages free 3\n    cpu: 0\n      count:    {listed}\n      high: 5\n    \
             cpu: 1\n      count: {listed}\n"
        );
        MemoryUse::parse(&meminfo, &zoneinfo).unwrap()
    }

    #[test]
    fn memory_is_taken_that_is_neither_free_nor_a_cache() {
        let page = rustix::param::page_size() as f64;
        let used = memory(500, 20, 100, 30, 10);
        assert_eq!(used.page_cache, 120.0 * MIB);
        assert_eq!(used.taken, 350.0 * MIB - 20.0 * page);
        assert_eq!(MemoryUse::parse("MemTotal: 1 kB\n", ""), None);
    }

    /// The device has 256 MiB. It takes 257 of 500 MiB free, and 3 more are cached meanwhile.
    /// A read caches 250 MiB, and 10 of others go.
    #[test]
    fn a_device_takes_memory_and_a_read_fills_the_page_cache() {
        let size = Bytes(256 << 20);
        let steps = [
            memory(500, 20, 100, 30, 0),
            memory(240, 21, 102, 30, 0),
            memory(0, 271, 92, 30, 0),
        ];
        let expected = [
            ("memory_taken", 257.0 * MIB),
            ("mounts", 1.0),
            ("page_cache_gain", 240.0 * MIB),
            ("size", 256.0 * MIB),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(figures(size, Some(steps)), BTreeMap::from(expected));
        let refused = [("mounts", 0.0), ("size", 256.0 * MIB)];
        let refused = refused.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(figures(size, None), BTreeMap::from(refused));
    }
}
