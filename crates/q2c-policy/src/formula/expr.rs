//! A formula as a tree over the statistics of a window, and the calculation of its value.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormulaOp {
    Or,
    And,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
    Equal,
    NotEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Part of a formula. Times are in nanoseconds; true is 1, false 0.
#[derive(Clone, Debug)]
pub(super) enum FormulaExpr {
    Number(f64),
    Statistic(Statistic),
    Negative(Box<FormulaExpr>),
    Not(Box<FormulaExpr>),
    Binary(FormulaOp, Box<[FormulaExpr; 2]>),
    If(Box<[FormulaExpr; 3]>),
    Smallest(Vec<FormulaExpr>),
    Largest(Vec<FormulaExpr>),
}

impl FormulaExpr {
    /// Returns `None` if a part that is needed has no value; `if`, `&&` and `||` may skip parts.
    pub(super) fn value(&self, value_of: &dyn Fn(Statistic) -> f64) -> Option<f64> {
        let value = match self {
            FormulaExpr::Number(number) => *number,
            FormulaExpr::Statistic(statistic) => value_of(*statistic),
            FormulaExpr::Negative(expr) => -expr.value(value_of)?,
            FormulaExpr::Not(expr) => as_number(!expr.is_true(value_of)?),
            FormulaExpr::Binary(op, sides) => binary(*op, sides, value_of)?,
            FormulaExpr::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let branch = if condition.is_true(value_of)? {
                    then
                } else {
                    otherwise
                };
                branch.value(value_of)?
            }
            FormulaExpr::Smallest(arguments) => fold(arguments, value_of, f64::min)?,
            FormulaExpr::Largest(arguments) => fold(arguments, value_of, f64::max)?,
        };
        value.is_finite().then_some(value)
    }

    fn is_true(&self, value_of: &dyn Fn(Statistic) -> f64) -> Option<bool> {
        Some(self.value(value_of)? != 0.0)
    }

    pub(super) fn statistics(&self, statistics: &mut Vec<Statistic>) {
        let parts: &[FormulaExpr] = match self {
            FormulaExpr::Number(_) => &[],
            FormulaExpr::Statistic(statistic) => {
                statistics.push(*statistic);
                &[]
            }
            FormulaExpr::Negative(expr) | FormulaExpr::Not(expr) => std::slice::from_ref(expr),
            FormulaExpr::Binary(_, sides) => &sides[..],
            FormulaExpr::If(parts) => &parts[..],
            FormulaExpr::Smallest(parts) | FormulaExpr::Largest(parts) => parts,
        };
        parts.iter().for_each(|part| part.statistics(statistics));
    }
}

fn as_number(truth: bool) -> f64 {
    f64::from(u8::from(truth))
}

fn binary(
    op: FormulaOp,
    [left, right]: &[FormulaExpr; 2],
    value_of: &dyn Fn(Statistic) -> f64,
) -> Option<f64> {
    let a = left.value(value_of)?;
    match op {
        FormulaOp::Or if a != 0.0 => return Some(1.0),
        FormulaOp::And if a == 0.0 => return Some(0.0),
        _ => {}
    }
    let b = right.value(value_of)?;
    Some(match op {
        FormulaOp::Or | FormulaOp::And => b,
        FormulaOp::Less => as_number(a < b),
        FormulaOp::LessOrEqual => as_number(a <= b),
        FormulaOp::More => as_number(a > b),
        FormulaOp::MoreOrEqual => as_number(a >= b),
        FormulaOp::Equal => as_number(a == b),
        FormulaOp::NotEqual => as_number(a != b),
        FormulaOp::Add => a + b,
        FormulaOp::Subtract => a - b,
        FormulaOp::Multiply => a * b,
        FormulaOp::Divide => a / b,
    })
}

fn fold(
    arguments: &[FormulaExpr],
    value_of: &dyn Fn(Statistic) -> f64,
    pick: fn(f64, f64) -> f64,
) -> Option<f64> {
    let mut values = arguments.iter().map(|expr| expr.value(value_of));
    let first = values.next()??;
    values.try_fold(first, |best, value| Some(pick(best, value?)))
}

/// One statistic of a bucket's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statistic {
    /// Number of completions.
    Count,
    /// Mean observed time.
    Mean,
    /// Shortest observed time.
    Min,
    /// Longest observed time.
    Max,
    /// Observed time of the last completion.
    Last,
    /// The time that this percentage, 1 to 99, of the observed times do not exceed.
    Percentile(u8),
    /// Left mean deviation: how far times lie below the previous window's mean, averaged over all.
    Lmd,
    /// Number of misses: completions whose sleep ended too late.
    Misses,
}

pub(super) const STATISTIC_NAMES: &str = "count, mean, min, max, last, p01 to p99, lmd, misses";

const STATISTICS: [(&str, Statistic); 7] = [
    ("count", Statistic::Count),
    ("mean", Statistic::Mean),
    ("min", Statistic::Min),
    ("max", Statistic::Max),
    ("last", Statistic::Last),
    ("lmd", Statistic::Lmd),
    ("misses", Statistic::Misses),
];

impl Statistic {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let entry = STATISTICS.iter().find(|(known, _)| *known == name);
        let named = entry.map(|(_, statistic)| *statistic);
        named.or_else(|| Some(Statistic::Percentile(percent_of_name(name)?)))
    }

    /// True if the statistic is a time, false if it is a count.
    pub(crate) fn is_time(self) -> bool {
        !matches!(self, Statistic::Count | Statistic::Misses)
    }
}

fn percent_of_name(name: &str) -> Option<u8> {
    let digits = name.strip_prefix('p').filter(|digits| digits.len() == 2)?;
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    let percent = digits.parse().ok();
    percent.filter(|&percent| all_digits && percent > 0)
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Percentile(percent) => write!(f, "p{percent:02}"),
            other => {
                let known = STATISTICS.iter().find(|(_, statistic)| statistic == other);
                f.write_str(known.map_or("", |(name, _)| name))
            }
        }
    }
}
