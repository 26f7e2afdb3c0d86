//! Sums up the counts of a point's trials, from which its effective mode follows.

use crate::{BenchTrial, Interface, PointSetup};
use q2c_result::mode::{EffectiveMode, ModeKind, Proof, WaitMode};
use q2c_result::waits::{Switches, WaitCounts};

pub(super) fn effective_mode(setup: &PointSetup, trials: &[&BenchTrial]) -> EffectiveMode {
    let asked = setup.point.method.clone();
    if trials.is_empty() {
        return EffectiveMode {
            asked,
            mode: WaitMode::from_kind(ModeKind::NotRun),
            proof: Proof::default(),
        };
    }
    if setup.path.interface == Interface::Spdk {
        let cpus = cpus_per_job(setup, trials);
        return EffectiveMode::from_program_cpus(asked, cpus, setup.detour.clone());
    }
    let seen = counts(setup, trials);
    EffectiveMode {
        mode: seen.mode(&asked),
        proof: seen.proof_per_io(setup.path.interface.to_string(), setup.detour.clone()),
        asked,
    }
}

fn cpus_per_job(setup: &PointSetup, trials: &[&BenchTrial]) -> f64 {
    let sum = |figure: fn(&BenchTrial) -> f64| trials.iter().map(|t| figure(t)).sum::<f64>();
    sum(|t| t.job_cpu_s) / sum(|t| t.wall_s) / f64::from(setup.point.jobs)
}

/// Sums over the trials of a point. Facts about the engine come from its first trial.
fn counts(setup: &PointSetup, trials: &[&BenchTrial]) -> WaitCounts {
    // Trials without a count of interrupts are ignored if others have one.
    let counted = trials.iter().copied().filter(|t| t.interrupts.is_some());
    let counted: Vec<&BenchTrial> = counted.collect();
    let trials = if counted.is_empty() { trials } else { &counted };
    let sum = |count: fn(&BenchTrial) -> u64| trials.iter().map(|t| count(t)).sum::<u64>();
    let known_sum = |count: fn(&BenchTrial) -> Option<u64>| {
        let counts = trials.iter().map(|t| count(t));
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
        interrupts: known_sum(|t| t.interrupts),
        requests: known_sum(|t| t.requests),
        switches: Switches::PerIo(sum(|t| t.switches) as f64 / ios.max(1) as f64),
        polls_by: first.and_then(|t| t.polls_by),
        flags: first.map_or_else(String::new, |t| t.flags.clone()),
        sqpoll_threads,
        io_workers,
        // Helper threads that could not be read do not count as missing.
        wants_sqpoll_thread: setup.path.interface.has_helper()
            && !first.is_some_and(|t| t.helpers_unread),
        // Every job of a point is counted in its I/Os.
        others: false,
        checks_kernel: true,
    };
    let background = trials.iter().filter_map(|trial| trial.background.as_ref());
    let background_ios = background.map(|b| b.ios).reduce(|a, b| a + b);
    match background_ios {
        Some(ios) => counts.with_other_jobs(ios),
        None => counts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Abilities;
    use crate::abilities::MethodPath;
    use crate::checked::tests::point;
    use q2c_engine::EngineSpec;
    use q2c_report::mode::label;
    use q2c_result::mode::Evidence;

    fn setup(engine: &str, method: &str) -> PointSetup {
        let abilities = Abilities {
            polled_requests: true,
            poll_delay: true,
            polled_commands: true,
            ..Abilities::default()
        };
        let point = point(&format!("d -e {engine} -m {method}"));
        PointSetup {
            path: MethodPath::resolve(&engine.parse().unwrap(), &point.method, 1, abilities)
                .unwrap(),
            background_engine: EngineSpec::RING,
            pattern: "randread".parse().unwrap(),
            detour: Some("/dev/ng0n1, past the block layer".to_owned()),
            point,
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

    /// Interface, method, interrupts, switches and means, then the mode; texts that end in dots may
    /// continue. For the same request of pvsync2, Linux 5.10 polls and 6.1 waits for interrupts.
    const CASES: &str = "
pvsync2 poll 2 5 call | poll (call)
pvsync2 poll 1000 1000 call | interrupt...
pvsync2 poll 999 477 call | interrupt...
pvsync2 poll 310 990 call | interrupt...
pvsync2 poll - 990 call | not proved...
pvsync2 hybrid-kernel 0 950 call | hybrid-kernel (call)
pvsync2 hybrid-kernel 0 3 call | poll (call), no sleep
io_uring poll 0 0 iopoll | poll (iopoll)
io_uring poll 900 0 iopoll | poll (memory; the device raised interrupts...
io_uring hybrid:fixed:1us 990 0 ring | poll (ring), no sleep
io_uring_cmd poll 0 0 iopoll | poll (iopoll)
io_uring_cmd poll 1000 0 iopoll | poll (memory; the device raised interrupts...
io_uring_cmd poll 1000 900 iopoll | interrupt...
io_uring_cmd interrupt 1000 990 ring | interrupt
";

    #[test]
    fn modes_are_told_by_what_was_done() {
        let was = |engine: &str, method: &str, trial: &BenchTrial| {
            label(&effective_mode(&setup(engine, method), &[trial]).mode)
        };
        for case in CASES.trim().lines() {
            let (given, wanted) = case.split_once(" | ").unwrap();
            let fields: Vec<&str> = given.split(' ').collect();
            let fields: [&str; 5] = fields.try_into().unwrap();
            let [engine, method, interrupts, switches, means] = fields;
            let trial = trial(interrupts.parse().ok(), switches.parse().unwrap(), means);
            let was = was(engine, method, &trial);
            match wanted.strip_suffix("...") {
                Some(begin) => assert!(was.starts_with(begin), "{case}: {was}"),
                None => assert_eq!(was, wanted, "{case}"),
            }
        }
        let sqpoll = |helpers| BenchTrial {
            helpers: (helpers, 0),
            ..trial(Some(990), 0, "ring")
        };
        assert_eq!(was("io_uring", "sqpoll", &sqpoll(1)), "sqpoll (ring)");
        let without = was("io_uring", "sqpoll", &sqpoll(0));
        assert_eq!(without, "poll (ring) without its kernel thread");
        let program = |job_cpu_s| BenchTrial {
            wall_s: 2.0,
            job_cpu_s,
            ..trial(None, 0, "user-space driver")
        };
        let polls = was("spdk", "poll", &program(1.98));
        assert_eq!(polls, "poll (user-space driver)");
        assert!(was("spdk", "poll", &program(0.9)).starts_with("not proved"));
    }

    #[test]
    fn the_proof_has_the_way_and_the_counts() {
        let seen = |engine, method, trial| effective_mode(&setup(engine, method), &[&trial]).proof;
        let proof = seen("io_uring", "poll", trial(Some(900), 0, "iopoll"));
        assert!(proof.contains(&Evidence::InterruptsPerIo(Some(0.9))));
        let proof = seen("io_uring_cmd", "poll", trial(Some(0), 0, "iopoll"));
        let through = "/dev/ng0n1, past the block layer".to_owned();
        assert!(proof.contains(&Evidence::Through(through)));
        assert!(proof.contains(&Evidence::Engine("io_uring_cmd:iopoll".to_owned())));
        let proof = seen("io_uring_cmd", "interrupt", trial(Some(1_000), 990, "ring"));
        assert!(proof.contains(&Evidence::Engine("io_uring_cmd:ring".to_owned())));
        assert!(proof.contains(&Evidence::RequestsPerIo(None)));
    }
}
