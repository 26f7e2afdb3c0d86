//! What every engine on a file opens: its buffers and its own handle.

use crate::engine::EngineError;
use q2c_sys::Buffers;
use std::fs::File;

/// `slots` buffers of `size` bytes.
pub(super) fn buffers(slots: usize, size: usize) -> Result<Buffers, EngineError> {
    Buffers::new(slots, size).map_err(|source| EngineError::Buffers {
        slots,
        size,
        source,
    })
}

/// The file again, for this engine alone.
pub(super) fn own(file: &File) -> Result<File, EngineError> {
    file.try_clone().map_err(EngineError::Reopen)
}
