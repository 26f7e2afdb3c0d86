use super::*;
use q2c_result::Machine;

/// Two jobs on one CPU each, a third one on four in the second phase, and a rule whose period is
/// 100 ms. The windows are at least 2 s long.
const TEXT: &str = r#"schema = "q2c.reproduce/2"
name = "ahead"
title = "What can be judged?"
setting = "nowhere"

[windows]
start = "0s..2s"

[[job]]
name = "reader"
method = "hybrid:mean:ratio=50%,period=100ms"

[[job]]
name = "other"
rest = true

[[phase]]
name = "alone"
length = "4s"

[[phase]]
name = "beside"
length = "4s"
set.other = { threads = 4 }

[[claim]]
says = "alone"
phase = "alone"
expect = "start.iops > 1"

[[claim]]
says = "beside four"
phase = "beside"
expect = "ratio(iops, alone) > 1"

[[claim]]
says = "with poll queues"
phase = "alone"
needs = { poll_queues = true }
expect = "iops > 1"

[[claim]]
says = "on a great machine"
phase = "alone"
needs = { cpus = 120, poll_queues = true }
expect = "iops > 1"
"#;

fn present(cpus: u32) -> Present {
    Present {
        cpus,
        machine: Machine::default(),
        poll_queues: None,
        ..Present::default()
    }
}

/// Number of claims that can be judged, and of those of which the target decides it.
fn counts(change: impl FnOnce(&mut Ahead<'_>, &mut String), cpus: u32) -> ListedExperiment {
    let present = present(cpus);
    let mut text = TEXT.to_owned();
    let mut ahead = Ahead {
        present: &present,
        target: false,
        no_capture: None,
        scale: 1.0,
        trials: None,
    };
    change(&mut ahead, &mut text);
    ahead.listed(&Experiment::parse(&text).unwrap())
}

fn both(of: &ListedExperiment) -> (u32, u32) {
    (of.judgeable, of.depend_on_target)
}

#[test]
fn claims_that_can_be_judged_are_counted() {
    let nothing = |_: &mut Ahead<'_>, _: &mut String| {};
    // Two CPUs are enough for the first claim, and five for the second.
    assert_eq!(both(&counts(nothing, 2)), (1, 1));
    assert_eq!(both(&counts(nothing, 5)), (2, 1));
    assert_eq!(both(&counts(nothing, 120)), (2, 2));
    // A target was looked at, and it has no poll queues.
    assert_eq!(both(&counts(|ahead, _| ahead.target = true, 120)), (2, 0));
    // At a hundredth the window of 2 s has 20 ms, where the rule needs 300 ms, and the phases of
    // 4 s have 40 ms.
    assert_eq!(both(&counts(|ahead, _| ahead.scale = 0.01, 120)), (0, 0));
    // The window of 2 s has 280 ms; a phase has 560 ms, 200 ms of which the rule begins in.
    assert_eq!(both(&counts(|ahead, _| ahead.scale = 0.14, 120)), (1, 2));
}

#[test]
fn needs_are_told_once_with_what_there_is() {
    let found = counts(|_, _| {}, 2);
    let told = |need: &ListedNeed| (need.what, need.needed.clone(), need.met);
    assert_eq!(
        found.needs.iter().map(told).collect::<Vec<_>>(),
        [
            (NeedKind::Cpus, "120".to_owned(), Some(false)),
            (NeedKind::PollQueues, "yes".to_owned(), None),
        ]
    );
    assert_eq!(found.needs[0].present, "2");
    assert_eq!(found.needs[1].present, "depends on the target");
}

/// Two phases of 4 s, three trials, and what a trial needs for its begin.
#[test]
fn lengths_follow_scale_and_trials() {
    let length = |scale: f64, trials: u32| {
        let change = |ahead: &mut Ahead<'_>, _: &mut String| {
            (ahead.scale, ahead.trials) = (scale, Some(trials));
        };
        counts(change, 5).seconds.unwrap()
    };
    assert!((24.0..24.5).contains(&length(1.0, 3)), "{}", length(1.0, 3));
    assert!((2.4..2.9).contains(&length(0.1, 3)), "{}", length(0.1, 3));
}

#[test]
fn a_capture_that_is_refused_takes_every_claim_away() {
    let captured = |_: &mut Ahead<'_>, text: &mut String| {
        *text = text.replace(
            "setting = \"nowhere\"",
            "setting = \"nowhere\"\ncapture = true",
        );
    };
    assert_eq!(both(&counts(captured, 120)), (2, 2));
    let found = counts(
        |ahead, text| {
            captured(ahead, text);
            ahead.no_capture = Some("it was refused");
        },
        120,
    );
    assert_eq!(both(&found), (0, 0));
    let capture = found
        .needs
        .iter()
        .find(|need| need.what == NeedKind::Capture);
    assert_eq!(capture.unwrap().present, "it was refused");
}

/// Every built-in experiment lists what it needs without a target, and each of its claims that is
/// not lacking anything is one that the made-up trials give a figure.
#[test]
fn the_made_up_trials_have_every_figure() {
    let present = present(1000);
    let ahead = Ahead {
        present: &present,
        target: false,
        no_capture: None,
        scale: 1.0,
        trials: None,
    };
    for experiment in crate::file::all().unwrap() {
        for claim in ahead.claims(&experiment) {
            for expected in &claim.expects {
                let told = (&experiment.name, &expected.text, &expected.trials);
                assert!(expected.measured.is_some(), "{told:?}");
            }
        }
    }
}
