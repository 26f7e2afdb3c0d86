//! Tests how the kernel program pairs sleeps with completions. `tests/pairing.c` runs the same code
//! outside the kernel on scripted events; the expected counts are worked out by hand.

mod scripted;

/// Scripts, one a line: name, events, and the counts of `pairing.h` in its order: polled, slept,
/// missed, unknown, asked_ns, timed, slept_ns.
const SCRIPTS: &str = "\
no sleep: classic polling | 10 enter 1 3, 11 poll 1, 12 poll 1, 13 complete 3 1 | 1 0 0 0 0 0 0
the second poll finds it: a hit; slept 60 of 50 asked | 10 enter 1 3, 11 sleep 1 50, 71 enter 1 3, 72 poll 1, 73 poll 1, 74 complete 3 1 | 1 1 0 0 50 1 60
the first poll finds it: a miss | 10 enter 1 3, 11 sleep 1 50, 71 enter 1 3, 72 poll 1, 73 complete 3 1 | 1 1 1 0 50 1 60
polls before the sleep do not count | 9 poll 1, 10 enter 1 3, 11 poll 1, 12 poll 1, 13 sleep 1 50, 70 enter 1 3, 71 poll 1, 72 complete 3 1 | 1 1 1 0 50 1 57
another task reaps it while its own sleeps: a miss; its end not seen | 10 enter 1 3, 11 sleep 1 50, 30 poll 2, 31 complete 3 2, 70 enter 1 4, 71 poll 1, 72 complete 4 1 | 2 1 1 0 50 0 0
another task reaps it after its own began to poll: a hit | 10 enter 1 3, 11 sleep 1 50, 70 enter 1 3, 71 poll 1, 72 complete 3 2 | 1 1 0 0 50 1 59
two in flight, slept for in turn, found by one poll: both missed | 10 enter 1 3, 11 sleep 1 50, 60 enter 1 4, 61 sleep 1 40, 105 enter 1 3, 106 poll 1, 107 complete 3 1, 108 complete 4 1 | 2 2 2 0 90 2 93
the wake-up was not seen: outcome known, length not | 10 enter 1 3, 11 sleep 1 50, 72 poll 1, 73 poll 1, 74 complete 3 1 | 1 1 0 0 50 0 0
polls were not seen: unknown | 10 enter 1 3, 11 sleep 1 50, 70 enter 1 3, 74 complete 3 1 | 1 1 0 1 50 1 59
the task was forgotten: unknown | 10 enter 1 3, 11 sleep 1 50, 20 forget 1, 74 complete 3 1 | 1 1 0 1 50 0 0
its counter began anew below the mark: unknown | 1 poll 1, 2 poll 1, 10 enter 1 3, 11 sleep 1 50, 20 forget 1, 70 enter 1 3, 71 poll 1, 74 complete 3 1 | 1 1 0 1 50 0 0
the completion was lost and the tag used again: the first sleep's outcome is unknown | 10 enter 1 3, 11 sleep 1 50, 70 enter 1 3, 71 poll 1, 80 enter 1 3, 81 sleep 1 30, 120 enter 1 3, 121 poll 1, 122 poll 1, 123 complete 3 1 | 1 2 0 1 80 1 39
reaped by another task just before its own goes to sleep for it, tag used again: unknown, then a miss | 10 enter 1 3, 11 poll 2, 12 complete 3 2, 13 sleep 1 50, 80 enter 1 3, 81 sleep 1 30, 120 enter 1 3, 121 poll 1, 122 complete 3 1 | 2 2 1 1 80 1 39
a sleep for another device is none of ours, whatever its request is called | 10 enter 1 3, 11 poll 1, 12 complete 3 1, 20 elsewhere 1 3, 21 sleep 1 90, 130 elsewhere 1 3, 140 enter 1 3, 141 poll 1, 142 complete 3 1 | 2 0 0 0 0 0 0
back from our sleep to poll another device first: its length is known | 10 enter 1 3, 11 sleep 1 50, 71 elsewhere 1 4, 72 sleep 1 500, 600 enter 1 3, 601 poll 1, 602 complete 3 1 | 1 1 1 0 50 1 60
";

#[test]
fn scripted_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = scripted::program(folder.path(), "pairing");
    for line in SCRIPTS.lines() {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [name, script, wanted] = parts[..] else {
            panic!("{line}")
        };
        let output = scripted::run_script(&program, &script.replace(", ", "\n"));
        let counts = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(counts, wanted, "{name}");
    }
}
