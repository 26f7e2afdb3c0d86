use crate::fake::{
    FakePlan, folder, hear, identity, new_run, precision, reopen, root, run, trials,
};
use q2c_model::Exit;
use q2c_run::run_dir::{RunDir, Status};
use q2c_run::runner::progress::SilentProgress;
use q2c_run::runner::{End, Entry};
use q2c_run::{CellError, CellPlan, Context, Plan, RunState, Runner, Settings};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn settings() -> Settings {
    Settings {
        seed: 5,
        ..trials(2)
    }
}

fn entries(folder: &RunDir) -> Vec<Entry<u32, f64>> {
    folder.entries().unwrap()
}

/// Names of the journaled trials, in the form of [`FakePlan::ran`].
fn names(entries: &[Entry<u32, f64>]) -> Vec<String> {
    let name = |e: &Entry<u32, f64>| format!("{}/{}", e.key, e.trial);
    entries.iter().map(name).collect()
}

/// Copies the folder of a complete run to `path` without its journal. Returns journal and trials.
fn whole_run(path: &Path) -> (Vec<u8>, Vec<Entry<u32, f64>>) {
    let (_root, mut folder) = new_run();
    run(&mut FakePlan::new(3), &settings(), &mut folder).unwrap();
    let entries = entries(&folder);
    assert_eq!(entries.len(), 6);
    fs::create_dir(path).unwrap();
    for name in ["state.json", "plan.toml", "log.txt"] {
        fs::copy(folder.path().join(name), path.join(name)).unwrap();
    }
    let journal = fs::read(folder.path().join("cells.jsonl"));
    (journal.unwrap(), entries)
}

#[test]
fn a_crash_at_every_byte_loses_no_finished_trial_and_repeats_none() {
    let root = root();
    let path = root.path().join("crashed");
    let (text, all_entries) = whole_run(&path);
    let order = names(&all_entries);
    let state = fs::read(path.join("state.json")).unwrap();
    for at in 0..=text.len() {
        fs::write(path.join("state.json"), &state).unwrap();
        fs::write(path.join("cells.jsonl"), &text[..at]).unwrap();
        let finished = text[..at].iter().filter(|&&byte| byte == b'\n').count();

        let mut folder = reopen(&path);
        assert_eq!(entries(&folder), all_entries[..finished]);
        let mut plan = FakePlan::new(3);
        let summary = run(&mut plan, &settings(), &mut folder).unwrap();
        assert_eq!(plan.ran, order[finished..], "cut at byte {at}");
        assert_eq!(names(&entries(&folder)), order);
        assert_eq!(entries(&folder)[..finished], all_entries[..finished]);
        assert_eq!(summary.trials, 2);
        // A trial's seed is the same in every session, and an outcome read back is equal to the
        // last bit.
        for entry in &all_entries {
            let cell = &summary.cells[entry.cell as usize];
            let again = cell.trials[entry.trial as usize].result.ok();
            assert_eq!(again, entry.result.ok());
        }
    }
}

#[test]
fn cancel_in_the_middle_keeps_finished_trials_and_resume_runs_the_rest() {
    let order = {
        let mut plan = FakePlan::new(4);
        run(&mut plan, &settings(), &mut folder(&root())).unwrap();
        plan.ran
    };
    // A signal arrives at the n-th trial. The trial either sees it and stops, or ends just before.
    for (at, sees_it) in (0..8).flat_map(|at| [(at, true), (at, false)]) {
        let (_root, mut first) = new_run();
        let path = first.path().to_path_buf();
        let cancel = Arc::new(AtomicBool::new(false));
        let (flag, mut count) = (cancel.clone(), 0);
        let mut plan = FakePlan::new(4).script(move |_, context| {
            count += 1;
            flag.fetch_or(count == at + 1, Ordering::Relaxed);
            if context.cancelled() && sees_it {
                Err(CellError::Cancelled)
            } else {
                Ok(1.0)
            }
        });
        let summary = hear(&mut plan, &settings(), &mut first, &cancel).0.unwrap();
        let kept = at + usize::from(!sees_it);
        assert_eq!(names(&entries(&first)), order[..kept]);
        assert_eq!(plan.ran, order[..=at]);
        // After the last trial there is nothing left to cancel.
        let complete = at == 7 && !sees_it;
        assert_eq!(matches!(summary.end, End::Complete), complete);
        let state = if complete {
            RunState::Running
        } else {
            RunState::Interrupted
        };
        assert_eq!(first.record().state, state);
        first.finish(summary.state()).unwrap();
        if complete {
            assert_eq!(RunDir::inspect(&path).unwrap().1, Status::Complete);
            continue;
        }
        assert_eq!(RunDir::inspect(&path).unwrap().1, Status::Interrupted);
        let mut plan = FakePlan::new(4);
        run(&mut plan, &settings(), &mut reopen(&path)).unwrap();
        assert_eq!(plan.ran, order[kept..]);
    }
}

#[test]
fn a_panic_in_a_trial_leaves_an_interrupted_run_with_its_trials() {
    let (_root, mut opened) = new_run();
    let path = opened.path().to_path_buf();
    let mut count = 0;
    let mut plan = FakePlan::new(4).script(move |_, _| {
        count += 1;
        assert!(count < 4, "a fault in the plan");
        Ok(1.0)
    });
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        run(&mut plan, &settings(), &mut opened).map(|_| ())
    }));
    assert!(panicked.is_err());
    assert_eq!(RunDir::inspect(&path).unwrap().1, Status::Interrupted);
    assert_eq!(entries(&reopen(&path)).len(), 3);
}

