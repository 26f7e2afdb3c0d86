//! The words of a benchmark for sleeps, backgrounds and leads.

use crate::bench::{Section, beside, name, settings};
use crate::course::{COMPARED, course, jobs};
use crate::label::ranges;
use crate::quantity::{duration, number};
use q2c_policy::Method;
use q2c_result::bench::{BenchCell, BenchResult, Lead, Measure, TunedMethod};

/// The leads of a benchmark, each said once for all points that share it: `KIOPS/core, io_uring
/// 4 KiB randread depth 1: interrupt leads up to 4 jobs, poll from 8; not clear at 6`.
pub(crate) fn leads(result: &BenchResult) -> Vec<String> {
    once(result.leads.iter().map(|lead| told(result, lead)).collect())
}

/// What is said of a lead.
struct Told {
    measure: &'static str,
    /// The point without its jobs and method.
    place: String,
    words: String,
}

/// Leads that share their words are put together: first the measures of one place, then the places
/// of the same measures. The order is that of the first of each.
fn once(all: Vec<Told>) -> Vec<String> {
    let mut by_place: Vec<(Vec<&str>, String, String)> = Vec::new();
    for Told {
        measure,
        place,
        words,
    } in all
    {
        let same = |known: &&mut (Vec<&str>, String, String)| known.1 == place && known.2 == words;
        match by_place.iter_mut().find(same) {
            Some(known) => known.0.push(measure),
            None => by_place.push((vec![measure], place, words)),
        }
    }
    let places = by_place.len();
    let mut by_words: Vec<(Vec<&str>, Vec<String>, String)> = Vec::new();
    for (measures, place, words) in by_place {
        let same =
            |known: &&mut (Vec<&str>, Vec<String>, String)| known.0 == measures && known.2 == words;
        match by_words.iter_mut().find(same) {
            Some(known) => known.1.push(place),
            None => by_words.push((measures, vec![place], words)),
        }
    }
    let line = |(measures, at, words): (Vec<&str>, Vec<String>, String)| {
        let at = match at.len() == places && places > 1 {
            true => "at every point".to_owned(),
            false => at.join("; "),
        };
        format!("{}, {at}: {words}", measures.join(" and "))
    };
    by_words.into_iter().map(line).collect()
}

fn told(result: &BenchResult, lead: &Lead) -> Told {
    let Lead {
        engine,
        depth,
        bs,
        rw,
        background,
        hw_queues,
        nr_requests,
        ..
    } = lead;
    let measure = match lead.measure {
        Measure::Iops => "IOPS",
        Measure::KiopsPerCore => "KIOPS/core",
    };
    let method = |method: &Method| {
        let tuned = result.job.tuned.as_ref();
        match tuned.is_some_and(|tuned| tuned.names(*bs, method)) {
            true => format!("{method} (tuned)"),
            false => method.to_string(),
        }
    };
    let place = format!(
        "{engine} {bs} {rw} depth {depth}{}{}",
        settings(*hw_queues, *nr_requests),
        beside(background)
    );
    let mut words = course(&lead.leaders, &lead.changes, &COMPARED, method);
    if !lead.not_compared.is_empty() {
        let names: Vec<String> = lead.not_compared.iter().map(ToString::to_string).collect();
        words += &format!(
            "; not everywhere compared, because it failed, did not run as asked or is not credible: {}",
            names.join(", ")
        );
    }
    Told {
        measure,
        place,
        words,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(all: &[(&'static str, &str, &str)]) -> Vec<String> {
        let told = |(measure, place, words): &(&'static str, &str, &str)| Told {
            measure,
            place: (*place).to_owned(),
            words: (*words).to_owned(),
        };
        once(all.iter().map(told).collect())
    }

    #[test]
    fn points_that_share_a_lead_share_a_line() {
        let none = "no method leads clearly";
        let (iops, per_core) = ("IOPS", "KIOPS/core");
        let everywhere = [
            (iops, "libaio depth 1", none),
            (per_core, "libaio depth 1", none),
            (iops, "libaio depth 8", none),
            (per_core, "libaio depth 8", none),
        ];
        assert_eq!(
            said(&everywhere),
            ["IOPS and KIOPS/core, at every point: no method leads clearly"]
        );
        assert_eq!(
            said(&everywhere[..1]),
            ["IOPS, libaio depth 1: no method leads clearly"]
        );
        let mut one_leads = everywhere;
        one_leads[3].2 = "poll leads at 1 job";
        assert_eq!(
            said(&one_leads),
            [
                "IOPS and KIOPS/core, libaio depth 1: no method leads clearly",
                "IOPS, libaio depth 8: no method leads clearly",
                "KIOPS/core, libaio depth 8: poll leads at 1 job",
            ]
        );
    }
}
