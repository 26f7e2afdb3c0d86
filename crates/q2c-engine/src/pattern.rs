use q2c_model::stats::Rng;
use q2c_model::{Bytes, Direction};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// An access pattern, named as in fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// True if blocks are uniformly random; otherwise they ascend.
    pub random: bool,
    /// True if requests write; otherwise they read.
    pub write: bool,
}

impl Pattern {
    /// Random reads.
    pub const RANDREAD: Pattern = Pattern {
        random: true,
        write: false,
    };

    /// The direction of its requests.
    pub fn direction(&self) -> Direction {
        [Direction::Read, Direction::Write][usize::from(self.write)]
    }
}

/// A text that names no pattern. Holds that text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected randread, randwrite, read or write, found `{0}`")]
pub struct ParsePatternError(pub String);

/// The names, indexed by `random` (0 or 1) and then by `write` (0 or 1).
const NAMES: [[&str; 2]; 2] = [["read", "write"], ["randread", "randwrite"]];

impl FromStr for Pattern {
    type Err = ParsePatternError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let index = NAMES.as_flattened().iter().position(|name| *name == text);
        let index = index.ok_or_else(|| ParsePatternError(text.to_owned()))?;
        let (random, write) = (index >= 2, index % 2 == 1);
        Ok(Pattern { random, write })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES[usize::from(self.random)][usize::from(self.write)])
    }
}

q2c_model::serde_as_text!(Pattern);

/// The block offsets of one lane, in the order of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Offsets {
    random: bool,
    rng: Rng,
    blocks: u64,
    block_bytes: u64,
    next_block: u64,
    /// Byte offset on the target at which the lane's blocks begin.
    pub base: u64,
}

impl Offsets {
    /// Offsets of blocks of `bs` bytes within `span` bytes: complete blocks only, at least one. A
    /// sequential lane starts at a block that its seed draws, so that lanes do not follow each
    /// other.
    pub(crate) fn new(pattern: Pattern, bs: Bytes, span: Bytes, seed: u64) -> Self {
        let blocks = (span.0 / bs.0).max(1);
        let mut rng = Rng::new(seed);
        let next_block = rng.below(blocks);
        Offsets {
            random: pattern.random,
            rng,
            blocks,
            block_bytes: bs.0,
            next_block,
            base: 0,
        }
    }

    /// The byte offset of the next block.
    #[inline]
    pub(crate) fn next_offset(&mut self) -> u64 {
        if self.random {
            return self.base + self.rng.below(self.blocks) * self.block_bytes;
        }
        let block = self.next_block;
        self.next_block = (block + 1) % self.blocks;
        self.base + block * self.block_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_offsets_wrap_at_the_last_whole_block() {
        let pattern = "read".parse().unwrap();
        let mut offsets = Offsets::new(pattern, Bytes(4096), Bytes(3 * 4096 + 100), 1);
        let first_round: Vec<u64> = (0..3).map(|_| offsets.next_offset()).collect();
        let mut sorted = first_round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 4096, 8192]);
        assert_eq!(offsets.next_offset(), first_round[0]);
    }

    #[test]
    fn offsets_may_begin_elsewhere() {
        let pattern = "randread".parse().unwrap();
        let mut plain = Offsets::new(pattern, Bytes(512), Bytes(8 * 512), 3);
        let mut shifted = Offsets {
            base: 4096,
            ..plain.clone()
        };
        for _ in 0..20 {
            assert_eq!(shifted.next_offset(), plain.next_offset() + 4096);
        }
    }

    #[test]
    fn random_offsets_reach_every_block_and_no_further() {
        let mut offsets = Offsets::new("randread".parse().unwrap(), Bytes(512), Bytes(8 * 512), 1);
        let mut counts = [0u32; 8];
        (0..8_000).for_each(|_| counts[(offsets.next_offset() / 512) as usize] += 1);
        assert!(counts.iter().all(|&n| n > 800), "{counts:?}");
    }
}
