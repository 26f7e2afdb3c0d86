//! The map from CPUs to a device's hardware queues, as it was while a trace was recorded.

use q2c_result::analyze::{MapFit, MapVerdict, NoMapFit, QueueUse};
use std::collections::{BTreeMap, BTreeSet};

/// The CPUs that submit to each queue of a device, by the queue's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueMap(BTreeMap<u32, BTreeSet<u32>>);

/// Up to this share of misplaced requests, the map counts as followed. A thread may move to another
/// CPU between the start of a request and the allocation of its tag.
const MAX_AS_MAPPED_SHARE: f64 = 0.01;
/// Up to this share of misplaced requests, the map counts as nearly followed.
const MAX_NEARLY_SHARE: f64 = 0.1;

impl QueueMap {
    /// Reads a fact such as `0:0-3 1:4-7` (queue:CPUs); `None` if `text` is not a map.
    pub(crate) fn parse(text: &str) -> Option<QueueMap> {
        let queue = |word: &str| {
            let (queue, cpus) = word.split_once(':')?;
            Some((queue.parse().ok()?, cpu_list(cpus)?))
        };
        let map: Option<BTreeMap<_, _>> = text.split_whitespace().map(queue).collect();
        map.filter(|map| !map.is_empty()).map(QueueMap)
    }

