//! Finds the effective mode of a point from counts of its trials.

use super::interface::Interface;
use super::spec::Spot;
use super::trial::BenchTrial;
use q2c_policy::method::Means;
use q2c_policy::{LaneMethod, Method};
use q2c_result::mode::{EffectiveMode, Mode, ModeKind, ModeNote};
use q2c_result::proof::{Evidence, Proof};
use q2c_workbench::workload::{BY_INTERRUPT, REALLY_SLEPT};

/// Interrupts per I/O below which completions did not come by interrupts.
const NOT_BY_INTERRUPT: f64 = 0.1;

/// The effective mode of all trials of a point together.
pub(super) fn effective(spot: &Spot, trials: &[&BenchTrial]) -> EffectiveMode {
    if trials.is_empty() {
        return EffectiveMode {
            asked: spot.point.method.clone(),
            was: Mode::of(ModeKind::NotRun),
            proof: Proof::default(),
        };
    }
    if spot.way.interface == Interface::Spdk {
        return outside(spot, trials);
    }
    let seen = Seen::of(trials);
    EffectiveMode {
        asked: spot.point.method.clone(),
        was: was(spot, &seen),
        proof: seen.proof(spot),
    }
}

/// Least share of a CPU that each thread of an external program uses when it polls.
const POLLING: f64 = 0.9;

/// The effective mode of an external program with a driver in user space. No interrupt of its
/// device reaches the kernel, so the CPU time of its threads shows whether they poll.
fn outside(spot: &Spot, trials: &[&BenchTrial]) -> EffectiveMode {
    let sum = |of: fn(&BenchTrial) -> f64| trials.iter().map(|t| of(t)).sum::<f64>();
    let each = sum(|t| t.job_cpu_s) / sum(|t| t.wall_s) / f64::from(spot.point.jobs);
    let through = spot.detour.clone().map(Evidence::Through);
    let told = [
        Evidence::CpusPerJob(each),
        Evidence::NoWarmUp,
        Evidence::WorstJobsPercentiles,
    ];
    EffectiveMode {
        asked: spot.point.method.clone(),
        was: match each >= POLLING {
            true => Mode::by(ModeKind::Poll, Some(Means::UserSpaceDriver)),
            false => Mode::of(ModeKind::NotProved).noted(ModeNote::CpusPerJob(each)),
        },
        proof: Proof::Seen(through.into_iter().chain(told).collect()),
    }
}

/// Counts summed over the trials of a point.
struct Seen<'a> {
    ios: f64,
    /// `None` where the device's interrupts are not known.
    interrupts: Option<f64>,
    requests: Option<f64>,
    switches: f64,
    slept: [f64; 3],
    helpers: (u32, u32),
    means: Option<Means>,
    flags: &'a str,
}

