use std::fs;
use std::path::Path;
use std::process::Command;

/// A loop device over a file of its own, removed on drop.
pub(crate) struct TestLoopDevice {
    pub name: String,
}

impl TestLoopDevice {
    /// Makes a device of `size` bytes. `None` where that is not possible: no root, no driver, or no
    /// losetup.
    pub(crate) fn new(dir: &Path, size: usize) -> Option<TestLoopDevice> {
        let backing = dir.join("backing");
        fs::write(&backing, vec![0; size]).unwrap();
        TestLoopDevice::over(&backing)
    }

    /// Makes a device over this file or device. `None` as for [`TestLoopDevice::new`].
    pub(crate) fn over(backing: &Path) -> Option<TestLoopDevice> {
        let mut losetup = Command::new("losetup");
        let made = losetup
            .args(["--find", "--show"])
            .arg(backing)
            .output()
            .ok()?;
        let path = String::from_utf8(made.stdout)
            .ok()
            .filter(|_| made.status.success())?;
        Some(TestLoopDevice {
            name: path.trim().strip_prefix("/dev/")?.to_owned(),
        })
    }
}

impl Drop for TestLoopDevice {
    fn drop(&mut self) {
        let path = format!("/dev/{}", self.name);
        let detached = Command::new("losetup").args(["--detach", &path]).status();
        assert!(detached.is_ok_and(|s| s.success()), "detach {path}");
    }
}
