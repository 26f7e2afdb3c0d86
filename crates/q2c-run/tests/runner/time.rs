use crate::fake::{FakePlan, folder, hear, new_run, reopen, root, run, trials, warned};
use q2c_run::Settings;
use q2c_run::runner::Forecast;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn capped(seconds: u64) -> Settings {
    Settings {
        budget: Some(Duration::from_secs(seconds)),
        ..Settings::default()
    }
}

#[test]
fn the_forecast_by_hand() {
    // 4 cells x 5 trials x 10 s.
    let plan = FakePlan::new(4);
    let figures = |forecast: &Forecast| (forecast.trials, forecast.seconds, forecast.fits);
    let forecast = Forecast::from_plan(&plan, &Settings::default()).unwrap();
    assert_eq!(figures(&forecast), (5, 200.0, true));
    assert_eq!(forecast.to_string(), "4 cells x 5 trials: about 3 min 20 s");

    // 3 rounds take 120 s; 4 rounds would take 160 s.
    let forecast = Forecast::from_plan(&plan, &capped(159)).unwrap();
    assert_eq!(figures(&forecast), (3, 120.0, true));
    let text = "4 cells x 3 trials (5 asked): about 2 min 00 s, budget 2 min 39 s";
    assert_eq!(forecast.to_string(), text);
    assert_eq!(Forecast::from_plan(&plan, &capped(160)).unwrap().trials, 4);

    let forecast = Forecast::from_plan(&plan, &capped(1)).unwrap();
    assert_eq!(figures(&forecast), (1, 40.0, false));
}

#[test]
fn a_budget_cuts_whole_rounds_and_says_so_before_and_after() {
    let mut plan = FakePlan::new(4).script(|_, _| Ok(1.0));
    let no_cancel = AtomicBool::new(false);
    let (summary, heard) = hear(&mut plan, &capped(159), &mut folder(&root()), &no_cancel);
    let summary = summary.unwrap();
    let message = "4 cells x 3 trials (5 asked)";
    assert!(heard[0].starts_with(message), "{heard:?}");
    assert!(summary.cells.iter().all(|cell| cell.trials.len() == 3));
    assert_eq!(summary.trials, 3);
    assert_eq!(warned(&summary), ["trials-cut"]);
    let message = "3 trials per cell instead of 5: the budget is 2 min 39 s";
    assert_eq!(summary.warnings[0].found, message);
    // Five rounds take 200 s, which is 41 s more than the budget.
    assert_eq!(summary.warnings[0].todo, "raise the budget by 41 s");
    assert!(heard.contains(&summary.warnings[0].found));
    assert_eq!(plan.ran.len(), 12);
}

#[test]
fn one_round_runs_even_when_none_fits() {
    let mut plan = FakePlan::new(4);
    let no_cancel = AtomicBool::new(false);
    let (summary, heard) = hear(&mut plan, &capped(5), &mut folder(&root()), &no_cancel);
    assert_eq!(plan.ran.len(), 4);
    let message = "more than the budget of 5.0 s";
    assert!(heard[0].contains(message), "{heard:?}");
    assert_eq!(warned(&summary.unwrap()), ["trials-cut", "over-budget"]);
}

#[test]
fn the_cut_follows_the_times_seen() {
    let trials = |planned_s: f64, real_s: f64| {
        let mut plan = FakePlan::new(4);
        (plan.planned_s, plan.real_s) = (planned_s, real_s);
        let summary = run(&mut plan, &capped(130), &mut folder(&root()));
        summary.unwrap().trials
    };
    // Rounds of 40 s are planned, of which three fit. Trials twice as fast as planned make rounds
    // of 20 s, of which five fit; twice as slow ones make rounds of 80 s, of which one fits.
    assert_eq!(trials(10.0, 10.0), 3);
    assert_eq!(trials(10.0, 5.0), 5);
    assert_eq!(trials(10.0, 20.0), 1);
}

#[test]
fn the_time_left_is_refined_by_what_trials_take() {
    let root = root();
    let mut plan = FakePlan::new(4);
    plan.real_s = 20.0;
    let no_cancel = AtomicBool::new(false);
    let (_, heard) = hear(&mut plan, &trials(1), &mut folder(&root), &no_cancel);
    assert_eq!(heard[0], "4 cells x 1 trial: about 40 s");
    let end = |line: &String| {
        let (_, position) = line.split_once(": took 20 s, ")?.1.split_once('(')?;
        Some(position.trim_end_matches(')').to_owned())
    };
    let ends: Vec<String> = heard.iter().filter_map(end).collect();
    let wanted = [
        "1 of 4, 1 min 00 s left",
        "2 of 4, 40 s left",
        "3 of 4, 20 s left",
        "4 of 4, 0.0 s left",
    ];
    assert_eq!(ends, wanted);
    assert_eq!(heard.last().unwrap(), "all trials done after 1 min 20 s");
}

#[test]
fn a_resumed_run_keeps_to_the_whole_runs_budget_and_ends_its_round() {
    // 4 cells of 10 s and a budget of 130 s: three rounds of 40 s fit. But the last two trials
    // before the stop take 30 s each, so that 140 s are then spent, 10 s above the budget. The
    // started round is still finished, and no other is started.
    let (_root, mut first) = new_run();
    let path = first.path().to_path_buf();
    let cancel = std::sync::Arc::new(AtomicBool::new(false));
    let mut plan = FakePlan::new(4);
    let (flag, clock, mut count) = (cancel.clone(), plan.clock.clone(), 0);
    plan = plan.script(move |_, _| {
        count += 1;
        clock.pass(if count > 8 { 20.0 } else { 0.0 });
        flag.store(count == 10, Ordering::Relaxed);
        Ok(1.0)
    });
    let (summary, _) = hear(&mut plan, &capped(130), &mut first, &cancel);
    let summary = summary.unwrap();
    assert_eq!((plan.ran.len(), summary.seconds), (10, 140.0));
    drop(first);
    let mut resumed = FakePlan::new(4);
    let summary = run(&mut resumed, &capped(130), &mut reopen(&path)).unwrap();
    assert_eq!((resumed.ran.len(), summary.trials), (2, 3));
    assert_eq!(summary.seconds, 160.0);
    assert_eq!(warned(&summary), ["trials-cut", "over-budget"]);
}
