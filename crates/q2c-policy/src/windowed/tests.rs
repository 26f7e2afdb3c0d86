//! Windows by hand, and many threads at once.

use super::*;
use proptest::prelude::*;
use q2c_model::Direction;
use std::sync::{Barrier, Mutex};

const READ_4K: Io = Io {
    direction: Direction::Read,
    bytes: 4096,
};
const PERIOD: Nanos = Nanos(1_000);

type Notes = Arc<Mutex<Vec<Window>>>;

/// A rule that notes every window and sleeps its mean.
fn noting(lanes: usize) -> (Notes, Vec<Box<dyn Lane>>) {
    let windows = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&windows);
    let rule = move |window: &Window| {
        notes.lock().expect("no test panics in here").push(*window);
        window.mean()
    };
    (windows, build(rule, PERIOD, lanes))
}

fn done(lane: &mut Box<dyn Lane>, io: Io, observed: u64, missed: bool, now: u64) {
    let outcome = Outcome {
        observed: Nanos(observed),
        missed,
    };
    lane.complete(io, Token::default(), outcome, Nanos(now));
}

fn asked(lane: &mut Box<dyn Lane>, io: Io, now: u64) -> Decision {
    lane.decide(io, Nanos(now)).0
}

#[test]
fn a_window_opens_with_a_completion_and_lasts_a_period() {
    let (windows, mut lanes) = noting(1);
    let lane = &mut lanes[0];
    assert_eq!(asked(lane, READ_4K, 0), Decision::Poll);
    done(lane, READ_4K, 100, false, 500);
    done(lane, READ_4K, 301, true, 1_499);
    assert_eq!(asked(lane, READ_4K, 1_499), Decision::Poll, "still open");
    assert_eq!(asked(lane, READ_4K, 1_500), Decision::Sleep(Nanos(200)));
    // Idle until 9 000: the next window lasts to 10 000, and the completion that ends it opens its own.
    done(lane, READ_4K, 10, false, 9_000);
    assert_eq!(asked(lane, READ_4K, 9_999), Decision::Sleep(Nanos(200)));
    done(lane, READ_4K, 90, false, 10_000);
    assert_eq!(asked(lane, READ_4K, 10_000), Decision::Sleep(Nanos(10)));
    let of = |samples, sum, misses, min, max| Window {
        samples,
        sum,
        misses,
        min: Nanos(min),
        max: Nanos(max),
    };
    let seen = windows.lock().expect("one thread").clone();
    assert_eq!(seen, [of(2, 401, 1, 100, 301), of(1, 10, 0, 10, 10)]);
}

#[test]
fn buckets_are_apart_and_keep_their_sleep_without_samples() {
    let (_, mut lanes) = noting(2);
    let write = Io {
        direction: Direction::Write,
        bytes: 65_536,
    };
    done(&mut lanes[0], READ_4K, 100, false, 10);
    done(&mut lanes[1], write, 900, false, 10);
    done(&mut lanes[1], READ_4K, 300, false, 2_000);
    assert_eq!(
        asked(&mut lanes[1], READ_4K, 2_000),
        Decision::Sleep(Nanos(100))
    );
    assert_eq!(
        asked(&mut lanes[0], write, 2_000),
        Decision::Sleep(Nanos(900))
    );
    assert_eq!(
        asked(&mut lanes[0], READ_4K, 3_000),
        Decision::Sleep(Nanos(300))
    );
    assert_eq!(
        asked(&mut lanes[0], write, 3_000),
        Decision::Sleep(Nanos(900)),
        "kept"
    );
    let tiny = Io {
        bytes: 100,
        ..write
    };
    assert_eq!(asked(&mut lanes[0], tiny, 3_000), Decision::Poll);
}

#[test]
fn a_sleep_is_bounded() {
    let (_, mut lanes) = noting(1);
    done(&mut lanes[0], READ_4K, u64::MAX, true, 10);
    assert_eq!(
        asked(&mut lanes[0], READ_4K, 5_000),
        Decision::Sleep(MAX_SLEEP)
    );
}