    pub(crate) fn queue_numbers(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// Splits the queues into sets, each with one queue for each CPU. A device has several sets if
    /// reads or polled requests have their own queues. The kernel numbers set after set
    /// (`blk_mq_map_queues` of each `HCTX_TYPE`), so a set begins where a CPU comes again.
    pub(crate) fn sets(&self) -> Vec<Vec<u32>> {
        let (mut sets, mut seen) = (vec![Vec::new()], BTreeSet::new());
        for (queue, cpus) in &self.0 {
            if !cpus.is_disjoint(&seen) {
                sets.push(Vec::new());
                seen.clear();
            }
            seen.extend(cpus);
            if let Some(set) = sets.last_mut() {
                set.push(*queue);
            }
        }
        sets
    }

    fn queue_by_cpu(&self, set: &[u32]) -> BTreeMap<u32, u32> {
        let of_queue = |queue: &u32| {
            let queue = *queue;
            self.0[&queue].iter().map(move |cpu| (*cpu, queue))
        };
        set.iter().flat_map(of_queue).collect()
    }

    /// Sets each queue's expected share, which is the share of requests that its CPUs submitted.
    /// Also sets how far the requests follow the map, or why that is unknown.
    pub(crate) fn judge(&self, usage: &mut QueueUse, sets: &[Vec<u32>]) {
        match self.fit(usage, sets) {
            Ok(fit) => usage.map = Some(fit),
            Err(reason) => usage.no_map = Some(reason),
        }
    }

    fn fit(&self, usage: &mut QueueUse, sets: &[Vec<u32>]) -> Result<MapFit, NoMapFit> {
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        let (mut counted, mut off_map) = (0, 0);
        let maps: Vec<BTreeMap<u32, u32>> = sets.iter().map(|set| self.queue_by_cpu(set)).collect();
        for queue in &usage.queues {
            let set = sets.iter().position(|set| set.contains(&queue.hctx));
            let queue_by_cpu = &maps[set.ok_or(NoMapFit::UnknownCpus)?];
            for (cpu, requests) in &queue.cpus {
                let wanted_queue = queue_by_cpu.get(cpu).ok_or(NoMapFit::UnknownCpus)?;
                *expected.entry(*wanted_queue).or_default() += requests;
                counted += requests;
                if *wanted_queue != queue.hctx {
                    off_map += requests;
                }
            }
        }
        // A request whose CPU the trace lacks has no expected queue.
        if counted < usage.requests {
            return Err(NoMapFit::UnknownCpus);
        }
        let mut difference = 0;
        for queue in &mut usage.queues {
            let expected_requests = expected.get(&queue.hctx).copied().unwrap_or(0);
            queue.expected = Some(expected_requests as f64 / counted as f64);
            difference += expected_requests.abs_diff(queue.requests);
        }
        // Each request in a wrong queue is one too many there and one too few elsewhere.
        let misplaced = difference as f64 / 2.0 / counted as f64;
        let verdict = match misplaced {
            share if share <= MAX_AS_MAPPED_SHARE => MapVerdict::AsMapped,
            share if share <= MAX_NEARLY_SHARE => MapVerdict::Nearly,
            _ => MapVerdict::Otherwise,
        };
        Ok(MapFit {
            misplaced,
            off_map,
            verdict,
        })
    }
}

/// Parses a list of CPUs such as `0-3,8`. The set of an empty text is empty.
fn cpu_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // The kernel's largest NR_CPUS (8192) is far below this limit.
        if last < first || last > 1 << 16 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::{QueueBalance, complete};
    use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};
    use q2c_result::analyze::DeviceQueues;
    use q2c_trace::Span;

    /// Counts requests, each given as (minor number, operation, queue, CPU, number).
    fn count_requests(requests: &[(u32, Op, u32, u32, u64)]) -> Vec<DeviceQueues> {
        let mut queues = QueueBalance::default();
        for (minor, op, hctx, cpu, n) in requests {
            let device = DevId {
                major: 259,
                minor: *minor,
            };
            let new = IoRecord::new(0, Layer::Block, device, *op, Sectors(0), Bytes(4096));
            let record = IoRecord {
                hctx: Some(*hctx),
                cpu_submit: Some(*cpu),
                queue_ns: Some(Nanos(0)),
                ..new
            };
            (0..*n).for_each(|_| queues.add(&Span::from_record(&record)));
        }
        queues.by_device()
    }

    fn with_map(requests: &[(u32, Op, u32, u32, u64)], map: &str) -> Vec<DeviceQueues> {
        let map = QueueMap::parse(map).expect("a map");
        let mut devices = count_requests(requests);
        devices.iter_mut().for_each(|device| complete(device, &map));
        devices
    }

    /// Four queues of two CPUs each. CPU 0 reads 300 times (queue 0) and CPU 2 100 times (queue 1).
    /// The map expects these shares, 75 and 25 %; an even split would be 25 % each. By hand against
    /// the even split: mean 100, squares 200^2 + 0 + 100^2 + 100^2 = 60 000, chi-square 600,
    /// deviation sqrt(60 000 / 4) / 100 = 1.2247.
    #[test]
    fn as_the_map_has_it_is_not_even() {
        let map = "0:0-1 1:2-3 2:4,5 3:6-7";
        let devices = with_map(&[(0, Op::Read, 0, 0, 300), (0, Op::Read, 1, 2, 100)], map);
        let [device] = &devices[..] else {
            panic!("{devices:?}");
        };
        let reads = device.reads.as_ref().unwrap();
        assert_eq!((device.device.as_str(), device.queues), ("259:0", Some(4)));
        assert_eq!(reads.requests, 400);
        assert_eq!(reads.unused.as_deref(), Some(&[2, 3][..]));
        let expected: Vec<Option<f64>> = reads.queues.iter().map(|q| q.expected).collect();
        assert_eq!(expected, [Some(0.75), Some(0.25), Some(0.0), Some(0.0)]);
        let fit = reads.map.as_ref().unwrap();
        assert_eq!((fit.misplaced, fit.off_map), (0.0, 0));
        assert_eq!(fit.verdict, MapVerdict::AsMapped);
        let even = reads.even.as_ref().unwrap();
        assert_eq!((even.queues, even.chi_square), (4, 600.0));
        assert!((even.cv - 1.224_745).abs() < 1e-6, "{}", even.cv);
        assert_eq!((even.verdict.as_str(), reads.used.queues), ("uneven", 2));
        assert!(device.writes.is_none());
    }

    /// CPU 0 belongs to queue 0, but 50 of its 200 writes took queue 1: these 50 are off the map.
    #[test]
    fn against_the_map() {
        let writes = [(0, Op::Write, 0, 0, 150), (0, Op::Write, 1, 0, 50)];
        let devices = with_map(&writes, "0:0 1:1");
        let writes = devices[0].writes.as_ref().unwrap();
        let fit = writes.map.as_ref().unwrap();
        assert_eq!((fit.misplaced, fit.off_map), (0.25, 50));
        assert_eq!(fit.verdict, MapVerdict::Otherwise);
        assert_eq!(writes.queues[0].expected, Some(1.0));
    }

    #[test]
    fn devices_and_directions_are_apart() {
        let requests = [
            (0, Op::Read, 0, 0, 10),
            (0, Op::Write, 1, 1, 20),
            (0, Op::Flush, 1, 1, 5),
            (1, Op::Read, 1, 1, 40),
        ];
        let devices = count_requests(&requests);
        let queue_requests = |usage: &QueueUse| -> Vec<(u32, u64)> {
            usage.queues.iter().map(|q| (q.hctx, q.requests)).collect()
        };
        let [one, two] = &devices[..] else {
            panic!("{devices:?}");
        };
        let (reads, writes) = (one.reads.as_ref(), one.writes.as_ref());
        assert_eq!(reads.map(queue_requests), Some(vec![(0, 10)]));
        assert_eq!(writes.map(queue_requests), Some(vec![(1, 20)]));
        assert_eq!(queue_requests(&one.all), [(0, 10), (1, 25)]);
        assert_eq!(queue_requests(&two.all), [(1, 40)]);
        // Without a map, queues that no request used are unknown.
        assert_eq!((one.queues, &one.all.unused), (None, &None));
        assert_eq!(one.all.even, None);
    }

    /// Two queues for interrupts and two for polling, of two CPUs each. Reads with interrupts use
    /// the first two evenly, so empty polling queues are no fault. Writes use both sets, and 30 of
    /// the 40 polled ones are in the queue of the other CPUs: 30 of 80 are misplaced.
    #[test]
    fn queues_for_polling_are_a_set_of_their_own() {
        let requests = [
            (0, Op::Read, 0, 0, 100),
            (0, Op::Read, 1, 2, 100),
            (0, Op::Write, 0, 1, 20),
            (0, Op::Write, 1, 3, 20),
            (0, Op::Write, 2, 0, 10),
            (0, Op::Write, 2, 3, 30),
        ];
        let devices = with_map(&requests, "0:0-1 1:2-3 2:0-1 3:2-3");
        let (reads, writes) = (&devices[0].reads, &devices[0].writes);
        let (reads, writes) = (reads.as_ref().unwrap(), writes.as_ref().unwrap());
        let set_requests = |usage: &QueueUse| -> Vec<(Vec<u32>, u64)> {
            let sets = usage.sets.iter();
            sets.map(|set| (set.queues.clone(), set.requests)).collect()
        };
        assert_eq!(set_requests(reads), [(vec![0, 1], 200), (vec![2, 3], 0)]);
        assert_eq!(reads.unused.as_deref(), Some(&[][..]));
        let even = reads.even.as_ref().unwrap();
        assert_eq!((even.queues, even.verdict.as_str()), (2, "even"));
        let fit = reads.map.as_ref().unwrap();
        assert_eq!(fit.verdict, MapVerdict::AsMapped, "{reads:?}");
        assert_eq!(set_requests(writes), [(vec![0, 1], 40), (vec![2, 3], 40)]);
        assert_eq!(writes.unused.as_deref(), Some(&[3][..]));
        assert_eq!(writes.even, None);
        assert_eq!(writes.sets[1].even.as_ref().unwrap().verdict, "uneven");
        let fit = writes.map.as_ref().unwrap();
        assert_eq!((fit.misplaced, fit.off_map), (30.0 / 80.0, 30));
    }

    #[test]
    fn cpus_that_the_map_lacks_expect_nothing() {
        let unknown = with_map(&[(0, Op::Read, 0, 9, 10)], "0:0 1:1");
        let reads = unknown[0].reads.as_ref().unwrap();
        assert_eq!(reads.no_map, Some(NoMapFit::UnknownCpus));
    }

    #[test]
    fn texts_that_are_no_map() {
        for text in ["", "0", "a:1", "0:1-x", "0:3-1", "0:0-99999999"] {
            assert_eq!(QueueMap::parse(text), None, "{text}");
        }
        assert!(QueueMap::parse("0: 1:0").is_some());
    }
}
