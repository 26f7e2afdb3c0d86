//! Whose turn it is: the lane with the earliest event.

/// Lanes by their next event, as a tree of winners. Each node holds its earlier child; on a tie,
/// the lower lane. A trace of the block layer can have hundreds of lanes.
pub(crate) struct Turns<T> {
    /// Event and lane by node: 1 is the root, `2 n` and `2 n + 1` are below `n`, leaves are lanes.
    nodes: Vec<(T, u32)>,
    leaves: usize,
}

impl<T: Copy + PartialOrd> Turns<T> {
    /// A tree of `lanes` lanes without an event: their time is `never`, which is after all others.
    pub(crate) fn new(lanes: usize, never: T) -> Self {
        let leaves = lanes.next_power_of_two();
        Turns {
            nodes: vec![(never, 0); 2 * leaves],
            leaves,
        }
    }

    pub(crate) fn fill(&mut self, events: impl Iterator<Item = T>) {
        for (lane, event) in events.enumerate() {
            self.nodes[self.leaves + lane] = (event, lane as u32);
        }
        for node in (1..self.leaves).rev() {
            self.play(node);
        }
    }

    pub(crate) fn next(&self) -> usize {
        self.nodes[1].1 as usize
    }

    pub(crate) fn next_time(&self) -> T {
        self.nodes[1].0
    }

    pub(crate) fn set(&mut self, lane: usize, event: T) {
        let mut node = self.leaves + lane;
        self.nodes[node] = (event, lane as u32);
        while node > 1 {
            node /= 2;
            self.play(node);
        }
    }

    fn play(&mut self, node: usize) {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        self.nodes[node] = if right.0 < left.0 { right } else { left };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::stats::Rng;

    #[test]
    fn the_earliest_is_next() {
        let mut rng = Rng::new(5);
        for lanes in 1..40 {
            let mut events: Vec<f64> = (0..lanes).map(|_| rng.below(9) as f64).collect();
            let mut turns = Turns::new(events.len(), f64::INFINITY);
            turns.fill(events.iter().copied());
            for _ in 0..200 {
                let by_time = |a: &(usize, &f64), b: &(usize, &f64)| a.1.total_cmp(b.1);
                let earliest = events.iter().enumerate().min_by(by_time);
                assert_eq!(Some(turns.next()), earliest.map(|(lane, _)| lane));
                let lane = rng.below(lanes) as usize;
                events[lane] = match rng.below(6) {
                    0 => f64::INFINITY,
                    n => n as f64,
                };
                turns.set(lane, events[lane]);
            }
        }
    }
}
