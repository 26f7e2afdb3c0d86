use super::*;
use q2c_model::replay::{Count, Idle, Writes};
use q2c_model::stats::Interval;
use q2c_result::Target;
use q2c_result::replay::Flaw;

pub(crate) fn device(path: &str, issued: u64) -> DeviceRun {
    let trial = ReplayTrial {
        issued,
        bytes: issued * 4096,
        idle_share: 0.5,
        valid: true,
        ..ReplayTrial::default()
    };
    DeviceRun {
        target: Target {
            path: path.to_owned(),
            ..Target::default()
        },
        completion_s: Interval::from_samples(&[1.0; 5]),
        sum_u2c_s: Interval::from_samples(&[1.0; 5]),
        sum_u2c_intended_s: Interval::from_samples(&[1.0; 5]),
        sum_q2c_s: Some(Interval::from_samples(&[1.0; 5])),
        saturated: false,
        shown: Some(trial.clone()),
        trials: vec![trial.clone(), trial],
        failures: Vec::new(),
    }
}

/// The separation of `b` from `a` by the sum and by the completion time.
fn separations(ratio: Option<[f64; 3]>, separates: bool) -> [Separation; 2] {
    [CompareMetric::SumQ2c, CompareMetric::CompletionTime].map(|metric| Separation {
        device: "b".to_owned(),
        with: "a".to_owned(),
        metric,
        ratio: ratio.map(|[ratio, low, high]| Ratio { ratio, low, high }),
        separates,
    })
}

const NEAR: Option<[f64; 3]> = Some([1.0, 0.9, 1.1]);
const FAR: Option<[f64; 3]> = Some([2.0, 1.5, 2.5]);

fn findings(runs: &[DeviceRun], separations: &[Separation]) -> Vec<CompareFinding> {
    let (job, facts) = (ReplayJob::default(), ReplayFacts::default());
    verdict(&job, &facts, runs, separations, CompareMetric::SumQ2c, None)
}

fn kinds(found: &[CompareFinding]) -> Vec<String> {
    let kind = |text: String| text.split(' ').next().unwrap_or_default().to_owned();
    let texts = found.iter().map(|finding| format!("{finding:?}"));
    texts.map(kind).collect()
}

#[test]
fn the_better_device_is_the_one_with_the_smaller_sum() {
    let runs = [device("a", 100), device("b", 100)];
    // The inverses of 2, 2.5 and 1.25 are 0.5, 0.4 and 0.8.
    for (ratio, device, than) in [([0.5, 0.4, 0.8], "b", "a"), ([2.0, 1.25, 2.5], "a", "b")] {
        let (ratio, low, high) = (Some(ratio), 0.4, 0.8);
        let better = CompareFinding::Better {
            device: device.to_owned(),
            than: than.to_owned(),
            metric: CompareMetric::SumQ2c,
            ratio: Ratio {
                ratio: 0.5,
                low,
                high,
            },
        };
        assert_eq!(findings(&runs, &separations(ratio, true))[0], better);
    }
}

#[test]
fn metrics_that_do_not_separate_say_why() {
    let runs = [device("a", 100), device("b", 100)];
    let near = separations(NEAR, false);
    let answer = findings(&runs, &near);
    assert_eq!(kinds(&answer), ["Alike", "TimeCannotTell"]);
    let halves = CompareFinding::TimeCannotTell {
        device: "b".to_owned(),
        with: "a".to_owned(),
        ratio: near[1].ratio.unwrap(),
        device_idle: 0.5,
        with_idle: 0.5,
    };
    assert_eq!(answer[1], halves);
    let answer = findings(&runs, &separations(None, false));
    assert_eq!(kinds(&answer), ["FewTrials", "FewTrials"]);
}

/// With two trials each, 2 of the 6 orders of two equal devices separate them.
#[test]
fn few_trials_and_one_disk_are_told_beside_the_answer() {
    let mut runs = [device("a", 100), device("b", 100)];
    for run in &mut runs {
        run.target.device = Some(q2c_result::Device {
            name: "vda".to_owned(),
            ..q2c_result::Device::default()
        });
    }
    let apart = separations(FAR, true);
    let answer = findings(&runs, &apart);
    assert_eq!(kinds(&answer), ["Better", "TimeSeparates", "OneDisk"]);
    runs[1].completion_s = Interval::from_samples(&[1.0; 2]);
    runs[1].target.device = None;
    let answer = findings(&runs, &apart);
    assert_eq!(kinds(&answer)[2..], ["FewToBeSure"]);
    let CompareFinding::FewToBeSure { trials, chance } = answer[2] else {
        unreachable!("it is the kind above");
    };
    assert_eq!((trials, (chance * 3.0).round()), (2, 1.0));
    assert_eq!(findings(&runs, &separations(NEAR, false)).len(), 2);
}

#[test]
fn completion_time_names_the_devices_that_the_trace_overloads() {
    let mut runs = [device("a", 100), device("b", 100)];
    runs[0].saturated = true;
    let pair = separations(FAR, true);
    let answer = findings(&runs, &pair);
    assert_eq!(kinds(&answer), ["Better", "TimeSeparates"]);
    let separates = CompareFinding::TimeSeparates {
        device: "b".to_owned(),
        with: "a".to_owned(),
        ratio: pair[1].ratio.unwrap(),
        sum_separates: true,
        overloaded: vec!["a".to_owned()],
    };
    assert_eq!(answer[1], separates);
}

