//! Gathers the counts of a point's trials, from which its effective mode is told.

use super::interface::Interface;
use super::spec::Spot;
use super::trial::BenchTrial;
use q2c_result::mode::{EffectiveMode, Mode, ModeKind};
use q2c_result::proof::Proof;
use q2c_result::waits::{Switches, WaitCounts};

/// The effective mode of all trials of a point together.
pub(super) fn effective(spot: &Spot, trials: &[&BenchTrial]) -> EffectiveMode {
    let asked = spot.point.method.clone();
    if trials.is_empty() {
        return EffectiveMode {
            asked,
            was: Mode::of(ModeKind::NotRun),
            proof: Proof::default(),
        };
    }
    if spot.way.interface == Interface::Spdk {
        let cpus = cpus_per_job(spot, trials);
        return EffectiveMode::of_program(asked, cpus, spot.detour.clone());
    }
    let seen = counts(spot, trials);
    EffectiveMode {
        was: seen.mode(&asked),
        proof: seen.proof_per_io(spot.way.interface.to_string(), spot.detour.clone()),
        asked,
    }
}

fn cpus_per_job(spot: &Spot, trials: &[&BenchTrial]) -> f64 {
    let sum = |of: fn(&BenchTrial) -> f64| trials.iter().map(|t| of(t)).sum::<f64>();
    sum(|t| t.job_cpu_s) / sum(|t| t.wall_s) / f64::from(spot.point.jobs)
}

