//! Tests of `--fail-if` and `--baseline` of measuring commands, and of limits of `q2c diff`.

use crate::program::*;

const SHORT: &str = "--method poll --jobs 1 --depth 1 --seconds 200ms --warm-up 200ms --trials 3";

/// A device of 1 ms serves at most 1000 I/Os per second at depth 1, and one of 4 ms a quarter.
#[test]
fn a_run_is_judged_when_it_is_written_and_printed() {
    let folder = Place::new();
    let limits = "--fail-if iops>1100 --fail-if p50<0.9ms";
    let kept = folder.q2c(format!("bench sim:1ms {limits} {SHORT}"));
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    has_words(&kept.stderr, "limit iops>1100: kept by 1 figure");
    let early = folder.only_run();

    let limits = "--fail-if p50>2ms --fail-if p50>+100% --fail-if iops<-50% --fail-if iops<100";
    let early = early.display();
    let how = format!("--json --out late {limits} --junit limits.xml --baseline {early}");
    let broken = folder.q2c(format!("bench sim:4ms {how} {SHORT}"));
    assert_eq!(broken.code, 7, "{}", broken.stderr);
    has_words(&folder.text("limits.xml"), "tests=\"4\" failures=\"3\"");
    let printed = strict_json(&broken.stdout);
    assert_eq!(printed["complete"], true, "{}", broken.stderr);
    let limit_line = |limit: &str| {
        let mut lines = broken.stderr.lines();
        let line = lines.find(|line| line.starts_with(&format!("limit {limit}: ")));
        line.unwrap_or_else(|| panic!("{limit}: {}", broken.stderr))
    };
    // The line shows the value, the ratio and the baseline's value.
    let change = limit_line("p50>+100%");
    let phrases = ": broken by sim poll 4 KiB randread depth 1 jobs 1 (4.00 ms";
    has_words(change, phrases);
    assert!(change.ends_with(" times 1.00 ms)"), "{change}");
    for (limit, end) in [
        ("p50>2ms", "broken by"),
        ("iops<-50%", "broken by"),
        ("iops<100", "kept by 1"),
    ] {
        has_words(limit_line(limit), end);
    }

    // The folder has the result, and `diff` judges it in the same words.
    let late = only_in(&folder.path().join("late"));
    let diff = folder.q2c(format!("diff {early} {} {limits}", late.display()));
    assert_eq!(diff.code, 7, "{}", diff.stderr);
    has_words(
        &unwrapped(&diff.stdout),
        unwrapped(change).trim_start_matches("limit "),
    );
}

/// Ten requests of 100 us on a device of 2 ms.
#[test]
fn a_replay_is_judged_by_its_valid_trials() {
    waiting(|| {
        let folder = Place::new();
        let rows = (0..10).map(|n| format!("{},100,{},4096,read\n", n * 5000, n * 4096));
        let rows: String = rows.collect();
        folder.put("t.csv", format!("submit,took,offset,size,op\n{rows}"));
        let command_line = "replay t.csv sim:2ms --format csv --unit us --columns \
            submit_ns=submit,latency=took,offset=offset,bytes=size,op=op --max-lateness 1s --trials 2";
        let limited = |limit: &str| folder.q2c(format!("{command_line} --fail-if {limit}"));
        let broken = limited("p50>1ms");
        assert_eq!(broken.code, 7, "{}", broken.stderr);
        has_words(&broken.stderr, "limit p50>1ms: broken by replay (2.");
        has_words(&broken.stdout, "sim:2ms");
        limited("p50>10s").done();
        // A replay can have this figure, but not without a capture of the block layer.
        let missing = limited("sum_q2c>1s");
        assert_eq!(missing.code, 2, "{}", missing.stderr);
        let reason = "expected a figure of the result, found bytes, completion";
        has_words(&missing.stderr, reason);
    });
}
