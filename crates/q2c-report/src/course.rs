//! The words for the methods that lead over the number of jobs.

use q2c_policy::Method;
use q2c_result::lead::{Change, Leader};

/// The words of a course that depend on why a method leads.
pub(crate) struct CourseWords {
    /// What the first method does: `leads`.
    leads: &'static str,
    /// Said where no lead is clear.
    none: &'static str,
    /// Before the numbers of jobs without a clear lead.
    unclear: &'static str,
    /// Whether the methods at these numbers are named, too.
    named: bool,
}

/// Methods that were compared by a figure.
pub(crate) const COMPARED: CourseWords = CourseWords {
    leads: "leads",
    none: "no method leads clearly",
    unclear: "not clear at",
    named: false,
};

/// Methods that are recommended.
pub(crate) const RECOMMENDED: CourseWords = CourseWords {
    leads: "is recommended",
    none: "no recommendation is settled",
    unclear: "not settled at",
    named: true,
};

/// The course of a lead: `interrupt leads up to 4 jobs, poll from 8; not clear at 6`. `method`
/// names a method.
pub(crate) fn course(
    leaders: &[Leader],
    changes: &[Change],
    words: &CourseWords,
    method: impl Fn(&Method) -> String,
) -> String {
    let clear: Vec<&Leader> = leaders.iter().filter(|leader| leader.clear).collect();
    let unclear = || leaders.iter().filter(|leader| !leader.clear);
    let unclear: Vec<String> = unclear()
        .map(|leader| match words.named {
            true => format!("{} ({})", leader.jobs, method(&leader.method)),
            false => leader.jobs.to_string(),
        })
        .collect();
    let leads = words.leads;
    let mut text = match (clear.first(), clear.last(), changes.first()) {
        (Some(first), Some(last), None) => {
            let name = method(&first.method);
            match (clear.len() == leaders.len(), first.jobs == last.jobs) {
                (true, false) => format!("{name} {leads} at every number of jobs"),
                (_, true) => format!("{name} {leads} at {}", jobs(first.jobs)),
                (false, false) => {
                    format!("{name} {leads} from {} to {}", first.jobs, jobs(last.jobs))
                }
            }
        }
        (_, _, Some(change)) => {
            format!(
                "{} {leads} up to {}",
                method(&change.from),
                jobs(change.last)
            )
        }
        _ if words.named => return format!("{}: {}", words.none, at_each(leaders, &method)),
        _ => return words.none.to_owned(),
    };
    for change in changes {
        text += &format!(", {} from {}", method(&change.to), change.first);
    }
    if !unclear.is_empty() {
        text += &format!("; {} {}", words.unclear, unclear.join(", "));
    }
    text
}

/// `interrupt at 1, poll at 2`.
fn at_each(leaders: &[Leader], method: impl Fn(&Method) -> String) -> String {
    let each = leaders.iter();
    let each: Vec<String> = each
        .map(|leader| format!("{} at {}", method(&leader.method), leader.jobs))
        .collect();
    each.join(", ")
}

/// A number of jobs: `1 job`, `4 jobs`.
pub(crate) fn jobs(n: u32) -> String {
    format!("{n} job{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The course of a lead whose leaders are given by number of jobs, name and whether it is
    /// clear; changes are given by their numbers of jobs.
    fn said_by(
        words: &CourseWords,
        leaders: &[(u32, &str, bool)],
        changes: &[(u32, u32)],
    ) -> String {
        let at = |jobs: u32| {
            let found = leaders.iter().find(|leader| leader.0 == jobs);
            found.expect("a leader there").1.parse().unwrap()
        };
        let all: Vec<Leader> = leaders
            .iter()
            .map(|&(jobs, method, clear)| Leader {
                jobs,
                method: method.parse().unwrap(),
                clear,
            })
            .collect();
        let changes: Vec<Change> = changes
            .iter()
            .map(|&(last, first)| Change {
                last,
                first,
                from: at(last),
                to: at(first),
            })
            .collect();
        course(&all, &changes, words, ToString::to_string)
    }

    fn said(leaders: &[(u32, &str, bool)], changes: &[(u32, u32)]) -> String {
        said_by(&COMPARED, leaders, changes)
    }

    #[test]
    fn leads_are_told_in_words() {
        let (i, p) = ("interrupt", "poll");
        let changes = [(4, i, true), (6, p, false), (8, p, true)];
        assert_eq!(
            said(&changes, &[(4, 8)]),
            "interrupt leads up to 4 jobs, poll from 8; not clear at 6"
        );
        assert_eq!(
            said(&[(1, i, true), (2, i, true)], &[]),
            "interrupt leads at every number of jobs"
        );
        assert_eq!(
            said(&[(1, i, true), (2, i, false)], &[]),
            "interrupt leads at 1 job; not clear at 2"
        );
        assert_eq!(
            said(&[(1, i, true), (2, i, true), (4, p, false)], &[]),
            "interrupt leads from 1 to 2 jobs; not clear at 4"
        );
        assert_eq!(
            said(&[(1, i, false), (2, p, false)], &[]),
            "no method leads clearly"
        );
        let twice = [(1, i, true), (2, p, true), (4, i, true)];
        assert_eq!(
            said(&twice, &[(1, 2), (2, 4)]),
            "interrupt leads up to 1 job, poll from 2, interrupt from 4"
        );
    }

    /// A recommendation that is not settled is one all the same, so it is named.
    #[test]
    fn recommendations_are_told_in_words() {
        let (i, p) = ("interrupt", "poll");
        let told = |leaders: &[(u32, &str, bool)], changes: &[(u32, u32)]| {
            said_by(&RECOMMENDED, leaders, changes)
        };
        assert_eq!(
            told(&[(1, i, true), (2, i, false), (4, p, true)], &[(1, 4)]),
            "interrupt is recommended up to 1 job, poll from 4; not settled at 2 (interrupt)"
        );
        assert_eq!(
            told(&[(1, i, false), (2, p, false)], &[]),
            "no recommendation is settled: interrupt at 1, poll at 2"
        );
        assert_eq!(told(&[(2, p, true)], &[]), "poll is recommended at 2 jobs");
    }
}
