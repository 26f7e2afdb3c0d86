//! The requests of one lane in their order: direction, offset, and when a flush is due.

use crate::{Operation, Pattern};
use q2c_model::Bytes;
use q2c_model::stats::Rng;
use std::num::NonZeroU32;

/// Changes the seed, so that directions are drawn independently of offsets.
const MIX_SEED: u64 = 0x3d1e_c710_0000_0000;
/// A prime. Times a rank, modulo the number of blocks, it scatters the frequent blocks.
const SCATTER: u128 = 0x9e37_79b1_85eb_ca87;

/// The requests of one lane, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Offsets {
    random: bool,
    write: bool,
    rng: Rng,
    blocks: u64,
    block_bytes: u64,
    next_block: u64,
    /// Byte offset on the target at which the lane's blocks begin.
    pub base: u64,
    /// What a pattern has beyond its direction and its kind of offsets; most have nothing.
    more: Option<Box<MoreDraws>>,
}

#[derive(Clone, Debug)]
struct MoreDraws {
    write_pct: u64,
    rng: Rng,
    ranks: Option<ZipfRanks>,
    /// The next block of sequential writes among reads.
    next_written: u64,
    fdatasync: Option<NonZeroU32>,
    writes_since_flush: u32,
}

impl Offsets {
    /// Offsets of blocks of `bs` bytes within `span` bytes: complete blocks only, at least one. A
    /// sequential lane starts at a block that its seed draws, so that lanes do not follow each
    /// other.
    pub(crate) fn new(pattern: Pattern, bs: Bytes, span: Bytes, seed: u64) -> Self {
        let blocks = (span.0 / bs.0).max(1);
        let mut rng = Rng::new(seed);
        let next_block = rng.below(blocks);
        let ranks = pattern
            .zipf
            .map(|zipf| ZipfRanks::new(blocks, zipf.theta()));
        let more = (pattern.has_kinds() || ranks.is_some()).then(|| MoreDraws {
            write_pct: u64::from(pattern.write_pct),
            rng: Rng::new(seed ^ MIX_SEED),
            ranks,
            next_written: next_block,
            fdatasync: pattern.fdatasync,
            writes_since_flush: 0,
        });
        Offsets {
            random: pattern.random,
            write: pattern.write_pct == 100,
            rng,
            blocks,
            block_bytes: bs.0,
            next_block,
            base: 0,
            more: more.map(Box::new),
        }
    }

    /// The operation and the byte offset of the next request.
    #[inline]
    pub(crate) fn next_request(&mut self) -> (Operation, u64) {
        if self.more.is_some() {
            return self.draw_more();
        }
        let block = if self.random {
            self.rng.below(self.blocks)
        } else {
            advance(&mut self.next_block, self.blocks)
        };
        (
            Operation::writing(self.write),
            self.base + block * self.block_bytes,
        )
    }

    #[inline(never)]
    fn draw_more(&mut self) -> (Operation, u64) {
        let Some(more) = &mut self.more else {
            return (Operation::Read, self.base);
        };
        let write = more.rng.below(100) < more.write_pct;
        more.writes_since_flush += u32::from(write);
        let block = match (&more.ranks, self.random, write) {
            (Some(ranks), ..) => ranks.draw(&mut self.rng),
            (None, true, _) => self.rng.below(self.blocks),
            (None, false, true) => advance(&mut more.next_written, self.blocks),
            (None, false, false) => advance(&mut self.next_block, self.blocks),
        };
        (
            Operation::writing(write),
            self.base + block * self.block_bytes,
        )
    }

    /// True if any flushes are ever due.
    pub(crate) fn flushes(&self) -> bool {
        let more = self.more.as_ref();
        more.is_some_and(|more| more.fdatasync.is_some())
    }

    /// True if so many writes were drawn since the last flush that the next one is due; they then
    /// count anew.
    #[inline]
    pub(crate) fn take_flush(&mut self) -> bool {
        let Some(more) = &mut self.more else {
            return false;
        };
        let is_due = more
            .fdatasync
            .is_some_and(|every| more.writes_since_flush >= every.get());
        if is_due {
            more.writes_since_flush = 0;
        }
        is_due
    }
}

fn advance(next_block: &mut u64, blocks: u64) -> u64 {
    let block = *next_block;
    *next_block = (block + 1) % blocks;
    block
}

/// Draws ranks by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to
/// generate variates from monotone discrete distributions", ACM TOMACS 6 (1996). No table is kept,
/// so a device of any size has its distribution at once.
#[derive(Clone, Debug)]
struct ZipfRanks {
    blocks: u64,
    theta: f64,
    from: f64,
    until: f64,
    /// A rank whose distance from the drawn point is below this is accepted without a look.
    always: f64,
}

impl ZipfRanks {
    fn new(blocks: u64, theta: f64) -> Self {
        let mut ranks = ZipfRanks {
            blocks,
            theta,
            from: 0.0,
            until: 0.0,
            always: 0.0,
        };
        ranks.from = ranks.area(1.5) - 1.0;
        ranks.until = ranks.area(blocks as f64 + 0.5);
        ranks.always = 2.0 - ranks.area_inverse(ranks.area(2.5) - 2f64.powf(-theta));
        ranks
    }

