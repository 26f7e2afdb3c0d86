use super::*;
use q2c_engine::measure::PhaseStats;

fn rule(text: &str) -> LaneMethod {
    LaneMethod::Hybrid(text.parse().unwrap())
}

fn state() -> WatchState {
    let methods = vec![LaneMethod::Poll, rule("mean:50%,100ms"), rule("fixed:20us")];
    WatchState::new(methods, true)
}

const NEXT: Action = Action::Method { next: true };
const BACK: Action = Action::Method { next: false };

fn text_of(order: Option<WatchOrder>) -> String {
    match order {
        None => "nothing".to_owned(),
        Some(WatchOrder::Method(method)) => method.to_string(),
        Some(WatchOrder::Background(on)) => format!("background {on}"),
    }
}

fn second(order: Option<u64>, begin_s: u64) -> WorkloadInterval {
    WorkloadInterval {
        span: (begin_s * 1_000_000_000, (begin_s + 1) * 1_000_000_000),
        order,
        foreground: PhaseStats {
            lanes: 1,
            wall_ns: 1e9,
            ios: 10,
            latencies: vec![1.0; 8],
            ..PhaseStats::default()
        },
        ..WorkloadInterval::default()
    }
}

#[test]
fn the_list_goes_round() {
    let mut state = state();
    let names = [NEXT, NEXT, NEXT, BACK].map(|action| text_of(state.act(action)));
    let (mean, fixed) = (
        "hybrid:mean:ratio=50%,period=100ms",
        "hybrid:fixed:sleep=20us",
    );
    assert_eq!(names, [mean, fixed, "poll", fixed]);
    let mut alone = WatchState::new(vec![LaneMethod::Poll], false);
    assert_eq!(text_of(alone.act(NEXT)), "nothing");
}

#[test]
fn a_ratio_goes_in_steps_of_five_percent_within_its_range() {
    let ratio = |from: &str, up: bool, times: usize| {
        let mut state = WatchState::new(vec![rule(&format!("min:{from},10ms"))], false);
        (0..times).for_each(|_| drop(state.act(Action::Ratio { up })));
        let name = state.methods[0].to_string();
        let value = name.split(['=', ',']).nth(1).unwrap().to_owned();
        (value, state.note)
    };
    assert_eq!(ratio("50%", true, 1).0, "55%");
    assert_eq!(ratio("50%", false, 2).0, "40%");
    assert_eq!(ratio("52%", true, 1).0, "55%", "to the step beside it");
    assert_eq!(ratio("52%", false, 1).0, "50%");
    let (most, note) = ratio("85%", true, 9);
    assert_eq!(most.as_str(), "100%");
    assert_eq!(note.as_str(), "the ratio goes no further");
    assert_eq!(ratio("20%", false, 9).0, "5%", "0 % is no sleep");
}

#[test]
fn what_cannot_be_done_is_said_and_not_ordered() {
    let mut state = state();
    assert_eq!(text_of(state.act(Action::Ratio { up: true })), "nothing");
    assert_eq!(state.note, "this method has no ratio");
    state.act(BACK);
    assert_eq!(state.note, "", "a note lasts until the next key");
    assert_eq!(text_of(state.act(Action::Ratio { up: true })), "nothing");
    assert_eq!(state.note, "this rule has no ratio");
    let mut alone = WatchState::new(vec![LaneMethod::Poll], false);
    assert_eq!(text_of(alone.act(Action::Background)), "nothing");
    assert!(alone.note.contains("--background"));
}

/// Polling, then `mean`, which is ordered in the third second and in force from the fourth on. A
/// rule settles for two of its periods (200 ms here), and at least for 250 ms. So the first second
/// of `mean` does not count, and the others do.
#[test]
fn intervals_belong_to_the_method_in_force() {
    let mut state = state();
    (0..2).for_each(|s| state.add_interval(&second(Some(0), s)));
    state.act(NEXT).unwrap();
    state.note_order(1);
    let over = |state: &WatchState, ms| state.is_order_over(Nanos::from_millis(ms));
    assert!(!over(&state, 100), "the order is not in force yet");
    state.add_interval(&second(None, 2));
    (3..6).for_each(|s| state.add_interval(&second(Some(1), s)));
    assert!(over(&state, 3_000) && !over(&state, 3_001));
    assert_eq!(text_of(state.act(Action::Background)), "background false");
    state.note_order(2);
    state.add_interval(&second(Some(2), 6));
    let (methods, intervals, not_kept) = state.into_rows();
    assert_eq!(not_kept, 0);
    let rows = [Some(0), Some(0), None, Some(1), Some(1), Some(1), Some(2)];
    assert!(intervals.iter().map(|i| i.method).eq(rows));
    let settled = [true, true, false, false, true, true, false];
    assert!(intervals.iter().map(|i| i.settled).eq(settled));
    let row = |m: &WatchMethod| (m.method.to_string(), m.background, m.intervals, m.settling);
    let rows: Vec<_> = methods.iter().map(row).collect();
    let [poll, mean] = ["poll", "hybrid:mean:ratio=50%,period=100ms"].map(str::to_owned);
    let second = (mean.clone(), true, 2, 1);
    assert_eq!(rows, [(poll, true, 2, 0), second, (mean, false, 0, 1)]);
    let ten = |i: &WatchInterval| i.unrecorded == 2 && i.numbers.rates.iops == Some(10.0);
    assert!(intervals.iter().all(ten));
    assert_eq!((intervals[4].end_s, intervals[4].length_s), (5.0, 1.0));
}

#[test]
fn a_line_has_the_name_of_its_method() {
    let mut state = state();
    assert!(state.line().is_none());
    state.add_interval(&second(Some(0), 0));
    let line = state.line().unwrap();
    let name = line.method_name.map(|method| method.to_string());
    assert_eq!(name.as_deref(), Some("poll"));
    assert_eq!(line.background, Some(true));
    assert_eq!((line.counts.ios, line.latency.ios), (10, 8));
    assert_eq!(Some(&line.interval), state.last_interval());
    state.add_interval(&second(None, 1));
    let line = state.line().unwrap();
    assert_eq!((line.method_name, line.background), (None, None));
}

#[test]
fn a_paused_screen_stands_still_and_nothing_is_lost() {
    let mut state = state();
    (0..3).for_each(|s| state.add_interval(&second(Some(0), s)));
    state.act(Action::Pause);
    (3..5).for_each(|s| state.add_interval(&second(Some(0), s)));
    assert!(state.is_paused());
    assert_eq!(state.shown(99).intervals.len(), 3);
    state.act(Action::Pause);
    assert_eq!(state.shown(99).intervals.len(), 5);
    let two = state.shown(2);
    assert_eq!((two.first_number, two.intervals.len()), (3, 2));
    assert_eq!(state.into_rows().1.len(), 5);
}

#[test]
fn a_long_watch_forgets_its_older_half() {
    let mut state = state();
    (0..=MAX_INTERVALS as u64).for_each(|s| state.add_interval(&second(Some(0), s)));
    assert_eq!(state.shown(1).first_number, MAX_INTERVALS as u64);
    let (methods, intervals, not_kept) = state.into_rows();
    assert_eq!(
        (intervals.len(), not_kept),
        (MAX_INTERVALS / 2 + 1, MAX_INTERVALS as u64 / 2)
    );
    assert_eq!(methods[0].intervals, MAX_INTERVALS as u64 / 2 + 1);
}
