//! Words and tables of `q2c diff`, for a terminal and for a ticket.

use crate::quantity::{self, NOTHING, duration, number};
use q2c_result::diff::{
    BrokenFigure, ChangedFact, ComparedFigure, DiffResult, DiffSays, DiffSide, JudgedLimit,
};
use q2c_result::figures::FigureUnit;
use q2c_stats::Interval;

/// Heads of the columns of [`row`].
pub(crate) const HEAD: [&str; 6] = ["figure", "A", "B", "B / A", "[least, most]", "says"];
/// How to read the table.
pub(crate) const LEGEND: &str = "Medians over trials. [least, most]: the ratios of the trials that lie furthest apart. \
     Alike: they leave no change open, or it is at most 1 %.";

/// The verdict in a sentence.
pub(crate) fn verdict(result: &DiffResult) -> String {
    let count = |says: DiffSays| result.figures.iter().filter(|of| of.says == says).count();
    let (worse, better) = (count(DiffSays::Worse), count(DiffSays::Better));
    let all = result.figures.len();
    let single = count(DiffSays::Single);
    let first = match (worse, better) {
        (0, 0) if single == all && all > 0 => "single values, which tell nothing apart".to_owned(),
        (0, 0) => "no figure is better or worse".to_owned(),
        (0, _) => format!("B is better: {}", most(result, DiffSays::Better)),
        (_, 0) => format!("B is worse: {}", most(result, DiffSays::Worse)),
        _ => format!(
            "B is worse in some and better in others: {}; {}",
            most(result, DiffSays::Worse),
            most(result, DiffSays::Better)
        ),
    };
    format!("{first}; of {all} figures {worse} worse, {better} better")
}

/// What stands before all else where one side was simulated and the other measured.
pub(crate) fn one_simulated(result: &DiffResult) -> Option<&'static str> {
    match (result.a.simulated, result.b.simulated) {
        (true, false) => Some("A was simulated, B was measured on a real machine."),
        (false, true) => Some("A was measured on a real machine, B was simulated."),
        _ => None,
    }
}

/// The figure that changed most in a direction.
fn most(result: &DiffResult, says: DiffSays) -> String {
    let change = |of: &&ComparedFigure| of.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let of = result.figures.iter().filter(|of| of.says == says);
    of.max_by(|a, b| change(a).total_cmp(&change(b)))
        .map_or_else(String::new, |of| {
            let ratio = of.ratio.map(|ratio| with_interval(ratio, of.interval));
            let ratio = ratio.unwrap_or_else(|| NOTHING.to_owned());
            format!("{} of {} is {ratio} times A's", of.figure, of.of)
        })
}

/// A ratio with its interval.
fn with_interval(ratio: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some(ends) => format!("{} {}", number(ratio), in_brackets(ends)),
        None => number(ratio),
    }
}

fn in_brackets((low, high): (f64, f64)) -> String {
    format!("[{}, {}]", number(low), number(high))
}

/// The row of a figure.
pub(crate) fn row(of: &ComparedFigure) -> [String; 6] {
    [
        format!("{}: {}", of.of, of.figure),
        value(&of.a, of.unit),
        value(&of.b, of.unit),
        of.ratio.map_or(NOTHING.to_owned(), number),
        of.interval.map_or_else(String::new, in_brackets),
        says(of.says).to_owned(),
    ]
}

fn value(of: &Interval, unit: FigureUnit) -> String {
    let value = of.median;
    match unit {
        FigureUnit::PerSecond => quantity::iops(value),
        FigureUnit::ThousandPerSecond => format!("{} K", number(value)),
        FigureUnit::Nanoseconds => duration(value),
        FigureUnit::Seconds => quantity::seconds(value),
        FigureUnit::Share => format!("{} %", number(value * 100.0)),
        FigureUnit::Percent => format!("{} %", number(value)),
        FigureUnit::Cpus => format!("{} CPUs", number(value)),
        FigureUnit::Bytes => q2c_model::Bytes(value as u64).to_string(),
        FigureUnit::Number => number(value),
    }
}

/// What the trials say, in a word.
pub(crate) fn says(says: DiffSays) -> &'static str {
    match says {
        DiffSays::Better => "better",
        DiffSays::Worse => "worse",
        DiffSays::Differs => "differs",
        DiffSays::Alike => "alike",
        DiffSays::Single => "one value",
        DiffSays::Unknown => "unknown",
    }
}

/// Whether a figure tells a change, or a difference of single values above 1 %.
pub(crate) fn tells(of: &ComparedFigure) -> bool {
    match of.says {
        DiffSays::Better | DiffSays::Worse | DiffSays::Differs => true,
        DiffSays::Single => of.ratio.is_some_and(|ratio| (ratio - 1.0).abs() > 0.01),
        DiffSays::Alike | DiffSays::Unknown => false,
    }
}

/// A side: where it lies, and whose it is.
pub(crate) fn side(side: &DiffSide) -> String {
    let started = side.started_unix_s.map(crate::html::started);
    let mut words = format!("{}, q2c {}", side.path, side.version);
    words += &started.map_or_else(String::new, |at| format!(", {at}"));
    if side.simulated {
        words += ", simulated";
    }
    if !side.complete {
        words += ", stopped early";
    }
    words
}

/// A fact that changed.
pub(crate) fn changed(fact: &ChangedFact) -> String {
    let told = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    format!("{}: {} -> {}", fact.name, told(&fact.a), told(&fact.b))
}

/// A limit, and what breaks it.
#[must_use]
pub fn limit(limit: &JudgedLimit) -> String {
    let broken: Vec<String> = limit.broken.iter().map(broken).collect();
    match broken.is_empty() {
        true => format!("{}: kept by {} figures", limit.asked, limit.figures),
        false => format!("{}: broken by {}", limit.asked, broken.join(", ")),
    }
}

/// A figure that breaks a limit: its value, and the change where that is limited.
fn broken(of: &BrokenFigure) -> String {
    let told = value(&of.value, of.unit);
    let told = match &of.change {
        Some(change) => format!(
            "{told}, {} times {}",
            with_interval(change.ratio, change.interval),
            value(&change.baseline, of.unit)
        ),
        None if of.value.trials > 1 => {
            let end = |at: f64| value(&Interval::of(&[at]), of.unit);
            format!("{told} [{}, {}]", end(of.value.min), end(of.value.max))
        }
        None => told,
    };
    format!("{} ({told})", of.of)
}

/// Conditions that differ, and the warnings of each side, in a line each.
pub(crate) fn warnings(result: &DiffResult) -> Vec<String> {
    let others = result.warnings.iter();
    let others = others.map(|it| format!("warning {}: {}; {}", it.id, it.found, it.means));
    let sides = [("A", &result.a), ("B", &result.b)]
        .into_iter()
        .filter_map(|(name, side)| {
            let ids: Vec<&str> = side.warnings.iter().map(|it| it.id.as_str()).collect();
            (!ids.is_empty()).then(|| format!("{name} warns of {}", ids.join(", ")))
        });
    others.chain(sides).collect()
}

/// What only one side has.
pub(crate) fn unpaired(result: &DiffResult) -> Vec<(&'static str, String)> {
    let of = |in_a: bool| {
        let names = result.unpaired.iter().filter(|one| one.in_a == in_a);
        names
            .map(|one| one.of.clone())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let told = [("only in A", of(true)), ("only in B", of(false))];
    let told = told.into_iter().filter(|(_, names)| !names.is_empty());
    told.collect()
}
