use super::*;

fn shown(tally: &Tally<'_>) -> String {
    let map = tally.map();
    let queue = |cpu: &CpuIndex| {
        let counts = tally.counts_on(*cpu);
        "P".repeat(counts.polling as usize) + &"C".repeat(counts.compute as usize)
    };
    let core = |core| {
        let queues: Vec<String> = map.cpus_of(core).iter().map(queue).collect();
        queues.join("|")
    };
    (0..map.cores()).map(core).collect::<Vec<_>>().join(" ")
}

fn placed(placement: Placement, cores: usize, compute: u32, polling: u32) -> String {
    let map = SmtMap::regular(cores, 2, 1);
    shown(&placement.place_tasks(&map, compute, polling).tally(&map))
}

#[test]
fn the_named_placements_are_the_published_ones() {
    use Placement::{Bunch, Colocate, Scatter, Spread};
    assert_eq!(placed(Bunch, 2, 2, 2), "P|P C|C");
    assert_eq!(placed(Bunch, 1, 2, 2), "PC|PC");
    assert_eq!(placed(Scatter, 2, 2, 2), "P|C P|C");
    assert_eq!(placed(Colocate, 1, 2, 2), "PP|CC");
    assert_eq!(placed(Spread, 1, 2, 2), "PC|PC");
    assert_eq!(placed(Bunch, 4, 8, 8), "PP|PP PP|PP CC|CC CC|CC");
    assert_eq!(placed(Colocate, 4, 8, 8), "PP|CC PP|CC PP|CC PP|CC");
    assert_eq!(placed(Spread, 4, 8, 8), "PC|PC PC|PC PC|PC PC|PC");
}

#[test]
fn more_polling_tasks_than_cores_stay_on_one_side() {
    assert_eq!(placed(Placement::Colocate, 2, 1, 5), "PPP| PP|C");
    assert_eq!(placed(Placement::Colocate, 2, 0, 0), "| |");
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
            let loads = tally.cpus().iter().map(|counts| counts.load());
            if loads.clone().max().unwrap_or(0) <= loads.min().unwrap_or(0) + 1 {
                times.extend(speed::c_slowdown(&speeds, &tally));
            }
        }
        let extremes = extremes(&map, compute, polling, &speeds).expect("few placements");
        times.sort_by(f64::total_cmp);
        for (got, wanted) in [
            (extremes.best.1, times[0]),
            (extremes.worst.1, times[times.len() - 1]),
        ] {
            assert!(
                (got - wanted).abs() < 1e-12,
                "{compute}C {polling}P {extremes:?}"
            );
        }
    }
}

#[test]
fn too_many_placements_are_not_tried() {
    let map = SmtMap::regular(64, 2, 1);
    assert_eq!(extremes(&map, 128, 128, &speed::published()), None);
    assert_eq!(extremes(&map, 0, 4, &speed::published()), None);
}
