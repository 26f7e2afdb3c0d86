//! Errors name the next command, and that command exists.

use crate::program::*;
use crate::{scale, simulated, tune_program};
use std::os::unix::fs::symlink;

fn refusals() -> impl Iterator<Item = &'static str> {
    let cases = include_str!("refusals.txt").lines();
    cases.filter(|line| !line.starts_with('#'))
}

/// Makes the files that the commands read. `t.csv` remains from making the traces.
fn make_files(folder: &Place) {
    folder.put("x.csv", "a,b\n1,2\n");
    folder.put("garbage.bin", [2, 241, 197, 130, 0, 9, 255]);
    let latencies: String = (0..100).map(|n| format!("{}\n", 80_000 + n)).collect();
    folder.put("latencies.txt", latencies);
    folder.done("trace import latencies.txt --format latency-list --unit ns --op read --bs 4k -o trace.parquet");
    folder.put("other.json", r#"{"schema": "q2c.poll-sim/1"}"#);
    folder.put("object.json", "{}");
    folder.put("list.json", "[]");
    for (name, schema) in [
        ("tune-99", "tune/99"),
        ("replay-1", "replay/1"),
        ("bench-2", "bench/2"),
    ] {
        folder.put(
            format!("{name}.json"),
            json!({"schema": format!("q2c.{schema}")}).to_string(),
        );
    }
    folder.put("wild.toml", "cpu_ns = 5\ntags = 9000000\nqueues = 1\n");
    folder.put("table.csv", "when,took\n1,2\n3,x\n");
    folder.put("cut", "PAR1 and no more");
    folder.put("traced.blktrace.0", "");
    for name in ["empty", "old", "planned"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    folder.put("old/result.json", r#"{"schema": "q2c.replay/1"}"#);
    folder.put("planned/plan.toml", "seconds = \"many\"\n");
    scale::write_run(folder.path(), 8);
    folder.put("taken", "precious");
    folder.put("file", q2c_testkit::random_mib());
    folder.put("small", vec![7; 64 * 4096 - 1]);
    folder.put("m.toml", simulated::MACHINE);
    folder.put("a.txt", "30\n".repeat(200));
    symlink("a.txt", folder.path().join("link.out")).unwrap();
    folder.put("empty.txt", "");
    for (name, last) in [
        ("words", "fast"),
        ("zero", "0"),
        ("minus", "-3"),
        ("nan", "NaN"),
    ] {
        folder.put(format!("{name}.txt"), format!("12\n{last}\n"));
    }
    let requests = |count, op| (0..count).map(move |n| (n * 100, 50, 4096, op));
    tune_program::trace(folder.path(), "few", requests(99, "read"));
    tune_program::trace(folder.path(), "writes", requests(200, "write"));
    let alibaba =
        (0..200).map(|n| format!("0,R,{},4096,{}\n", n * 4096, 1_577_808_000_000_000_u64 + n));
    folder.put("no-ends.csv", alibaba.collect::<String>());
}

fn names(folder: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

/// A refused command changes no existing file and leaves no new one. Three cases leave a run that
/// says why: benchmarks without a measurable point, and a replay that cannot be recorded.
#[test]
fn every_error_says_what_to_do_next() {
    let folder = Place::on_disk();
    make_files(&folder);
    let kept = || ["file", "taken", "a.txt"].map(|n| fs::read(folder.path().join(n)).unwrap());
    let before = (names(&folder), kept());
    let cases: Vec<&str> = refusals().collect();
    let wrong = std::thread::scope(|scope| {
        let threads = cases.chunks(cases.len() / 4 + 1).map(|chunk| {
            let wrong = chunk.iter().filter_map(|case| mismatch(&folder, case));
            scope.spawn(|| wrong.collect::<Vec<String>>())
        });
        let threads: Vec<_> = threads.collect();
        let wrong = threads.into_iter().map(|thread| thread.join().unwrap());
        wrong.collect::<Vec<_>>().concat()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let runs = folder.path().join("runs");
    assert_eq!(fs::read_dir(&runs).unwrap().count(), 3);
    fs::remove_dir_all(runs).unwrap();
    assert_eq!((names(&folder), kept()), before);
}

/// The output of a command that was not refused as expected; `None` if it was.
fn mismatch(folder: &Place, case: &str) -> Option<String> {
    let (code, line, phrases) = refusal(case);
    let ended = folder.q2c(line);
    let stderr = &ended.stderr;
    let failed = |line: &&str| line.starts_with("q2c: failed to ");
    let once = stderr.lines().filter(failed).count() == 1;
    let last = stderr.lines().next_back().unwrap_or("");
    let is_expected = once
        && failed(&last)
        && (ended.code, ended.stdout.as_str()) == (code, "")
        && phrases.iter().all(|phrase| last.contains(phrase))
        && !stderr.contains("failed to failed");
    (!is_expected).then(|| format!("{case}: {} {}{stderr}", ended.code, ended.stdout))
}

/// The parser accepts each suggested command: with `--help` it still checks all words.
#[test]
fn the_commands_that_errors_name_are_there() {
    let folder = Place::new();
    let phrases = refusals().flat_map(|case| refusal(case).2);
    for command in phrases.filter(|phrase| phrase.starts_with("q2c ")) {
        let mut line = split(command);
        line.push("--help");
        let output = q2c_command(folder.path(), &line[1..]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}: {stderr}");
    }
}
