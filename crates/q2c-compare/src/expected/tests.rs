use super::*;
use crate::request::tests::request;
use crate::{OpenTargets, Precondition, PreparedReplay, ReplayRequest};
use q2c_host::Roots;
use q2c_model::Nanos;
use q2c_replay::{Count, LaneBy, ReplayFacts};
use q2c_sys::Clock;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// A trace of 2 s with nothing in flight in three quarters of it.
fn facts() -> ReplayFacts {
    ReplayFacts {
        requests: 100,
        completed: 100,
        last: Nanos::from_millis(1_900),
        last_end: Nanos::from_millis(2_000),
        idle: Nanos::from_millis(1_500),
        largest: Bytes(4096),
        ..ReplayFacts::default()
    }
}

fn variant(facts: &ReplayFacts, mode: Mode, sites: usize) -> Variant<'_> {
    let asked = ReplayRequest { mode, ..request() };
    let open =
        |nth| OpenTargets::with_one_target(&Roots::live(), &asked, "null", facts, nth).unwrap();
    let sites: Vec<OpenTargets> = (0..sites).map(open).collect();
    let prepared = PreparedReplay::new(&Roots::live(), &asked, facts, &sites, 3).unwrap();
    let mut sites: Vec<_> = sites.into_iter().map(|open| open.site).collect();
    for target in sites.iter_mut().flat_map(|site| &mut site.targets) {
        target.size = Bytes(1 << 20);
    }
    Variant {
        name: String::new(),
        plan: prepared.plan,
        facts,
        sites,
    }
}

const TIMED: Mode = Mode::Timed { speed: 1.0 };

#[test]
fn a_trial_takes_what_its_mode_takes() {
    let facts = facts();
    let outstanding = Mode::Outstanding {
        count: Count::Requests,
        idle: Idle::Squeeze,
    };
    for (mode, replayed_s) in [
        (TIMED, 2.0),
        (Mode::Timed { speed: 4.0 }, 0.5),
        (Mode::Closed { lane: LaneBy::Pid }, 2.0),
        (outstanding, 0.5),
    ] {
        let difference_s = variant(&facts, mode, 1).expected_s() - replayed_s - TRIAL_OVERHEAD_S;
        assert!(difference_s.abs() < 1e-9, "{mode:?}");
    }
}

/// Three trials of 2.03 s, maybe repeated, on two devices, with 3 MiB written before each trial.
#[test]
fn what_makes_a_run_longer_is_told() {
    let facts = facts();
    let variants = [variant(&facts, TIMED, 2)];
    let stop = AtomicBool::new(false);
    let sentences = |repeats, precondition: Option<&str>| {
        let replaying = ReplayRun {
            variants: &variants,
            trials: 3,
            all_trials: false,
            repeats,
            stayed_late: BTreeSet::new(),
            max_lateness: Nanos::from_micros(100),
            busy_cpus: None,
            capture: None,
            precondition: precondition.map(|text| text.parse::<Precondition>().unwrap()),
            record: None,
            memory: Bytes(1 << 20),
            spill: std::env::temp_dir(),
            roots: Roots::live(),
            time: Clock::new().into(),
            stop: &stop,
            partial: None,
            failed: OnceCell::new(),
        };
        replaying.possible_delays()
    };
    assert_eq!(sentences(0, None), Vec::<String>::new());
    let both = sentences(3, Some("sequential:3"));
    assert!(both[0].contains("49 s") && both[0].contains("3 times"));
    assert!(both[1].contains("18 MiB in all"), "{both:?}");
}

#[test]
fn each_way_to_write_a_target_has_its_bytes() {
    for (text, times) in [("sequential", 1), ("sequential:3", 3), ("random", 2)] {
        let precondition: Precondition = text.parse().unwrap();
        assert_eq!(precondition.bytes(Bytes(4096)), Bytes(times * 4096));
    }
}
