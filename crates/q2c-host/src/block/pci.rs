//! PCI addresses: domain, bus, device and function, as in `0000:04:00.0`.

use super::TargetDisk;
use crate::{Roots, attr};
use std::path::Path;

/// Whether a text has the form of a full PCI address, domain included.
pub fn is_pci_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let [domain, bus, device, function] = parts[..] else {
        return false;
    };
    let hex = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    // Domains of more than four digits are those of bridges in software.
    let form = text.rfind(':') < text.find('.');
    form && hex(domain, 4..=8) && hex(bus, 2..=2) && hex(device, 2..=2) && hex(function, 1..=1)
}

/// The PCI address of a disk's adapter: the last one on the way to the disk in sysfs. For a disk
/// without an address of its own it is that of the first disk below that has one. `None` for disks
/// that are not on PCI.
pub fn pci_address(target_disk: &TargetDisk) -> Option<String> {
    let nearest_address = |dir: &Path| {
        let names = dir.ancestors().map(attr::name);
        names.into_iter().find(|name| is_pci_address(name))
    };
    let below = target_disk
        .below
        .iter()
        .find_map(|disk| nearest_address(&disk.dir));
    nearest_address(&target_disk.disk.dir).or(below)
}

/// The NUMA node of a PCI device; `None` where the machine has no nodes or does not tell.
pub fn pci_node(roots: &Roots, address: &str) -> Option<u32> {
    attr::value(&roots.sys(&format!("bus/pci/devices/{address}/numa_node")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_an_address() {
        for right in ["0000:04:00.0", "10000:01:1f.7", "ffff:FF:1f.7"] {
            assert!(is_pci_address(right), "{right}");
        }
        for wrong in [
            "04:00.0",
            "0000:04:00",
            "0000:04.00:0",
            "0000:4:00.0",
            "0000:04:00.0/..",
            "disk",
            "",
        ] {
            assert!(!is_pci_address(wrong), "{wrong}");
        }
    }
}
