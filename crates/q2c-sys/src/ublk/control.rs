use super::abi::{self, Info, Params};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use q2c_model::CpuId;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The control device's path.
pub const CONTROL: &str = "/dev/ublk-control";

/// The control device. Every thread that sends commands opens its own.
pub struct Control {
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
    file: File,
}

/// The requested shape of a new device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UblkShape {
    /// Capacity in bytes, a multiple of the block size.
    pub bytes: u64,
    /// Logical block size in bytes, a power of two.
    pub block: u32,
    /// Hardware queues.
    pub queues: u16,
    /// Requests per hardware queue.
    pub depth: u16,
    /// A number that the kernel keeps for the server; it tells this device from a later one.
    pub token: u64,
}

/// A device as the kernel describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Hardware queues.
    pub queues: u16,
    /// Requests per hardware queue.
    pub depth: u16,
    /// True if a server takes its requests.
    pub live: bool,
    /// True if requests wait for a new server, because the last one has ended.
    pub quiesced: bool,
    /// Process of the server; `None` where the kernel names none.
    pub server: Option<u32>,
    /// The token that [`UblkShape::token`] set.
    pub token: u64,
}

/// The features in use: a server that copies data itself, and recovery.
const NEEDED_FEATURES: u64 = abi::USER_COPY | abi::USER_RECOVERY | abi::USER_RECOVERY_REISSUE;
/// The largest request, bytes.
const MAX_IO_BYTES: u32 = 512 * 1024;
/// The largest discard, sectors.
const MAX_DISCARD_SECTORS: u32 = 8192;

impl Control {
    /// Opens the control device.
    pub fn open() -> io::Result<Control> {
        let file = File::options().read(true).write(true).open(CONTROL)?;
        let ring = IoUring::builder().build(4)?;
        Ok(Control { ring, file })
    }

