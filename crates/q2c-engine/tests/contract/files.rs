//! Tests of engines on a file for direct I/O, or on a device that may be overwritten: the right
//! bytes move between the right slot and the right offset.

use crate::opening::{EngineBench, bench, has_content};
use crate::storm::RequestStorm;
use crate::{BLOCK, BLOCKS, DEPTH, SIZE, SOUND, plain};
use q2c_engine::EngineSpec;
use q2c_engine::engine::{Engine, Operation, Request};

/// Runs `check` on every engine whose target's content can be read back.
fn for_each_on_data(test: &str, check: impl Fn(&EngineSpec, EngineBench)) {
    let plain = plain().into_iter();
    let specs = plain.map(|text| text.parse().expect("a known engine"));
    for spec in specs.filter(has_content) {
        if let Some(bench) = bench(&spec, test) {
            check(&spec, bench);
        }
    }
}

/// Runs `check` on every engine on a file. Devices are left out, because their size differs.
fn for_each_on_a_file(test: &str, check: impl Fn(&EngineSpec, EngineBench)) {
    for_each_on_data(test, |spec, bench| {
        if !spec.needs_character_device() {
            check(spec, bench);
        }
    });
}

fn request(write: bool, slot: u16, place: u64) -> Request {
    Request {
        operation: Operation::writing(write),
        offset: place * SIZE as u64,
        length: SIZE as u32,
        slot,
    }
}

/// Submits `requests` at once and takes their completions; all must be complete transfers.
fn complete_all(engine: &mut dyn Engine, requests: &[Request]) {
    engine.submit(requests).expect(SOUND);
    for _ in requests {
        assert_eq!(engine.wait().expect(SOUND).result, SIZE as i32);
    }
}

/// Slots begin with random words, different in each. They are written to the first places, read
/// from there into other slots, and written from those to the next places, which must then hold the
/// same as the first places.
#[test]
fn what_is_read_into_a_slot_is_what_lies_at_its_place() {
    for_each_on_data("what_is_read_into_a_slot", |spec, mut bench| {
        let engine = bench.engine.as_mut();
        let slots = DEPTH as u16;
        // 7 and 32 have no common divisor, so each slot gets the data of exactly one slot.
        let other = |slot: u16| slot * 7 % slots;
        let write = |slot| request(true, slot, u64::from(slot));
        complete_all(engine, &(0..slots).map(write).collect::<Vec<_>>());
        let read = |slot| request(false, other(slot), u64::from(slot));
        complete_all(engine, &(0..slots).map(read).collect::<Vec<_>>());
        let again = |slot| request(true, other(slot), u64::from(slots + slot));
        complete_all(engine, &(0..slots).map(again).collect::<Vec<_>>());
        let content = bench.content();
        let places: Vec<&[u8]> = content.chunks(SIZE).collect();
        let (first, behind) = places[..2 * DEPTH].split_at(DEPTH);
        assert_eq!(first, behind, "{spec}");
        let distinct: std::collections::BTreeSet<_> = first.iter().collect();
        assert_eq!(distinct.len(), DEPTH, "{spec}: slots differ");
    });
}

/// Dropping an engine waits for the kernel, which reads the buffers until the last write is done.
/// So every write must be in the file.
#[test]
fn writes_in_flight_at_the_drop_are_whole() {
    for_each_on_data("writes_in_flight_at_the_drop", |spec, mut bench| {
        let write = |slot| request(true, slot, u64::from(slot));
        let writes: Vec<Request> = (0..DEPTH as u16).map(write).collect();
        bench.engine.submit(&writes).expect(SOUND);
        let content = bench.content_behind_the_drop();
        let written = content.chunks(SIZE).take(DEPTH);
        // The buffers hold random words, so 512 zero bytes were never written.
        let mut parts = written.flat_map(|place| place.chunks(512));
        assert!(parts.all(|part| part.iter().any(|&b| b != 0)), "{spec}");
    });
}

#[test]
fn a_read_over_the_end_is_short_and_one_behind_it_empty() {
    for_each_on_a_file("a_read_over_the_end", |spec, mut bench| {
        let over = Request {
            offset: (BLOCKS - 1) * BLOCK as u64,
            ..request(false, 3, 0)
        };
        let behind = Request {
            offset: (BLOCKS + 8) * BLOCK as u64,
            ..over
        };
        for (request, result) in [(over, BLOCK as i32), (behind, 0)] {
            bench.engine.submit(&[request]).expect(SOUND);
            let done = bench.engine.wait().expect(SOUND);
            assert_eq!((done.slot, done.result), (3, result), "{spec}");
        }
    });
}

/// A request that the kernel refuses is data: here one whose offset is not aligned.
#[test]
fn an_odd_request_comes_back_with_its_errno() {
    for_each_on_data("an_odd_request", |spec, mut bench| {
        if !bench.direct {
            return;
        }
        let odd = Request {
            offset: 1,
            ..request(false, 5, 0)
        };
        let mut storm = RequestStorm::new(2);
        bench.engine.submit(&[odd]).expect(SOUND);
        let done = bench.engine.wait().expect(SOUND);
        assert_eq!((done.slot, done.result), (5, -libc::EINVAL), "{spec}");
        // The engine still works.
        storm.run(bench.engine.as_mut(), crate::storm::ReapMethod::All, 5);
    });
}

/// EOPNOTSUPP (include/uapi/asm-generic/errno.h).
const EOPNOTSUPP: i32 = -95;

/// A flush moves nothing; a durable write writes; discarded bytes read as zeros, if the engine has
/// discards.
#[test]
fn flushes_durable_writes_and_discards() {
    for_each_on_a_file("flushes_durable_writes", |spec, mut bench| {
        let do_one = |engine: &mut dyn Engine, operation, place: u64| {
            let (offset, length) = match operation {
                Operation::Flush => (0, 0),
                _ => (place * SIZE as u64, SIZE as u32),
            };
            let request = Request {
                operation,
                offset,
                length,
                slot: 3,
            };
            engine.submit(&[request]).expect(SOUND);
            engine.wait().expect(SOUND).result
        };
        let engine = bench.engine.as_mut();
        // An engine that polls in its calls refuses operations that cannot be polled for.
        if !spec.to_string().contains("iopoll") {
            assert_eq!(do_one(engine, Operation::Flush, 0), 0, "{spec}: flush");
            assert_eq!(do_one(engine, Operation::Durable, 1), SIZE as i32, "{spec}");
            assert_eq!(do_one(engine, Operation::Write, 2), SIZE as i32, "{spec}");
            let done = do_one(engine, Operation::Discard, 2);
            let is_expected = match done {
                EOPNOTSUPP => !spec.to_string().contains("io_uring"),
                result => result == SIZE as i32,
            };
            assert!(is_expected, "{spec}: discard gave {done}");
            let content = bench.content();
            let zeros = |place: usize| content[place * SIZE..][..SIZE].iter().all(|b| *b == 0);
            assert_eq!((zeros(1), zeros(2)), (false, done != EOPNOTSUPP), "{spec}");
        }
    });
}
