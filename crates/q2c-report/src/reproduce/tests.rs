use super::*;
use crate::Reported;
use crate::terminal::Screen;
use q2c_result::Machine;
use q2c_result::reproduce::{FailedTrial, SCHEMA, TrialsJudged, WhyNot};
use q2c_stats::Interval;

/// A result with one claim, judged from the first, second and fifth of five trials.
fn partly_judged() -> ReproduceResult {
    let failed = |trial| FailedTrial {
        trial,
        why: WhyNot::Told("the disk was gone".to_owned()),
    };
    let expected = Expected {
        text: "fast.iops > slow.iops".to_owned(),
        measured: Some(Interval::of(&[300.0, 400.0, 500.0])),
        right: Some(Interval::of(&[100.0, 150.0, 200.0])),
        unit: String::new(),
        trials: TrialsJudged {
            judged: 3,
            asked: 5,
            left_out: vec![failed(2), failed(3)],
        },
        verdict: Verdict::Holds,
    };
    ReproduceResult {
        schema: SCHEMA.to_owned(),
        version: "0".to_owned(),
        started_unix_s: 0,
        seconds: 1.0,
        complete: true,
        seed: 1,
        name: "small".to_owned(),
        title: "Is it so?".to_owned(),
        variant_of: None,
        setting: "nowhere".to_owned(),
        scale: 1.0,
        trials: 5,
        machine: Machine::default(),
        target: None,
        study: StudyKind::Jobs,
        devices: Vec::new(),
        jobs: Vec::new(),
        phases: Vec::new(),
        windows: Vec::new(),
        axes: Vec::new(),
        points: Vec::new(),
        claims: vec![JudgedClaim {
            says: "it is so".to_owned(),
            published: None,
            read_as: None,
            verdict: Verdict::Holds,
            basis: Basis::Measured,
            expects: vec![expected],
            needs: Vec::new(),
            reasons: Vec::new(),
        }],
        charts: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The terminal, the page and the line among all experiments say how many trials there were, which
/// are missing, and what stands on the right side.
#[test]
fn a_claim_judged_from_some_trials_says_so_wherever_it_stands() {
    let result = partly_judged();
    let terminal = result.document().text(Screen::new(400, false));
    let page = result.document().page().unwrap();
    for text in [&terminal, &page] {
        for words in [
            "fast.iops 400 [300, 500] against slow.iops 150 [100, 200]",
            "from 3 of 5 trials (left out: trials 3, 4: the disk was gone)",
            "1 claim: 1 holds, 0 do not hold, 0 are undecided, 0 cannot be judged here",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    let line = line(&result);
    let figure = &line.claims[0].measured[0];
    assert_eq!((figure.over_trials.trials, figure.trials_asked), (3, 5));
    assert_eq!(figure.right.unwrap().median, 150.0);
    assert!(line.claims[0].why.contains("from 3 of 5 trials"));
    let json = serde_json::to_value(&result.claims[0].expects[0]).unwrap();
    assert_eq!(json["trials"]["judged"], 3);
    assert_eq!(json["trials"]["asked"], 5);
    assert_eq!(json["trials"]["left_out"][0]["trial"], 2);
}
