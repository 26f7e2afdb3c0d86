//! Finds the driver that a PCI device is bound to, and changes nothing.

use super::SpdkError;
use std::path::Path;

/// Kernel drivers that hand a device to a program in user space.
pub(crate) const USER_DRIVERS: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];

/// Returns the driver in [`USER_DRIVERS`] that the device at `address` is bound to, according to
/// the sysfs at `root`.
pub fn user_driver(root: &Path, address: &str) -> Result<String, SpdkError> {
    let refuse = |problem: String| {
        Err(SpdkError::Device {
            address: address.to_owned(),
            problem,
        })
    };
    let device = root.join("bus/pci/devices").join(address);
    if !is_pci_address(address) || !device.exists() {
        return refuse(
            "there is no such PCI device; its address has the form 0000:04:00.0 (lspci -D)"
                .to_owned(),
        );
    }
    let link = std::fs::read_link(device.join("driver")).ok();
    let driver = link.as_deref().and_then(Path::file_name);
    match driver.and_then(|name| name.to_str()) {
        Some(name) if USER_DRIVERS.contains(&name) => Ok(name.to_owned()),
        Some(name) => refuse(format!(
            "it is bound to the driver {name}; q2c unbinds nothing: if nothing on it is in use, bind it to vfio-pci by \
             SPDK's scripts/setup.sh"
        )),
        None => refuse(
            "it is bound to no driver; bind it to vfio-pci by SPDK's scripts/setup.sh".to_owned(),
        ),
    }
}

/// True if the address has only hexadecimal digits, colons and dots, so that it cannot lead
/// elsewhere in sysfs.
fn is_pci_address(address: &str) -> bool {
    let hex = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
    address.chars().all(hex) && address.contains(':') && !address.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::create_dir_all;
    use std::os::unix::fs::symlink;

    fn sys(driver: Option<&str>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let device = root.path().join("bus/pci/devices/0000:04:00.0");
        create_dir_all(&device).unwrap();
        if let Some(name) = driver {
            let target = format!("../../../bus/pci/drivers/{name}");
            symlink(target, device.join("driver")).unwrap();
        }
        root
    }

    fn problem(driver: Option<&str>, address: &str) -> Option<String> {
        let driver = user_driver(sys(driver).path(), address);
        driver.err().map(|e| e.to_string())
    }

    #[test]
    fn only_devices_of_user_space_drivers_are_taken() {
        let address = "0000:04:00.0";
        for driver in USER_DRIVERS {
            assert_eq!(problem(Some(driver), address), None);
        }
        let kernel_bound = problem(Some("nvme"), address).unwrap();
        let expected = "driver nvme; q2c unbinds nothing";
        assert!(kernel_bound.contains(expected), "{kernel_bound}");
        assert!(problem(None, address).unwrap().contains("no driver"));
        for wrong in ["0000:05:00.0", "..", "/dev/nvme0n1", ""] {
            let problem = problem(Some("vfio-pci"), wrong).unwrap();
            assert!(problem.contains("no such PCI device"), "{wrong}: {problem}");
        }
    }
}