    /// Sends a `struct ublksrv_ctrl_cmd` about the device `id`, which names `len` bytes at `addr`.
    fn call(&mut self, op: u32, id: u32, data: u64, (addr, len): (u64, u16)) -> io::Result<()> {
        let mut bytes = [0_u8; 80];
        bytes[..4].copy_from_slice(&id.to_ne_bytes());
        // The command is for no queue.
        bytes[4..6].copy_from_slice(&u16::MAX.to_ne_bytes());
        bytes[6..8].copy_from_slice(&len.to_ne_bytes());
        bytes[8..16].copy_from_slice(&addr.to_ne_bytes());
        bytes[16..24].copy_from_slice(&data.to_ne_bytes());
        let fd = types::Fd(self.file.as_raw_fd());
        let entry = opcode::UringCmd80::new(fd, op).cmd(bytes).build();
        // SAFETY: the file is open as long as the ring, and what the command points to belongs to
        // the caller's frame, which this function leaves only after the completion.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        loop {
            match self.ring.submit_and_wait(1) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => drop(other?),
            }
            if let Some(done) = self.ring.completion().next() {
                let failed = Some(done.result()).filter(|result| *result < 0);
                return failed.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(-errno)));
            }
        }
    }

    fn command(&mut self, op: u32, id: u32, data: u64) -> io::Result<()> {
        self.call(op, id, data, (0, 0))
    }

    /// The features of this kernel's ublk, as bits; 0 where it reports none.
    pub(crate) fn features(&mut self) -> u64 {
        let mut features = 0_u64;
        let answered = self.call(abi::GET_FEATURES, 0, 0, (&raw mut features as u64, 8));
        answered.map_or(0, |()| features)
    }

    /// True if this kernel's ublk has the needed features: a server that copies data itself, and
    /// recovery.
    pub fn has_needed_features(&mut self) -> bool {
        self.features() & NEEDED_FEATURES == NEEDED_FEATURES
    }

    /// Adds the device `id`; `AlreadyExists` if the number is taken. When its server ends, its
    /// requests wait for the next server.
    pub fn add(&mut self, id: u32, shape: &UblkShape) -> io::Result<()> {
        let mut info = Info {
            queues: shape.queues,
            depth: shape.depth,
            max_io_bytes: MAX_IO_BYTES,
            dev_id: id,
            flags: NEEDED_FEATURES | abi::CMD_IOCTL_ENCODE,
            server_flags: shape.token,
            server: std::process::id() as i32,
            ..Info::default()
        };
        let memory = (&raw mut info as u64, size_of::<Info>() as u16);
        self.call(abi::ADD_DEV, id, 0, memory)?;
        self.set_params(id, shape)
    }

    fn set_params(&mut self, id: u32, shape: &UblkShape) -> io::Result<()> {
        let shift = shape.block.trailing_zeros() as u8;
        let mut params = Params {
            len: abi::PARAMS_LEN,
            types: abi::PARAMS_TYPES,
            logical_shift: shift,
            physical_shift: shift.max(12),
            io_opt_shift: shift.max(12),
            io_min_shift: shift,
            max_sectors: MAX_IO_BYTES / 512,
            sectors: shape.bytes / 512,
            discard_granularity: shape.block,
            max_discard_sectors: MAX_DISCARD_SECTORS,
            max_zeroes_sectors: MAX_DISCARD_SECTORS,
            max_discard_segments: 1,
            ..Params::default()
        };
        let memory = (&raw mut params as u64, abi::PARAMS_LEN as u16);
        self.call(abi::SET_PARAMS, id, 0, memory)
    }

    /// The kernel's description of the device `id`.
    pub fn info(&mut self, id: u32) -> io::Result<DeviceInfo> {
        let mut info = Info::default();
        let memory = (&raw mut info as u64, size_of::<Info>() as u16);
        self.call(abi::GET_DEV_INFO, id, 0, memory)?;
        Ok(DeviceInfo {
            queues: info.queues,
            depth: info.depth,
            live: info.state == 1,
            quiesced: info.state >= 2,
            server: u32::try_from(info.server).ok().filter(|&pid| pid > 0),
            token: info.server_flags,
        })
    }

    /// The first of the CPUs whose requests go to the queue; `None` where the kernel names none.
    pub fn cpu_of_queue(&mut self, id: u32, queue: u16) -> Option<CpuId> {
        let mut mask = [0_u64; 128];
        let memory = (mask.as_mut_ptr() as u64, 1024);
        self.call(abi::GET_QUEUE_AFFINITY, id, queue.into(), memory)
            .ok()?;
        let word = mask.iter().position(|&word| word != 0)?;
        Some(CpuId(word as u32 * 64 + mask[word].trailing_zeros()))
    }

    /// Starts the device: its block device appears. All queues must fetch.
    pub fn start(&mut self, id: u32) -> io::Result<()> {
        self.command(abi::START_DEV, id, u64::from(std::process::id()))
    }

    /// Takes the block device away; requests in flight end first where there is a server, else
    /// fail.
    pub fn stop(&mut self, id: u32) -> io::Result<()> {
        self.command(abi::STOP_DEV, id, 0)
    }

    /// Deletes the device. It is gone when the last descriptor of its file is closed.
    pub fn delete(&mut self, id: u32) -> io::Result<()> {
        match self.command(abi::DEL_DEV_ASYNC, id, 0) {
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                self.command(abi::DEL_DEV, id, 0)
            }
            other => other,
        }
    }

    /// Begins to give the device to this process, after its server has ended; `ResourceBusy` as
    /// long as the kernel still ends that server.
    pub fn begin_recovery(&mut self, id: u32) -> io::Result<()> {
        self.command(abi::START_USER_RECOVERY, id, 0)
    }

    /// Gives the device to this process. All queues must fetch.
    pub fn end_recovery(&mut self, id: u32) -> io::Result<()> {
        self.command(abi::END_USER_RECOVERY, id, u64::from(std::process::id()))
    }
}
