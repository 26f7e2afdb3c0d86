//! What every engine on a file opens: its buffers and its own handle.

use crate::engine::EngineError;
use q2c_sys::Buffers;
use std::fs::File;

/// What requests read into and write from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Requests in flight at most.
    pub slots: usize,
    /// Bytes of the largest.
    pub size: usize,
    /// Buffers that the slots share instead of having one each.
    pub shared: Option<Shared>,
}

/// Buffers that slots share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// For reads, and as many for writes.
    pub pool: usize,
    /// Of what is written, the share that compresses to nothing, percent.
    pub compressible: u8,
}

impl Memory {
    pub(super) fn buffers(self) -> Result<Buffers, EngineError> {
        let Memory {
            slots,
            size,
            shared,
        } = self;
        let made = match shared {
            None => Buffers::new(slots, size),
            Some(Shared { pool, compressible }) => Buffers::shared(slots, size, pool, compressible),
        };
        made.map_err(|source| EngineError::Buffers {
            slots,
            size,
            source,
        })
    }
}

/// The file again, for this engine alone.
pub(super) fn own(file: &File) -> Result<File, EngineError> {
    file.try_clone().map_err(EngineError::Reopen)
}
