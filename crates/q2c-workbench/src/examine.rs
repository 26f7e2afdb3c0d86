//! The doctor's checks with the measurements that need an engine.

use q2c_engine::{TimeSource, floor};
use q2c_host::Roots;
use q2c_host::doctor::{self, DoctorFacts, RingProbe, ToolCosts};
use q2c_host::topology::AllowedCpus;
use q2c_model::CpuId;
use q2c_result::doctor::SCHEMA;
use q2c_result::{DoctorReport, Target};
use q2c_sys::{Buffers, Ring};

/// Runs the doctor's checks. A ring is really set up, and q2c's own costs are measured on the CPU
/// of the first job, or on the last allowed CPU when there are no jobs. A simulated machine has
/// nothing to be examined.
#[must_use]
pub fn examine(
    roots: &Roots,
    target: Option<&Target>,
    jobs: &[CpuId],
    time: &TimeSource,
) -> DoctorReport {
    match time.world() {
        Some(_) => DoctorReport {
            schema: SCHEMA.to_owned(),
            ..DoctorReport::default()
        },
        None => doctor::run(&facts(roots, target, jobs, time)),
    }
}

/// The facts that [`examine`] looks at, for callers that add some or ask for more than a report.
#[must_use]
pub fn facts<'a>(
    roots: &'a Roots,
    target: Option<&'a Target>,
    jobs: &[CpuId],
    time: &TimeSource,
) -> DoctorFacts<'a> {
    let facts = DoctorFacts::new(roots, target)
        .with_ring(ring())
        .with_jobs(jobs);
    match costs(jobs, time) {
        Some(costs) => facts.with_costs(costs),
        None => facts,
    }
}

fn ring() -> RingProbe {
    let tried = Buffers::new(1, 4096)
        .map_err(|e| e.to_string())
        .and_then(|buffers| {
            let file = std::fs::File::open("/dev/null").map_err(|e| e.to_string())?;
            Ring::new(file, buffers).map_err(|e| e.to_string())
        });
    match tried {
        Ok(_) => RingProbe::Works,
        Err(error) => RingProbe::Refused(error),
    }
}

/// q2c's own costs; `None` where they cannot be measured.
fn costs(jobs: &[CpuId], time: &TimeSource) -> Option<ToolCosts> {
    let last = || AllowedCpus::read().ok()?.spare(&[], &[]);
    let cpu = jobs.first().copied().or_else(last)?;
    let TimeSource::Real(clock) = time else {
        return None;
    };
    Some(ToolCosts {
        clock_ns: floor::clock_ns(*clock),
        empty_loop_ns: floor::measure(time, cpu).ok()?,
    })
}
