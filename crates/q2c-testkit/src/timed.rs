//! Tests about time on a machine that others use, too.
//!
//! Another program that takes the CPU makes sleeps late and latencies long. A test about time that
//! fails is therefore repeated. It counts as failed only when it failed on a quiet machine, and is
//! a counted skip if the machine was busy in all runs.
//!
//! Tests that run beside it in the same process disturb it as well, and their CPU time cannot be
//! told from its own. Before the test counts as failed it is run once more, alone in a process.

use crate::skip;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Most runs of a test. If other programs were at work in every run, the test is skipped.
const MAX_RUNS: u32 = 5;
/// Failures on a quiet machine that make the test fail. A single failure may be a disturbance
/// that no counter shows, such as a host that held up the whole machine.
const QUIET_FAILURES: u32 = 2;
/// Set in the process that runs one test by itself.
const BY_ITSELF_VARIABLE: &str = "Q2C_TIMED_BY_ITSELF";
/// Share of one CPU that others may use on a quiet machine.
const MAX_OTHER_CPUS: f64 = 0.05;
/// Share of the time that a spinning thread may be away from its CPU on a quiet machine.
const MAX_AWAY_SHARE: f64 = 0.01;
/// The clock of /proc/stat and /proc/self/stat, `USER_HZ`: 100 per second on x86 and Arm.
const TICK: Duration = Duration::from_millis(10);

/// Locked by tests while they run: for writing by those that must run alone.
static MACHINE: RwLock<()> = RwLock::new(());

/// Runs a test about time as [`run_timed`] does, and no other test that locks the machine
/// meanwhile, because two such tests would measure each other.
pub fn run_timed_alone(test: &str, body: impl Fn()) {
    let _machine = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    run_timed(test, body);
}

/// Runs a test about time whose work waits nearly all of its time, as [`run_timed`] does. Other
/// waiting tests may run meanwhile, but none of [`run_timed_alone`].
pub fn run_timed_waiting(test: &str, body: impl Fn()) {
    let _machine = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    run_timed(test, body);
}

/// Runs a test about time, again if it fails while others use the machine.
pub fn run_timed(test: &str, body: impl Fn()) {
    let (mut quiet_failures, mut loads) = (0, Vec::new());
    for _ in 0..MAX_RUNS {
        let before = CpuTimeUsed::now();
        let Err(panic) = catch_unwind(AssertUnwindSafe(&body)) else {
            return;
        };
        let load = before.cpus_of_others().max(cpus_lost_in_spinning());
        loads.push(format!("{:.0} %", load * 100.0));
        quiet_failures += u32::from(load <= MAX_OTHER_CPUS);
        if quiet_failures == QUIET_FAILURES {
            if passes_by_itself() {
                return;
            }
            resume_unwind(panic);
        }
    }
    let loads = loads.join(", ");
    let reason = format!("others used the machine in each of {MAX_RUNS} runs: {loads} of a CPU");
    skip(test, &reason);
}

/// True if the test of this thread passes, or is skipped, in a process that runs only this test.
/// That process counts the CPU time of this one as that of other programs.
fn passes_by_itself() -> bool {
    // The harness names a test's thread after it. Where tests run one by one they are in the main
    // thread, and nothing of this program disturbs them.
    let thread = std::thread::current();
    let test = thread
        .name()
        .filter(|name| *name != "main" && !is_by_itself());
    let (Some(test), Ok(program)) = (test, std::env::current_exe()) else {
        return false;
    };
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(BY_ITSELF_VARIABLE, "1")
        .output();
    output.is_ok_and(|output| {
        let stdout = String::from_utf8_lossy(&output.stdout);
        output.status.success() && stdout.contains("test result: ok. 1 passed")
    })
}

fn is_by_itself() -> bool {
    std::env::var_os(BY_ITSELF_VARIABLE).is_some()
}

/// CPU time used so far, in ticks.
struct CpuTimeUsed {
    at: Instant,
    /// Ticks of all CPUs, with those that the hypervisor took away.
    machine: u64,
    /// Ticks of this process and of all its descendants.
    family: u64,
}

impl CpuTimeUsed {
    fn now() -> CpuTimeUsed {
        let machine = fs::read_to_string("/proc/stat").unwrap_or_default();
        CpuTimeUsed {
            at: Instant::now(),
            machine: machine_ticks(&machine),
            family: family_ticks(std::process::id(), &processes()),
        }
    }

