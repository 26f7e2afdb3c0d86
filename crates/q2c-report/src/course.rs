//! The words for the methods that are recommended over the number of jobs.

use crate::phrase::{counted, listed, some_listed};
use q2c_policy::Method;
use q2c_result::lead::{LeadChange, Leader};

/// The recommended method over the number of jobs: `interrupt is recommended up to 4 jobs, poll
/// from 8; not settled at 6 (poll)`. The text names unsettled ones too. `method` names a method.
pub(crate) fn course(
    leaders: &[Leader],
    changes: &[LeadChange],
    method: impl Fn(&Method) -> String,
) -> String {
    let clear: Vec<&Leader> = leaders.iter().filter(|leader| leader.clear).collect();
    let mut text = match (clear.as_slice(), changes.first()) {
        (_, Some(change)) => {
            let last = jobs(change.last);
            format!("{} is recommended up to {last}", method(&change.from))
        }
        ([], None) => {
            let at = |leader: &Leader| format!("{} at {}", method(&leader.method), leader.jobs);
            return format!(
                "no recommendation is settled: {}",
                listed(leaders.iter().map(at))
            );
        }
        ([first, .., last], None) if clear.len() < leaders.len() && first.jobs != last.jobs => {
            let (name, last) = (method(&first.method), jobs(last.jobs));
            format!("{name} is recommended from {} to {last}", first.jobs)
        }
        ([first, .., last], None) if first.jobs != last.jobs => {
            format!(
                "{} is recommended at every number of jobs",
                method(&first.method)
            )
        }
        ([first, ..], None) => {
            let (name, jobs) = (method(&first.method), jobs(first.jobs));
            format!("{name} is recommended at {jobs}")
        }
    };
    for change in changes {
        text += &format!(", {} from {}", method(&change.to), change.first);
    }
    let unclear = leaders.iter().filter(|leader| !leader.clear);
    let unclear = unclear.map(|leader| format!("{} ({})", leader.jobs, method(&leader.method)));
    if let Some(unclear) = some_listed(unclear) {
        text += &format!("; not settled at {unclear}");
    }
    text
}

pub(crate) fn jobs(n: u32) -> String {
    counted(n, "job")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case: the leaders (number of jobs, name, and whether it is clear), the changes by their
    /// numbers of jobs, and the expected words.
    type Case<'a> = (&'a [(u32, &'a str, bool)], &'a [(u32, u32)], &'a str);

    /// The text also names a leader that is not settled.
    #[test]
    fn changes_are_told_by_their_numbers_of_jobs() {
        let (i, p) = ("interrupt", "poll");
        let cases: [Case<'_>; 7] = [
            (
                &[(4, i, true), (6, p, false), (8, p, true)],
                &[(4, 8)],
                "interrupt is recommended up to 4 jobs, poll from 8; not settled at 6 (poll)",
            ),
            (
                &[(1, i, true), (2, i, true)],
                &[],
                "interrupt is recommended at every number of jobs",
            ),
            (
                &[(1, i, true), (2, i, true), (4, p, false)],
                &[],
                "interrupt is recommended from 1 to 2 jobs; not settled at 4 (poll)",
            ),
            (
                &[(1, i, true), (2, p, true), (4, i, true)],
                &[(1, 2), (2, 4)],
                "interrupt is recommended up to 1 job, poll from 2, interrupt from 4",
            ),
            (
                &[(1, i, true), (2, i, false), (4, p, true)],
                &[(1, 4)],
                "interrupt is recommended up to 1 job, poll from 4; not settled at 2 (interrupt)",
            ),
            (
                &[(1, i, false), (2, p, false)],
                &[],
                "no recommendation is settled: interrupt at 1, poll at 2",
            ),
            (&[(2, p, true)], &[], "poll is recommended at 2 jobs"),
        ];
        for (leaders, changes, wanted) in cases {
            let leaders: Vec<Leader> = leaders
                .iter()
                .map(|&(jobs, method, clear)| Leader {
                    jobs,
                    method: method.parse().unwrap(),
                    clear,
                })
                .collect();
            let at = |jobs: u32| {
                leaders
                    .iter()
                    .find(|leader| leader.jobs == jobs)
                    .unwrap()
                    .method
                    .clone()
            };
            let change = |&(last, first): &(u32, u32)| LeadChange {
                last,
                first,
                from: at(last),
                to: at(first),
            };
            let changes: Vec<LeadChange> = changes.iter().map(change).collect();
            assert_eq!(course(&leaders, &changes, ToString::to_string), wanted);
        }
    }
}
