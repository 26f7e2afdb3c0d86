use super::core::RingCore;
use super::setup::{SetUp, register_buffers};
use super::{CompletionPath, Operation, RingCompletion, RingError, RingOptions, TaskRun, Transfer};
use crate::Buffers;
use crate::clock::monotonic_ns;
use crate::nvme::{Namespace, URING_CMD_IO, rw_command};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use std::fs::File;
use std::os::fd::OwnedFd;

/// How a ring writes transfers into its entries and reads completions from them.
pub trait RingEncoding {
    /// An entry of the submission queue.
    type Submission: squeue::EntryMarker;
    /// An entry of the completion queue.
    type Completion: cqueue::EntryMarker;

    /// True if [`RingEncoding::entry`] may refuse a transfer.
    const REFUSES: bool;
    /// True if a wait with a deadline may sleep in the kernel; else it looks in a loop.
    const WAITS_TIMED: bool;

    /// The entry for a transfer whose data are at `address`, in the buffer with this index. `None`
    /// for a transfer that no entry can express.
    fn entry(
        &self,
        transfer: Transfer,
        buffer: usize,
        address: *mut u8,
    ) -> Option<Self::Submission>;

    /// The completion of an entry.
    fn completion(entry: Self::Completion) -> RingCompletion;
}

/// A ring with one registered file and its buffers. Its types are [`Ring`](super::Ring) and
/// [`CommandRing`](super::CommandRing).
pub struct EncodedRing<E: RingEncoding> {
    /// The first field, so that it is dropped first: its drop waits until nothing is in flight, and
    /// the memory and the file must live until then.
    pub(super) core: RingCore<E::Submission, E::Completion>,
    /// The ring of transfers whose completion is to interrupt, if `core` polls the device.
    /// Like `core`, it is dropped before the memory and the file.
    interrupt_core: Option<RingCore<E::Submission, E::Completion>>,
    encoding: E,
    /// Transfers that no entry can express. They wait here to be popped with EINVAL.
    refused: Vec<RingCompletion>,
    pub(super) buffers: Buffers,
    /// Kept open while the kernel may use it.
    _file: OwnedFd,
}

/// The rings of one [`EncodedRing`], set up and with the file registered.
pub(super) struct RingCores<E: RingEncoding> {
    pub core: RingCore<E::Submission, E::Completion>,
    pub interrupt_core: Option<RingCore<E::Submission, E::Completion>>,
    pub file: OwnedFd,
}

impl<E: RingEncoding> RingCores<E>
where
    IoUring<E::Submission, E::Completion>: SetUp,
{
    /// Sets up a ring of `depth` entries with `options`, and the second ring that belongs to them.
    pub(crate) fn new(depth: u32, options: RingOptions, file: File) -> Result<Self, RingError> {
        let core = RingCore::new(depth, options)?;
        let second = options.interrupting();
        let interrupt_core = second.map(|options| RingCore::new(depth, options));
        let interrupt_core = interrupt_core.transpose()?;
        let file = OwnedFd::from(file);
        for core in [Some(&core), interrupt_core.as_ref()].into_iter().flatten() {
            core.register_file(&file)?;
        }
        Ok(RingCores {
            core,
            interrupt_core,
            file,
        })
    }
}

impl<E: RingEncoding> RingCores<E> {
    /// Pins all buffers as the rings' fixed buffers.
    pub(crate) fn register_buffers(&self, buffers: &Buffers) -> Result<(), RingError> {
        let cores = [Some(&self.core), self.interrupt_core.as_ref()];
        let mut cores = cores.into_iter().flatten();
        cores.try_for_each(|core| register_buffers(&core.ring, buffers))
    }
}

impl<E: RingEncoding> EncodedRing<E> {
    /// The ring of `cores`, on which the buffers are registered if `encoding` names them.
    pub(super) fn from_cores(cores: RingCores<E>, encoding: E, buffers: Buffers) -> Self {
        let capacity = if E::REFUSES { buffers.slots() } else { 0 };
        EncodedRing {
            core: cores.core,
            interrupt_core: cores.interrupt_core,
            encoding,
            refused: Vec::with_capacity(capacity),
            buffers,
            _file: cores.file,
        }
    }

