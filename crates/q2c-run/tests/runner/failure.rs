use crate::fake::{FakePlan, folder, hear, new_run, reopen, root, run, trials, warned};
use q2c_run::run_dir::RunState;
use q2c_run::runner::End;
use q2c_run::{CellError, Settings};
use std::fs;
use std::sync::atomic::AtomicBool;

fn settings() -> Settings {
    trials(3)
}

#[test]
fn a_failed_trial_is_recorded_and_the_run_goes_on() {
    let (_root, mut opened) = new_run();
    let path = opened.path().to_path_buf();
    let mut plan = FakePlan::new(3).script(|key, context| match (key, context.trial) {
        ("c1", 1) => Err(CellError::Trial("too few I/Os".to_owned())),
        _ => Ok(f64::from(context.trial)),
    });
    let summary = run(&mut plan, &settings(), &mut opened).unwrap();
    assert!(matches!(summary.end, End::Complete));
    assert_eq!(plan.ran.len(), 9);
    let outcomes: Vec<f64> = summary.cells[1].outcomes().copied().collect();
    assert_eq!(outcomes, [0.0, 2.0]);
    assert!(summary.cells[1].failures().eq(["too few I/Os"]));
    assert_eq!(warned(&summary), ["trials-failed"]);
    drop(opened);
    // A failed trial is finished and does not run again.
    let mut again = FakePlan::new(3);
    run(&mut again, &settings(), &mut reopen(&path)).unwrap();
    assert!(again.ran.is_empty());
}

/// Each cell has five trials. c0 goes well, c1 is late twice, and c2 is late once and then fails.
/// c3 fails twice, with reasons that differ only in their numbers.
fn given_up_plan() -> FakePlan {
    let plan = FakePlan::new(4).script(|key, context| match (key, context.trial) {
        ("c1", _) | ("c2", 0) => Ok(-1.0),
        ("c2", 1) => Err(CellError::Trial("it was lost".to_owned())),
        ("c3", n) => Err(CellError::Trial(format!("{n}.5 s without a CPU"))),
        _ => Ok(1.0),
    });
    FakePlan {
        invalid: |outcome| (*outcome < 0.0).then(|| "late".to_owned()),
        ..plan
    }
}

#[test]
fn what_is_invalid_from_the_start_gets_no_more_trials() {
    let (_root, mut opened) = new_run();
    let path = opened.path().to_path_buf();
    let five = Settings::default();
    let mut plan = given_up_plan();
    let no_cancel = AtomicBool::new(false);
    let (summary, heard) = hear(&mut plan, &five, &mut opened, &no_cancel);
    let summary = summary.unwrap();
    let trials: Vec<usize> = summary.cells.iter().map(|cell| cell.trials.len()).collect();
    assert_eq!(trials, [5, 2, 5, 2]);
    // The outcomes of c1 are still there.
    assert_eq!(summary.cells[1].outcomes().count(), 2);
    assert_eq!(summary.trials, 5);
    assert_eq!(warned(&summary), ["trials-failed", "trials-left-out"]);
    let message = &summary.warnings[1].found;
    assert!(message.starts_with("6 trials of 2 cells"), "{message}");
    for reason in ["cell c1 (late)", "cell c3 (0.5 s without a CPU)"] {
        assert!(message.contains(reason), "{message}");
    }
    let count = |start: &str| heard.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("cell c1: its first 2"), 1);
    assert_eq!(count("cell c2: its first 2"), 0);
    let with_total = heard.iter().rfind(|line| line.contains(" of 14,"));
    assert!(with_total.is_some(), "{heard:?}");
    drop(opened);
    // A resume decides like the session before, and --all-trials runs what is missing.
    let mut again = given_up_plan();
    run(&mut again, &five, &mut reopen(&path)).unwrap();
    assert!(again.ran.is_empty());
    let all_trials = Settings {
        all_trials: true,
        ..five
    };
    let mut resumed = given_up_plan();
    let summary = run(&mut resumed, &all_trials, &mut reopen(&path)).unwrap();
    assert_eq!(resumed.ran.len(), 6);
    assert_eq!(warned(&summary), ["trials-failed"]);
}

