//! The command `q2c place start --mode scx`.

use super::start::PlaceStartArgs;
use q2c_model::Fault;
use q2c_result::Exit;
use std::sync::atomic::AtomicBool;

#[cfg(not(feature = "scx"))]
pub(super) fn run(_: &PlaceStartArgs, _: &AtomicBool) -> Result<Exit, Fault> {
    use q2c_place::scheduler::scx::ScxError;
    Err(ScxError::NotBuilt.into())
}

#[cfg(feature = "scx")]
pub(super) use built::run;

#[cfg(feature = "scx")]
mod built {
    use super::{AtomicBool, Exit, Fault, PlaceStartArgs};
    use q2c_host::Roots;
    use q2c_host::signals::Orderly;
    use q2c_place::map::SmtMap;
    use q2c_place::scheduler::map::from_machine;
    use q2c_place::scheduler::scx::{Report, Scheduler, ScxError};
    use std::time::{Duration, Instant};

    const LOOK_INTERVAL: Duration = Duration::from_millis(200);
    const LOOKS_PER_LINE: u32 = 25;

    /// Schedules until the requested time is over or a signal arrives. Both are normal ends.
    pub(crate) fn run(args: &PlaceStartArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
        // After a signal the scheduler is removed from the kernel, which may take a second.
        let _orderly = Orderly::begin();
        let mut run = ScxRun {
            args,
            stop,
            roots: Roots::live(),
            begun: Instant::now(),
        };
        while run.load_and_watch()? {}
        run.tell("ended: the kernel's own scheduler is in force again")?;
        Ok(Exit::Done)
    }

    struct ScxRun<'a> {
        args: &'a PlaceStartArgs,
        stop: &'a AtomicBool,
        roots: Roots,
        begun: Instant,
    }

    impl ScxRun<'_> {
        /// Loads the scheduler and keeps it until the end. Returns true if the kernel asks to load
        /// the scheduler again, because CPUs were added or removed.
        fn load_and_watch(&mut self) -> Result<bool, Fault> {
            let map: SmtMap = from_machine(&self.roots);
            let window = self.args.detect.window;
            let rules = self.args.rules.rules();
            let scheduler = Scheduler::begin(&self.roots, &map, window, rules)?;
            let shape = format!("{} CPUs on {} cores", map.cpus(), map.cores());
            self.tell(&format!("the scheduler is in force on {shape}"))?;
            let mut last = Report::default();
            for look in 1_u32.. {
                let over = self.args.is_over(self.begun);
                if over || crate::commands::place::sleep_window(LOOK_INTERVAL, self.stop).is_none()
                {
                    break;
                }
                let report = match scheduler.check() {
                    Err(ScxError::Ended(ended)) if ended.asks_for_restart() => {
                        self.tell(&format!("loaded again: {ended}"))?;
                        return Ok(true);
                    }
                    other => other?,
                };
                if look % LOOKS_PER_LINE == 0 && report != last {
                    self.tell(&figures_text(&report))?;
                    last = report;
                }
            }
            let report = scheduler.check()?;
            self.tell(&figures_text(&report))?;
            Ok(false)
        }

        fn tell(&self, text: &str) -> Result<(), Fault> {
            crate::commands::place::tell(self.begun, text)
        }
    }

    fn figures_text(report: &Report) -> String {
        format!(
            "{} tasks taken by CPUs with fewer, {} swaps of a polling task; {} of both wait for a running task; classes changed {} times",
            report.steals, report.swaps, report.redirects, report.classes
        )
    }
}
