use crate::engine::EngineError;
use q2c_sys::Buffers;
use std::fs::File;

/// The buffers that requests read into and write from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The most requests in flight; each has a slot.
    pub slots: usize,
    /// Bytes of the largest request.
    pub size: usize,
    /// How slots share buffers; `None` if each slot has its own.
    pub shared: Option<SharedBuffers>,
}

/// Buffers that slots share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBuffers {
    /// Number of buffers for reads; writes have as many of their own.
    pub pool: usize,
    /// Share of the written data that compresses to nothing, percent from 0 to 100.
    pub compressible: u8,
}

impl Memory {
    /// A buffer of `size` bytes for each slot.
    pub(crate) fn new(slots: usize, size: usize) -> Self {
        Memory {
            slots,
            size,
            shared: None,
        }
    }

    pub(super) fn buffers(self) -> Result<Buffers, EngineError> {
        let (slots, size) = (self.slots, self.size);
        let buffers = match self.shared {
            None => Buffers::new(slots, size),
            Some(SharedBuffers { pool, compressible }) => {
                Buffers::shared(slots, size, pool, compressible)
            }
        };
        buffers.map_err(|source| EngineError::Buffers {
            slots,
            size,
            source,
        })
    }
}

/// A duplicate of the file handle for this engine alone.
pub(super) fn duplicate(file: &File) -> Result<File, EngineError> {
    file.try_clone().map_err(EngineError::Reopen)
}
