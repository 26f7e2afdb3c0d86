use super::{Disk, TargetDisk};
use crate::{Roots, attr};
use q2c_model::CpuId;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// One interrupt line and how often each CPU took it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IrqLine {
    /// Number of the line in `/proc/interrupts`.
    pub irq: u32,
    /// The driver's name for the line: `nvme0q1`, `virtio1-req.0`.
    pub name: String,
    /// Interrupts that each CPU took.
    pub counts: BTreeMap<CpuId, u64>,
}

/// The interrupts of one disk since boot, or their difference over an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// The disk's lines; for a stacked disk those of all disks below it.
    pub lines: Vec<IrqLine>,
}

impl Interrupts {
    /// Reads the lines that belong to the disk's adapter. They are found by the adapter's
    /// message-signalled interrupts, by its one line, or by the names that the driver gives. Disks
    /// that share an adapter share its lines. A disk without any line, such as a loop device, gives
    /// an empty list; then it cannot be proved that polling was not interrupted.
    pub fn read(roots: &Roots, target_disk: &TargetDisk) -> io::Result<Interrupts> {
        let text = fs::read_to_string(roots.proc("interrupts"))?;
        let no_header = || io::Error::other("no CPU header in interrupts");
        let mut lines = parse(&text).ok_or_else(no_header)?;
        let disks = target_disk.disks().iter();
        let chosen = disks.flat_map(|disk| irqs_of_disk(roots, disk, &lines));
        let chosen: Vec<u32> = chosen.collect();
        lines.retain(|line| chosen.contains(&line.irq));
        Ok(Interrupts { lines })
    }

    /// The interrupts of a simulated device, from `counts`: one number per CPU, from CPU 0.
    pub fn simulated(counts: impl Iterator<Item = u64>) -> Interrupts {
        let (irq, name) = (0, "simulated".to_owned());
        let counts = (0..).map(CpuId).zip(counts).collect();
        let line = IrqLine { irq, name, counts };
        Interrupts { lines: vec![line] }
    }

    /// Interrupts that each CPU took on all lines.
    pub(crate) fn per_cpu(&self) -> BTreeMap<CpuId, u64> {
        let mut sums = BTreeMap::new();
        for (&cpu, &n) in self.lines.iter().flat_map(|l| &l.counts) {
            *sums.entry(cpu).or_insert(0) += n;
        }
        sums
    }

    /// Interrupts on all lines and CPUs.
    pub fn total(&self) -> u64 {
        self.per_cpu().values().sum()
    }

    /// The CPUs that took at least one interrupt, the busiest first.
    pub fn busiest(&self) -> Vec<CpuId> {
        let mut cpus: Vec<_> = self.per_cpu().into_iter().filter(|&(_, n)| n > 0).collect();
        cpus.sort_by_key(|&(cpu, n)| (std::cmp::Reverse(n), cpu));
        cpus.into_iter().map(|(cpu, _)| cpu).collect()
    }

    /// The interrupts between `earlier` and this reading. A line or CPU that is not in `earlier`
    /// counts from zero.
    pub fn since(&self, earlier: &Interrupts) -> Interrupts {
        let mut lines = self.lines.clone();
        for line in &mut lines {
            let before = earlier.lines.iter().find(|old| old.irq == line.irq);
            for (cpu, n) in &mut line.counts {
                let old = before.and_then(|old| old.counts.get(cpu)).unwrap_or(&0);
                *n = n.saturating_sub(*old);
            }
        }
        Interrupts { lines }
    }
}

/// The numbered lines of `/proc/interrupts`; `None` without a header of CPUs. The lines of the
/// architecture (`LOC`, `RES`) have no number and no device, and are left out.
fn parse(text: &str) -> Option<Vec<IrqLine>> {
    let mut rows = text.lines();
    let cpu = |t: &str| Some(CpuId(t.strip_prefix("CPU")?.parse().ok()?));
    let header = rows.next()?.split_whitespace();
    let cpus = header.map(cpu).collect::<Option<Vec<CpuId>>>()?;
    Some(rows.filter_map(|row| parse_line(row, &cpus)).collect())
}

fn parse_line(row: &str, cpus: &[CpuId]) -> Option<IrqLine> {
    let (irq, columns) = row.split_once(':')?;
    let mut columns = columns.split_whitespace();
    let mut counts = BTreeMap::new();
    for &cpu in cpus {
        counts.insert(cpu, columns.next()?.parse().ok()?);
    }
    let irq = irq.trim().parse().ok()?;
    let name = handler_names(&columns.collect::<Vec<_>>());
    Some(IrqLine { irq, name, counts })
}

