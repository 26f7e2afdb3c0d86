use super::*;
use crate::tune::{MethodName, OpenQuestion, Recommendation, Verdict};

const SMALL: Bytes = Bytes(4096);
const LARGE: Bytes = Bytes(65_536);

fn method(text: &str) -> Method {
    text.parse().unwrap()
}

fn answer(bs: Bytes, text: &str) -> Recommendation {
    Recommendation::clear(bs, Verdict::Rule, method(text), 0.97)
}

/// A complete run that took 10 s.
fn run(jobs: u32, recommendation: Vec<Recommendation>) -> TuneResult {
    let stored = include_str!("../../../q2c/tests/kept/tune-4.json");
    let mut run: TuneResult = serde_json::from_str(stored).unwrap();
    run.provenance = Provenance {
        started_unix_s: 1_000 + u64::from(jobs),
        seconds: 10.0,
        folder: Some(format!("runs/a/jobs-{jobs}")),
        host: Some("node7, Linux 6.18.0".to_owned()),
    };
    (run.complete, run.job.jobs, run.recommendation) = (true, jobs, recommendation);
    run
}

/// Runs at 4 KiB with clear answers.
fn runs(answers: &[(u32, &str)]) -> Vec<TuneResult> {
    let run = |&(jobs, text): &(u32, &str)| run(jobs, vec![answer(SMALL, text)]);
    answers.iter().map(run).collect()
}

/// The changes at the first block size: the last and first number of jobs, and the two methods.
fn changes(result: &TuneJobsResult) -> Vec<(u32, u32, String, String)> {
    let changes = result.recommended[0].changes.iter();
    changes
        .map(|c| (c.last, c.first, c.from.to_string(), c.to.to_string()))
        .collect()
}

/// At 2 jobs the rule's share goes from 85 % to 70 %, which is no change; at 4 jobs polling is
/// recommended instead. The runs are not given in the order of their numbers.
#[test]
fn the_recommendation_changes_where_the_method_does() {
    let made = runs(&[
        (4, "poll"),
        (1, "hybrid:min:85%,10ms"),
        (2, "hybrid:min:70%,10ms"),
    ]);
    let result = TuneJobsResult::new(&[4, 1, 2], made, None);
    assert_eq!(result.jobs, [1, 2, 4]);
    assert!(result.complete);
    let whole = Provenance {
        started_unix_s: 1_001,
        seconds: 30.0,
        folder: Some("runs/a".to_owned()),
        host: Some("node7, Linux 6.18.0".to_owned()),
    };
    assert_eq!(result.provenance, whole);
    let leaders = &result.recommended[0].leaders;
    assert!(leaders.iter().all(|leader| leader.clear));
    let methods: Vec<String> = leaders.iter().map(|l| l.method.to_string()).collect();
    let min = |ratio: u32| format!("hybrid:min:ratio={ratio}%,period=10ms");
    assert_eq!(methods, [min(85), min(70), "poll".to_owned()]);
    assert_eq!(changes(&result), [(2, 4, min(70), "poll".to_owned())]);
    assert_eq!(result.run(4).unwrap().job.jobs, 4);
    assert!(result.run(3).is_none());
}

/// At 2 jobs the answer is open, at 3 nothing that sleeps was tried, and at 4 the run was stopped.
/// So the change lies between 1 and 8.
#[test]
fn only_settled_answers_are_clear() {
    let mut made = runs(&[1, 2, 3, 4, 6, 8].map(|jobs| (jobs, "poll")));
    made[0].recommendation[0].method = Method::INTERRUPT;
    made[1].recommendation[0].open = vec![MethodName(Method::INTERRUPT)];
    made[2].recommendation[0].verdict = Verdict::Unverified;
    made[3].complete = false;
    made[4].recommendation[0].undecided = vec![OpenQuestion::SingleTrials {
        single: 2,
        tried: 2,
    }];
    let result = TuneJobsResult::new(&[1, 2, 3, 4, 6, 8], made, None);
    let clear = result.recommended[0].leaders.iter().filter(|l| l.clear);
    assert_eq!(clear.map(|leader| leader.jobs).collect::<Vec<_>>(), [1, 8]);
    let change = (1, 8, "interrupt".to_owned(), "poll".to_owned());
    assert_eq!(changes(&result), [change]);
    assert!(!result.complete, "one run was stopped");
}

#[test]
fn block_sizes_are_told_apart_and_may_lack_an_answer() {
    let made = vec![
        run(1, vec![answer(SMALL, "poll"), answer(LARGE, "interrupt")]),
        run(2, vec![answer(SMALL, "interrupt")]),
    ];
    let result = TuneJobsResult::new(&[1, 2], made, None);
    let sizes: Vec<Bytes> = result.recommended.iter().map(|size| size.bs).collect();
    assert_eq!(sizes, [SMALL, LARGE]);
    assert_eq!(result.recommended[0].changes.len(), 1);
    assert_eq!(result.recommended[1].leaders.len(), 1);
    assert!(result.recommended[1].changes.is_empty());
}

#[test]
fn a_number_that_is_missing_or_failed_is_told() {
    assert!(!TuneJobsResult::new(&[1, 2], runs(&[(1, "poll")]), None).complete);
    let failed = FailedJobs {
        jobs: 2,
        reason: "verify poll live: Input/output error".to_owned(),
    };
    assert!(!TuneJobsResult::new(&[1], runs(&[(1, "poll")]), Some(failed)).complete);
    let none = TuneJobsResult::new(&[1, 2], Vec::new(), None);
    assert!(none.provenance == Provenance::default() && !none.complete);
}
