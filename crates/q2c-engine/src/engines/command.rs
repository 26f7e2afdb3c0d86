//! `io_uring_cmd`: NVMe commands through a ring to a namespace's character device, past block layer
//! and file system.

use super::memory::own;
use super::uring::RingEngine;
use crate::engine::EngineError;
use q2c_sys::nvme::{MOST_BLOCKS, NvmeError, namespace};
use q2c_sys::{Buffers, CommandRing, NvmeEncoding};
use std::fs::File;

pub(crate) type NvmeEngine = RingEngine<NvmeEncoding>;

impl NvmeEngine {
    /// Opens a ring on `file`, which must be a namespace's character device, with these buffers.
    /// `iopoll` makes the kernel ask the device for completions.
    pub(crate) fn open(file: &File, buffers: Buffers, iopoll: bool) -> Result<Self, EngineError> {
        let size = buffers.size();
        let namespace = namespace(file)?;
        let block = namespace.block;
        if size / block as usize > MOST_BLOCKS as usize {
            let most = MOST_BLOCKS;
            return Err(NvmeError::TooLarge { size, most, block }.into());
        }
        let ring = CommandRing::new(own(file)?, namespace, buffers, iopoll)?;
        Ok(RingEngine::new(ring))
    }
}
