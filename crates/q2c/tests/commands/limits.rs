//! Tests of `--fail-if` and `--baseline` of the commands that measure, and of limits of `q2c diff`.

use crate::program::*;

const SHORT: &str = "--method poll --jobs 1 --depth 1 --seconds 200ms --warm-up 200ms --trials 3";

fn bench(folder: &Path, arguments: &str) -> Finished {
    run_q2c(folder, &format!("bench {arguments} {SHORT}"))
}

/// A device of 1 ms serves at most 1000 I/Os per second at a depth of 1, and one of 4 ms a quarter.
#[test]
fn a_run_is_judged_when_it_is_written_and_printed() {
    let folder = Place::new();
    let kept = bench(
        folder.path(),
        "sim:1ms --fail-if iops>1100 --fail-if p50<0.9ms",
    );
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    has_words(&kept.stderr, "limit iops>1100: kept by 1 figure");
    let early = folder.run();

    let limits = "--fail-if p50>2ms --fail-if p50>+100% --fail-if iops<-50% --fail-if iops<100";
    let arguments = format!(
        "sim:4ms --json --out late {limits} --junit limits.xml --baseline {}",
        early.display()
    );
    let broken = bench(folder.path(), &arguments);
    assert_eq!(broken.code, 7, "{}", broken.stderr);
    let xml = folder.text("limits.xml");
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
        ": broken by sim poll 4 KiB randread depth 1 jobs 1 (4.00 ms",
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
    let diff = folder.q2c(&command_line);
    assert_eq!(diff.code, 7, "{}", diff.stderr);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line(&diff.stdout).contains(one_line(&change).trim_start_matches("limit ")),
        "{}",
        diff.stdout
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
