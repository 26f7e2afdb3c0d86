//! Matching recovers random lives whose events were recorded on several CPUs.

use super::encode::{E, WRITE, e, file};
use super::{read_files, times};
use proptest::prelude::*;

/// One I/O: block, length, true for a write, true if inserted, start, and the times between its
/// events.
type Life = (u64, u32, bool, bool, u64, [u64; 4]);

fn life() -> impl Strategy<Value = Life> {
    let steps = prop::array::uniform4(1..60u64);
    (
        0..12u64,
        prop::sample::select(vec![8u32, 16]),
        any::<bool>(),
        any::<bool>(),
        0..2000u64,
        steps,
    )
}

/// Times of all events of a life; -1 if there is none.
fn truth(life: &Life) -> [i64; 5] {
    let (_, _, _, inserted, start, steps) = life;
    let mut at = *start as i64;
    let mut times = [at, 0, 0, 0, 0];
    for (time, step) in times[1..].iter_mut().zip(steps) {
        at += *step as i64;
        *time = at;
    }
    if !inserted {
        times[2] = -1;
    }
    times
}

/// Removes lives that overlap another one of the same block, length and direction, because a trace
/// does not show to which of the two an event belongs.
fn separable(lives: Vec<Life>) -> Vec<Life> {
    let mut kept: Vec<Life> = Vec::new();
    for life in lives {
        let (from, to) = (truth(&life)[0], truth(&life)[4]);
        let place = |(block, sectors, is_write, ..): &Life| (*block, *sectors, *is_write);
        let clash = |other: &Life| {
            let is_same_place = place(other) == place(&life);
            is_same_place && truth(other)[0] <= to && from <= truth(other)[4]
        };
        if !kept.iter().any(clash) {
            kept.push(life);
        }
    }
    kept.sort_by_key(|(.., start, _steps)| *start);
    kept
}

fn events(lives: &[Life], cpus: u32) -> Vec<Vec<u8>> {
    let mut by_cpu: Vec<Vec<E>> = vec![Vec::new(); cpus as usize];
    for (n, life) in lives.iter().enumerate() {
        let (block, sectors, is_write, ..) = *life;
        let letters = ["Q", "G", "I", "D", "C"];
        for (stage, (letter, at)) in letters.iter().zip(truth(life)).enumerate() {
            if at < 0 {
                continue;
            }
            let cpu = (n * 7 + stage * 3) as u32 % cpus;
            let event = e(at as u64, letter, block * 16, sectors).cpu(cpu);
            by_cpu[cpu as usize].push(if is_write { event.cat(WRITE) } else { event });
        }
    }
    let sorted = |mut events: Vec<E>| {
        events.sort_by_key(|event| event.us);
        file((false, false), &events)
    };
    by_cpu.into_iter().map(sorted).collect()
}

proptest! {
    #[test]
    fn lives_come_back(lives in prop::collection::vec(life(), 1..120).prop_map(separable), cpus in 1..5u32) {
        let (spans, read) = read_files(&events(&lives, cpus), false).unwrap();
        let key = |times: [i64; 5], sector: u64, bytes: u64| (times, sector, bytes);
        let mut wanted: Vec<_> = lives.iter().map(|l| key(truth(l), l.0 * 16, u64::from(l.1) * 512)).collect();
        let mut got: Vec<_> = spans.iter().map(|s| key(times(s), s.sector, s.bytes)).collect();
        wanted.sort_unstable();
        got.sort_unstable();
        prop_assert_eq!(got, wanted);
        prop_assert!(read.counts.unmatched.is_empty());
        prop_assert!(spans.is_sorted_by_key(|s| s.begin_ns));
    }

    /// No sequence of events causes a panic, and each I/O is handed out once.
    #[test]
    fn nonsense_is_counted(
        raw in prop::collection::vec((0..16u16, 0..6u64, 0..4u32, 0..16u32, 0..8u64), 0..300),
        limit in 1usize..20,
    ) {
        let event = |(at, raw): (usize, (u16, u64, u32, u32, u64))| {
            let (action, block, blocks, category, split) = raw;
            let mut event = e(at as u64, "Q", block * 8, blocks * 8).cat(category).pay(&(split * 8).to_be_bytes());
            event.action = action;
            event
        };
        let events: Vec<E> = raw.into_iter().enumerate().map(event).collect();
        let (spans, read) = super::read_limited(&[file((false, false), &events)], false, limit).unwrap();
        prop_assert_eq!(spans.len() as u64, read.counts.ios);
        let mut ids: Vec<u64> = spans.iter().map(|s| s.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), spans.len());
        let done = spans.iter().filter(|s| s.end_ns != u64::MAX).count() as u64;
        prop_assert_eq!(done, read.counts.completed);
    }
}
