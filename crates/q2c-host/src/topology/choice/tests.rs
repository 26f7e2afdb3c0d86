use super::*;
use crate::topology::TopologyCpu;

fn cpus(numbers: &[u32]) -> Vec<CpuId> {
    numbers.iter().copied().map(CpuId).collect()
}

fn chosen(allowed: &[u32], named: Option<&[u32]>, interrupted: &[u32]) -> Vec<CpuId> {
    let named = named.map(cpus);
    let interrupted = cpus(interrupted);
    let order = UnnamedCpus::AwayFrom(&interrupted);
    let allowed = AllowedCpus::from_sorted(cpus(allowed));
    allowed.choose(named.as_deref(), order).unwrap().cpus
}

fn by_topology(topology: &Topology, node: Option<u32>, first: Option<CpuId>) -> UnnamedCpus<'_> {
    UnnamedCpus::ByTopology {
        topology,
        node,
        first,
    }
}

#[test]
fn unnamed_cpus_are_the_last_ones_without_interrupts() {
    assert_eq!(chosen(&[0, 1, 2, 3], None, &[]), cpus(&[3, 2, 1, 0]));
    assert_eq!(chosen(&[0, 1, 2, 3], None, &[3]), cpus(&[2, 1, 0, 3]));
    assert_eq!(chosen(&[0, 1, 2, 3], None, &[0, 3]), cpus(&[2, 1, 3, 0]));
    // A CPU with interrupts that this process may not run on is never chosen.
    assert_eq!(chosen(&[0, 1], None, &[3]), cpus(&[1, 0]));
    assert_eq!(chosen(&[2], None, &[2]), cpus(&[2]));
}

#[test]
fn named_cpus_keep_their_order_and_must_be_allowed() {
    assert_eq!(chosen(&[0, 1, 2], Some(&[2, 0, 2]), &[0]), cpus(&[2, 0, 2]));
    let allowed = AllowedCpus::from_sorted(cpus(&[0, 1]));
    let refused = allowed.choose(Some(&cpus(&[1, 7])), UnnamedCpus::AwayFrom(&[]));
    let expected = "use CPU 7: q2c may run on CPUs 0, 1 here; name some of them with --cpus";
    assert_eq!(refused.unwrap_err().to_string(), expected);
}

#[test]
fn a_curve_over_jobs_names_each_cpu_once() {
    let topology = Topology::default();
    let order = by_topology(&topology, None, None);
    let allowed = AllowedCpus::from_sorted(cpus(&[0, 1]));
    let twice = allowed.choose(Some(&cpus(&[1, 0, 1])), order);
    let expected = "use CPU 1 twice: name each CPU once";
    assert_eq!(twice.unwrap_err().to_string(), expected);
    let once = allowed.choose(Some(&cpus(&[1, 0])), order).unwrap();
    assert_eq!(once.cpus, cpus(&[1, 0]));
    assert_eq!(once.words, "as asked");
}

#[test]
fn threads_start_again_at_the_first_cpu() {
    let chosen = ChosenCpus {
        cpus: cpus(&[3, 1]),
        ..ChosenCpus::default()
    };
    assert_eq!(chosen.first(5), cpus(&[3, 1, 3, 1, 3]));
    assert_eq!(ChosenCpus::default().first(2), cpus(&[]));
}

#[test]
fn a_helper_has_the_second_cpu() {
    let helped = |order: &[u32], helper| {
        let chosen = ChosenCpus {
            cpus: cpus(order),
            words: "as asked".to_owned(),
            ..ChosenCpus::default()
        };
        chosen.with_helper(CpuId(helper))
    };
    assert_eq!(helped(&[0, 1, 2], 2).cpus, cpus(&[0, 2, 1]));
    assert_eq!(helped(&[2, 0, 1], 2).cpus, cpus(&[0, 2, 1]));
    assert_eq!(helped(&[0, 1], 7).cpus, cpus(&[0, 7, 1]));
    assert_eq!(helped(&[0], 0).cpus, cpus(&[0]));
    let description = helped(&[0, 1], 1).words;
    let expected = "as asked, the submitting thread's CPU 1 second";
    assert_eq!(description, expected);
}