/// The names of a line's handlers: the words after the one for the trigger (`1-edge`, `Level`,
/// `fasteoi`), or the last word if there is no trigger.
fn handler_names(words: &[&str]) -> String {
    let trigger = |w: &&str| {
        let w = w.to_ascii_lowercase();
        ["edge", "level", "fasteoi"].iter().any(|t| w.ends_with(t))
    };
    let last_index = words.len().saturating_sub(1);
    let from = words.iter().position(trigger).map_or(last_index, |i| i + 1);
    words[from..].join(" ")
}

/// Interrupt numbers of a disk's own sysfs folder, or else of the nearest folder above with any.
fn irqs_of_disk(roots: &Roots, disk: &Disk, all_lines: &[IrqLine]) -> Vec<u32> {
    let devices = fs::canonicalize(roots.sys("devices")).unwrap_or_else(|_| roots.sys("devices"));
    let ancestors = disk.dir.ancestors().take_while(|d| d.starts_with(&devices));
    let mut irqs = ancestors.map(|dir| irqs_at(dir, all_lines));
    irqs.find(|irqs| !irqs.is_empty()).unwrap_or_default()
}

/// Interrupt numbers of one sysfs folder, by the most reliable source: its MSI list, its `irq`, or
/// the names of handlers.
fn irqs_at(dir: &Path, all_lines: &[IrqLine]) -> Vec<u32> {
    let messages = attr::entries(&dir.join("msi_irqs"));
    if !messages.is_empty() {
        let numbers = messages.iter().filter_map(|p| attr::name(p).parse().ok());
        return numbers.collect();
    }
    if let Some(irq) = attr::value::<u32>(&dir.join("irq")).filter(|&n| n != 0) {
        return vec![irq];
    }
    let device = attr::name(dir);
    let lines = all_lines.iter().filter(|l| named_after(&l.name, &device));
    lines.map(|l| l.irq).collect()
}

/// True if a handler of a line is named after a device: `virtio1-req.0` and `nvme0q3` are named
/// after `virtio1` and `nvme0`, but `virtio10-req.0` is not named after `virtio1`.
fn named_after(handlers: &str, device: &str) -> bool {
    let is_of_device = |name: &str| {
        let suffix = name.strip_prefix(device);
        suffix.is_some_and(|suffix| suffix.is_empty() || suffix.starts_with(['-', 'q']))
    };
    // A folder's name without a device number (`block`, `pci0000:00`) names no single device.
    let numbered = device.ends_with(|c: char| c.is_ascii_digit()) && !device.contains(':');
    numbered && handlers.split(", ").any(is_of_device)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU2
  8:          1          0  IO-APIC   8-edge      rtc0
 36:          5      36564  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 40:          0          7  GICv3  27 Level     a, virtio1
LOC:      60004      60719   Local timer interrupts
ERR:          0
";

    #[test]
    fn numbered_lines_with_their_cpus() {
        let lines = parse(TEXT).unwrap();
        let names: Vec<(u32, &str)> = lines.iter().map(|l| (l.irq, l.name.as_str())).collect();
        let wanted = [(8, "rtc0"), (36, "virtio1-req.0"), (40, "a, virtio1")];
        assert_eq!(names, wanted);
        assert_eq!(lines[1].counts[&CpuId(2)], 36564);
        assert!(parse("nonsense here\n").is_none());
    }

    #[test]
    fn names_of_drivers() {
        assert!(named_after("virtio1-req.0", "virtio1") && named_after("a, virtio1", "virtio1"));
        assert!(named_after("nvme0q12", "nvme0"));
        assert!(!named_after("virtio10-req.0", "virtio1") && !named_after("block-x", "block"));
    }

    #[test]
    fn differences_and_the_busiest_cpu() {
        let at = |a, b| Interrupts {
            lines: vec![IrqLine {
                irq: 36,
                name: "x".into(),
                counts: BTreeMap::from([(CpuId(0), a), (CpuId(2), b)]),
            }],
        };
        let step = at(7, 40_000).since(&at(5, 36_564));
        assert_eq!(step.total(), 2 + 3_436);
        assert_eq!(step.busiest(), [CpuId(2), CpuId(0)]);
        assert_eq!(step.since(&step).busiest(), vec![]);
    }
}