/// The counts summed over the trials of a point. Facts about the engine are those of its first
/// trial.
fn counts(spot: &Spot, trials: &[&BenchTrial]) -> WaitCounts {
    // Trials whose interrupts were not counted say nothing of them.
    let counted = trials.iter().copied().filter(|t| t.interrupts.is_some());
    let counted: Vec<&BenchTrial> = counted.collect();
    let trials = if counted.is_empty() { trials } else { &counted };
    let sum = |of: fn(&BenchTrial) -> u64| trials.iter().map(|t| of(t)).sum::<u64>();
    let all = |of: fn(&BenchTrial) -> Option<u64>| {
        let counts = trials.iter().map(|t| of(t));
        counts.sum::<Option<u64>>()
    };
    let ios = sum(|t| t.ios);
    let first = trials.first();
    let (sqpoll_threads, io_workers) = first.map_or((0, 0), |t| t.helpers);
    let counts = WaitCounts {
        ios,
        handled: sum(|t| t.slept[0]),
        slept: sum(|t| t.slept[1]),
        left_to_interrupt: sum(|t| t.left_to_interrupt),
        interrupts: all(|t| t.interrupts),
        requests: all(|t| t.requests),
        switches: Switches::PerIo(sum(|t| t.switches) as f64 / ios.max(1) as f64),
        polls_by: first.and_then(|t| t.polls_by),
        flags: first.map_or_else(String::new, |t| t.flags.clone()),
        sqpoll_threads,
        io_workers,
        // Threads that could not be read are not missing.
        wants_sqpoll_thread: spot.way.interface.has_helper()
            && !first.is_some_and(|t| t.helpers_unread),
        // Every job of a point is counted in its I/Os.
        others: false,
        checks_kernel: true,
    };
    let beside = trials.iter().filter_map(|trial| trial.background.as_ref());
    match beside.map(|background| background.ios).reduce(|a, b| a + b) {
        Some(others) => counts.beside(others),
        None => counts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::{Abilities, Way};
    use q2c_engine::EngineSpec;
    use q2c_model::Bytes;
    use q2c_policy::Method;
    use q2c_report::mode::words;
    use q2c_result::bench::BenchPoint;
    use q2c_result::proof::Evidence;

    fn spot(engine: &str, method: &str) -> Spot {
        let can = Abilities {
            polled_requests: true,
            poll_delay: true,
            polled_commands: true,
            ..Abilities::default()
        };
        let asked: Method = method.parse().unwrap();
        Spot {
            way: Way::of(&engine.parse().unwrap(), &asked, 1, can).unwrap(),
            beside: EngineSpec::RING,
            pattern: "randread".parse().unwrap(),
            detour: Some("/dev/ng0n1, past the block layer".to_owned()),
            point: BenchPoint {
                engine: engine.to_owned(),
                method: asked,
                jobs: 1,
                depth: 1,
                bs: Bytes(4096),
                rw: "randread".to_owned(),
                background: String::new(),
                hw_queues: None,
                nr_requests: None,
            },
            phases: Vec::new(),
        }
    }

    fn trial(interrupts: Option<u64>, switches: u64, polls_by: &str) -> BenchTrial {
        BenchTrial {
            ios: 1_000,
            interrupts,
            switches,
            polls_by: serde_json::from_value(polls_by.into()).ok(),
            ..BenchTrial::default()
        }
    }

    fn seen(spot: &Spot, trial: &BenchTrial) -> Vec<Evidence> {
        effective(spot, &[trial]).proof
    }

    /// Kernels treat the same request differently: Linux 5.10 polls, Linux 6.1 waits for interrupts
    /// without an error.
    #[test]
    fn hipri_is_told_by_what_it_did() {
        let hipri = spot("pvsync2", "poll");
        let was = |trial: BenchTrial| words(&effective(&hipri, &[&trial]).was);
        assert_eq!(was(trial(Some(2), 5, "call")), "poll (call)");
        let ignored = was(trial(Some(1_000), 1_000, "call"));
        assert!(ignored.starts_with("interrupt"), "{ignored}");
        let quick = was(trial(Some(999), 477, "call"));
        assert!(quick.starts_with("interrupt"), "{quick}");
        let shared = was(trial(Some(310), 990, "call"));
        assert!(shared.starts_with("interrupt"), "{shared}");
        let unclear = was(trial(None, 990, "call"));
        assert!(unclear.starts_with("not proved"), "{unclear}");
    }

    #[test]
    fn a_kernel_that_sleeps_leaves_its_cpu_without_interrupts() {
        let kernel = spot("pvsync2", "hybrid-kernel");
        let was = |trial: BenchTrial| words(&effective(&kernel, &[&trial]).was);
        assert_eq!(was(trial(Some(0), 950, "call")), "hybrid-kernel (call)");
        assert_eq!(was(trial(Some(0), 3, "call")), "poll (call), no sleep");
    }

    #[test]
    fn a_submitting_thread_is_part_of_the_method() {
        let sqpoll = spot("io_uring", "sqpoll");
        let with = |helpers| BenchTrial {
            helpers: (helpers, 0),
            ..trial(Some(990), 0, "ring")
        };
        let was = |helpers| words(&effective(&sqpoll, &[&with(helpers)]).was);
        assert_eq!(was(1), "sqpoll (ring)");
        assert_eq!(was(0), "poll (ring) without its kernel thread");
    }

    #[test]
    fn a_ring_that_raises_interrupts_was_not_asked() {
        let iopoll = spot("io_uring", "poll");
        let was = |trial: BenchTrial| words(&effective(&iopoll, &[&trial]).was);
        assert_eq!(was(trial(Some(0), 0, "iopoll")), "poll (iopoll)");
        assert!(was(trial(Some(900), 0, "iopoll")).contains("ignored"));
        let proof = seen(&iopoll, &trial(Some(900), 0, "iopoll"));
        assert!(proof.contains(&Evidence::InterruptsPerIo(Some(0.9))));
    }

    /// The same counters show the mode of commands: polled ones raise no interrupt, others raise
    /// one each.
    #[test]
    fn commands_are_told_by_what_they_did() {
        let (polled, waited) = (
            spot("io_uring_cmd", "poll"),
            spot("io_uring_cmd", "interrupt"),
        );
        let was = |spot: &Spot, trial: BenchTrial| words(&effective(spot, &[&trial]).was);
        assert_eq!(was(&polled, trial(Some(0), 0, "iopoll")), "poll (iopoll)");
        let spun = was(&polled, trial(Some(1_000), 0, "iopoll"));
        assert!(spun.contains("ignored"), "{spun}");
        let slept = was(&polled, trial(Some(1_000), 900, "iopoll"));
        assert!(slept.starts_with("interrupt"), "{slept}");
        assert_eq!(was(&waited, trial(Some(1_000), 990, "ring")), "interrupt");
        let proof = seen(&polled, &trial(Some(0), 0, "iopoll"));
        let through = "/dev/ng0n1, past the block layer".to_owned();
        assert!(proof.contains(&Evidence::Through(through)));
        assert!(proof.contains(&Evidence::Engine("io_uring_cmd:iopoll".to_owned())));
        let proof = seen(&waited, &trial(Some(1_000), 990, "ring"));
        assert!(proof.contains(&Evidence::Engine("io_uring_cmd:ring".to_owned())));
        assert!(proof.contains(&Evidence::RequestsPerIo(None)));
    }

    #[test]
    fn a_program_polls_when_its_threads_take_their_cpus() {
        let spdk = spot("spdk", "poll");
        let with = |job_cpu_s| BenchTrial {
            wall_s: 2.0,
            job_cpu_s,
            ..trial(None, 0, "user-space driver")
        };
        let was = |cpu| words(&effective(&spdk, &[&with(cpu)]).was);
        assert_eq!(was(1.98), "poll (user-space driver)");
        assert!(was(0.9).starts_with("not proved"));
    }

    #[test]
    fn a_rule_that_never_slept_is_said_to() {
        let rule = spot("io_uring", "hybrid:fixed:1us");
        assert_eq!(
            words(&effective(&rule, &[&trial(Some(990), 0, "ring")]).was),
            "poll (ring), no sleep"
        );
    }
}
