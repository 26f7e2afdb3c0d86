use super::*;

/// Two jobs use one CPU each, and a third one uses four in the second phase. A rule has a period of
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

fn lister(present: &Features) -> Lister<'_> {
    Lister {
        present,
        target: false,
        no_capture: None,
        scale: 1.0,
        trials: None,
    }
}

fn list_text(text: &str, cpus: u32, change: impl FnOnce(&mut Lister<'_>)) -> ListedExperiment {
    let present = Features {
        cpus,
        ..Features::default()
    };
    let mut lister = lister(&present);
    change(&mut lister);
    lister.list_entry(&Experiment::parse(text).unwrap())
}

/// Number of claims that can be judged, and number of those that depend on the target.
fn counts(cpus: u32, change: impl FnOnce(&mut Lister<'_>)) -> (u32, u32) {
    let listed = list_text(TEXT, cpus, change);
    (listed.judgeable, listed.depend_on_target)
}

#[test]
fn claims_that_can_be_judged_are_counted() {
    // Two CPUs are enough for the first claim, and five for the second.
    assert_eq!(counts(2, |_| ()), (1, 1));
    assert_eq!(counts(5, |_| ()), (2, 1));
    assert_eq!(counts(120, |_| ()), (2, 2));
    // A target was named, and it has no poll queues.
    assert_eq!(counts(120, |lister| lister.target = true), (2, 0));
    // At scale 0.01 the window of 2 s has 20 ms, but the rule needs 300 ms; the phases of 4 s have
    // 40 ms.
    assert_eq!(counts(120, |lister| lister.scale = 0.01), (0, 0));
    // The window of 2 s has 280 ms. A phase has 560 ms, of which the rule needs 200 ms to start.
    assert_eq!(counts(120, |lister| lister.scale = 0.14), (1, 2));
}

#[test]
fn needs_are_told_once_with_what_there_is() {
    let experiment = list_text(TEXT, 2, |_| ());
    let need = |need: &ListedNeed| {
        let texts = [&need.needed, &need.present].map(String::clone);
        (need.what, texts, need.met)
    };
    let cpus = ["120", "2"].map(str::to_owned);
    let queues = ["yes", "depends on the target"].map(str::to_owned);
    let wanted = [
        (NeedKind::Cpus, cpus, Some(false)),
        (NeedKind::PollQueues, queues, None),
    ];
    assert_eq!(
        experiment.needs.iter().map(need).collect::<Vec<_>>(),
        wanted
    );
}

/// Two phases of 4 s, three trials, and the time to start each trial.
#[test]
fn lengths_follow_scale_and_trials() {
    let length = |scale: f64| {
        let change = |lister: &mut Lister<'_>| (lister.scale, lister.trials) = (scale, Some(3));
        list_text(TEXT, 5, change).seconds.unwrap()
    };
    assert!((24.0..24.5).contains(&length(1.0)), "{}", length(1.0));
    assert!((2.4..2.9).contains(&length(0.1)), "{}", length(0.1));
}

#[test]
fn a_capture_that_is_refused_takes_every_claim_away() {
    let text = TEXT.replace("[windows]", "capture = true\n[windows]");
    let both = |experiment: &ListedExperiment| (experiment.judgeable, experiment.depend_on_target);
    // Without a target nobody knows what can be captured.
    assert_eq!(both(&list_text(&text, 120, |_| ())), (0, 4));
    let with_target = |lister: &mut Lister<'_>| lister.target = true;
    assert_eq!(both(&list_text(&text, 120, with_target)), (2, 0));
    let refused = |lister: &mut Lister<'_>| {
        (lister.target, lister.no_capture) = (true, Some("it was refused"));
    };
    let experiment = list_text(&text, 120, refused);
    assert_eq!(both(&experiment), (0, 0));
    let mut needs = experiment.needs.iter();
    let capture = needs.find(|need| need.what == NeedKind::Capture);
    assert_eq!(capture.unwrap().present, "it was refused");
}

/// The invented trials give a figure for each claim whose needs are met.
#[test]
fn the_made_up_trials_have_every_figure() {
    let present = Features {
        cpus: 1000,
        ..Features::default()
    };
    for experiment in crate::file::built_in_experiments().unwrap() {
        for claim in lister(&present).claims(&experiment) {
            for expected in &claim.expects {
                let details = (&experiment.name, &expected.text, &expected.trials);
                assert!(expected.measured.is_some(), "{details:?}");
            }
        }
    }
}
