//! The doctor's checks together with measurements that need an engine, and the runner's clock.

use q2c_engine::{TimeSource, floor};
use q2c_host::Roots;
use q2c_host::doctor::{self, DoctorFacts, RingProbe, ToolCosts};
use q2c_host::topology::AllowedCpus;
use q2c_model::CpuId;
use q2c_result::doctor::SCHEMA;
use q2c_result::{DoctorReport, Target};
use q2c_run::runner::{SessionClock, SystemClock};
use q2c_sys::{Buffers, Ring};
use std::time::Duration;

/// Runs the doctor's checks. Sets up a ring, and measures q2c's own costs on the CPU of the first
/// job, else on the last allowed one. A simulated machine is not examined.
pub fn examine(
    roots: &Roots,
    target: Option<&Target>,
    jobs: &[CpuId],
    time: &TimeSource,
) -> DoctorReport {
    if time.world().is_none() {
        return doctor::run(&facts(roots, target, jobs, time));
    }
    DoctorReport {
        schema: SCHEMA.to_owned(),
        ..DoctorReport::default()
    }
}

/// The facts behind [`examine`], for callers that add some or need more than a report.
pub fn facts<'a>(
    roots: &'a Roots,
    target: Option<&'a Target>,
    jobs: &[CpuId],
    time: &TimeSource,
) -> DoctorFacts<'a> {
    let mut facts = DoctorFacts::new(roots, target);
    facts.ring = Some(probe_ring());
    facts.jobs = jobs.to_vec();
    facts.costs = tool_costs(jobs, time);
    facts
}

fn probe_ring() -> RingProbe {
    let set_up = || {
        let buffers = Buffers::new(1, 4096).map_err(|e| e.to_string())?;
        let file = std::fs::File::open("/dev/null").map_err(|e| e.to_string())?;
        Ring::new(file, buffers).map_err(|e| e.to_string())
    };
    set_up().map_or_else(RingProbe::Refused, |_| RingProbe::Works)
}

fn tool_costs(jobs: &[CpuId], time: &TimeSource) -> Option<ToolCosts> {
    let spare = || AllowedCpus::read().ok()?.spare(&[], &[]);
    let cpu = jobs.first().copied().or_else(spare)?;
    let TimeSource::Real(clock) = time else {
        return None;
    };
    Some(ToolCosts {
        clock_ns: floor::clock_ns(*clock),
        empty_loop_ns: floor::measure(time, cpu).ok()?,
    })
}

/// The clock for budgets and lengths of trials. In a simulated world it shows simulated time.
pub struct RunnerClock {
    time: TimeSource,
    system: SystemClock,
}

impl RunnerClock {
    /// The clock of a run whose trials take their times from `time`.
    pub fn new(time: &TimeSource) -> Self {
        RunnerClock {
            time: time.clone(),
            system: SystemClock::default(),
        }
    }

    fn world_now(&self) -> Option<Duration> {
        let world = self.time.world()?;
        Some(Duration::from_nanos(world.now()))
    }
}

impl SessionClock for RunnerClock {
    fn monotonic(&self) -> Duration {
        self.world_now().unwrap_or_else(|| self.system.monotonic())
    }

    fn unix(&self) -> Duration {
        self.world_now().unwrap_or_else(|| self.system.unix())
    }
}
