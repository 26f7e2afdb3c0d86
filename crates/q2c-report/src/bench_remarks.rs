//! The words of a benchmark for sleeps, backgrounds and tuned methods.

use crate::bench::{Section, name};
use crate::course::jobs;
use crate::label::ranges;
use crate::quantity::{duration, number};
use q2c_result::bench::{BenchCell, BenchResult, TunedMethod};

/// From this share on an I/O of a sleep rule as good as always slept.
const NEARLY_ALL: f64 = 0.95;

/// What a miss rate is of, where not nearly all I/Os slept.
fn slept_share(cell: &BenchCell) -> String {
    let share = cell.slept_share.filter(|share| share.median < NEARLY_ALL);
    share.map_or_else(String::new, |share| {
        let percent = number(share.median * 100.0);
        format!(" of all I/Os, of which {percent} % slept")
    })
}

/// A line for each point of a section whose own threads slept, and for each background.
pub(crate) fn remarks(result: &BenchResult, section: &Section) -> Vec<String> {
    let cells = || {
        result
            .cells
            .iter()
            .filter(|cell| section.holds(&cell.point))
    };
    let slept = cells().filter_map(|cell| {
        let asked = cell.effective_sleep_ns.as_ref()?;
        let slept = match &cell.slept_ns {
            Some(slept) => format!(", slept {}", duration(slept.median)),
            None => ", and none slept".to_owned(),
        };
        let misses = cell.miss_rate.map_or(f64::NAN, |misses| misses.median);
        let sleep = duration(asked.median);
        let (name, jobs) = (name(&cell.point), jobs(cell.point.jobs));
        let of = slept_share(cell);
        Some(format!(
            "{name}, {jobs}: miss rate {:.2} %{of}, effective sleep {sleep}{slept}",
            misses * 100.0
        ))
    });
    let background = cells().filter_map(|cell| {
        let beside = cell.background_jobs.as_ref()?;
        let shares = match beside.shares_cpus {
            true => ", which jobs have, too",
            false => "",
        };
        let (name, jobs) = (name(&cell.point), jobs(cell.point.jobs));
        Some(format!(
            "beside {name}, {jobs}: background {} KIOPS, alone {}, on CPUs {}{shares}; {:.2} CPUs \
             busy while the jobs rest are not counted",
            number(beside.iops.median / 1e3),
            number(beside.alone_iops.median / 1e3),
            ranges(&beside.cpus),
            beside.rest_busy_cpus.median
        ))
    });
    slept.chain(background).collect()
}

/// Where the tuned methods of a benchmark come from; `None` without them.
pub(crate) fn tuned(result: &BenchResult) -> Option<String> {
    let tuned = result.job.tuned.as_ref()?;
    let each = tuned.methods.iter();
    let of = |t: &TunedMethod| match t.jobs {
        None => format!("{} {}", t.bs, t.method),
        Some(n) => format!("{} with {} {}", t.bs, jobs(n), t.method),
    };
    let each: Vec<String> = each.map(of).collect();
    let other = match tuned.target == result.target.path {
        true => String::new(),
        false => format!(", which tuned another target, {}", tuned.target),
    };
    Some(format!("{}, by {}{other}", each.join("; "), tuned.run))
}