#[test]
fn a_spare_cpu_has_no_job_and_rather_no_background() {
    let allowed = AllowedCpus::from_sorted(cpus(&[0, 1, 2, 3]));
    let spare = |busy: &[u32], avoided: &[u32]| allowed.spare(&cpus(busy), &cpus(avoided));
    assert_eq!(spare(&[3], &[]), Some(CpuId(2)));
    assert_eq!(spare(&[3], &[2]), Some(CpuId(1)));
    assert_eq!(spare(&[3], &[0, 1, 2]), Some(CpuId(2)));
    assert_eq!(spare(&[0, 1, 2, 3], &[]), None);
}

/// Without sysfs, as in a container, no CPU has a known place, and the kernel's own list counts.
/// The same holds for CPUs that a damaged sysfs leaves out.
#[test]
fn cpus_of_which_sysfs_does_not_tell_are_used() {
    let nowhere = Topology::read(&Roots::under(std::path::Path::new("/nowhere")));
    let order = by_topology(&nowhere, None, None);
    let allowed = AllowedCpus::from_sorted([2, 3, 5].map(CpuId).to_vec());
    let chosen = allowed.choose(None, order).unwrap();
    assert_eq!(chosen.cpus, [2, 3, 5].map(CpuId));
    assert_eq!(chosen.words, "2-3,5 by number, as sysfs tells no topology");
}

/// Two sockets of two cores with two threads each: 0-3 are the first threads, 4-7 their siblings; 0
/// and 1 are in socket 0.
fn two_sockets() -> Topology {
    let cpu = |id: u32| TopologyCpu {
        id: CpuId(id),
        siblings: cpus(&[id % 4, id % 4 + 4]),
        core: Some(id % 4),
        package: Some(id % 4 / 2),
        node: Some(id % 4 / 2),
        cache: None,
    };
    Topology {
        cpus: (0..8).map(cpu).collect(),
        ..Topology::default()
    }
}

#[test]
fn candidates_differ_in_their_place_beside_the_interrupts() {
    let topology = two_sockets();
    let allowed = AllowedCpus::from_sorted((0..8).map(CpuId).collect());
    let candidates = |preferred, interrupted: &[u32], most| {
        let interrupted = cpus(interrupted);
        allowed.candidates(&topology, CpuId(preferred), &interrupted, most)
    };
    // The preferred CPU, that of the interrupts, its sibling, its neighbour. 7 is in the other
    // socket.
    assert_eq!(candidates(7, &[1], 4), cpus(&[7, 1, 5, 0]));
    assert_eq!(candidates(7, &[1], 5), cpus(&[7, 1, 5, 0, 2]));
    assert_eq!(candidates(1, &[1], 3), cpus(&[1, 5, 0]));
    assert_eq!(candidates(7, &[], 2), cpus(&[7, 0]));
    assert_eq!(candidates(7, &[1], 99).len(), 8);
    // A CPU that takes interrupts, but on which this process may not run, is no candidate.
    let few = AllowedCpus::from_sorted(cpus(&[0, 2]));
    let candidates = few.candidates(&topology, CpuId(2), &cpus(&[5]), 4);
    assert_eq!(candidates, cpus(&[2, 0]));
}

#[test]
fn the_cpu_that_trials_have_shown_comes_first_and_its_sibling_last() {
    let topology = two_sockets();
    let allowed = AllowedCpus::from_sorted((0..8).map(CpuId).collect());
    let chosen = |first| {
        let order = by_topology(&topology, Some(0), first);
        allowed.choose(None, order).unwrap()
    };
    assert_eq!(chosen(None).cpus, cpus(&[0, 1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(chosen(Some(CpuId(5))).cpus, cpus(&[5, 0, 2, 3, 1, 4, 6, 7]));
    let moved = chosen(None).beginning_with(CpuId(5));
    assert_eq!(moved.cpus, cpus(&[5, 0, 1, 2, 3, 4, 6, 7]));
}