impl<'a> Seen<'a> {
    fn of(trials: &[&'a BenchTrial]) -> Self {
        let sum = |of: fn(&BenchTrial) -> f64| trials.iter().map(|t| of(t)).sum::<f64>();
        let all = |of: fn(&BenchTrial) -> Option<u64>| {
            let counts: Option<Vec<u64>> = trials.iter().map(|t| of(t)).collect();
            counts.map(|counts| counts.iter().sum::<u64>() as f64)
        };
        Seen {
            ios: sum(|t| t.ios as f64).max(1.0),
            interrupts: all(|t| t.interrupts),
            requests: all(|t| t.requests),
            switches: sum(|t| t.switches as f64),
            slept: [
                sum(|t| t.slept[0] as f64),
                sum(|t| t.slept[1] as f64),
                sum(|t| t.slept[2] as f64),
            ],
            helpers: trials.first().map_or((0, 0), |t| t.helpers),
            means: trials.first().and_then(|t| t.polls_by),
            flags: trials.first().map_or("", |t| t.flags.as_str()),
        }
    }

    fn proof(&self, spot: &Spot) -> Proof {
        let per_io = |n: f64| n / self.ios;
        let mut proof = vec![Evidence::Engine(spot.way.interface.to_string())];
        proof.extend(spot.detour.clone().map(Evidence::Through));
        proof.extend([
            Evidence::InterruptsPerIo(self.interrupts.map(per_io)),
            Evidence::RequestsPerIo(self.requests.map(per_io)),
            Evidence::SwitchesPerIo(per_io(self.switches)),
        ]);
        let (sqpoll_threads, io_workers) = self.helpers;
        let when = |there: bool, evidence: Evidence| there.then_some(evidence);
        let others = [
            when(
                self.slept[0] > 0.0,
                Evidence::SleepsPerIo(per_io(self.slept[1])),
            ),
            self.means.map(Evidence::PollsBy),
            when(
                !self.flags.is_empty(),
                Evidence::EngineFlags(self.flags.to_owned()),
            ),
            when(sqpoll_threads > 0, Evidence::SqpollThreads(sqpoll_threads)),
            when(io_workers > 0, Evidence::IoWorkers(io_workers)),
        ];
        proof.extend(others.into_iter().flatten());
        Proof::Seen(proof)
    }

    /// Whether completions came by interrupts; `None` when the counts do not show it. Devices merge
    /// interrupts at depth, so that few interrupts prove polling only when there are hardly any.
    fn interrupted(&self) -> Option<bool> {
        match self.interrupts? / self.ios {
            n if n >= BY_INTERRUPT => Some(true),
            n if n < NOT_BY_INTERRUPT => Some(false),
            _ => None,
        }
    }
}

fn was(spot: &Spot, seen: &Seen<'_>) -> Mode {
    let helper = spot.way.interface.has_helper();
    if helper && seen.helpers.0 == 0 {
        return looked(seen).noted(ModeNote::NoHelper);
    }
    let asks_device = seen.means.filter(|means| means.asks_device());
    match (&spot.way.waits, asks_device) {
        (LaneMethod::Interrupt, _) => Mode::of(ModeKind::Interrupt),
        (LaneMethod::Hybrid(_), _) if seen.slept[1] == 0.0 => {
            looked(seen).noted(ModeNote::NeverSlept)
        }
        (LaneMethod::Hybrid(_), _) => Mode::by(ModeKind::Hybrid, seen.means),
        (LaneMethod::Poll, None) => polled(spot, seen),
        (LaneMethod::Poll, Some(means)) => asked(spot, seen, means),
    }
}

fn looked(seen: &Seen<'_>) -> Mode {
    Mode::by(ModeKind::Poll, seen.means)
}

/// The mode of a method that should poll the device by `means`. The kernel may have waited for
/// interrupts instead without an error.
fn asked(spot: &Spot, seen: &Seen<'_>, means: Means) -> Mode {
    let ignored = || Mode::of(ModeKind::Interrupt).noted(ModeNote::PollIgnored);
    let left_cpu = seen.switches / seen.ios >= REALLY_SLEPT;
    let sleeps = spot.way.kernel.is_some() || means.sleeps();
    match (seen.interrupted(), left_cpu) {
        // A call that does not poll can only wait for the interrupt, even where the interrupt often
        // comes before the thread has left its CPU.
        (Some(true), _) if means == Means::Call => ignored(),
        (Some(true), true) => ignored(),
        (Some(true), false) => {
            let in_memory = Mode::by(ModeKind::Poll, Some(Means::Memory));
            in_memory.noted(ModeNote::Interrupted(means))
        }
        // Several I/Os shared an interrupt, so there are fewer interrupts than I/Os, and the
        // threads slept while they waited.
        (None, true) if !sleeps && seen.interrupts.is_some() => ignored(),
        (None, true) if !sleeps => Mode::of(ModeKind::NotProved).noted(ModeNote::Neither),
        (_, true) if sleeps => Mode::by(slept_in_kernel(&spot.point.method), seen.means),
        (_, false) if sleeps => looked(seen).noted(ModeNote::NeverSlept),
        _ => polled(spot, seen),
    }
}

fn slept_in_kernel(asked: &Method) -> ModeKind {
    match ModeKind::asked_for(asked) {
        kind @ (ModeKind::HybridUring | ModeKind::HybridKernel) => kind,
        _ => ModeKind::HybridInKernel,
    }
}

/// The mode of a method that polled. A submitting kernel thread is part of the mode.
fn polled(spot: &Spot, seen: &Seen<'_>) -> Mode {
    let kind = match ModeKind::asked_for(&spot.point.method) {
        kind @ (ModeKind::Sqpoll | ModeKind::SqpollIopoll) => kind,
        _ => ModeKind::Poll,
    };
    Mode::by(kind, seen.means)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::way::{Abilities, Way};
    use q2c_model::Bytes;
    use q2c_report::mode::words;
    use q2c_result::bench::BenchPoint;

    fn spot(engine: &str, method: &str) -> Spot {
        let can = Abilities {
            poll_queues: Some(true),
            poll_delay: true,
            polled_commands: true,
        };
        let asked: Method = method.parse().unwrap();
        Spot {
            way: Way::of(&engine.parse().unwrap(), &asked, 1, can).unwrap(),
            pattern: "randread".parse().unwrap(),
            detour: Some("/dev/ng0n1, past the block layer".to_owned()),
            point: BenchPoint {
                engine: engine.to_owned(),
                method: asked,
                jobs: 1,
                depth: 1,
                bs: Bytes(4096),
                rw: "randread".to_owned(),
            },
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
        match effective(spot, &[trial]).proof {
            Proof::Seen(all) => all,
            told @ Proof::Told(_) => panic!("{told:?}"),
        }
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
