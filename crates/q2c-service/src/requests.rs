use q2c_model::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The requests (tags) of one hardware queue, and the submitters that wait for one: first come,
/// first served. `W` names a submitter.
///
/// A request is free again when its I/O is complete. That time is known as soon as the I/O has
/// reached the servers. So a waiting submitter is told the time at which it gets its request. That
/// time can become earlier, but not later.
#[derive(Debug)]
pub struct RequestQueue<W> {
    /// Number of requests that were not used yet.
    unused: usize,
    /// The times at which other requests are free again, ns. None is promised to a submitter.
    free_at: BinaryHeap<Reverse<u64>>,
    /// Waiting submitters, each with the time at which it gets a request, ns, in ascending order.
    /// `None` if that is not known yet.
    waiting: VecDeque<(W, Option<u64>)>,
}

impl<W: PartialEq> RequestQueue<W> {
    /// Makes a queue of this many free requests, at least one.
    pub fn new(requests: usize) -> Self {
        RequestQueue {
            unused: requests.max(1),
            free_at: BinaryHeap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Takes a request at the time `now`. The error says that `submitter` now waits, and until
    /// when, if that is known; it asks again at that time, or when [`RequestQueue::give_back`] has
    /// named it.
    pub fn take(&mut self, now: Nanos, submitter: W) -> Result<(), Option<Nanos>> {
        let place = self
            .waiting
            .iter()
            .position(|(other, _)| *other == submitter);
        if let Some(place) = place {
            let free_at = self.waiting[place].1;
            if free_at.is_some_and(|at| at <= now.0) {
                self.waiting.remove(place);
                return Ok(());
            }
            return Err(free_at.map(Nanos));
        }
        if self.unused > 0 {
            self.unused -= 1;
            return Ok(());
        }
        let free_at = self.free_at.pop().map(|Reverse(at)| at);
        if free_at.is_some_and(|at| at <= now.0) {
            return Ok(());
        }
        self.waiting.push_back((submitter, free_at));
        Err(free_at.map(Nanos))
    }

    /// Gives a request back whose I/O is complete at `at`. Calls `wake` with each waiting submitter
    /// that gets a request earlier than it knew, and with that time.
    pub fn give_back(&mut self, at: Nanos, mut wake: impl FnMut(&W, Nanos)) {
        let mut free_at = at.0;
        for (submitter, promised) in &mut self.waiting {
            if promised.is_some_and(|promised| promised <= free_at) {
                continue;
            }
            wake(submitter, Nanos(free_at));
            match promised.replace(free_at) {
                Some(later) => free_at = later,
                None => return,
            }
        }
        self.free_at.push(Reverse(free_at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::stats::Rng;

    /// The submitters named by `give_back`, each with its time.
    fn woken(queue: &mut RequestQueue<u32>, at: u64) -> Vec<(u32, u64)> {
        let mut woken = Vec::new();
        queue.give_back(Nanos(at), |submitter, at| woken.push((*submitter, at.0)));
        woken
    }

    #[test]
    fn the_request_that_is_free_first_goes_to_the_first_submitter() {
        let mut queue = RequestQueue::new(2);
        assert_eq!(queue.take(Nanos(0), 1), Ok(()));
        assert_eq!(queue.take(Nanos(0), 2), Ok(()));
        assert!(woken(&mut queue, 10).is_empty() && woken(&mut queue, 1_000).is_empty());
        assert_eq!(queue.take(Nanos(5), 3), Err(Some(Nanos(10))));
        assert_eq!(queue.take(Nanos(6), 4), Err(Some(Nanos(1_000))));
        assert_eq!(queue.take(Nanos(7), 5), Err(None));
        assert_eq!(queue.take(Nanos(9), 3), Err(Some(Nanos(10))));
        assert_eq!(queue.take(Nanos(10), 3), Ok(()));
        // The request of submitter 3 is free before that of 2, so 4 gets it, and 5 the other one.
        assert_eq!(woken(&mut queue, 30), [(4, 30), (5, 1_000)]);
        assert_eq!(queue.take(Nanos(31), 6), Err(None));
        // Submitter 4 comes late, but nobody takes its request.
        assert_eq!(queue.take(Nanos(40), 4), Ok(()));
        assert_eq!(woken(&mut queue, 2_000), [(6, 2_000)]);
        assert_eq!(queue.take(Nanos(1_000), 5), Ok(()));
        assert_eq!(woken(&mut queue, 1_500), [(6, 1_500)]);
        assert_eq!(queue.take(Nanos(1_600), 7), Err(Some(Nanos(2_000))));
    }

    /// Compared with a simulation that steps through all times, with an event for each.
    #[test]
    fn waits_are_those_of_a_simulation_by_steps() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let requests = 1 + rng.below(4) as usize;
            let ios: Vec<(u64, u64)> = (0..40)
                .map(|_| (rng.below(300), 1 + rng.below(60)))
                .collect();
            assert_eq!(by_queue(requests, &ios), by_steps(requests, &ios), "{seed}");
        }
    }

    /// For each I/O, an arrival and a length, the time at which it gets its request. On a tie, that
    /// with the lower number comes first.
    fn by_steps(requests: usize, ios: &[(u64, u64)]) -> Vec<u64> {
        let (mut got, mut ends, mut line) = (vec![0; ios.len()], Vec::new(), VecDeque::new());
        for now in 0..10_000 {
            ends.retain(|end| *end > now);
            line.extend((0..ios.len()).filter(|&io| ios[io].0 == now));
            while ends.len() < requests
                && let Some(io) = line.pop_front()
            {
                got[io] = now;
                ends.push(now + ios[io].1);
            }
        }
        got
    }

    fn by_queue(requests: usize, ios: &[(u64, u64)]) -> Vec<u64> {
        let mut queue = RequestQueue::new(requests);
        let mut got = vec![0; ios.len()];
        let mut events: BinaryHeap<Reverse<(u64, u64, usize)>> = BinaryHeap::new();
        for (io, (arrival, _)) in ios.iter().enumerate() {
            // At one time those that wait come before those that arrive.
            events.push(Reverse((*arrival, 1, io)));
        }
        let mut done = vec![false; ios.len()];
        while let Some(Reverse((now, _, io))) = events.pop() {
            if done[io] {
                continue;
            }
            match queue.take(Nanos(now), io) {
                Ok(()) => {
                    (got[io], done[io]) = (now, true);
                    let wake = |io: &usize, at: Nanos| events.push(Reverse((at.0, 0, *io)));
                    queue.give_back(Nanos(now + ios[io].1), wake);
                }
                Err(Some(at)) => events.push(Reverse((at.0, 0, io))),
                Err(None) => {}
            }
        }
        got
    }
}
