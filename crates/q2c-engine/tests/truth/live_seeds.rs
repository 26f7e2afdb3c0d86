//! Contracts of a live run that hold at every seed: whatever is ordered and whatever fails, each
//! request is in one slice.
//!
//! The lanes read one block behind the other, so the offsets that are seen have no gaps.

use crate::live::{PATIENCE, hear, live_plan, to_the_end};
use crate::plan::{BLOCK, hybrid, job, world};
use q2c_engine::{Activity, JobPlan, LaneData, Live, LiveSlice, Wait};
use q2c_model::stats::Rng;
use q2c_model::{Bytes, Nanos};
use q2c_testkit::for_each_seed;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of blocks of the target.
const BLOCKS: u64 = 1 << 28;

fn draw_activity(rng: &mut Rng) -> Activity {
    match rng.below(6) {
        0 => Activity::Idle,
        1 => Activity::Continue,
        2 => Activity::Resume,
        3 => Activity::Start(Wait::Interrupt),
        4 => Activity::Start(Wait::Poll),
        _ => Activity::Start(hybrid(["fixed:5us", "fixed:50us"][rng.below(2) as usize])),
    }
}

fn draw_job(rng: &mut Rng) -> JobPlan {
    let depth = [1, 2, 8][rng.below(3) as usize];
    let mut engine = format!("sim:exp=20us,servers={}", 1 + rng.below(8));
    for kind in ["eio", "short", "swap", "late=300us", "eio", "short"] {
        let nth = 1 + rng.below(200);
        engine = format!("fault:{kind}@{nth}:{engine}");
    }
    JobPlan {
        depth,
        seed: rng.next_u64(),
        pattern: "read".parse().expect("a known pattern"),
        span: Bytes(BLOCKS * u64::from(BLOCK)),
        ..job(&engine, vec![Activity::Start(Wait::Poll)])
    }
}

fn check_seed(seed: u64) {
    let rng = &mut Rng::new(seed);
    let jobs: Vec<JobPlan> = (0..=rng.below(2)).map(|_| draw_job(rng)).collect();
    let depths: Vec<u16> = jobs.iter().map(|job| job.depth).collect();
    let mut plan = live_plan(jobs, world().into());
    (plan.slice, plan.samples) = (Nanos(100_000 * (1 + rng.below(8))), true);
    let lanes = depths.len();
    let stop = AtomicBool::new(false);
    let listen = |live: &mut Live<'_>| {
        let mut slices = Vec::new();
        for _ in 0..1 + rng.below(4) {
            slices.extend(hear(live, rng.below(6) as usize));
            let order = (0..lanes).map(|_| draw_activity(rng)).collect();
            live.order(order).expect("an order that can be carried out");
        }
        slices.extend(hear(live, 2 * lanes));
        stop.store(true, Ordering::Relaxed);
        while let q2c_engine::LiveAnswer::Slice(slice) = live.hear(PATIENCE) {
            slices.push(*slice);
        }
        to_the_end(live);
        slices
    };
    let (slices, data) = q2c_engine::live(plan, &stop, listen).expect("faults are data");
    for (lane, (data, depth)) in data.lanes.iter().zip(depths).enumerate() {
        let of_lane = slices.iter().filter(|slice| slice.lane == lane);
        check_lane(&of_lane.collect::<Vec<_>>(), data, depth);
    }
}

fn check_lane(slices: &[&LiveSlice], lane: &LaneData, depth: u16) {
    let mut numbers: Vec<u64> = Vec::new();
    let mut bad = 0;
    for slice in slices {
        assert_eq!(slice.stats.ios, slice.samples.len() as u64);
        assert!(slice.samples.is_sorted_by_key(|sample| sample.reaped_ns()));
        numbers.extend(slice.samples.iter().map(|s| s.offset / u64::from(BLOCK)));
        let is_bad = |result: i32| result != BLOCK as i32;
        bad += slice.samples.iter().filter(|s| is_bad(s.result)).count() as u64;
    }
    for pair in slices.windows(2) {
        assert_eq!(pair[0].span.1, pair[1].span.0, "no time between slices");
    }
    // Lanes begin anywhere, and go on at the begin of the target behind its end.
    let origin = numbers.first().map_or(0, |first| first + BLOCKS - 64);
    numbers
        .iter_mut()
        .for_each(|number| *number = (*number + 2 * BLOCKS - origin) % BLOCKS);
    let heard = numbers.len() as u64;
    assert!(heard <= lane.ios && bad <= lane.faults);
    numbers.sort_unstable();
    assert!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "each request once"
    );
    // Those that were in flight at the end of the last slice are in none.
    let ends = numbers.first().zip(numbers.last());
    let missing = ends.map_or(0, |(first, last)| last - first + 1 - heard);
    assert!(
        missing < u64::from(depth),
        "{missing} of {heard} are in no slice"
    );
}

#[test]
fn each_request_is_in_one_slice_at_every_seed() {
    for_each_seed("live_seeds", check_seed);
}
