//! Tests of `--fail-if` and `--baseline` of the commands that measure, and of limits of `q2c diff`.

use crate::program::{Finished, has_words, only_in, put, refuses_in, run_in, run_q2c};
use q2c_testkit::waiting;
use std::fs;
use std::path::Path;

const SHORT: &str = "--method poll --jobs 1 --depth 1 --seconds 200ms --warm-up 200ms --trials 3";

fn bench(folder: &Path, arguments: &str) -> Finished {
    run_q2c(folder, &format!("bench {arguments} {SHORT}"))
}

/// A device of 1 ms serves at most 1000 I/Os per second at a depth of 1, and one of 4 ms a quarter.
#[test]
fn a_run_is_judged_when_it_is_written_and_printed() {
    let folder = tempfile::tempdir().unwrap();
    let kept = bench(
        folder.path(),
        "sim:1ms --fail-if iops>1100 --fail-if p50<0.9ms",
    );
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    has_words(&kept.stderr, &["limit iops>1100: kept by 1 figure"]);
    let early = run_in(folder.path());

    let limits = "--fail-if p50>2ms --fail-if p50>+100% --fail-if iops<-50% --fail-if iops<100";
    let arguments = format!(
        "sim:4ms --json --out late {limits} --junit limits.xml --baseline {}",
        early.display()
    );
    let broken = bench(folder.path(), &arguments);
    assert_eq!(broken.code, 7, "{}", broken.stderr);
    let xml = fs::read_to_string(folder.path().join("limits.xml")).unwrap();
    assert!(xml.contains("tests=\"4\" failures=\"3\""), "{xml}");
    let printed = q2c_testkit::strict_json(&broken.stdout);
    assert_eq!(printed["complete"], true, "{}", broken.stderr);
    let limit_line = |limit: &str| {
        let mut lines = broken.stderr.lines();
        let line = lines.find(|line| line.starts_with(&format!("limit {limit}: ")));
        line.unwrap_or_else(|| panic!("{limit}: {}", broken.stderr))
            .to_owned()
    };
    // The value, the ratio and the baseline's value.
    let change = limit_line("p50>+100%");
    has_words(
        &change,
        &[": broken by sim poll 4 KiB randread depth 1 jobs 1 (4.00 ms"],
    );
    assert!(change.ends_with(" times 1.00 ms)"), "{change}");
    assert!(
        limit_line("p50>2ms").contains("broken by"),
        "{}",
        limit_line("p50>2ms")
    );
    assert!(
        limit_line("iops<-50%").contains("broken by"),
        "{}",
        limit_line("iops<-50%")
    );
    assert!(
        limit_line("iops<100").contains("kept by 1"),
        "{}",
        limit_line("iops<100")
    );

    // The folder has the result, and diff says the same of it in the same words.
    let late = only_in(&folder.path().join("late"));
    let command_line = format!("diff {} {} {limits}", early.display(), late.display());
    let diff = run_q2c(folder.path(), &command_line);
    assert_eq!(diff.code, 7, "{}", diff.stderr);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line(&diff.stdout).contains(one_line(&change).trim_start_matches("limit ")),
        "{}",
        diff.stdout
    );
}

#[test]
fn a_limit_that_cannot_be_judged_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    put(
        &folder.path().join("other.json"),
        r#"{"schema": "q2c.poll-sim/1"}"#,
    );
    let cases = [
        "2 | bench sim:1ms --fail-if p99>+5% | name one with --baseline RUN",
        "2 | bench sim:1ms --fail-if p98>5us | found iops, kiops_per_core, busy, mean, p50, p99, p99.9, miss_rate",
        "2 | tune sim:1ms --fail-if p99>5 | expected a time, as in p99>200us",
        "2 | tune sim:1ms --jobs 1,2 --fail-if in_flight>5 | found iops, kiops_per_core, cpu",
        "2 | replay none.parquet sim:1ms --fail-if iops<5 | found completion, sum_u2c",
        "2 | replay none.parquet sim:1ms --fail-if p99+5% | such as p99>+5%, iops<-3%",
        "3 | tune sim:1ms --baseline gone --fail-if p99>+5% | read gone",
        "3 | tune sim:1ms --baseline gone | read gone",
        "3 | tune sim:1ms --baseline other.json --fail-if p99>+5% | compare with other.json: expected a result of q2c tune, q2c bench",
    ];
    refuses_in(folder.path(), &cases);
    assert!(!folder.path().join("runs").exists());
}

/// Ten requests of 100 us on a device of 2 ms.
#[test]
fn a_replay_is_judged_by_its_valid_trials() {
    waiting("limits::a_replay_is_judged_by_its_valid_trials", || {
        let folder = tempfile::tempdir().unwrap();
        let rows = (0..10).map(|n| format!("{},100,{},4096,read\n", n * 5000, n * 4096));
        let rows: String = rows.collect();
        put(
            &folder.path().join("t.csv"),
            format!("submit,took,offset,size,op\n{rows}"),
        );
        let command_line = "replay t.csv sim:2ms --format csv --unit us --columns \
            submit_ns=submit,latency=took,offset=offset,bytes=size,op=op --max-lateness 1s --trials 2";
        let limited =
            |limit: &str| run_q2c(folder.path(), &format!("{command_line} --fail-if {limit}"));
        let broken = limited("p50>1ms");
        assert_eq!(broken.code, 7, "{}", broken.stderr);
        assert!(
            broken
                .stderr
                .contains("limit p50>1ms: broken by replay (2."),
            "{}",
            broken.stderr
        );
        assert!(broken.stdout.contains("sim:2ms"), "{}", broken.stdout);
        let kept = limited("p50>10s");
        assert_eq!(kept.code, 0, "{}", kept.stderr);
        // A figure that replays can have, and this one does not: the block layer was not captured.
        let missing = limited("sum_q2c>1s");
        assert_eq!(missing.code, 2, "{}", missing.stderr);
        assert!(
            missing
                .stderr
                .contains("expected a figure of the result, found bytes, completion"),
            "{}",
            missing.stderr
        );
    });
}
