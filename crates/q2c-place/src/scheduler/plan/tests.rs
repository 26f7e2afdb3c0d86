use super::*;
use crate::scheduler::fixtures::active;

fn settled(cores: &[&str], stay: &[usize]) -> (Vec<String>, Vec<PlannedMove>) {
    let map = SmtMap::regular(cores.len(), 2, 1);
    let tasks = active(cores, stay);
    let mut places = ActiveTaskMap::from_tasks(&map, &tasks);
    let planned = places.settle(Rules::Proposed);
    let queue = |cpu: usize| places.tally.cpus[cpu].letters();
    let core = |core: usize| format!("{}|{}", queue(2 * core), queue(2 * core + 1));
    ((0..cores.len()).map(core).collect(), planned)
}

#[test]
fn a_bunch_becomes_scatter_and_colocate_and_a_spread_one_side() {
    let (state, planned) = settled(&["P|P", "C|C"], &[]);
    assert_eq!(state, ["P|C", "P|C"]);
    let reasons: Vec<MoveReason> = planned.iter().map(|planned| planned.reason).collect();
    assert_eq!(reasons, [MoveReason::Scatter, MoveReason::Room]);
    let (state, planned) = settled(&["PC|PC", "PC|PC"], &[]);
    assert_eq!(state, ["PP|CC", "PP|CC"]);
    assert_eq!(planned.len(), 4);
}

#[test]
fn a_pinned_task_never_moves_and_others_move_around_it() {
    // The second P task is pinned: the first one leaves.
    let (state, planned) = settled(&["P|P", "C|C"], &[1]);
    assert_eq!(state, ["C|P", "P|C"]);
    assert!(planned.iter().all(|planned| planned.task != 1));
    let (state, planned) = settled(&["P|P", "C|C"], &[0, 1, 2, 3]);
    assert_eq!(state, ["P|P", "C|C"]);
    assert_eq!(planned, []);
}

#[test]
fn without_anything_to_keep_apart_nothing_moves() {
    assert_eq!(settled(&["PP|", "|"], &[]).1, []);
    assert_eq!(settled(&["CC|", "|"], &[]).1, []);
}

#[test]
fn a_cpu_that_is_not_allowed_is_not_used() {
    let map = SmtMap::regular(2, 2, 1);
    let mut tasks = active(&["P|P", "C|C"], &[]);
    tasks.iter_mut().for_each(|task| task.allowed.truncate(2));
    let mut places = ActiveTaskMap::from_tasks(&map, &tasks);
    assert_eq!(places.settle(Rules::Proposed), []);
}
