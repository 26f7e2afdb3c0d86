//! Reading and matching a long trace allocate no more than a short one.

use super::encode::{E, LITTLE_7, e, file};
use super::read_files;
use q2c_model::Fault;
use q2c_trace::blktrace::{EventFile, Matcher, Merge, match_events};
use std::path::Path;

fn trace(lives: u64) -> Vec<u8> {
    let life = |n: u64| ["Q", "G", "I", "D", "C"].map(|letter| e(n * 10, letter, n * 8, 8));
    let events: Vec<E> = (0..lives).flat_map(life).collect();
    file(LITTLE_7, &events)
}

fn allocations(bytes: &[u8]) -> u64 {
    let read = || {
        let merge = Merge::new([EventFile::new(Path::new("t"), bytes, 0, false)]).unwrap();
        match_events(merge, Matcher::LIMIT, |_spans, _notes| Ok::<(), Fault>(())).unwrap();
    };
    allocation_counter::measure(read).count_total
}

#[test]
fn nothing_is_allocated_per_event() {
    let (short, long) = (trace(10_000), trace(40_000));
    assert_eq!(allocations(&short), allocations(&long));
    assert_eq!(read_files(&[short], false).unwrap().0.len(), 10_000);
}