#[test]
fn extra_rounds_resume_where_they_stopped() {
    let settings = Settings {
        precision: precision(0.02, 12),
        ..settings()
    };
    let plan = || {
        FakePlan::new(3).script(|key, context| match (key, context.trial) {
            ("c1", 3) => Ok(150.0),
            ("c2", odd) if odd % 2 == 1 => Ok(200.0),
            _ => Ok(100.0),
        })
    };
    let (_root, mut first) = new_run();
    let mut whole = plan();
    run(&mut whole, &settings, &mut first).unwrap();
    // Five trials are the fewest with an interval, whatever number was requested.
    assert_eq!(whole.ran.len(), 5 + 9 + 12);
    let path = first.path().to_path_buf();
    drop(first);
    let text = fs::read(path.join("cells.jsonl")).unwrap();
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    for kept in 0..=lines.len() {
        fs::write(path.join("cells.jsonl"), lines[..kept].concat()).unwrap();
        let mut resumed = plan();
        run(&mut resumed, &settings, &mut reopen(&path)).unwrap();
        assert_eq!(resumed.ran, whole.ran[kept..], "{kept} lines kept");
    }
}

#[test]
fn a_journal_of_another_plan_is_refused_by_key() {
    let (_root, mut first) = new_run();
    run(&mut FakePlan::new(3), &settings(), &mut first).unwrap();
    let mut smaller = FakePlan::new(2);
    let refused = run(&mut smaller, &settings(), &mut first).unwrap_err();
    assert_eq!(refused.exit(), Exit::Input);
    assert!(refused.message().contains("cell \"c2\""), "{refused}");
    assert!(smaller.ran.is_empty());

    let path = first.path().to_path_buf();
    drop(first);
    let text = fs::read_to_string(path.join("cells.jsonl")).unwrap();
    let other = text.replace("\"cell\":1,", "\"cell\":7,");
    assert_ne!(text, other);
    fs::write(path.join("cells.jsonl"), other).unwrap();
    let (mut changed, _) = RunDir::resume(&path, &identity()).unwrap();
    let refused = run(&mut FakePlan::new(3), &settings(), &mut changed).unwrap_err();
    assert!(refused.to_string().contains("was 7, is 1"), "{refused}");
}

/// A second plan in the same folder runs only its own cells. Neither plan is disturbed by the
/// entries of the other when it is run again.
#[test]
fn plans_that_follow_each_other_leave_each_others_trials_alone() {
    let (_root, mut folder) = new_run();
    let round = |keys| FakePlan {
        keys,
        ..FakePlan::new(2)
    };
    for keys in ["0/", "1/"] {
        let mut plan = round(keys);
        run(&mut plan, &settings(), &mut folder).unwrap();
        assert_eq!(plan.ran.len(), 4, "{:?}", plan.ran);
    }
    for keys in ["0/", "1/"] {
        let mut again = round(keys);
        let summary = run(&mut again, &settings(), &mut folder).unwrap();
        assert!(again.ran.is_empty(), "{:?}", again.ran);
        for cell in &summary.cells {
            assert!(cell.plan.key.starts_with(keys) && cell.trials.len() == 2);
        }
    }
}

/// A plan whose outcomes are texts, with keys of its own.
struct Texts;

impl Plan for Texts {
    type Cell = String;
    type Outcome = Vec<String>;
    const UNIT: &'static str = "s";

    fn cells(&self) -> Vec<CellPlan<String>> {
        vec![CellPlan {
            key: "t0".to_owned(),
            label: "texts".to_owned(),
            seconds: 1.0,
            cell: "of texts".to_owned(),
        }]
    }

    fn owns(&self, key: &str) -> bool {
        key.starts_with('t')
    }

    fn metric(&self, texts: &Vec<String>) -> f64 {
        texts.len() as f64
    }

    fn run(&mut self, _: &CellPlan<String>, _: &mut Context<'_>) -> Result<Vec<String>, CellError> {
        Ok(vec!["a".to_owned(), "b".to_owned()])
    }
}

/// A second plan whose cells and outcomes are of other types runs in the folder of the first, and a
/// resume finds the trials of both.
#[test]
fn plans_of_other_types_follow_each_other_in_one_folder() {
    let (_root, mut folder) = new_run();
    let numbers = || FakePlan {
        keys: "n",
        ..FakePlan::new(2)
    };
    for session in ["first", "resumed"] {
        let mut first = numbers();
        let clock = first.clock.clone();
        let summary = run(&mut first, &settings(), &mut folder).unwrap();
        let fresh = if session == "first" { 4 } else { 0 };
        assert_eq!((first.ran.len(), summary.trials), (fresh, 2), "{session}");
        let mut runner = Runner {
            settings: &settings(),
            cancel: &AtomicBool::new(false),
            clock: &clock,
            progress: &mut SilentProgress,
        };
        let summary = runner.run(&mut Texts, &mut folder).unwrap();
        let outcomes: Vec<&Vec<String>> = summary.cells[0].outcomes().collect();
        assert_eq!(outcomes, [&["a", "b"], &["a", "b"]], "{session}");
    }
}
