//! Page-aligned I/O buffers in one anonymous mapping, one slot per I/O in flight.

use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::ptr::NonNull;

/// `slots` buffers of `size` bytes each, page aligned, touched, unmapped on drop.
#[derive(Debug)]
pub struct Buffers {
    base: NonNull<u8>,
    size: usize,
    slots: usize,
}

// SAFETY: the mapping belongs to this value alone; moving it to another thread moves the ownership.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps and fills the buffers with a pattern that does not compress (writes must not be special).
    ///
    /// # Errors
    /// When `size` is no multiple of 512, a count is zero, or memory is refused.
    pub fn new(slots: usize, size: usize) -> io::Result<Self> {
        let length = slots
            .checked_mul(size)
            .filter(|&n| n > 0 && size.is_multiple_of(512));
        let length = length.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                flags,
            )
        }?;
        let base =
            NonNull::new(base.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let mut buffers = Buffers { base, size, slots };
        (0..slots).for_each(|slot| fill(buffers.slot_mut(slot), slot as u64));
        Ok(buffers)
    }

    /// Bytes in one slot.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A slot's content. No I/O may be in flight on it.
    ///
    /// # Panics
    /// When the slot does not exist.
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = self.address(slot);
        // SAFETY: `address` checked the slot; the mapping is readable, writable and borrowed mutably with `self`.
        unsafe { std::slice::from_raw_parts_mut(start, self.size) }
    }

    /// Where a slot begins, for the kernel.
    pub(crate) fn address(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: the offset stays inside the mapping of `slots * size` bytes, as just checked.
        unsafe { self.base.as_ptr().add(slot * self.size) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping made in `new`, and nothing borrows it any more.
        let unmapped =
            unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.size * self.slots) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// Writes a splitmix64 stream.
fn fill(bytes: &mut [u8], seed: u64) {
    let mut z = seed;
    for word in bytes.chunks_mut(8) {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word.copy_from_slice(&(mixed ^ (mixed >> 27)).to_le_bytes()[..word.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_apart_aligned_and_differ() {
        let mut buffers = Buffers::new(3, 4096).unwrap();
        let copies: Vec<Vec<u8>> = (0..3).map(|i| buffers.slot_mut(i).to_vec()).collect();
        assert!(copies[0] != copies[1] && copies[1] != copies[2]);
        assert_eq!(buffers.address(1) as usize % 4096, 0);
        buffers.slot_mut(1).fill(7);
        assert_eq!(buffers.slot_mut(0), copies[0]);
        assert_eq!(buffers.slot_mut(2), copies[2]);
    }

    #[test]
    fn odd_sizes_are_refused() {
        assert!(Buffers::new(1, 100).is_err());
        assert!(Buffers::new(0, 4096).is_err());
    }
}
