//! `io_uring_setup` called directly, with any flag that the kernel has: the `io-uring` crate has no
//! name for HYBRID_IOPOLL.

use super::RingError;
use super::options::{RingOptions, TaskRun};
use crate::Buffers;
use io_uring::{IoUring, Parameters, cqueue, squeue};
use std::io;
use std::os::fd::AsRawFd;

/// `struct io_uring_params` (include/uapi/linux/io_uring.h).
#[repr(C)]
#[derive(Default)]
struct RingParams {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle: u32,
    features: u32,
    wq_fd: u32,
    resv: [u32; 3],
    sq_off: [u64; 5],
    cq_off: [u64; 5],
}

const _: () = assert!(size_of::<RingParams>() == 120 && size_of::<Parameters>() == 120);

/// A ring of `depth` entries with these setup flags. With SQ_AFF among them, its helper is bound to
/// `cpu`.
fn plain_ring(depth: u32, flags: u32, cpu: Option<u32>) -> io::Result<IoUring> {
    let mut params = RingParams {
        flags,
        sq_thread_cpu: cpu.unwrap_or(0),
        ..RingParams::default()
    };
    // SAFETY: the kernel reads and writes exactly one `io_uring_params`, which `params` is, while
    // the call runs.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, depth, &raw mut params) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `Parameters` is documented as a transparent wrapper of `io_uring_params` that may be
    // made from its memory; the sizes are equal, as checked above, and the kernel has filled it in.
    let params: Parameters = unsafe { std::mem::transmute(params) };
    // SAFETY: the descriptor is a ring just made, owned by nobody else, and the parameters are its
    // own.
    unsafe { IoUring::from_fd(fd as i32, params) }
}

/// Ring types that can be set up: those with plain entries, and those with entries that hold a
/// device's command.
pub(super) trait SetUp: Sized {
    /// Sets up a ring of `depth` entries with `options` and one set of completion flags.
    fn set_up(depth: u32, options: &RingOptions, taskrun: TaskRun) -> io::Result<Self>;
}

impl SetUp for IoUring {
    fn set_up(depth: u32, options: &RingOptions, taskrun: TaskRun) -> io::Result<Self> {
        let cpu = options.sqpoll.and_then(|sqpoll| sqpoll.cpu);
        plain_ring(depth, options.bits(taskrun), cpu)
    }
}

/// Rings whose entries hold a device's command. They have no helper thread and no HYBRID_IOPOLL.
impl SetUp for IoUring<squeue::Entry128, cqueue::Entry32> {
    fn set_up(depth: u32, options: &RingOptions, taskrun: TaskRun) -> io::Result<Self> {
        let mut builder = IoUring::<squeue::Entry128, cqueue::Entry32>::builder();
        if options.iopoll {
            builder.setup_iopoll();
        }
        match taskrun {
            TaskRun::Deferred => builder
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_taskrun_flag(),
            TaskRun::Cooperative => builder.setup_coop_taskrun().setup_taskrun_flag(),
            TaskRun::Default => &mut builder,
        };
        builder.build(depth)
    }
}

/// Makes the ring with the best completion flags that the kernel has. It tries one set after the
/// other, because older kernels answer EINVAL to flags that they do not know.
pub(super) fn build<R: SetUp>(
    depth: u32,
    options: &RingOptions,
) -> Result<(R, TaskRun), RingError> {
    let mut refused = None;
    for &taskrun in options.taskruns() {
        match R::set_up(depth, options, taskrun) {
            Ok(ring) => return Ok((ring, taskrun)),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => refused = Some((e, taskrun)),
            Err(e) => return Err(setup_error(e, depth, options, taskrun)),
        }
    }
    let (source, taskrun) = refused.expect("there is at least one set to try");
    Err(refusal(source, depth, options, taskrun))
}

/// The error for EINVAL. It names the options if they ask for anything that a kernel may lack, else
/// the set-up as a whole.
fn refusal(source: io::Error, depth: u32, options: &RingOptions, taskrun: TaskRun) -> RingError {
    let todo = options.needs();
    if todo.is_empty() {
        return RingError::Setup { depth, source };
    }
    RingError::Options {
        flags: options.names(taskrun),
        source,
        todo,
    }
}

/// The error for anything but EINVAL. EPERM means that the user may make no ring at all, or none
/// with a helper thread; a trial with a plain ring shows which of the two.
fn setup_error(
    source: io::Error,
    depth: u32,
    options: &RingOptions,
    taskrun: TaskRun,
) -> RingError {
    match source.raw_os_error() {
        Some(libc::EPERM) if options.sqpoll.is_some() && plain_ring(1, 0, None).is_ok() => {
            refusal(source, depth, options, taskrun)
        }
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => RingError::Forbidden(source),
        _ => RingError::Setup { depth, source },
    }
}

/// Pins all buffers in memory as the ring's fixed buffers, each under its index in `buffers`.
pub(super) fn register_buffers<S, C>(
    ring: &IoUring<S, C>,
    buffers: &Buffers,
) -> Result<(), RingError>
where
    S: squeue::EntryMarker,
    C: cqueue::EntryMarker,
{
    let slot = |i| libc::iovec {
        iov_base: buffers.address(i).cast(),
        iov_len: buffers.size(),
    };
    let vectors: Vec<libc::iovec> = (0..buffers.count()).map(slot).collect();
    // SAFETY: the vectors describe live, distinct slots that outlive the registration: the owner of
    // the ring keeps them until the ring is gone.
    let registered = unsafe { ring.submitter().register_buffers(&vectors) };
    registered.map_err(|source| RingError::Memlock {
        bytes: buffers.count() * buffers.size(),
        limit: memlock_limit(),
        source,
    })
}

fn memlock_limit() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let limit = limit.map(|bytes| format!("{} KiB", bytes / 1024));
    limit.unwrap_or_else(|| "unlimited".to_owned())
}

/// Registers the ring's own descriptor, so that the kernel need not look it up in every call.
/// Returns its index, or `None` before Linux 5.18 and when all 16 places of the thread are taken.
pub(super) fn register_ring(fd: &impl AsRawFd) -> Option<u32> {
    register(fd, REGISTER_RING_FDS, u32::MAX, fd.as_raw_fd() as u64)
}

/// Gives the thread's place back. Without that the ring would outlive its descriptor.
pub(super) fn unregister_ring(fd: &impl AsRawFd, index: u32) {
    register(fd, UNREGISTER_RING_FDS, index, 0);
}

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RsrcUpdate {
    offset: u32,
    resv: u32,
    data: u64,
}

/// IORING_REGISTER_RING_FDS.
const REGISTER_RING_FDS: libc::c_uint = 20;
/// IORING_UNREGISTER_RING_FDS.
const UNREGISTER_RING_FDS: libc::c_uint = 21;

fn register(fd: &impl AsRawFd, operation: libc::c_uint, offset: u32, data: u64) -> Option<u32> {
    let mut update = RsrcUpdate {
        offset,
        resv: 0,
        data,
    };
    let (fd, address) = (fd.as_raw_fd(), &raw mut update);
    // SAFETY: both operations read and write one `io_uring_rsrc_update`, which `update` is, while
    // the call runs.
    let result = unsafe { libc::syscall(libc::SYS_io_uring_register, fd, operation, address, 1) };
    (result == 1).then_some(update.offset)
}