const LANES: u64 = 4;
const EACH: u64 = 100_000;
/// Clock steps per completion: a window is over every five of them.
const STEP: u64 = PERIOD.0 / 5;

/// All windows of threads of different pace that share a device, all starting at once.
/// Completion `i` of each lane gives `sample(i)`; two more, of 1 ns and missed, flush the last windows.
fn windows_of_threads(sample: fn(u64) -> (u64, bool)) -> Vec<Window> {
    let (windows, lanes) = noting(LANES as usize);
    let clock = AtomicU64::new(1);
    let start = Barrier::new(LANES as usize);
    let mut back: Vec<Box<dyn Lane>> = std::thread::scope(|scope| {
        let run = |mut lane: Box<dyn Lane>| {
            let (clock, start) = (&clock, &start);
            scope.spawn(move || {
                start.wait();
                for (observed, missed) in (0..EACH).map(sample) {
                    let now = clock.fetch_add(STEP, Ordering::Relaxed);
                    asked(&mut lane, READ_4K, now);
                    done(&mut lane, READ_4K, observed, missed, now);
                }
                lane
            })
        };
        let threads: Vec<_> = lanes.into_iter().map(run).collect();
        let joined = threads.into_iter().map(|t| t.join());
        joined.map(|lane| lane.expect("no lane panics")).collect()
    });
    // The last window's samples come out when it is over; those that raced with a merge, one window later.
    let end = clock.load(Ordering::Relaxed);
    for now in [end + 10_000, end + 20_000] {
        done(&mut back[0], READ_4K, 1, true, now);
    }
    asked(&mut back[0], READ_4K, end + 30_000);
    let windows = windows.lock().expect("all threads have ended");
    assert!(windows.len() > 100, "only {} windows", windows.len());
    windows.clone()
}

/// Spread so that sums cannot agree by chance, largest 9 973.
const fn spread(i: u64) -> (u64, bool) {
    (1 + i * i % 9_973, i.is_multiple_of(7))
}

#[test]
fn no_sample_is_lost_or_counted_twice_between_threads() {
    let windows = windows_of_threads(spread);
    let total = |of: fn(&Window) -> u64| windows.iter().map(of).sum::<u64>();
    let put_in: u64 = (0..EACH).map(|i| spread(i).0).sum();
    assert_eq!(total(|w| w.samples), LANES * EACH + 2);
    assert_eq!(total(|w| w.sum), LANES * put_in + 2);
    assert_eq!(total(|w| w.misses), LANES * EACH.div_ceil(7) + 2);
    let sane = |w: &Window| w.min <= w.mean() && w.mean() <= w.max && w.max.0 <= 9_973;
    assert!(windows.iter().all(sane));
}

/// With all samples alike, a window that saw a part of one shows it: count, sum and misses no longer fit together.
#[test]
fn no_sample_is_torn_between_threads() {
    for w in windows_of_threads(|_| (1, true)) {
        assert!(w.sum == w.samples && w.misses == w.samples, "{w:?}");
    }
}

proptest! {
    /// However samples are spread over lanes, the window is that of one lane.
    #[test]
    fn lanes_merge_to_one(samples in prop::collection::vec((0..8usize, 1..1_000_000_000u64), 1..200)) {
        let (windows, mut lanes) = noting(8);
        for &(lane, observed) in &samples {
            done(&mut lanes[lane], READ_4K, observed, observed % 3 == 0, 5);
        }
        asked(&mut lanes[0], READ_4K, 5 + PERIOD.0);
        let times = || samples.iter().map(|&(_, observed)| observed);
        let expected = Window {
            samples: samples.len() as u64,
            sum: times().sum(),
            misses: times().filter(|t| t % 3 == 0).count() as u64,
            min: Nanos(times().min().expect("not empty")),
            max: Nanos(times().max().expect("not empty")),
        };
        prop_assert_eq!(windows.lock().expect("one thread").clone(), vec![expected]);
    }
}
