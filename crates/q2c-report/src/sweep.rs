//! What a sweep found, in sentences: the same in terminal and page.

use crate::disturbed;
use crate::label;
use crate::quantity::{duration, number};
use crate::said::{Said, Weight};
use q2c_model::Simulated;
use q2c_result::sweep::{Best, SimCell, SweepAnswer, SweepResult};
use q2c_result::tune::{Sweep, SweepCell};

/// The conclusions on one trace, the verdict first, with its caveats: whether a rule gains
/// anything, the best rule that keeps the limits, those with the most KIOPS/core and the most IOPS,
/// and what limits them.
pub(crate) fn conclusions(result: &SweepResult, answer: &SweepAnswer) -> Vec<Said> {
    let mut all: Vec<Said> = no_gain(result, answer).into_iter().collect();
    all.push(within_limits(result, answer));
    let caveats = disturbed::caveats(result.warnings.iter()).into_iter();
    all.extend(caveats.map(|words| Said::new(Weight::Caution, "caveat", words)));
    let most = [
        ("most KIOPS/core", answer.most_kiops_per_core),
        ("most IOPS", answer.most_iops),
    ];
    for (what, cell) in most {
        let cell = cell.and_then(|index| result.cells.get(index));
        all.extend(cell.map(|cell| Said::plain(what, of_all(cell, answer))));
    }
    all.push(limits(result, answer));
    if !answer.stability.is_empty() {
        all.push(Said::new(Weight::Caution, "stability", &answer.stability));
    }
    all
}

/// The figures of what every rule stands beside.
pub(crate) fn references(answer: &SweepAnswer) -> Vec<(&'static str, &Simulated)> {
    let mut all = vec![("poll", &answer.poll)];
    all.extend(answer.interrupt.iter().map(|of| ("interrupt", of)));
    all.push(("oracle (bound)", &answer.oracle));
    all
}

/// The best configurations over several traces.
pub(crate) fn over_all(result: &SweepResult) -> Vec<Said> {
    if result.inputs.len() < 2 {
        return Vec::new();
    }
    let told = |best: &Option<Best>, what: &str, how: &str| match best {
        None => Said::new(
            Weight::Caution,
            what,
            "no configuration keeps the limits on every trace",
        ),
        Some(best) => Said::new(
            Weight::Good,
            what,
            format!(
                "{}, {how} {:.1} % of each trace's own best",
                best.policy,
                best.share * 100.0
            ),
        ),
    };
    vec![
        told(&result.best, "best on average", "on average"),
        told(&result.best_worst_case, "best worst case", "at least"),
    ]
}

/// Says that polling wins, where no rule has more KIOPS/core than it.
fn no_gain(result: &SweepResult, answer: &SweepAnswer) -> Option<Said> {
    let most = result.cells.get(answer.most_kiops_per_core?)?;
    let (most, poll) = (most.gives.kiops_per_core, answer.poll.kiops_per_core);
    (most <= poll).then(|| {
        let mut words = format!(
            "every rule loses to it. The best has {} times its IOPS per core",
            number(most / poll)
        );
        let fastest = answer.most_iops.and_then(|index| result.cells.get(index));
        if let Some(cell) = fastest {
            let kept = cell.gives.rates.iops / answer.poll.rates.iops * 100.0;
            words += &format!(", the fastest {kept:.1} % of its IOPS");
        }
        Said::new(Weight::Caution, "use classic polling", words)
    })
}

fn within_limits(result: &SweepResult, answer: &SweepAnswer) -> Said {
    let by = label::objective(&result.objective);
    if let Some(cell) = answer.best.and_then(|best| result.cells.get(best)) {
        let words = [
            with_figures(cell, answer),
            "Of those within 0.5 % of the most it misses least".to_owned(),
            of_oracle(answer.of_oracle, &cell.gives),
            of_linux(answer, &cell.gives),
        ];
        let what = format!("best by {by} within the limits");
        return Said::new(Weight::Good, &what, words.join(". "));
    }
    let nearest = answer.nearest.and_then(|index| result.cells.get(index));
    let words = nearest.map_or_else(
        || "no configuration may be chosen".to_owned(),
        |cell| {
            format!(
                "the nearest is {}. Its IOPS are {:.1} % of the floor, its p99 {}, its CPU {} %",
                with_figures(cell, answer),
                cell.gives.rates.iops / answer.floor_iops * 100.0,
                duration(cell.gives.latencies.p99_ns),
                number(cell.gives.rates.cpu_pct)
            )
        },
    );
    Said::new(Weight::Caution, "no configuration keeps the limits", words)
}

fn limits(result: &SweepResult, answer: &SweepAnswer) -> Said {
    let mut words = format!("a floor of {:.0} IOPS", answer.floor_iops);
    if !answer.floor.is_empty() {
        words += &format!(" ({})", answer.floor);
    }
    if !result.limits.is_empty() {
        words += &format!("; asked for: {}", result.limits.join(", "));
    }
    Said::plain("limits", words)
}

/// A configuration that has the most of all, whether it keeps the limits or not.
fn of_all(cell: &SimCell, answer: &SweepAnswer) -> String {
    let words = with_figures(cell, answer);
    match cell.keeps_limits {
        Some(false) if cell.gives.rates.iops < answer.floor_iops => {
            format!("{words}. It breaks the floor")
        }
        Some(false) => format!("{words}. It breaks the limits"),
        Some(true) | None => words,
    }
}

