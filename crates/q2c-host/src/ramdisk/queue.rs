use crate::restore::is_gone;
use q2c_model::{Direction, Exit, Fault, Nanos, OrFault};
use q2c_policy::Io;
use q2c_service::{Draws, Servers};
use q2c_sys::clock::monotonic_ns;
use q2c_sys::ublk::{Control, Queue, UblkMemory, UblkOp, UblkRequest};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io, thread};

pub(crate) struct RamdiskService<'a> {
    pub draws: Draws,
    pub servers: &'a Servers,
}

/// Serves the queue until the kernel ends it.
pub(crate) fn run(
    mut queue: Queue,
    memory: &UblkMemory,
    mut service: Option<RamdiskService<'_>>,
) -> io::Result<()> {
    let mut new_requests: Vec<UblkRequest> = Vec::new();
    // Requests in service: the monotonic ns at which each is complete, its tag, its result.
    let mut in_service: BinaryHeap<Reverse<(u64, u16, i32)>> = BinaryHeap::new();
    loop {
        let max_wait = in_service
            .peek()
            .map(|Reverse((end, ..))| Duration::from_nanos(end.saturating_sub(monotonic_ns())));
        let has_commands = queue.wait(max_wait, &mut new_requests)?;
        for request in new_requests.drain(..) {
            let end_ns = service.as_mut().and_then(|s| s.end_ns(&request));
            let result = queue.serve(&request, memory);
            match end_ns {
                None => queue.commit(request.tag, result)?,
                Some(end) => in_service.push(Reverse((end, request.tag, result))),
            }
        }
        let now = monotonic_ns();
        while let Some(&Reverse((end, tag, result))) = in_service.peek()
            && end <= now
        {
            in_service.pop();
            queue.commit(tag, result)?;
        }
        if !has_commands && in_service.is_empty() {
            return Ok(());
        }
    }
}

impl RamdiskService<'_> {
    /// The monotonic time in ns at which the request is complete; `None` if it takes no time
    /// (flush).
    fn end_ns(&mut self, request: &UblkRequest) -> Option<u64> {
        let direction = match request.op {
            UblkOp::Read => Direction::Read,
            UblkOp::Write => Direction::Write,
            _ => return None,
        };
        let bytes = request.bytes;
        let time = self.draws.next(Io { direction, bytes });
        Some(self.servers.enqueue(Nanos(monotonic_ns()), time).0)
    }
}

/// Time between two checks of whether the device still exists.
const EXISTS_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Keeps the inherited descriptors open as long as the device `id` with `token` exists, or until
/// `stop` is set.
pub fn hold(id: u32, token: u64, stop: &AtomicBool) -> Result<(), Fault> {
    // In a session of its own, the process does not end with the terminal. A group leader cannot
    // start one; that error is ignored.
    rustix::process::setsid().ok();
    let mut control = Control::open().or_fault(Exit::Environment, "open ublk's control device")?;
    let is_ours = |info: io::Result<q2c_sys::ublk::DeviceInfo>| match info {
        Ok(info) => info.token == token,
        // Any error but "no such device" leaves open whether the device exists.
        Err(e) => !is_gone(&e),
    };
    while !stop.load(Ordering::Acquire) && is_ours(control.info(id)) {
        thread::sleep(EXISTS_CHECK_INTERVAL);
    }
    Ok(())
}

/// Starts the holder of the device as a child. It inherits the descriptors without close-on-exec.
pub(crate) fn start_holder(id: u32, token: u64) -> io::Result<Child> {
    let program = fs::read_link("/proc/self/exe")?;
    let (id, token) = (id.to_string(), token.to_string());
    let arguments = ["ramdisk", "hold", "--id", &id, "--token", &token];
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/");
    command.stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}
