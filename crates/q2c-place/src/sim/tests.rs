//! The simulator against closed forms and against what must hold for every run.

use super::*;
use crate::map::SmtMap;
use crate::placement::Placement;
use crate::predictor::Class;
use crate::speed::{self, NO_SHARED_PIPELINE};
use q2c_result::place::States;

const COSTS: PlacementCosts = PlacementCosts {
    speeds: Speeds {
        compute_beside_compute: 0.5,
        compute_beside_polling: 0.8,
        polling_beside_compute: 1.0,
        polling_beside_polling: 1.0,
    },
    cache: None,
};

fn tasks(compute: usize, polling: usize) -> Vec<Task> {
    let mut tasks = vec![Task::compute(1.0); compute];
    tasks.extend(vec![Task::polling(); polling]);
    tasks
}

fn fixed(placement: Placement, map: &SmtMap, compute: u32, polling: u32) -> Policy {
    let placed = placement.place_tasks(map, compute, polling);
    Policy::Fixed([placed.compute, placed.polling].concat())
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-6 * b.abs(), "{a} is not {b}");
}

fn ran(map: &SmtMap, tasks: &[Task], policy: &Policy, costs: &PlacementCosts) -> PlaceSimOutcome {
    run(map, tasks, policy, costs, PlaceSimTimes::default(), 1)
}

fn slowdown(map: &SmtMap, tasks: &[Task], policy: &Policy, costs: &PlacementCosts) -> f64 {
    ran(map, tasks, policy, costs).c_slowdown.unwrap()
}

/// Times by hand: two tasks on a CPU, half the time each, at the neighbours' speeds.
#[test]
fn fixed_placements_take_the_times_of_their_closed_forms() {
    let map = SmtMap::regular(1, 2, 1);
    let time = |map: &SmtMap, placement, tasks_of: u32| {
        let policy = fixed(placement, map, tasks_of, tasks_of);
        let tasks = tasks(tasks_of as usize, tasks_of as usize);
        slowdown(map, &tasks, &policy, &COSTS)
    };
    close(time(&map, Placement::Colocate, 2), 2.0 / 0.8);
    close(time(&map, Placement::Spread, 2), 2.0 / 0.65);
    let map = SmtMap::regular(4, 2, 1);
    for placement in [Placement::Bunch, Placement::Colocate, Placement::Spread] {
        let closed = speed::c_slowdown(
            &COSTS.speeds,
            &placement.place_tasks(&map, 8, 8).tally(&map),
        );
        close(time(&map, placement, 8), closed.unwrap());
    }
}

/// Each begins again until both are done, so the neighbour of the slower one stays.
#[test]
fn tasks_that_are_done_begin_again() {
    let map = SmtMap::regular(1, 2, 1);
    let policy = Policy::Fixed(vec![0, 0, 1]);
    let outcome = ran(&map, &tasks(3, 0), &policy, &COSTS);
    close(outcome.c_slowdown.unwrap(), (4.0 + 4.0 + 2.0) / 3.0);
    close(outcome.account.seconds, 4.0);
}

#[test]
fn time_is_shared_and_the_states_make_up_all_time() {
    let map = SmtMap::regular(2, 2, 1);
    let policy = fixed(Placement::Colocate, &map, 4, 4);
    let outcome = ran(&map, &tasks(4, 4), &policy, &COSTS);
    let account = outcome.account;
    let expected = States {
        colocate: account.seconds,
        ..States::default()
    };
    assert_eq!(account.states, expected);
    // Four P tasks, two on each CPU: each has half of the time.
    close(account.sharing[1].ran_s, 4.0 * account.seconds / 2.0);
    close(account.polling_s, 4.0 * account.seconds);
}

#[test]
fn the_rules_find_the_best_placement_and_a_blind_balancer_does_not() {
    let map = SmtMap::regular(4, 2, 1);
    let mut long = tasks(8, 8);
    long.iter_mut()
        .for_each(|task| task.work_s = task.work_s.map(|_| 20.0));
    let mean = |policy: &Policy| {
        let start = |seed| run(&map, &long, policy, &COSTS, PlaceSimTimes::default(), seed);
        let starts = (1..=20).map(|seed| start(seed).c_slowdown.unwrap());
        starts.sum::<f64>() / 20.0
    };
    let best = 2.0 / 0.8;
    let swapped = mean(&Policy::Rules(crate::rules::Rules::WITH_SWAP));
    assert!((best..best * 1.02).contains(&swapped), "{swapped}");
    let free = mean(&Policy::Free);
    assert!(free > best * 1.05, "{free}");
}

#[test]
fn loads_become_even() {
    let map = SmtMap::regular(4, 2, 2);
    for policy in [Policy::Free, Policy::Rules(crate::rules::Rules::LITERAL)] {
        let costs = PlacementCosts {
            speeds: NO_SHARED_PIPELINE,
            cache: None,
        };
        let outcome = run(
            &map,
            &tasks(8, 0),
            &policy,
            &costs,
            PlaceSimTimes::default(),
            3,
        );
        close(outcome.c_slowdown.unwrap(), 1.0);
    }
}

#[test]
fn sleeping_tasks_leave_their_cpu() {
    let map = SmtMap::regular(1, 1, 1);
    let mut both = tasks(1, 1);
    both[0].work_s = Some(50.0);
    both[1].phases = Some(Phases {
        runs_s: 0.02,
        sleeps_s: 0.06,
    });
    let policy = Policy::Fixed(vec![0, 0]);
    let outcome = run(&map, &both, &policy, &COSTS, PlaceSimTimes::default(), 5);
    // 0.02 s on the CPU take 0.04 s beside the C task, then 0.06 s asleep: it has 0.08 of 0.1 s.
    let slowdown = outcome.c_slowdown.unwrap();
    assert!((1.20..1.30).contains(&slowdown), "{slowdown}");
    let share = outcome.account.polling_s / outcome.account.seconds;
    assert!((0.36..0.44).contains(&share), "{share}");
}

/// 2 C tasks in one cache need 1 + 0.5 as long; in two caches as long as alone.
#[test]
fn the_cache_term_counts_c_tasks_of_the_same_cache() {
    let costs = PlacementCosts {
        speeds: NO_SHARED_PIPELINE,
        cache: Some(CacheTerm {
            per_neighbour: 0.5,
            refill_s: 0.0,
        }),
    };
    let time = |caches| {
        let map = SmtMap::regular(2, 1, caches);
        slowdown(&map, &tasks(2, 0), &Policy::Fixed(vec![0, 1]), &costs)
    };
    close(time(1), 1.5);
    close(time(2), 1.0);
}

#[test]
fn a_run_ends_at_its_longest_time() {
    let map = SmtMap::regular(1, 2, 1);
    let times = PlaceSimTimes {
        most_s: 0.5,
        ..PlaceSimTimes::default()
    };
    let policy = Policy::Fixed(vec![0, 0]);
    let outcome = run(&map, &tasks(1, 1), &policy, &COSTS, times, 1);
    assert_eq!(outcome.c_slowdown, None);
    close(outcome.account.seconds, 0.5);
    let polling = Task::polling();
    assert_eq!((polling.class, polling.work_s), (Class::Polling, None));
}

#[test]
fn equal_seeds_give_equal_runs() {
    let map = SmtMap::regular(4, 2, 2);
    let (tasks, times) = (tasks(9, 9), PlaceSimTimes::default());
    let once = |seed| run(&map, &tasks, &Policy::Free, &COSTS, times, seed);
    assert_eq!(once(7), once(7));
    assert_ne!(once(7), once(8));
}
