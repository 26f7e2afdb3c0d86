//! I/O buffers in one page-aligned anonymous mapping, with one slot per request in flight.

use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::ptr::NonNull;

/// The I/O buffers of one lane, in one mapping that is populated when it is made and unmapped on
/// drop.
///
/// A *slot* is the number of a request in flight; a *buffer* is `size` bytes of the mapping.
/// [`Buffers::new`] gives each slot a buffer. With [`Buffers::shared`] the slots share a pool for
/// reads and another for writes. The pools follow each other in the mapping: first that of reads,
/// then that of writes.
#[derive(Debug)]
pub struct Buffers {
    base: NonNull<u8>,
    size: usize,
    slots: usize,
    /// Number of buffers that reads use: a slot uses the buffer with its number modulo this one.
    read_buffers: usize,
    /// Number of further buffers that writes use by the same rule. With 0, writes use those of
    /// reads.
    write_buffers: usize,
}

// SAFETY: the mapping belongs to this value alone; moving it to another thread moves the ownership.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps one buffer per slot and fills it with a pattern that does not compress, so that no
    /// device treats writes of it as a special case.
    /// `size` must be a multiple of 512; neither it nor `slots` may be 0.
    pub fn new(slots: usize, size: usize) -> io::Result<Self> {
        let mut buffers = Self::map_buffers(slots, size)?;
        (0..slots).for_each(|slot| fill_random(buffers.slot_mut(slot), slot as u64));
        Ok(buffers)
    }

    /// Maps `pool` buffers that all slots share for reads, and `pool` others that they share for
    /// writes.
    ///
    /// The content of the read buffers means nothing, as reads overwrite each other. The write
    /// buffers keep the content made here: of every 4 KiB the last `compressible` percent are
    /// zeros; the bytes before them are a pattern that does not compress and is in no other buffer.
    pub fn shared(slots: usize, size: usize, pool: usize, compressible: u8) -> io::Result<Self> {
        let pool = pool.min(slots);
        let mut buffers = Self::map_buffers(2 * pool, size)?;
        (buffers.slots, buffers.read_buffers, buffers.write_buffers) = (slots, pool, pool);
        for index in pool..2 * pool {
            let content = buffers.buffer_mut(index);
            fill_random(content, index as u64);
            for block in content.chunks_mut(4096) {
                let filled = block.len() - block.len() * usize::from(compressible.min(100)) / 100;
                block[filled..].fill(0);
            }
        }
        Ok(buffers)
    }

    fn map_buffers(count: usize, size: usize) -> io::Result<Self> {
        let length = count.checked_mul(size);
        let length = length.filter(|&n| n > 0 && size.is_multiple_of(512));
        let length = length.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let base =
            unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, access, flags) }?;
        let base = NonNull::new(base.cast());
        let base = base.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Buffers {
            base,
            size,
            slots: count,
            read_buffers: count,
            write_buffers: 0,
        })
    }

    /// Bytes in one slot.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of buffers: as many as slots, unless the slots share them.
    pub(crate) fn count(&self) -> usize {
        self.read_buffers + self.write_buffers
    }

    /// The index of the buffer that a slot's transfer uses: a write, or a read.
    #[inline]
    pub(crate) fn index_of(&self, slot: u16, write: bool) -> usize {
        let slot = usize::from(slot);
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        match (write, self.write_buffers) {
            // Each slot has its own buffer: this common case does without a division.
            (_, 0) => slot,
            (false, _) => slot % self.read_buffers,
            (true, pool) => self.read_buffers + slot % pool,
        }
    }

    /// The content of a slot's buffer; where reads and writes have separate buffers, that of reads.
    /// No request may be in flight on it.
    pub(crate) fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let index = self.index_of(slot as u16, false);
        self.buffer_mut(index)
    }

    /// The content of the buffer that a slot's writes use (`write`), or its reads.
    pub(crate) fn transfer_mut(&mut self, slot: u16, write: bool) -> &mut [u8] {
        let index = self.index_of(slot, write);
        self.buffer_mut(index)
    }

    fn buffer_mut(&mut self, index: usize) -> &mut [u8] {
        let start = self.address(index);
        // SAFETY: `address` checked the index; the mapping is readable, writable and borrowed
        // mutably with `self`.
        unsafe { std::slice::from_raw_parts_mut(start, self.size) }
    }

    pub(crate) fn address(&self, index: usize) -> *mut u8 {
        assert!(index < self.count(), "buffer {index} of {}", self.count());
        // SAFETY: the offset stays inside the mapping of `count * size` bytes, as just checked.
        unsafe { self.base.as_ptr().add(index * self.size) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping made in `map_buffers`, and nothing
        // borrows it any more.
        let unmapped =
            unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.size * self.count()) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// Fills `bytes` with a pseudo-random stream after splitmix64.
fn fill_random(bytes: &mut [u8], seed: u64) {
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
    fn shared_buffers_keep_reads_apart_from_writes() {
        let mut buffers = Buffers::shared(5, 8192, 2, 25).unwrap();
        let reads: Vec<usize> = (0..5).map(|slot| buffers.index_of(slot, false)).collect();
        let writes: Vec<usize> = (0..5).map(|slot| buffers.index_of(slot, true)).collect();
        assert_eq!((reads, writes), (vec![0, 1, 0, 1, 0], vec![2, 3, 2, 3, 2]));
        let [a, b] = [0, 1].map(|slot| buffers.transfer_mut(slot, true).to_vec());
        for block in a.chunks(4096).chain(b.chunks(4096)) {
            let zeros = block.iter().rev().take_while(|byte| **byte == 0).count();
            assert!((1024..1032).contains(&zeros), "a quarter of 4096: {zeros}");
        }
        assert!(a[..3072] != b[..3072] && a[..3072] != a[4096..4096 + 3072]);
    }

    #[test]
    fn odd_sizes_are_refused() {
        assert!(Buffers::new(1, 100).is_err());
        assert!(Buffers::new(0, 4096).is_err());
    }
}
