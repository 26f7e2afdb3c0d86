use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Multiplies by an odd constant and folds. That is enough for process and device numbers of a
/// trace: no attacker gains from slow look-ups in his own trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IntHasher(u64);

/// 2^64 / the golden ratio, rounded to an odd number.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for IntHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(GOLDEN);
    }
}

pub(crate) type IntMap<K, V> = HashMap<K, V, BuildHasherDefault<IntHasher>>;
