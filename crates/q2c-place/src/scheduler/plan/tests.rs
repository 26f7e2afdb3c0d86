use super::*;
use crate::scheduler::made::active;
use q2c_model::CpuId;
use q2c_result::place_watch::Stays;

fn after(cores: &[&str], stay: &[usize]) -> (Vec<String>, Vec<Planned>) {
    let map = SmtMap::regular(cores.len(), 2, 1);
    let mut tasks = active(cores);
    stay.iter()
        .for_each(|task| tasks[*task].stays = Some(Stays::Pinned));
    let mut places = ActiveTaskMap::from_tasks(&map, &tasks);
    let planned = places.settle(Rules::PROPOSED);
    let queue = |cpu: usize| {
        let counts = places.tally().counts_on(cpu);
        "P".repeat(counts.polling as usize) + &"C".repeat(counts.compute as usize)
    };
    let core = |core: usize| format!("{}|{}", queue(2 * core), queue(2 * core + 1));
    ((0..cores.len()).map(core).collect(), planned)
}

#[test]
fn a_bunch_becomes_scatter_and_colocate() {
    let (after, planned) = after(&["P|P", "C|C"], &[]);
    assert_eq!(after, ["P|C", "P|C"]);
    assert_eq!(planned.len(), 2, "{planned:?}");
    let whys: Vec<MoveReason> = planned.iter().map(|planned| planned.why).collect();
    assert_eq!(whys, [MoveReason::Scatter, MoveReason::Room]);
}

#[test]
fn a_spread_becomes_one_side() {
    let (after, planned) = after(&["PC|PC", "PC|PC"], &[]);
    assert_eq!(after, ["PP|CC", "PP|CC"]);
    assert_eq!(planned.len(), 4);
}

#[test]
fn a_pinned_task_never_moves_and_others_move_around_it() {
    // The second P task is pinned: the first one leaves.
    let (state, planned) = after(&["P|P", "C|C"], &[1]);
    assert_eq!(state, ["C|P", "P|C"]);
    assert!(planned.iter().all(|planned| planned.task != 1));
    let (state, planned) = after(&["P|P", "C|C"], &[0, 1, 2, 3]);
    assert_eq!(state, ["P|P", "C|C"]);
    assert_eq!(planned, []);
}

#[test]
fn without_anything_to_keep_apart_nothing_moves() {
    assert_eq!(after(&["PP|", "|"], &[]).1, []);
    assert_eq!(after(&["CC|", "|"], &[]).1, []);
}

#[test]
fn a_cpu_that_is_not_allowed_is_not_used() {
    let map = SmtMap::regular(2, 2, 1);
    let mut tasks = active(&["P|P", "C|C"]);
    tasks
        .iter_mut()
        .for_each(|task| task.allowed = vec![CpuId(0), CpuId(1)]);
    assert_eq!(
        ActiveTaskMap::from_tasks(&map, &tasks).settle(Rules::PROPOSED),
        []
    );
}