    /// The integral of x^-theta from 1 to `x`.
    fn area(&self, x: f64) -> f64 {
        let power = 1.0 - self.theta;
        let log = x.ln();
        if power.abs() < 1e-9 {
            log
        } else {
            (power * log).exp_m1() / power
        }
    }

    fn area_inverse(&self, area: f64) -> f64 {
        let power = 1.0 - self.theta;
        if power.abs() < 1e-9 {
            return area.exp();
        }
        ((area * power).max(-1.0).ln_1p() / power).exp()
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        let rank = loop {
            let area = self.until + rng.unit() * (self.from - self.until);
            let x = self.area_inverse(area);
            let rank = x.round().clamp(1.0, self.blocks as f64);
            if rank - x <= self.always || area >= self.area(rank + 0.5) - rank.powf(-self.theta) {
                break rank as u64;
            }
        };
        (u128::from(rank) * SCATTER % u128::from(self.blocks)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_offsets_wrap_at_the_last_whole_block() {
        let pattern = "read".parse().unwrap();
        let mut offsets = Offsets::new(pattern, Bytes(4096), Bytes(3 * 4096 + 100), 1);
        let first_round: Vec<u64> = (0..3).map(|_| offsets.next_request().1).collect();
        let mut sorted = first_round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 4096, 8192]);
        assert_eq!(offsets.next_request().1, first_round[0]);
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
            assert_eq!(shifted.next_request().1, plain.next_request().1 + 4096);
        }
    }

    #[test]
    fn random_offsets_reach_every_block_and_no_further() {
        let mut offsets = Offsets::new("randread".parse().unwrap(), Bytes(512), Bytes(8 * 512), 1);
        let mut counts = [0u32; 8];
        (0..8_000).for_each(|_| counts[(offsets.next_request().1 / 512) as usize] += 1);
        assert!(counts.iter().all(|&n| n > 800), "{counts:?}");
    }

    /// Of 100,000 requests 30 % write, and each direction ascends by itself.
    #[test]
    fn a_mix_has_its_share_and_ascends_by_direction() {
        let pattern = "rw:70".parse().unwrap();
        let mut offsets = Offsets::new(pattern, Bytes(512), Bytes(1 << 20), 1);
        let drawn: Vec<(Operation, u64)> = (0..100_000).map(|_| offsets.next_request()).collect();
        for (operation, expected) in [(Operation::Write, 30_000), (Operation::Read, 70_000)] {
            let matching = drawn.iter().filter(|(kind, _)| *kind == operation);
            let blocks: Vec<u64> = matching.map(|(_, offset)| offset / 512).collect();
            assert!(
                blocks.len().abs_diff(expected) < 600,
                "{operation:?} {}",
                blocks.len()
            );
            let follows = |pair: &[u64]| pair[1] == (pair[0] + 1) % 2048;
            assert!(blocks.windows(2).all(follows));
        }
    }

    /// The shares of the most frequent blocks are n^-theta over the sum of all, added up here term
    /// by term.
    #[test]
    fn zipf_has_the_shares_of_its_sum() {
        const DRAWS: usize = 200_000;
        for (theta, blocks) in [("0.5", 100), ("1", 1_000), ("1.1", 4_096), ("2.5", 7)] {
            let pattern = format!("randread:zipf={theta}").parse().unwrap();
            let mut offsets = Offsets::new(pattern, Bytes(512), Bytes(blocks * 512), 3);
            let mut counts = vec![0usize; blocks as usize];
            (0..DRAWS).for_each(|_| counts[(offsets.next_request().1 / 512) as usize] += 1);
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let weight = |n: u64| (n as f64).powf(-theta.parse::<f64>().unwrap());
            let sum: f64 = (1..=blocks).map(weight).sum();
            for (n, &count) in (1..=5).zip(&counts) {
                let expected = DRAWS as f64 * weight(n) / sum;
                let sigma = expected.sqrt();
                assert!(
                    (count as f64 - expected).abs() < 5.0 * sigma,
                    "{theta} {n}: {count}"
                );
            }
        }
    }

    #[test]
    fn frequent_blocks_are_scattered_and_every_block_has_one_rank() {
        for blocks in [1, 7, 4_096, 262_144, 1_000_003] {
            let place = |rank: u64| (u128::from(rank) * SCATTER % u128::from(blocks)) as u64;
            let mut places: Vec<u64> = (1..=blocks).map(place).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len() as u64, blocks);
            let is_near = |rank: u64| place(rank).abs_diff(place(rank + 1)) <= blocks / 1_000;
            assert!(blocks < 4_096 || !(1..10).any(is_near));
        }
    }

    #[test]
    fn a_flush_is_due_after_its_writes() {
        let pattern = "randrw:50:fdatasync=3".parse().unwrap();
        let mut offsets = Offsets::new(pattern, Bytes(512), Bytes(1 << 20), 1);
        let (mut writes, mut flushes) = (0, 0);
        for _ in 0..1_000 {
            writes += u32::from(offsets.next_request().0 == Operation::Write);
            flushes += u32::from(offsets.take_flush());
            assert_eq!(flushes, writes / 3);
        }
        assert!(writes > 400 && !offsets.take_flush());
    }
}
