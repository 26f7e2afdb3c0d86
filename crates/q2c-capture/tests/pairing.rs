//! Tests how the kernel program pairs sleeps with completions. `tests/pairing.c` runs the same code
//! outside the kernel on scripted events; the expected counts are worked out by hand.

mod scripted;

use std::path::Path;

/// The counts of `pairing.h` in its order: polled, slept, missed, unknown, asked_ns, timed,
/// slept_ns.
type Counts = [u64; 7];

fn counts(program: &Path, script: &str) -> Counts {
    let text = scripted::said(program, script);
    let numbers = text
        .split_whitespace()
        .map(|n| n.parse().expect("a number"));
    let numbers: Vec<u64> = numbers.collect();
    numbers.try_into().expect("seven counts")
}

/// Name, events and expected counts of each script.
const SCRIPTS: [(&str, &str, Counts); 15] = [
    (
        "no sleep: classic polling",
        "10 enter 1 3\n11 poll 1\n12 poll 1\n13 complete 3 1",
        [1, 0, 0, 0, 0, 0, 0],
    ),
    (
        "the second poll finds it: a hit; slept 60 of 50 asked",
        "10 enter 1 3\n11 sleep 1 50\n71 enter 1 3\n72 poll 1\n73 poll 1\n74 complete 3 1",
        [1, 1, 0, 0, 50, 1, 60],
    ),
    (
        "the first poll finds it: a miss",
        "10 enter 1 3\n11 sleep 1 50\n71 enter 1 3\n72 poll 1\n73 complete 3 1",
        [1, 1, 1, 0, 50, 1, 60],
    ),
    (
        "polls before the sleep do not count",
        "9 poll 1\n10 enter 1 3\n11 poll 1\n12 poll 1\n13 sleep 1 50\n70 enter 1 3\n71 poll 1\n72 complete 3 1",
        [1, 1, 1, 0, 50, 1, 57],
    ),
    (
        "another task reaps it while its own sleeps: a miss, its end not seen",
        "10 enter 1 3\n11 sleep 1 50\n30 poll 2\n31 complete 3 2\n70 enter 1 4\n71 poll 1\n72 complete 4 1",
        [2, 1, 1, 0, 50, 0, 0],
    ),
    (
        "another task reaps it after its own began to poll: a hit",
        "10 enter 1 3\n11 sleep 1 50\n70 enter 1 3\n71 poll 1\n72 complete 3 2",
        [1, 1, 0, 0, 50, 1, 59],
    ),
    (
        "two in flight, slept for in turn, found by one poll: both missed",
        "10 enter 1 3\n11 sleep 1 50\n60 enter 1 4\n61 sleep 1 40\n105 enter 1 3\n106 poll 1\n107 complete 3 1\n108 complete 4 1",
        [2, 2, 2, 0, 90, 2, 93],
    ),
    (
        "the wake-up was not seen: outcome known, length not",
        "10 enter 1 3\n11 sleep 1 50\n72 poll 1\n73 poll 1\n74 complete 3 1",
        [1, 1, 0, 0, 50, 0, 0],
    ),
    (
        "polls were not seen: unknown",
        "10 enter 1 3\n11 sleep 1 50\n70 enter 1 3\n74 complete 3 1",
        [1, 1, 0, 1, 50, 1, 59],
    ),
    (
        "the task was forgotten: unknown",
        "10 enter 1 3\n11 sleep 1 50\n20 forget 1\n74 complete 3 1",
        [1, 1, 0, 1, 50, 0, 0],
    ),
    (
        "its counter began anew below the mark: unknown",
        "1 poll 1\n2 poll 1\n10 enter 1 3\n11 sleep 1 50\n20 forget 1\n70 enter 1 3\n71 poll 1\n74 complete 3 1",
        [1, 1, 0, 1, 50, 0, 0],
    ),
    (
        "the completion was lost and the tag used again: the first sleep's outcome is unknown",
        "10 enter 1 3\n11 sleep 1 50\n70 enter 1 3\n71 poll 1\n80 enter 1 3\n81 sleep 1 30\n120 enter 1 3\n121 poll 1\n122 poll 1\n123 complete 3 1",
        [1, 2, 0, 1, 80, 1, 39],
    ),
    (
        "reaped by another task just before its own goes to sleep for it, tag used again: unknown, then a miss",
        "10 enter 1 3\n11 poll 2\n12 complete 3 2\n13 sleep 1 50\n80 enter 1 3\n81 sleep 1 30\n120 enter 1 3\n121 poll 1\n122 complete 3 1",
        [2, 2, 1, 1, 80, 1, 39],
    ),
    (
        "a sleep for another device is none of ours, whatever its request is called",
        "10 enter 1 3\n11 poll 1\n12 complete 3 1\n20 elsewhere 1 3\n21 sleep 1 90\n130 elsewhere 1 3\n140 enter 1 3\n141 poll 1\n142 complete 3 1",
        [2, 0, 0, 0, 0, 0, 0],
    ),
    (
        "back from our sleep to poll another device first: its length is known",
        "10 enter 1 3\n11 sleep 1 50\n71 elsewhere 1 4\n72 sleep 1 500\n600 enter 1 3\n601 poll 1\n602 complete 3 1",
        [1, 1, 1, 0, 50, 1, 60],
    ),
];

#[test]
fn scripted_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = scripted::program(folder.path(), "pairing");
    for (name, script, wanted) in SCRIPTS {
        assert_eq!(counts(&program, script), wanted, "{name}");
    }
}
