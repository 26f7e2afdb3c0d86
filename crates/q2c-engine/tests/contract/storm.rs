//! A seeded storm: random requests, and what must come back of each.

use crate::{BLOCK, BLOCKS, DEPTH, SOUND};
use q2c_engine::engine::{Engine, Operation, Request, RingCompletion};
use q2c_model::stats::Rng;

/// The way in which a storm takes completions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReapMethod {
    Poll,
    Wait,
    /// Sometimes submits for interrupts, or submits and waits in one call; polls or waits.
    All,
}

/// Submits batches of all sizes and lengths into free slots and takes completions in any order. It
/// checks and counts them, and allocates nothing.
pub(crate) struct RequestStorm {
    rng: Rng,
    /// Bytes asked in each slot in flight.
    asked: [Option<u32>; DEPTH],
    pub sent: u64,
    pub returned: u64,
    pub deepest: usize,
}

impl RequestStorm {
    pub(crate) fn new(seed: u64) -> Self {
        RequestStorm {
            rng: Rng::new(seed),
            asked: [None; DEPTH],
            sent: 0,
            returned: 0,
            deepest: 0,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.asked.iter().flatten().count()
    }

    fn request(&mut self, slot: usize) -> Request {
        let blocks = 1 + self.rng.below(2);
        let length = blocks as u32 * BLOCK as u32;
        self.asked[slot] = Some(length);
        self.sent += 1;
        Request {
            operation: Operation::writing(self.rng.below(4) == 0),
            offset: self.rng.below(BLOCKS - 1) * BLOCK as u64,
            length,
            slot: slot as u16,
        }
    }

    /// A batch of requests for some of the free slots, possibly for none, and its length.
    pub(crate) fn batch(&mut self) -> ([Request; DEPTH], usize) {
        let empty = Request {
            operation: Operation::Read,
            offset: 0,
            length: 0,
            slot: 0,
        };
        let (mut batch, mut n) = ([empty; DEPTH], 0);
        let odds = 1 + self.rng.below(4);
        for slot in 0..DEPTH {
            if self.asked[slot].is_none() && self.rng.below(odds) == 0 {
                batch[n] = self.request(slot);
                n += 1;
            }
        }
        self.deepest = self.deepest.max(self.in_flight());
        (batch, n)
    }

    fn take(&mut self, done: RingCompletion) {
        let asked = self.asked[done.slot as usize].take();
        let asked = asked.expect("a slot comes back once, and only after it was submitted");
        assert_eq!(done.result, asked as i32, "slot {}", done.slot);
        self.returned += 1;
    }

    pub(crate) fn reap(&mut self, engine: &mut dyn Engine, method: ReapMethod) {
        let polls = match method {
            ReapMethod::Poll => true,
            ReapMethod::Wait => false,
            ReapMethod::All => self.rng.below(2) == 0,
        };
        if !polls {
            self.take(engine.wait().expect(SOUND));
        } else if let Some(done) = engine.poll().expect(SOUND) {
            self.take(done);
        }
    }

    fn round(&mut self, engine: &mut dyn Engine, method: ReapMethod) {
        let (batch, n) = self.batch();
        let batch = &batch[..n];
        let way = match method {
            ReapMethod::All => self.rng.below(3),
            ReapMethod::Poll | ReapMethod::Wait => 0,
        };
        match way {
            1 if self.in_flight() > 0 => self.take(engine.submit_and_wait(batch).expect(SOUND)),
            2 => engine.submit_interrupting(batch).expect(SOUND),
            _ => engine.submit(batch).expect(SOUND),
        }
        let left_in_flight = self.rng.below(DEPTH as u64) as usize;
        while self.in_flight() > left_in_flight {
            self.reap(engine, method);
        }
    }

    pub(crate) fn run(&mut self, engine: &mut dyn Engine, method: ReapMethod, rounds: u32) {
        (0..rounds).for_each(|_| self.round(engine, method));
        while self.in_flight() > 0 {
            self.reap(engine, method);
        }
    }
}