#[test]
fn two_trials_that_were_asked_for_are_no_trials_left_out() {
    let no_cancel = AtomicBool::new(false);
    let mut plan = given_up_plan();
    let (summary, heard) = hear(&mut plan, &trials(2), &mut folder(&root()), &no_cancel);
    assert_eq!(warned(&summary.unwrap()), ["trials-failed"]);
    let left_out = heard.iter().any(|line| line.contains("left out"));
    assert!(!left_out, "{heard:?}");
}

#[test]
fn a_cell_that_cannot_run_is_tried_once() {
    let (_root, mut opened) = new_run();
    const REASON: &str = "the kernel has no hybrid polling";
    let mut plan = FakePlan::new(3).script(|key, _| match key {
        "c2" => Err(CellError::Cell(REASON.to_owned())),
        _ => Ok(1.0),
    });
    let no_cancel = AtomicBool::new(false);
    let (summary, heard) = hear(&mut plan, &settings(), &mut opened, &no_cancel);
    let summary = summary.unwrap();
    let c2 = plan.ran.iter().filter(|name| name.starts_with("c2"));
    assert_eq!(c2.count(), 1);
    assert_eq!((plan.ran.len(), summary.trials), (7, 3));
    assert_eq!(warned(&summary), ["cells-impossible"]);
    assert!(heard.iter().any(|line| line.contains("no hybrid polling")));
    let mut again = FakePlan::new(3);
    run(&mut again, &settings(), &mut opened).unwrap();
    assert!(again.ran.is_empty());
}

#[test]
fn a_dying_device_stops_the_run_and_its_trial_is_tried_again() {
    let (_root, mut opened) = new_run();
    let path = opened.path().to_path_buf();
    let mut count = 0;
    let mut plan = FakePlan::new(3).script(move |_, context| {
        count += 1;
        context.notes.push("one remark".to_owned());
        match count {
            5 => Err(CellError::Abort("input/output error at 4096".into())),
            _ => Ok(1.0),
        }
    });
    let summary = run(&mut plan, &settings(), &mut opened).unwrap();
    let End::Aborted {
        label,
        trial,
        error,
    } = &summary.end
    else {
        panic!("expected an abort, found {:?}", summary.end);
    };
    assert_eq!(format!("{label}/{trial}"), format!("cell {}", plan.ran[4]));
    assert_eq!(error.to_string(), "input/output error at 4096");
    assert_eq!(plan.ran.len(), 5);
    assert_eq!(opened.record().state, RunState::Interrupted);
    let log = fs::read_to_string(path.join("log.txt")).unwrap();
    assert_eq!(log.matches("one remark").count(), 5);
    drop(opened);
    let mut resumed = FakePlan::new(3);
    run(&mut resumed, &settings(), &mut reopen(&path)).unwrap();
    assert_eq!(resumed.ran.len(), 5);
    assert_eq!(resumed.ran[0], plan.ran[4]);
}

#[test]
fn an_outcome_that_json_loses_is_refused_at_once() {
    let (_root, mut opened) = new_run();
    let mut plan = FakePlan::new(3).script(|_, _| Ok(f64::NAN));
    let refused = run(&mut plan, &settings(), &mut opened).unwrap_err();
    let text = refused.message();
    assert!(text.starts_with("record trial 0 of "), "{text}");
    assert_eq!(plan.ran.len(), 1);
    assert_eq!(fs::read(opened.path().join("cells.jsonl")).unwrap(), b"");
}

proptest::proptest! {
    #[test]
    fn any_finite_outcome_comes_back_bit_for_bit(bits: u64) {
        let value = f64::from_bits(bits);
        proptest::prop_assume!(value.is_finite());
        let (_root, mut opened) = new_run();
        let mut plan = FakePlan::new(1).script(move |_, _| Ok(value));
        run(&mut plan, &trials(1), &mut opened).unwrap();
        let again = run(&mut FakePlan::new(1), &trials(1), &mut opened).unwrap();
        let back: Vec<u64> = again.cells[0].outcomes().map(|x| x.to_bits()).collect();
        proptest::prop_assert_eq!(back, [bits]);
    }
}
