use super::*;
use serde_json::{Value, json};

/// The sentence on a finding, given as JSON without its devices, which are `b` and `a`.
fn sentence_on(mut finding: Value) -> String {
    finding["device"] = json!("b");
    let other = if finding["kind"] == "better" {
        "than"
    } else {
        "with"
    };
    finding[other] = json!("a");
    verdict(&[serde_json::from_value(finding).unwrap()]).remove(0)
}

#[track_caller]
fn assert_sentences<const N: usize>(findings: [(Value, &str); N]) {
    for (finding, words) in findings {
        let sentence = sentence_on(finding);
        assert!(sentence.contains(words), "{words}: {sentence}");
    }
}

#[test]
fn figures_are_told_with_their_devices() {
    let ratio = json!({"ratio": 0.25, "low": 0.24, "high": 0.2604});
    let (time, sum) = ("completion time", "sum of U2C");
    assert_sentences([
        (
            json!({"kind": "better", "metric": sum, "ratio": ratio}),
            "b serves this trace better: its sum of U2C is 0.250 [0.240, 0.260] of that of a",
        ),
        (
            json!({"kind": "alike", "metric": sum, "ratio": ratio}),
            "b and a cannot be told apart by their sum of U2C: ratio 0.250 [0.240, 0.260]",
        ),
        (
            json!({"kind": "alike", "metric": time, "ratio": ratio}),
            "completion time does not separate them: ratio 0.250",
        ),
        (
            json!({"kind": "few-trials", "metric": sum}),
            "b and a cannot be compared by their sum of U2C:",
        ),
        (
            json!({"kind": "few-trials", "metric": time}),
            "b and a cannot be compared by completion time:",
        ),
        (
            json!({"kind": "time-separates", "ratio": ratio, "sum_separates": true, "overloaded": ["a", "b"]}),
            "them as well: ratio of b to a 0.250 [0.240, 0.260]; the trace overloads a and b",
        ),
        (
            json!({"kind": "time-separates", "ratio": ratio, "sum_separates": false, "overloaded": []}),
            "separates them: ratio of b to a 0.250 [0.240, 0.260]",
        ),
        (
            json!({"kind": "time-cannot-tell", "ratio": ratio, "device_idle": 0.954, "with_idle": 0.8}),
            "(ratio 0.2500): the trace leaves a idle 80 % and b 95 % of the time",
        ),
    ]);
}

#[test]
fn what_the_figures_do_not_show_is_told() {
    let [did, with_did] = [9, 8].map(|n| json!({"requests": n, "bytes": n << 20}));
    let idles = |idle| json!({"kind": "trace-idles", "share": 0.951, "idle": idle});
    let writes = |how| json!({"kind": "reads-only", "writes": 7, "treatment": how});
    let differ = |excess| json!({"kind": "terms-differ", "requests": 400, "excess": excess});
    assert_sentences([
        (
            json!({"kind": "work-differs", "did": did, "with_did": with_did}),
            "9 requests of 9 MiB against 8 of 8 MiB",
        ),
        (
            json!({"kind": "no-valid-trial", "why": "not-run"}),
            "b has no valid trial: none was run",
        ),
        (
            json!({"kind": "no-valid-trial", "why": {"failed": "the error"}}),
            "trial: the error",
        ),
        (
            json!({"kind": "no-valid-trial", "why": {"invalid": {"id": "stopped"}}}),
            "trial: it was stopped",
        ),
        (
            idles("squeeze"),
            "leaves out the time with nothing in flight, 95 % of the trace's",
        ),
        (
            idles("keep"),
            "nothing in flight 95 % of their time, which was kept",
        ),
        (writes("skip"), "7 writes of the trace were left out"),
        (
            writes("as-reads"),
            "7 writes of the trace were read instead",
        ),
        (
            differ(110),
            "for 400 requests it has 110 more than the reads and writes submitted: ",
        ),
        (
            differ(-5),
            "for 400 requests it has 5 fewer than the reads and writes submitted",
        ),
    ]);
}

#[test]
fn sums_of_u2c_say_why_nothing_was_captured() {
    for (reason, words) in [
        (json!(null), "needs --capture"),
        (json!("not-asked"), "was switched off"),
        (
            json!({"no-disk": "sim:50us"}),
            ": sim:50us has no disk of the kernel's",
        ),
        (
            json!({"refused": "the error"}),
            "cannot be captured here, the error",
        ),
    ] {
        let finding =
            |some| json!({"kind": "sums-of-u2c", "some_have_q2c": some, "not_captured": reason});
        let sentences = [true, false].map(|some| sentence_on(finding(some)));
        assert!(
            sentences[0].contains("not every device") && sentences[1].contains(words),
            "{sentences:?}"
        );
        if let Some(reason) = serde_json::from_value::<Option<NotCaptured>>(reason).unwrap() {
            assert_eq!(not_captured(&reason), sentences[1]);
        }
    }
}

#[test]
fn an_answer_from_reads_alone_says_so_itself() {
    let findings = json!([
        {"kind": "reads-only", "writes": 7, "treatment": "skip"},
        {"kind": "better", "device": "b", "than": "a", "metric": "sum of Q2C",
            "ratio": {"ratio": 0.5, "low": 0.4, "high": 0.6}},
        {"kind": "alike", "device": "b", "with": "a", "metric": "sum of U2C",
            "ratio": {"ratio": 1.0, "low": 0.9, "high": 1.1}},
    ]);
    let findings: Vec<CompareFinding> = serde_json::from_value(findings).unwrap();
    let sentences = verdict(&findings);
    assert!(
        sentences[1..].iter().all(|s| s.contains(" (reads only): ")),
        "{sentences:?}"
    );
}
