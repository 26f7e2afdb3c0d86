use q2c_model::{Exit, Fault, OrFault};
use q2c_sys::ublk::Control;
use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Time between two looks whether the device is still there.
const LOOK: Duration = Duration::from_millis(500);

/// Keeps the inherited descriptors open as long as the device `id` with `token` exists, or until it
/// is asked to stop.
pub fn hold(id: u32, token: u64, stop: &AtomicBool) -> Result<(), Fault> {
    // A process of its own session is not ended with the terminal. It fails for the first process
    // of a group, which is as good.
    rustix::process::setsid().ok();
    let mut control = Control::open().or_fault(Exit::Environment, "open ublk's control device")?;
    let ours = |info: io::Result<q2c_sys::ublk::DeviceInfo>| match info {
        Ok(info) => info.token == token,
        // ENODEV and EINVAL: there is no such device. Anything else says nothing.
        Err(e) => !matches!(e.raw_os_error(), Some(19 | 22)),
    };
    while !stop.load(Ordering::Acquire) && ours(control.info(id)) {
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Starts the holder of the device as a child. It inherits the descriptors that are not closed on
/// exec.
pub(crate) fn start(id: u32, token: u64) -> io::Result<Child> {
    let program = fs::read_link("/proc/self/exe")?;
    let (id, token) = (id.to_string(), token.to_string());
    let arguments = ["ramdisk", "hold", "--id", &id, "--token", &token];
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/");
    command.stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}