    /// Number of CPUs that other programs used since `self` was taken.
    fn cpus_of_others(&self) -> f64 {
        let now = CpuTimeUsed::now();
        let machine = now.machine.saturating_sub(self.machine);
        let family = now.family.saturating_sub(self.family);
        let passed = now.at.duration_since(self.at).max(TICK);
        machine.saturating_sub(family) as f64 * TICK.as_secs_f64() / passed.as_secs_f64()
    }
}

/// Ticks of all CPUs in the first line of /proc/stat, without idle and iowait (fields 3 and 4 from
/// 0). The fields from the ninth on are times of guests, which those of users contain.
fn machine_ticks(stat: &str) -> u64 {
    let fields = stat.lines().next().unwrap_or("").split_whitespace().skip(1);
    let ticks: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
    let (all, idle) = (ticks.iter().take(8), ticks.iter().skip(3).take(2));
    all.sum::<u64>() - idle.sum::<u64>()
}

/// A process: its id, the id of its parent, and its ticks, which include those of children that it
/// has waited for.
type ProcessTicks = (u32, u32, u64);

/// All processes, without those that end while the list is read.
fn processes() -> Vec<ProcessTicks> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter_map(|stat| process(&stat)).collect()
}

/// Reads a stat file: the fields 1, 4 and 14 to 17. The second field is a name in brackets, which
/// may contain blanks.
fn process(stat: &str) -> Option<ProcessTicks> {
    let pid = stat.split_whitespace().next()?.parse().ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = fields.iter().skip(11).take(4);
    let ticks = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Some((pid, fields.get(1)?.parse().ok()?, ticks))
}

/// Ticks of the process `root` and of all its descendants.
fn family_ticks(root: u32, processes: &[ProcessTicks]) -> u64 {
    let (mut family, mut ticks) = (vec![root], 0);
    while let Some(pid) = family.pop() {
        let parts = processes.iter().filter(|(id, ..)| *id == pid);
        ticks += parts.map(|(_id, _parent, ticks)| ticks).sum::<u64>();
        let children = processes.iter().filter(|(_, parent, _)| *parent == pid);
        family.extend(children.map(|(id, ..)| id));
    }
    ticks
}

/// Measures how long a spinning thread is kept from its CPU, as a number of CPUs used by others:
/// [`MAX_AWAY_SHARE`] counts as [`MAX_OTHER_CPUS`]. This shows disturbances that no counter shows,
/// such as a host that is busy with other machines.
fn cpus_lost_in_spinning() -> f64 {
    const SPIN_TIME: Duration = Duration::from_millis(200);
    const MIN_GAP: Duration = Duration::from_micros(100);
    let start = Instant::now();
    let (mut last, mut away) = (start, Duration::ZERO);
    while last - start < SPIN_TIME {
        let now = Instant::now();
        if now - last > MIN_GAP {
            away += now - last;
        }
        last = now;
    }
    let share = away.as_secs_f64() / (last - start).as_secs_f64();
    share / MAX_AWAY_SHARE * MAX_OTHER_CPUS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_those_of_work() {
        // user nice system idle iowait irq softirq steal guest guest_nice
        let stat = "cpu  100 20 3 9000 800 4 5 6 50 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(machine_ticks(stat), 100 + 20 + 3 + 4 + 5 + 6);
        let process_stat = "7 (a b) c) S 1 7 7 0 -1 4194304 9 9 9 9 11 12 13 14 20 0 1 0 5";
        assert_eq!(process(process_stat), Some((7, 1, 11 + 12 + 13 + 14)));
    }

    #[test]
    fn a_family_is_all_that_descend_from_it() {
        let processes = [
            (1, 0, 1),
            (7, 1, 10),
            (8, 7, 100),
            (9, 8, 1000),
            (5, 1, 10_000),
        ];
        assert_eq!(family_ticks(7, &processes), 1110);
    }

    #[test]
    fn a_test_that_passes_by_itself_is_seen_to() {
        assert!(is_by_itself() || passes_by_itself());
    }

    #[test]
    fn a_test_that_fails_by_itself_is_seen_to() {
        assert!(!is_by_itself() && !passes_by_itself());
    }

    #[test]
    fn what_succeeds_once_succeeds() {
        let runs = std::cell::Cell::new(0);
        run_timed("what_succeeds_once_succeeds", || {
            runs.set(runs.get() + 1);
            assert!(runs.get() > 1, "the first run fails");
        });
        assert_eq!(runs.get(), 2);
    }
}
