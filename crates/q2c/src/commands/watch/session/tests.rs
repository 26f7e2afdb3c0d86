use super::*;
use q2c_engine::measure::PhaseStats;

fn rule(text: &str) -> LaneMethod {
    LaneMethod::Hybrid(text.parse().unwrap())
}

fn session() -> Session {
    let methods = vec![LaneMethod::Poll, rule("mean:50%,100ms"), rule("fixed:20us")];
    Session::new(methods, true)
}

const NEXT: Action = Action::Method { next: true };
const BACK: Action = Action::Method { next: false };

/// The order in words.
fn asked(order: Option<Order>) -> String {
    match order {
        None => "nothing".to_owned(),
        Some(Order::Method(method)) => method.to_string(),
        Some(Order::Background(on)) => format!("background {on}"),
    }
}

/// An interval of one second that begins at `begin_s`.
fn second(order: Option<u64>, begin_s: u64) -> Seen {
    Seen {
        span: (begin_s * 1_000_000_000, (begin_s + 1) * 1_000_000_000),
        order,
        foreground: PhaseStats {
            lanes: 1,
            wall_ns: 1e9,
            ios: 10,
            latencies: vec![1.0; 8],
            ..PhaseStats::default()
        },
        ..Seen::default()
    }
}

#[test]
fn the_list_goes_round() {
    let mut session = session();
    let names = [NEXT, NEXT, NEXT, BACK].map(|action| asked(session.act(action)));
    let mean = "hybrid:mean:ratio=50%,period=100ms";
    assert_eq!(
        names,
        [
            mean,
            "hybrid:fixed:sleep=20us",
            "poll",
            "hybrid:fixed:sleep=20us"
        ]
    );
    let mut alone = Session::new(vec![LaneMethod::Poll], false);
    assert_eq!(asked(alone.act(NEXT)), "nothing");
}

#[test]
fn a_ratio_goes_in_steps_of_five_percent_within_its_range() {
    let ratio = |from: &str, up: bool, times: usize| {
        let mut session = Session::new(vec![rule(&format!("min:{from},10ms"))], false);
        (0..times).for_each(|_| drop(session.act(Action::Ratio { up })));
        let name = session.methods[0].to_string();
        let value = name.split(['=', ',']).nth(1).unwrap().to_owned();
        (value, session.note)
    };
    assert_eq!(ratio("50%", true, 1).0, "55%");
    assert_eq!(ratio("50%", false, 2).0, "40%");
    assert_eq!(ratio("52%", true, 1).0, "55%", "to the step beside it");
    assert_eq!(ratio("52%", false, 1).0, "50%");
    let (most, note) = ratio("85%", true, 9);
    assert_eq!(
        (most.as_str(), note.as_str()),
        ("100%", "the ratio goes no further")
    );
    assert_eq!(ratio("20%", false, 9).0, "5%", "0 % is no sleep");
}

#[test]
fn what_cannot_be_done_is_said_and_not_ordered() {
    let mut session = session();
    assert_eq!(asked(session.act(Action::Ratio { up: true })), "nothing");
    assert_eq!(session.note, "this method has no ratio");
    session.act(BACK);
    assert_eq!(session.note, "", "a note lasts until the next key");
    assert_eq!(asked(session.act(Action::Ratio { up: true })), "nothing");
    assert_eq!(session.note, "this rule has no ratio");
    let mut alone = Session::new(vec![LaneMethod::Poll], false);
    assert_eq!(asked(alone.act(Action::Background)), "nothing");
    assert!(alone.note.contains("--background"));
}

/// Polling, then `mean`, which is ordered in the third second and in force from the fourth on. A
/// rule settles for two of its periods (200 ms here) and at least 250 ms, so the first second of
/// `mean` does not count, and the others do.
#[test]
fn intervals_belong_to_the_method_in_force() {
    let mut session = session();
    (0..2).for_each(|s| session.see(&second(Some(0), s)));
    session.act(NEXT).unwrap();
    session.ordered(1);
    assert!(
        !session.over(Nanos::from_millis(100)),
        "the order is not in force yet"
    );
    session.see(&second(None, 2));
    (3..6).for_each(|s| session.see(&second(Some(1), s)));
    assert!(session.over(Nanos::from_millis(3_000)) && !session.over(Nanos::from_millis(3_001)));
    assert_eq!(asked(session.act(Action::Background)), "background false");
    session.ordered(2);
    session.see(&second(Some(2), 6));
    let (methods, intervals, not_kept) = session.end();
    let of: Vec<_> = intervals.iter().map(|i| (i.method, i.settled)).collect();
    let wanted = [
        (Some(0), true),
        (Some(0), true),
        (None, false),
        (Some(1), false),
        (Some(1), true),
        (Some(1), true),
        (Some(2), false),
    ];
    assert_eq!((&of[..], not_kept), (&wanted[..], 0));
    let rows: Vec<_> = methods
        .iter()
        .map(|m| (m.method.to_string(), m.background, m.intervals, m.settling))
        .collect();
    let mean = "hybrid:mean:ratio=50%,period=100ms";
    assert_eq!(
        rows,
        [
            ("poll".to_owned(), true, 2, 0),
            (mean.to_owned(), true, 2, 1),
            (mean.to_owned(), false, 0, 1)
        ]
    );
    assert!(
        intervals
            .iter()
            .all(|i| i.unrecorded == 2 && i.numbers.rates.iops == Some(10.0))
    );
    assert_eq!((intervals[4].end_s, intervals[4].length_s), (5.0, 1.0));
}

#[test]
fn a_paused_screen_stands_still_and_nothing_is_lost() {
    let mut session = session();
    (0..3).for_each(|s| session.see(&second(Some(0), s)));
    session.act(Action::Pause);
    (3..5).for_each(|s| session.see(&second(Some(0), s)));
    assert!(session.paused());
    assert_eq!(session.shown(99).intervals.len(), 3);
    session.act(Action::Pause);
    assert_eq!(session.shown(99).intervals.len(), 5);
    let two = session.shown(2);
    assert_eq!((two.first, two.intervals.len()), (3, 2));
    assert_eq!(session.end().1.len(), 5);
}

#[test]
fn a_long_watch_forgets_its_older_half() {
    let mut session = session();
    (0..=KEPT as u64).for_each(|s| session.see(&second(Some(0), s)));
    assert_eq!(session.shown(1).first, KEPT as u64);
    let (methods, intervals, not_kept) = session.end();
    assert_eq!((intervals.len(), not_kept), (KEPT / 2 + 1, KEPT as u64 / 2));
    assert_eq!(methods[0].intervals, KEPT as u64 / 2 + 1);
}
