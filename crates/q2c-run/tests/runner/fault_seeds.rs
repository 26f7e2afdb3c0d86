//! Contracts of the runner and its journal that hold at every seed. A seed gives a plan whose
//! trials fail in all ways. The run is cut at every event: at every line of the journal, and once
//! within each line, with what a crash may leave beside it.

use crate::fake::{FakePlan, folder, hear, identity, precision, reopen, root};
use q2c_model::stats::Rng;
use q2c_run::run_dir::RunDir;
use q2c_run::runner::{Entry, TrialResult};
use q2c_run::{CellError, Settings};
use q2c_testkit::for_each_seed;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const JOURNAL: &str = "cells.jsonl";

/// The plan of a seed. An outcome is a function of the seed, the cell and the trial.
fn seeded_plan(seed: u64) -> FakePlan {
    let cells = 1 + Rng::new(seed).below(4) as u32;
    let plan = FakePlan::new(cells).script(move |key, context| {
        let cell: u64 = key[1..].parse().expect("c and a number");
        let rng = &mut Rng::new(seed ^ (cell + 1) << 40 ^ u64::from(context.trial + 1) << 20);
        match rng.below(12) {
            0 => Err(CellError::Trial(format!("{} I/Os were lost", rng.below(9)))),
            1 if rng.below(3) == 0 => Err(CellError::Cell("it is not there".to_owned())),
            2 => Ok(f64::from_bits(context.seed >> 2)),
            _ => Ok(context.seed as f64 / 3.0),
        }
    });
    FakePlan {
        invalid: |outcome| (*outcome < 1.0).then(|| "too small".to_owned()),
        ..plan
    }
}

fn seeded_settings(seed: u64) -> Settings {
    let rng = &mut Rng::new(!seed);
    Settings {
        seed,
        trials: 1 + rng.below(3) as u32,
        all_trials: rng.below(4) == 0,
        precision: precision(0.5, 6).filter(|_| rng.below(4) == 0),
        ..Settings::default()
    }
}

type TrialFact = (String, u32, TrialResult<f64>);

/// Key, number and result of each journaled trial, in the order of the journal.
fn trials(folder: &RunDir) -> Vec<TrialFact> {
    let entries: Vec<Entry<u32, f64>> = folder.entries().expect("a sound journal");
    entries
        .into_iter()
        .map(|e| (e.key, e.trial, e.result))
        .collect()
}

/// Runs a session that is cancelled before its second trial, or to the end if `whole`. Returns the
/// trials that it ran.
fn run_session(seed: u64, folder: &mut RunDir, whole: bool) -> Vec<String> {
    let cancel = Arc::new(AtomicBool::new(false));
    let (flag, mut plan) = (cancel.clone(), seeded_plan(seed));
    let mut script = std::mem::replace(&mut plan.script, Box::new(|_, _| Ok(0.0)));
    let mut plan = plan.script(move |key, context| {
        flag.store(!whole, Ordering::Relaxed);
        script(key, context)
    });
    let (summary, _) = hear(&mut plan, &seeded_settings(seed), folder, &cancel);
    summary.expect("a run that can be done");
    plan.ran
}

/// Leaves the folder as a crash would: the state says running, the last line of the journal is torn
/// to its first `kept` bytes, and a file that was being written is there.
fn crash(path: &Path, running_state: &[u8], lines: usize, kept: impl Fn(usize) -> usize) {
    let text = fs::read(path.join(JOURNAL)).expect("the journal");
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let ends: Vec<usize> = ends.map(|(at, _)| at + 1).collect();
    let begin = lines.checked_sub(1).map_or(0, |line| ends[line]);
    let torn = ends.get(lines).map_or(0, |end| kept(end - begin));
    fs::write(path.join(JOURNAL), &text[..begin + torn]).expect("the journal");
    fs::write(path.join("state.json"), running_state).expect("the state");
    fs::write(
        path.join(".state.json.tmp"),
        &running_state[..torn.min(running_state.len())],
    )
    .expect("the file beside it");
}

/// One folder is cut at every event in turn: each session finishes one trial, whose line is then
/// torn, and which so runs again in the next session, together with one more.
fn check_seed(seed: u64) {
    let root = root();
    let mut whole = folder(&root);
    let order = run_session(seed, &mut whole, true);
    let wanted = trials(&whole);
    assert_eq!(order.len(), wanted.len(), "each trial is journaled once");
    let mut cut = folder(&root);
    let path = cut.path().to_path_buf();
    let running_state = fs::read(path.join("state.json")).expect("the state");
    let rng = &mut Rng::new(seed);
    for event in 0..order.len() {
        let torn_at = rng.next_u64() as usize;
        assert_eq!(run_session(seed, &mut cut, false), order[event..=event]);
        drop(cut);
        crash(&path, &running_state, event, |length| torn_at % length);
        cut = reopen(&path);
        assert_eq!(
            trials(&cut),
            wanted[..event],
            "nothing of the torn line counts"
        );
        assert_eq!(run_session(seed, &mut cut, false), order[event..=event]);
        assert_eq!(trials(&cut), wanted[..=event], "a finished trial stays");
    }
    assert_eq!(run_session(seed, &mut cut, true), Vec::<String>::new());
    assert_eq!(trials(&cut), wanted);
    // From any event on, one session does the rest.
    let event = rng.below(order.len() as u64) as usize;
    drop(cut);
    crash(&path, &running_state, event, |_| 0);
    let (mut cut, _) = RunDir::resume(&path, &identity()).expect("it can be resumed");
    assert_eq!(run_session(seed, &mut cut, true), order[event..]);
    assert_eq!(trials(&cut), wanted);
}

#[test]
fn a_run_cut_at_every_event_has_the_trials_of_the_whole_one() {
    for_each_seed("fault_seeds", check_seed);
}