/// A configuration, and how it compares with classic polling and with interrupts.
fn with_figures(cell: &SimCell, answer: &SweepAnswer) -> String {
    let mut words = format!(
        "{}, {}",
        cell.policy,
        beside_polling(&cell.gives, &answer.poll)
    );
    if let Some(interrupt) = &answer.interrupt {
        words += &format!(
            ". {}",
            beside(&cell.gives, interrupt, "interrupts", "their")
        );
    }
    words
}

/// How figures compare with those of classic polling, and how many I/Os missed.
pub(crate) fn beside_polling(gives: &Simulated, poll: &Simulated) -> String {
    format!(
        "{}, {} % missed",
        beside(gives, poll, "classic polling", "its"),
        number(gives.rates.miss_rate * 100.0)
    )
}

fn beside(gives: &Simulated, other: &Simulated, name: &str, whose: &str) -> String {
    let iops = gives.rates.iops / other.rates.iops * 100.0;
    let ratio = gives.kiops_per_core / other.kiops_per_core;
    // Where all oversleep, and the costs know of no other CPU.
    if !ratio.is_finite() {
        return format!("No CPU by these costs, at {iops:.1} % of the IOPS of {name}");
    }
    format!(
        "{} times the IOPS per core of {name} at {iops:.1} % of {whose} IOPS",
        number(ratio)
    )
}

/// The CPU that the best configuration saves, over what the oracle saves. A rule that sleeps past
/// the completions saves more than the oracle, and pays for it by latency.
fn of_oracle(share: Option<f64>, gives: &Simulated) -> String {
    match share {
        None => "The oracle saves no CPU here".to_owned(),
        Some(share) if share < 0.0 => "It takes more CPU than classic polling".to_owned(),
        Some(share) if share <= 1.0 => {
            format!(
                "It saves {:.1} % of the CPU that the oracle saves",
                share * 100.0
            )
        }
        Some(times) => format!(
            "It saves {times:.2} times the CPU of the oracle, which never sleeps past a completion ({:.1} % missed)",
            gives.rates.miss_rate * 100.0
        ),
    }
}

/// The best configuration over Linux's rule.
fn of_linux(answer: &SweepAnswer, gives: &Simulated) -> String {
    let rates = &answer.linux.rates;
    match answer.of_linux {
        Some(times) => format!(
            "It has {times:.2} times the IOPS per core of Linux's rule ({:.0} IOPS, {:.1} % CPU, {:.2} % missed)",
            rates.iops,
            rates.cpu_pct,
            rates.miss_rate * 100.0
        ),
        None if !gives.kiops_per_core.is_finite() => {
            "Without CPU it is not compared with Linux's rule".to_owned()
        }
        None => "Linux's rule never slept, so it is not compared with".to_owned(),
    }
}

/// A trace's cells in the form in which `q2c tune` keeps a sweep, for the charts that both share.
pub(crate) fn as_sweep(result: &SweepResult, answer: &SweepAnswer) -> Sweep {
    let own = result
        .cells
        .iter()
        .enumerate()
        .filter(|(_, c)| c.input == answer.input);
    let first = own.clone().next().map_or(0, |(index, _)| index);
    let cell = |(_, cell): (usize, &SimCell)| SweepCell {
        rule: cell.rule.clone(),
        policy: cell.policy.clone(),
        params: cell.params.clone(),
        keeps_limits: cell.keeps_limits,
        gives: cell.gives.into(),
    };
    let input = &result.inputs[answer.input];
    Sweep {
        bs: input.sizes.last().copied().unwrap_or_default(),
        ios: input.ios,
        cells: own.map(cell).collect(),
        pareto: answer.pareto.iter().map(|i| i - first).collect(),
        best: answer.best.map(|i| i - first),
        oracle: answer.oracle.into(),
        poll: answer.poll.into(),
        floor: answer.floor.clone(),
        floor_iops: answer.floor_iops,
    }
}

/// What the cells one step beside the best one give.
pub(crate) fn neighbours(answer: &SweepAnswer) -> Vec<Said> {
    let each = answer.neighbours.iter().map(|n| {
        let change = (n.share - 1.0) * 100.0;
        let below = if n.keeps_limits {
            ""
        } else {
            " (out of limits)"
        };
        format!("{} {change:+.1} %{below}", n.policy)
    });
    let words = each.collect::<Vec<_>>().join("; ");
    let said = (!words.is_empty()).then(|| Said::plain("one step off", words));
    said.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule that misses nearly every completion sleeps longer than the oracle, so what it saves
    /// is no share of what the oracle saves.
    #[test]
    fn more_than_the_oracle_is_no_share_of_it() {
        let mut gives = Simulated::default();
        gives.rates.miss_rate = 0.987;
        let told = |share| of_oracle(share, &gives);
        let half = told(Some(0.5));
        assert_eq!(half, "It saves 50.0 % of the CPU that the oracle saves");
        let more = told(Some(8.177));
        assert!(more.starts_with("It saves 8.18 times the CPU of the oracle"));
        assert!(more.ends_with("(98.7 % missed)"), "{more}");
        assert_eq!(told(Some(-0.1)), "It takes more CPU than classic polling");
        assert_eq!(told(None), "The oracle saves no CPU here");
    }
}
