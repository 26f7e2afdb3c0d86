//! The command `q2c place start`.

use super::{DetectArgs, RulesName};
use crate::commands::restore;
use crate::output::{print_while_read, say};
use clap::Args;
use q2c_host::signals::Orderly;
use q2c_host::{Roots, capabilities};
use q2c_model::{Fault, parse_seconds_in};
use q2c_place::scheduler::daemon::PlacementDaemon;
use q2c_place::scheduler::observe::usable_window;
use q2c_result::Exit;
use q2c_watch::kernel::own_cpu;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

fn seconds(text: &str) -> Result<f64, String> {
    parse_seconds_in(text, 0.0..=1e7)
}

/// How tasks are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PlaceMode {
    /// By the CPUs that each task may run on (sched_setaffinity)
    Affinity,
    /// By a scheduler of q2c's in the kernel (sched_ext, Linux 6.16 or later)
    Scx,
}

/// How to place tasks.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceStartArgs {
    /// How tasks are moved
    #[arg(long, value_enum, default_value = "affinity")]
    pub mode: PlaceMode,
    /// The rules that say which task moves
    #[arg(long, value_enum, default_value = "swap")]
    pub rules: RulesName,
    /// Hints and window.
    #[command(flatten)]
    pub detect: DetectArgs,
    /// Place tasks even where no core has two logical CPUs: polling tasks get a CPU each, as far as
    /// there are enough
    #[arg(long)]
    pub without_smt: bool,
    /// End after this time [default: go on until interrupted]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Folder of the restore journals [default: /var/lib/q2c/restore for root]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
}

impl PlaceStartArgs {
    pub(super) fn is_over(&self, begun: Instant) -> bool {
        let elapsed_s = begun.elapsed().as_secs_f64();
        self.seconds.is_some_and(|seconds| elapsed_s >= seconds)
    }
}

/// Places tasks until the requested time is over or a signal arrives. Both are normal ends. Then
/// every task gets its own CPUs back.
pub(super) fn run(args: &PlaceStartArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    if args.mode == PlaceMode::Scx {
        return super::scx::run(args, stop);
    }
    // After a signal tasks get their CPUs back, and then the probe is removed.
    let _orderly = Orderly::begin();
    let hints = super::read_hints(args.detect.hints.as_deref())?;
    let roots = Roots::live();
    let journal = restore::folder(args.journal.as_deref())?;
    let daemon = PlacementDaemon::begin(&roots, hints, &journal, args.without_smt)?;
    let daemon = daemon.with_rules(args.rules.rules());
    let mut run = RunningDaemon {
        begun: Instant::now(),
        cpu_at_start: own_cpu(&roots),
        roots,
        daemon,
    };
    let followed = run.tell_start().and_then(|()| run.follow(args, stop));
    // Tasks get their CPUs back first of all, even after an error.
    let ended = run.end();
    followed?;
    ended
}

struct RunningDaemon {
    roots: Roots,
    daemon: PlacementDaemon,
    begun: Instant,
    cpu_at_start: q2c_model::Nanos,
}

impl RunningDaemon {
    fn tell_start(&self) -> Result<(), Fault> {
        let observer = self.daemon.observer();
        if let Some(reason) = observer.missing_probe() {
            say(&format!(
                "warning: the kernel's poll functions are not watched: failed to {reason}; only tasks with known names or hints count as polling"
            ));
        }
        if !self.daemon.moves_all_users() {
            let todo = capabilities::remedy(rustix::process::geteuid().is_root());
            say(&format!(
                "warning: this process lacks CAP_SYS_NICE: tasks of other users cannot be moved; {todo}"
            ));
        }
        let (cpus, cores) = (self.daemon.map().cpus(), self.daemon.map().cores());
        let seen_by = match observer.functions() {
            [] => "names and hints only".to_owned(),
            functions => format!("{}, names and hints", functions.join(", ")),
        };
        let text = format!("{cpus} CPUs on {cores} cores; polling is seen by {seen_by}");
        super::tell(self.begun, &text)
    }

    fn follow(&mut self, args: &PlaceStartArgs, stop: &AtomicBool) -> Result<(), Fault> {
        let window = Duration::from_nanos(usable_window(args.detect.window).0);
        while !args.is_over(self.begun) && super::sleep_window(window, stop).is_some() {
            for event in self.daemon.window()? {
                super::tell(self.begun, &event.text)?;
            }
        }
        Ok(())
    }

    fn end(self) -> Result<Exit, Fault> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let used_s = (own_cpu(&self.roots) - self.cpu_at_start).0 as f64 / 1e9;
        let moved = self.daemon.moved_tasks();
        let outcomes = self.daemon.end();
        let failed: Vec<_> = outcomes.iter().filter(|(_, o)| !o.is_final()).collect();
        let percent = 100.0 * used_s / seconds.max(1e-9);
        let line = format!(
            "{seconds:.2} s  ended: {moved} tasks had CPUs of q2c's, {} got their own back; this process used {percent:.2} % of a CPU",
            outcomes.len() - failed.len()
        );
        print_while_read(&line)?;
        for (task, outcome) in &failed {
            say(&format!("{}: {outcome}; run q2c restore", task.display()));
        }
        Ok(Exit::requirements(failed.is_empty()))
    }
}
