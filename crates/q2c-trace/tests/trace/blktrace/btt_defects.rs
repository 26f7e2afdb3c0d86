//! Cases that btt gets wrong, with the right results. btt loses 20 % of overlapping I/Os, has D2C
//! 14 % off, no stage for requests without insert, takes virtio disks for remappers, loses events
//! with cgroup ids, and prints 1 ns for unknown times.

use super::encode::{E, WRITE, e, file};
use super::expect::expect;
use super::{lives, read_files, times, unmatched};

/// I/Os with constant D2C over few blocks, many at a time: none may be lost, and all keep D2C.
#[test]
fn overlapping_ios_over_hot_blocks_keep_their_d2c() {
    const D2C: u64 = 80;
    let mut events: Vec<(u64, usize, E)> = Vec::new();
    let mut state = 12345u64;
    for n in 0..20_000usize {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (at, block) = (n as u64 * 2, (state >> 33) % 64 * 8);
        let one = |us: u64, letter: &str| (us, n, e(us, letter, block, 8).cpu(n as u32 % 4));
        events.extend([
            one(at, "Q"),
            one(at, "G"),
            one(at + 1, "D"),
            one(at + 1 + D2C, "C"),
        ]);
    }
    // About 40 I/Os are in flight over 64 blocks.
    events.sort_by_key(|(us, n, _)| (*us, *n));
    let events: Vec<E> = events.into_iter().map(|(_, _, event)| event).collect();
    let (spans, read) = lives(&events);
    assert_eq!(spans.len(), 20_000);
    assert!(spans.iter().all(|s| s.end_ns - s.issue_ns == D2C * 1000));
    assert!(unmatched(&read).is_empty());
}

#[test]
fn a_request_without_insert_has_all_other_times() {
    expect(&["8+8 1Q 2G 5D 9C"], "1 2 - 5 9", "");
}

#[test]
fn virtio_and_dm_majors_are_devices_like_others() {
    for major in [9, 252, 253, 254] {
        let life = format!("{major}:16/8+8 1Q 2G 5D 9C");
        let (spans, _) = expect(&[&life], "1 2 - 5 9", "");
        assert_eq!(spans[0].device.major, major);
    }
}

#[test]
fn cgroup_tagged_events_are_not_lost_and_cpus_have_32_bits() {
    let events = [e(1, "Q", 8, 8), e(5, "D", 8, 8), e(9, "C", 8, 8)];
    let events = events.map(|event| event.cgroup(4711).cpu(100_000).cat(WRITE));
    for form in [(false, false), (false, true), (true, true)] {
        let (spans, _) = read_files(&[file(form, &events)], false).unwrap();
        assert_eq!(times(&spans[0]), [1, -1, -1, 5, 9]);
        assert_eq!((spans[0].cgroup, spans[0].cpu_complete), (4711, 100_000));
    }
}

#[test]
fn no_time_is_zero_and_not_one_nanosecond() {
    let (spans, _) = expect(&["8+8 1Q 1G 1D 1C"], "1 1 - 1 1", "");
    assert_eq!(spans[0].end_ns - spans[0].begin_ns, 0);
}
