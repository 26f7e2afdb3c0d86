use super::*;

fn queue_letters(tally: &Tally<'_>) -> String {
    let queue = |cpu: &CpuIndex| tally.cpus[*cpu].letters();
    let core = |core| {
        let queues: Vec<String> = tally.map.cpus_of(core).iter().map(queue).collect();
        queues.join("|")
    };
    (0..tally.map.cores())
        .map(core)
        .collect::<Vec<_>>()
        .join(" ")
}

fn placed(policy: PolicyName, cores: usize, compute: u32, polling: u32) -> String {
    let map = SmtMap::regular(cores, 2, 1);
    let placed = place_tasks(policy, &map, compute, polling).expect("a fixed placement");
    queue_letters(&placed.tally(&map))
}

#[test]
fn the_named_placements_are_the_published_ones() {
    use PolicyName::{Bunch, Colocate, Scatter, Spread};
    for (policy, cores, compute, polling, wanted) in [
        (Bunch, 2, 2, 2, "P|P C|C"),
        (Bunch, 1, 2, 2, "PC|PC"),
        (Scatter, 2, 2, 2, "P|C P|C"),
        (Colocate, 1, 2, 2, "PP|CC"),
        (Spread, 1, 2, 2, "PC|PC"),
        (Bunch, 4, 8, 8, "PP|PP PP|PP CC|CC CC|CC"),
        (Colocate, 4, 8, 8, "PP|CC PP|CC PP|CC PP|CC"),
        (Spread, 4, 8, 8, "PC|PC PC|PC PC|PC PC|PC"),
        // More P tasks than cores stay on one side.
        (Colocate, 2, 1, 5, "PPP| PP|C"),
        (Colocate, 2, 0, 0, "| |"),
    ] {
        let case = format!("{policy:?}, {cores} cores, {compute} C, {polling} P");
        assert_eq!(placed(policy, cores, compute, polling), wanted, "{case}");
    }
}

/// All placements of tasks on two cores by brute force, without any symmetry.
#[test]
fn the_extremes_are_those_of_a_search_without_symmetry() {
    let speeds = Speeds {
        compute_beside_compute: 0.6,
        compute_beside_polling: 0.75,
        polling_beside_compute: 0.9,
        polling_beside_polling: 1.0,
    };
    let map = SmtMap::regular(2, 2, 1);
    for (compute, polling) in [(1, 0), (2, 2), (4, 4), (3, 4), (5, 1), (1, 6)] {
        let tasks = compute + polling;
        let mut times = Vec::new();
        for code in 0..4_usize.pow(tasks) {
            let cpu = |nth: u32| code / 4_usize.pow(nth) % 4;
            let mut tally = Tally::new(&map);
            (0..compute).for_each(|nth| tally.add(cpu(nth), Class::Compute));
            (compute..tasks).for_each(|nth| tally.add(cpu(nth), Class::Polling));
            let loads = tally.cpus.iter().map(|counts| counts.load());
            if loads.clone().max().unwrap_or(0) <= loads.min().unwrap_or(0) + 1 {
                times.extend(speed::c_slowdown(&speeds, &tally));
            }
        }
        let extremes = extremes(&map, compute, polling, &speeds).expect("few placements");
        times.sort_by(f64::total_cmp);
        let error = extremes.best.1 - times[0];
        let error = error
            .abs()
            .max((extremes.worst.1 - times[times.len() - 1]).abs());
        assert!(error < 1e-12, "{compute}C {polling}P {extremes:?}");
    }
}

#[test]
fn too_many_placements_are_not_tried() {
    let map = SmtMap::regular(64, 2, 1);
    assert_eq!(extremes(&map, 128, 128, &speed::published()), None);
    assert_eq!(extremes(&map, 0, 4, &speed::published()), None);
}