    /// The completion flags that the kernel accepted.
    pub fn flags(&self) -> TaskRun {
        self.core.taskrun
    }

    /// The options that the ring was made with.
    pub fn options(&self) -> RingOptions {
        self.core.options
    }

    /// The kernel's names of all flags in force; `none` when there are none.
    pub fn names(&self) -> &'static str {
        self.core.options.names(self.core.taskrun)
    }

    /// The names of the flags of the second ring, whose completions interrupt; `None` when there is
    /// only one ring.
    pub fn interrupting_names(&self) -> Option<&'static str> {
        let second = self.interrupt_core.as_ref();
        second.map(|core| core.options.names(core.taskrun))
    }

    /// The thread id of the SQPOLL helper. `None` without SQPOLL, or where the kernel does not show
    /// it.
    pub fn helper(&self) -> Option<u32> {
        self.core.helper
    }

    /// Transfers queued or submitted and not yet popped.
    #[cfg(test)]
    pub(crate) fn in_flight(&self) -> u32 {
        let second_ring = self.interrupt_core.as_ref();
        self.core.in_flight + second_ring.map_or(0, |core| core.in_flight)
    }

    /// The ring of transfers whose completion is found by `path`.
    #[inline]
    fn core_for(&mut self, path: CompletionPath) -> &mut RingCore<E::Submission, E::Completion> {
        match (path, &mut self.interrupt_core) {
            (CompletionPath::Interrupt, Some(core)) => core,
            _ => &mut self.core,
        }
    }

    /// The only ring that has transfers in flight: `None` if both have some, the first if neither
    /// has any.
    #[inline]
    fn active_core(&mut self) -> Option<&mut RingCore<E::Submission, E::Completion>> {
        match &mut self.interrupt_core {
            Some(core) if core.in_flight > 0 => (self.core.in_flight == 0).then_some(core),
            _ => Some(&mut self.core),
        }
    }

    /// True if a transfer that was refused waits to be popped.
    #[inline]
    fn has_refused(&self) -> bool {
        E::REFUSES && !self.refused.is_empty()
    }

    /// Queues one transfer whose completion is found by `path`; [`EncodedRing::submit`] with the
    /// same path hands it to the kernel. With SQPOLL the helper thread may take it at once. A
    /// transfer that no entry can express completes with EINVAL.
    #[inline]
    pub fn queue(&mut self, transfer: Transfer, path: CompletionPath) {
        let fits = transfer.length as usize <= self.buffers.size();
        assert!(fits || transfer.operation == Operation::Discard);
        let writes = transfer.operation.writes();
        let buffer = self.buffers.index_of(transfer.slot, writes);
        let address = self.buffers.address(buffer);
        let Some(entry) = self.encoding.entry(transfer, buffer, address) else {
            assert!(self.refused.len() < self.refused.capacity());
            let (slot, result) = (transfer.slot, -libc::EINVAL);
            return self.refused.push(RingCompletion { slot, result });
        };
        // SAFETY: the buffer slot is checked to be large enough and outlives the rings: all are
        // fields of `self`, the rings are dropped first, and dropping one waits until nothing is in
        // flight in it.
        unsafe { self.core_for(path).push(&entry) };
    }

    /// Hands everything that is queued for `path` to the kernel. It runs no completion work.
    #[inline]
    pub fn submit(&mut self, path: CompletionPath) -> Result<(), RingError> {
        self.core_for(path).submit()
    }

    /// Looks once without sleeping: runs pending completion work, or asks the device with IOPOLL.
    /// Returns true if a completion can then be popped.
    #[inline]
    pub fn look(&mut self) -> Result<bool, RingError> {
        if self.has_refused() {
            return Ok(true);
        }
        match self.active_core() {
            Some(core) => core.look(),
            None => self.look_at_both(),
        }
    }

    fn look_at_both(&mut self) -> Result<bool, RingError> {
        let second = self.interrupt_core.as_mut().map(RingCore::look);
        Ok(self.core.look()? | second.unwrap_or(Ok(false))?)
    }

    /// Stays in the kernel until a completion can be popped: asleep, or polling with IOPOLL. The
    /// kernel's polling loop may end early, without a completion: the caller has to look again.
    /// With transfers in flight in both rings it looks at both in turn and does not sleep, because
    /// nothing would wake it for the completion of a polled transfer.
    #[inline]
    pub fn wait(&mut self) -> Result<(), RingError> {
        if self.has_refused() {
            return Ok(());
        }
        match self.active_core() {
            Some(core) => core.wait(),
            None => self.wait_for_both(),
        }
    }

    fn wait_for_both(&mut self) -> Result<(), RingError> {
        while !self.look_at_both()? {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Hands everything queued for `path` to the kernel, and waits until one completion can be
    /// popped, as [`EncodedRing::wait`] does. It is one system call if only one ring has transfers
    /// in flight. With SQPOLL the helper thread takes the queued transfers, and the call only
    /// waits.
    #[inline]
    pub fn submit_and_wait(&mut self, path: CompletionPath) -> Result<(), RingError> {
        if self.has_refused() {
            return self.submit(path);
        }
        match self.active_core() {
            Some(core) => core.submit_and_wait(),
            None => {
                self.submit(path)?;
                self.wait_for_both()
            }
        }
    }

    /// Takes the next finished transfer.
    #[inline]
    pub fn pop(&mut self) -> Option<RingCompletion> {
        if E::REFUSES
            && let Some(completion) = self.refused.pop()
        {
            return Some(completion);
        }
        let polled = self.core.pop();
        let completion = polled.or_else(|| self.interrupt_core.as_mut()?.pop());
        completion.map(E::completion)
    }

    /// Waits as [`EncodedRing::wait`] does, but not beyond `deadline_ns` of CLOCK_MONOTONIC.
    #[inline]
    pub fn wait_until(&mut self, deadline_ns: u64) -> Result<(), RingError> {
        if self.has_refused() {
            return Ok(());
        }
        if self.interrupt_core.is_none() {
            return self.core.wait_until(deadline_ns, self.waits_timed());
        }
        while !self.look()? && monotonic_ns() < deadline_ns {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// True if [`EncodedRing::wait_until`] sleeps: it does for files and block devices on Linux
    /// 5.11 and later if the ring does not poll in its calls. Else it looks again and again until
    /// the deadline.
    pub(crate) fn waits_timed(&self) -> bool {
        E::WAITS_TIMED && self.core.waits_timed()
    }
}

/// The encoding as NVMe commands for one namespace. A transfer that one command cannot express (see
/// [`rw_command`]) is refused.
pub struct NvmeEncoding {
    namespace: Namespace,
    /// True if commands may name a registered buffer.
    fixed: bool,
}

impl EncodedRing<NvmeEncoding> {
    /// Makes the ring on a namespace's character device (`/dev/ng0n1`). With `iopoll` completions
    /// are found by asking the device, which needs poll queues and Linux 6.1 or later.
    pub fn new(
        file: File,
        namespace: Namespace,
        buffers: Buffers,
        iopoll: bool,
    ) -> Result<Self, RingError> {
        let options = RingOptions {
            iopoll,
            ..RingOptions::default()
        };
        let cores = RingCores::new(buffers.slots() as u32, options, file)?;
        // Registered buffers in commands came with Linux 6.1, as DEFER_TASKRUN did.
        let fixed = cores.core.taskrun == TaskRun::Deferred;
        if fixed {
            cores.register_buffers(&buffers)?;
        }
        let encoding = NvmeEncoding { namespace, fixed };
        Ok(Self::from_cores(cores, encoding, buffers))
    }
}

impl RingEncoding for NvmeEncoding {
    type Submission = squeue::Entry128;
    type Completion = cqueue::Entry32;

    const REFUSES: bool = true;
    const WAITS_TIMED: bool = false;

    #[inline]
    fn entry(
        &self,
        transfer: Transfer,
        buffer: usize,
        address: *mut u8,
    ) -> Option<squeue::Entry128> {
        let command = rw_command(self.namespace, transfer, address as u64)?;
        let entry = opcode::UringCmd80::new(types::Fixed(0), URING_CMD_IO)
            .buf_index(self.fixed.then_some(buffer as u16))
            .cmd(command)
            .build()
            // The completion has no length, so the user data hold it above the slot.
            .user_data(u64::from(transfer.slot) | u64::from(transfer.length) << u16::BITS);
        Some(entry)
    }

    #[inline]
    fn completion(entry: cqueue::Entry32) -> RingCompletion {
        let entry: cqueue::Entry = entry.into();
        nvme_completion(entry.user_data(), entry.result())
    }
}

/// Reads a completion's result: 0 is success, a negative number the kernel's errno, a positive one
/// the device's status, which becomes EIO.
fn nvme_completion(user_data: u64, result: i32) -> RingCompletion {
    let result = match result {
        0 => (user_data >> u16::BITS) as i32,
        1.. => -libc::EIO,
        errno => errno,
    };
    RingCompletion {
        slot: user_data as u16,
        result,
    }
}

/// The encoding for files and block devices.
pub struct FileEncoding;

impl EncodedRing<FileEncoding> {
    /// Makes the ring with the best flags the kernel has, registers `file` and `buffers`.
    pub fn new(file: File, buffers: Buffers) -> Result<Self, RingError> {
        Self::with(file, buffers, RingOptions::default())
    }

    /// Makes the ring with `options`, registers `file` and `buffers`.
    pub fn with(file: File, buffers: Buffers, options: RingOptions) -> Result<Self, RingError> {
        let cores = RingCores::new(buffers.slots() as u32, options, file)?;
        cores.register_buffers(&buffers)?;
        Ok(Self::from_cores(cores, FileEncoding, buffers))
    }
}

impl RingEncoding for FileEncoding {
    type Submission = squeue::Entry;
    type Completion = cqueue::Entry;

    const REFUSES: bool = false;
    const WAITS_TIMED: bool = true;

    #[inline]
    fn entry(&self, transfer: Transfer, buffer: usize, address: *mut u8) -> Option<squeue::Entry> {
        let (offset, length) = (transfer.offset, transfer.length);
        let (file, buffer) = (types::Fixed(0), buffer as u16);
        let write = |flags| {
            opcode::WriteFixed::new(file, address, length, buffer)
                .offset(offset)
                .rw_flags(flags)
                .build()
        };
        let entry = match transfer.operation {
            Operation::Read => opcode::ReadFixed::new(file, address, length, buffer)
                .offset(offset)
                .build(),
            Operation::Write => write(0),
            Operation::Durable => write(RWF_DSYNC),
            Operation::Flush => opcode::Fsync::new(file)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
            Operation::Discard => opcode::Fallocate::new(file, u64::from(length))
                .offset(offset)
                .mode(PUNCH_HOLE)
                .build(),
        };
        let is_discard = transfer.operation == Operation::Discard;
        let discarded = if is_discard { length } else { 0 };
        Some(entry.user_data(u64::from(transfer.slot) | u64::from(discarded) << u16::BITS))
    }

    #[inline]
    fn completion(entry: cqueue::Entry) -> RingCompletion {
        let data = entry.user_data();
        let result = match entry.result() {
            // A discard completes with 0: its length stands above the slot in the user data. For
            // other operations these bits are 0.
            0 => (data >> u16::BITS) as i32,
            result => result,
        };
        RingCompletion {
            slot: data as u16,
            result,
        }
    }
}

/// RWF_DSYNC (include/uapi/linux/fs.h).
const RWF_DSYNC: i32 = 2;
/// FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE (include/uapi/linux/falloc.h).
const PUNCH_HOLE: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// 0x281 is an unrecovered read error (media errors, status code 81h).
    #[test]
    fn a_status_is_an_io_error_and_success_has_the_length_asked() {
        let user_data = 3 | 8192 << 16;
        let result = |result| nvme_completion(user_data, result).result;
        assert_eq!(result(0), 8192);
        assert_eq!(result(0x281), -libc::EIO);
        assert_eq!(result(-libc::EOPNOTSUPP), -libc::EOPNOTSUPP);
        assert_eq!(nvme_completion(user_data, 0).slot, 3);
    }
}