#[test]
fn devices_that_did_other_work_are_not_compared() {
    let runs = [device("a", 200), device("b", 100)];
    let answer = findings(&runs, &separations(FAR, true));
    let work = |requests| WorkDone {
        requests,
        bytes: requests * 4096,
    };
    let differs = CompareFinding::WorkDiffers {
        device: "b".to_owned(),
        with: "a".to_owned(),
        did: work(100),
        with_did: work(200),
    };
    assert_eq!(answer, [differs]);
    // A difference of 1 % is allowed.
    assert_eq!(different_work(&device("b", 99), &device("a", 100)), None);
}

#[test]
fn an_outstanding_replay_tells_the_idle_time() {
    let job = ReplayJob {
        mode: Mode::Outstanding {
            count: Count::Requests,
            idle: Idle::Keep,
        },
        ..ReplayJob::default()
    };
    let runs = [device("a", 100), device("b", 100)];
    let pair = separations(NEAR, false);
    let (facts, off) = (ReplayFacts::default(), NotCaptured::NotAsked);
    let sum = CompareMetric::SumU2c;
    let answer = verdict(&job, &facts, &runs, &pair, sum, Some(&off));
    assert_eq!(kinds(&answer)[..2], ["Alike", "Alike"]);
    let idles = CompareFinding::TraceIdles {
        share: 0.0,
        idle: Idle::Keep,
    };
    // These devices have sums of Q2C, so there was a capture.
    let sums = CompareFinding::SumsOfU2c {
        some_have_q2c: true,
        not_captured: None,
    };
    assert_eq!(answer[2..], [idles, sums]);
}

#[test]
fn nothing_captured_has_a_reason_in_the_answer() {
    let mut runs = [device("a", 100), device("b", 100)];
    runs.iter_mut().for_each(|run| run.sum_q2c_s = None);
    let (job, facts) = (ReplayJob::default(), ReplayFacts::default());
    let not_captured = NotCaptured::Refused("failed to load it".to_owned());
    let sum = CompareMetric::SumU2c;
    let answer = verdict(&job, &facts, &runs, &[], sum, Some(&not_captured));
    let sums = CompareFinding::SumsOfU2c {
        some_have_q2c: false,
        not_captured: Some(not_captured),
    };
    assert_eq!(answer, [sums]);
}

/// Up to 1 % of the requests may have several terms, or none.
#[test]
fn a_sum_with_more_terms_than_requests_is_told() {
    let with = |excess| {
        let mut run = device("b", 400);
        run.shown.as_mut().unwrap().q2c_excess = excess;
        kinds(&findings(&[device("a", 400), run], &[]))
    };
    assert!(with(4).is_empty());
    assert_eq!(with(5), ["TermsDiffer"]);
    assert_eq!(with(-5), ["TermsDiffer"]);
}

#[test]
fn writes_that_were_not_written_are_told_whoever_left_them_out() {
    let job = ReplayJob {
        writes: Writes::Skip,
        ..ReplayJob::default()
    };
    let changed = |change, n| Changes::from([(change, n)]);
    let mut runs = [device("a", 100), device("b", 100)];
    assert_eq!(reads_only(&job, &runs, None), None);
    let profile = Profile {
        device: "a".to_owned(),
        invalid: Vec::new(),
        changed: changed(Change::WriteLeftOut, 9),
    };
    let left_out = |writes| CompareFinding::ReadsOnly {
        writes,
        treatment: Writes::Skip,
    };
    assert_eq!(reads_only(&job, &runs, Some(&profile)), Some(left_out(9)));
    runs[1].shown.as_mut().unwrap().changed = changed(Change::WriteLeftOut, 12);
    assert_eq!(reads_only(&job, &runs, None), Some(left_out(12)));
    runs[1].shown.as_mut().unwrap().changed = changed(Change::Modulo, 12);
    assert_eq!(reads_only(&job, &runs, None), None);
}

#[test]
fn a_device_without_a_valid_trial_has_a_reason() {
    let stopped = ReplayTrial {
        invalid: vec![Flaw::Stopped],
        ..ReplayTrial::default()
    };
    let [broke, again] = ["it broke", "again"].map(str::to_owned);
    let failed = NoValidReason::Failed(broke.clone());
    let invalid = NoValidReason::Invalid(Flaw::Stopped);
    for (trials, failures, why) in [
        (vec![stopped], vec![broke.clone()], invalid),
        (Vec::new(), vec![broke, again], failed),
        (Vec::new(), Vec::new(), NoValidReason::NotRun),
    ] {
        let run = DeviceRun {
            completion_s: Interval::default(),
            shown: None,
            trials,
            failures,
            ..device("b", 0)
        };
        let answer = findings(&[device("a", 100), run], &[]);
        let device = "b".to_owned();
        assert_eq!(answer, [CompareFinding::NoValidTrial { device, why }]);
    }
}
