//! The tasks: each does blocks of work, and its speed is blocks per second.

use crate::corun::pair::PolledDevice;
use q2c_engine::engine::{Engine, Operation, Request};
use q2c_model::stats::Rng;
use q2c_result::corun::Work;
use q2c_sys::clock::monotonic_ns;
use std::hint::{black_box, spin_loop};
use std::io;

/// Numbers in each of two arrays; their 16 KiB fit a first-level cache that another task shares.
const VECTOR_LEN: usize = 2_048;
/// Bytes that [`Work::Memory`] walks through: more than last-level caches have for one core.
const WALK_BYTES: usize = 64 << 20;
const POLL_NS: u64 = 10_000;

/// A task with its data. It stays in the thread in which it was made.
pub(crate) struct CorunTask {
    work: Work,
    reader: Option<DeviceReader>,
    rng: Rng,
    numbers: Vec<f32>,
    other: Vec<f32>,
    chain: Vec<u32>,
    chain_index: u32,
}

impl CorunTask {
    /// A task of this kind. The data of a walk through memory take a moment to be made.
    pub(crate) fn new(work: Work, seed: u64) -> CorunTask {
        let mut rng = Rng::new(seed);
        let vectors = if work == Work::Vector { VECTOR_LEN } else { 0 };
        let vector: Vec<f32> = (0..vectors).map(|n| n as f32 * 0.5).collect();
        CorunTask {
            work,
            reader: None,
            numbers: vector.clone(),
            other: vector,
            chain: match work {
                Work::Memory => random_cycle(WALK_BYTES / size_of::<u32>(), &mut rng),
                _ => Vec::new(),
            },
            rng,
            chain_index: 0,
        }
    }

    /// A task that reads a device and polls for the reads in the kernel.
    ///
    /// # Errors
    /// The device cannot be opened by its engine.
    pub(crate) fn polling(device: &PolledDevice, seed: u64) -> io::Result<CorunTask> {
        let (engine, bytes) = (&device.engine, device.bs as usize);
        let open = engine.open(&device.medium, 1, bytes, seed);
        let (engine, bs) = (open.map_err(io::Error::other)?, device.bs);
        let blocks = device.span.0 / u64::from(bs);
        let reader = DeviceReader { engine, blocks, bs };
        Ok(CorunTask {
            reader: Some(reader),
            ..CorunTask::new(Work::Iopoll, seed)
        })
    }

    /// Does a block of work: some tens of microseconds.
    ///
    /// # Errors
    /// A read of the device failed; no other work can fail.
    pub(crate) fn block(&mut self) -> io::Result<()> {
        if let Some(reader) = &mut self.reader {
            return reader.read_one(&mut self.rng);
        }
        match self.work {
            Work::Integer => integer(self.rng.next_u64()),
            Work::Branchy => branchy(&mut self.rng),
            Work::Float => float(self.rng.unit()),
            Work::Vector => vector(&mut self.numbers, &self.other),
            Work::Memory => self.chain_index = walk(&self.chain, self.chain_index),
            Work::PollPause => poll(spin_loop),
            // Without a device there is nothing to read.
            Work::Poll | Work::Iopoll => poll(|| ()),
        }
        Ok(())
    }
}

struct DeviceReader {
    engine: Box<dyn Engine>,
    blocks: u64,
    bs: u32,
}

impl DeviceReader {
    fn read_one(&mut self, rng: &mut Rng) -> io::Result<()> {
        let read = Request {
            operation: Operation::Read,
            offset: rng.below(self.blocks) * u64::from(self.bs),
            length: self.bs,
            slot: 0,
        };
        self.engine.submit(&[read]).map_err(io::Error::other)?;
        loop {
            match self.engine.poll().map_err(io::Error::other)? {
                None => spin_loop(),
                Some(done) if done.result >= 0 => return Ok(()),
                Some(done) => return Err(io::Error::from_raw_os_error(-done.result)),
            }
        }
    }
}

fn integer(seed: u64) {
    let mut x = seed | 1;
    for n in 0..20_000_u64 {
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 29) ^ n;
    }
    black_box(x);
}

fn branchy(rng: &mut Rng) {
    let mut sum = 0_u64;
    for _ in 0..4_000 {
        let x = rng.next_u64();
        // The branch is kept: without black_box the compiler would turn it into a choice.
        if x & 1 == 0 {
            sum = black_box(sum.wrapping_add(x));
        } else {
            sum = black_box(sum ^ (x >> 3));
        }
    }
    black_box(sum);
}

fn float(seed: f64) {
    let mut chains = [seed, seed + 0.1, seed + 0.2, seed + 0.3];
    for _ in 0..4_000 {
        for x in &mut chains {
            *x = *x * 0.999_999 + 1.000_001 / (*x + 2.0);
        }
    }
    black_box(chains);
}

fn vector(numbers: &mut [f32], other: &[f32]) {
    for _ in 0..40 {
        for (number, other) in numbers.iter_mut().zip(other) {
            *number = number.mul_add(0.999, *other * 0.001);
        }
        black_box(&mut *numbers);
    }
}

fn random_cycle(length: usize, rng: &mut Rng) -> Vec<u32> {
    let mut next_index: Vec<u32> = (0..length as u32).collect();
    // Sattolo's shuffle: the permutation is one cycle.
    for n in (1..length).rev() {
        next_index.swap(n, rng.below(n as u64) as usize);
    }
    next_index
}

fn walk(chain: &[u32], from: u32) -> u32 {
    let mut at = from;
    for _ in 0..500 {
        at = chain[at as usize];
    }
    black_box(at)
}

fn poll(pause: impl Fn()) {
    let end = monotonic_ns() + POLL_NS;
    while monotonic_ns() < end {
        pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn every_kind_of_work_ends_its_blocks() {
        for work in Work::COMPUTE.into_iter().chain(Work::POLLING) {
            let mut task = CorunTask::new(work, 1);
            let began = Instant::now();
            (0..20).for_each(|_| task.block().expect("work without a device"));
            let block = began.elapsed() / 20;
            let least = if work.polls() { 10 } else { 0 };
            let fits = (least..50_000).contains(&block.as_micros());
            assert!(fits, "{work:?} takes {block:?}");
        }
    }

    #[test]
    fn the_walk_meets_every_place() {
        let chain = random_cycle(1_000, &mut Rng::new(3));
        let mut met = vec![false; 1_000];
        let mut at = 0;
        for _ in 0..1_000 {
            at = chain[at as usize];
            met[at as usize] = true;
        }
        assert!(met.iter().all(|met| *met));
    }
}
