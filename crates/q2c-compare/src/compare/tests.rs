use super::*;
use crate::verdict::tests::device;
use q2c_model::replay::Writes;

/// A comparison of `b` with `a` whose sums have this ratio; `None` means too few trials.
fn comparison_of_b(ratio: Option<f64>, separates: bool, work: [u64; 2]) -> Comparison {
    let by = |metric, ratio: Option<f64>| Separation {
        device: "b".to_owned(),
        with: "a".to_owned(),
        metric,
        ratio: ratio.map(|ratio| Ratio {
            ratio,
            low: ratio,
            high: ratio,
        }),
        separates,
    };
    let contrary = ratio.map(|ratio| 1.0 / ratio);
    Comparison {
        job: Default::default(),
        trace: Default::default(),
        profile: None,
        devices: vec![device("a", work[0]), device("b", work[1])],
        sum: CompareMetric::SumQ2c,
        // The times contradict the sums, and must not count.
        separations: vec![
            by(CompareMetric::SumQ2c, ratio),
            by(CompareMetric::CompletionTime, contrary),
        ],
        verdict: Vec::new(),
    }
}

#[test]
fn comparisons_are_counted_by_the_answer_of_their_sums() {
    let same_work = [100, 100];
    let by_u2c = Comparison {
        sum: CompareMetric::SumU2c,
        verdict: vec![CompareFinding::ReadsOnly {
            writes: 3,
            treatment: Writes::Skip,
        }],
        ..comparison_of_b(Some(0.5), true, same_work)
    };
    let comparisons = [
        by_u2c,
        comparison_of_b(Some(0.9), true, same_work),
        comparison_of_b(Some(2.0), true, same_work),
        comparison_of_b(Some(0.5), false, same_work),
        comparison_of_b(None, false, same_work),
        comparison_of_b(Some(0.5), false, [100, 200]),
    ];
    let counted = Overall {
        device: "b".to_owned(),
        with: "a".to_owned(),
        better: 2,
        worse: 1,
        alike: 1,
        unknown: 2,
        by_u2c: 1,
        reads_only: 1,
    };
    assert_eq!(overall(&comparisons), [counted]);
    assert_eq!(overall(&comparisons[..1]), []);
}

#[test]
fn warnings_name_the_trials_that_they_hold_for() {
    let warning = |finding: &str| {
        let is_of_trace = finding == "of the trace";
        let id = if is_of_trace { "taken" } else { "capture-lost" };
        Warning::new(id, finding.to_owned(), "", "")
    };
    let trial = |key: &str, findings: [&str; 2]| (key.to_owned(), findings.map(warning).to_vec());
    let warnings = merge_warnings(vec![
        trial("t, timed on a", ["of the trace", "873 are missing"]),
        trial("t, timed on b", ["of the trace", "482 are missing"]),
        trial("t, outstanding on a", ["of the trace", "482 are missing"]),
    ]);
    let findings: Vec<String> = warnings.into_iter().map(|warning| warning.found).collect();
    let wanted = [
        "of the trace",
        "t, timed on a: 873 are missing; t, timed on b and t, outstanding on a: 482 are missing",
    ];
    assert_eq!(findings, wanted);
}
