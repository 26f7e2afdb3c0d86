//! The parts of a formula while it is read. Each part is checked when it is put together.

use super::Mistake;
use super::expr::{FormulaExpr, FormulaOp, Statistic};
use std::fmt;

/// The kind of a value. Every number has a unit, so that `mean - 4` is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Truth,
    /// The number 0, which fits any unit.
    Zero,
    /// A number in nanoseconds to this power: power 0 is a plain number, 1 a time.
    Power(i32),
}

impl ValueKind {
    pub(super) const NUMBER: ValueKind = ValueKind::Power(0);
    pub(super) const TIME: ValueKind = ValueKind::Power(1);

    pub(super) fn common_with(self, other: ValueKind) -> Result<ValueKind, String> {
        match (self, other) {
            (ValueKind::Zero, ValueKind::Power(_)) => Ok(other),
            (ValueKind::Power(_), ValueKind::Zero) => Ok(self),
            _ if self == other => Ok(self),
            _ => Err(format!(
                "expected {self}, as the value before it, found {other}; a time has a unit, as in 4us"
            )),
        }
    }

    pub(super) fn check_power(self) -> Result<i32, String> {
        match self {
            ValueKind::Truth => {
                let use_if = "if(comparison, value, value) makes a value of it";
                Err(format!("expected a value, found a comparison; {use_if}"))
            }
            ValueKind::Zero => Ok(0),
            ValueKind::Power(power) => Ok(power),
        }
    }

    pub(super) fn check_truth(self) -> Result<(), String> {
        match self {
            ValueKind::Truth => Ok(()),
            other => Err(format!(
                "expected a comparison such as p01 > 40us, found {other}"
            )),
        }
    }

    pub(super) fn check_time(self) -> Result<(), String> {
        match self {
            ValueKind::Zero | ValueKind::TIME => Ok(()),
            other => Err(format!(
                "expected a formula that gives a time, found {other}; such as 0.7 * min or 40us"
            )),
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ValueKind::Truth => f.write_str("a comparison"),
            ValueKind::Zero => f.write_str("0"),
            ValueKind::NUMBER => f.write_str("a number without a unit"),
            ValueKind::TIME => f.write_str("a time"),
            ValueKind::Power(power) => write!(f, "a time to the power of {power}"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) expr: FormulaExpr,
    pub(super) kind: ValueKind,
    pub(super) at: usize,
}

/// The functions of formulas.
pub(super) const FUNCTIONS: [&str; 3] = ["if", "min", "max"];

impl Node {
    pub(super) fn number(value: f64, kind: ValueKind, at: usize) -> Self {
        let kind = if value == 0.0 { ValueKind::Zero } else { kind };
        Node {
            expr: FormulaExpr::Number(value),
            kind,
            at,
        }
    }

    pub(super) fn statistic(statistic: Statistic, at: usize) -> Self {
        let kind = if statistic.is_time() {
            ValueKind::TIME
        } else {
            ValueKind::NUMBER
        };
        let expr = FormulaExpr::Statistic(statistic);
        Node { expr, kind, at }
    }

    pub(super) fn negative(value: Node, at: usize) -> Result<Self, Mistake> {
        value.check(ValueKind::check_power)?;
        let expr = FormulaExpr::Negative(Box::new(value.expr));
        Ok(Node { expr, at, ..value })
    }

    pub(super) fn not(value: Node, at: usize) -> Result<Self, Mistake> {
        value.check(ValueKind::check_truth)?;
        let expr = FormulaExpr::Not(Box::new(value.expr));
        Ok(Node { expr, at, ..value })
    }

    pub(super) fn binary(op: FormulaOp, left: Node, right: Node) -> Result<Self, Mistake> {
        let kind = match op {
            FormulaOp::Or | FormulaOp::And => {
                left.check(ValueKind::check_truth)?;
                right.check(ValueKind::check_truth)?;
                ValueKind::Truth
            }
            FormulaOp::Add | FormulaOp::Subtract => common_kind([&left, &right])?,
            FormulaOp::Multiply => ValueKind::Power(
                left.check(ValueKind::check_power)? + right.check(ValueKind::check_power)?,
            ),
            FormulaOp::Divide => {
                let dividend = left.check(ValueKind::check_power)?;
                let divisor = right.check(ValueKind::check_power)?;
                let is_zero = |window| right.expr.value(&|s| value_in(window, s)) == Some(0.0);
                if SAMPLE_WINDOWS.iter().all(is_zero) {
                    let error = "division by zero: this is 0 in every window".to_owned();
                    return Err(Mistake {
                        at: right.at,
                        error,
                    });
                }
                ValueKind::Power(dividend - divisor)
            }
            _ => common_kind([&left, &right]).map(|_| ValueKind::Truth)?,
        };
        Ok(Node {
            expr: FormulaExpr::Binary(op, Box::new([left.expr, right.expr])),
            kind,
            at: left.at,
        })
    }

    /// The node of a call of one of [`FUNCTIONS`].
    pub(super) fn call(function: &str, arguments: Vec<Node>, at: usize) -> Result<Self, Mistake> {
        let count = arguments.len();
        let wrong = |expected| Mistake {
            at,
            error: format!("{function} takes {expected}, found {count}"),
        };
        match function {
            "if" => {
                let parts = <[Node; 3]>::try_from(arguments);
                Node::choice(parts.map_err(|_| wrong("a comparison and two values"))?, at)
            }
            _ if count < 2 => Err(wrong("two or more values")),
            "min" => Node::extreme(FormulaExpr::Smallest, arguments, at),
            _ => Node::extreme(FormulaExpr::Largest, arguments, at),
        }
    }

    fn choice(parts: [Node; 3], at: usize) -> Result<Self, Mistake> {
        let [condition, then, otherwise] = &parts;
        condition.check(ValueKind::check_truth)?;
        let kind = common_kind([then, otherwise])?;
        Ok(Node {
            expr: FormulaExpr::If(Box::new(parts.map(|part| part.expr))),
            kind,
            at,
        })
    }

    fn extreme(
        expr: fn(Vec<FormulaExpr>) -> FormulaExpr,
        arguments: Vec<Node>,
        at: usize,
    ) -> Result<Self, Mistake> {
        let kind = common_kind(&arguments)?;
        let expr = expr(arguments.into_iter().map(|node| node.expr).collect());
        Ok(Node { expr, kind, at })
    }

    pub(super) fn check<T>(
        &self,
        check: impl Fn(ValueKind) -> Result<T, String>,
    ) -> Result<T, Mistake> {
        check(self.kind).map_err(|error| Mistake { at: self.at, error })
    }
}

/// The common kind of values that are added, compared or chosen from; comparisons are refused.
fn common_kind<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Result<ValueKind, Mistake> {
    let mut kind = None;
    for node in nodes {
        node.check(ValueKind::check_power)?;
        let before: ValueKind = kind.unwrap_or(node.kind);
        kind = Some(node.check(|next| before.common_with(next))?);
    }
    Ok(kind.unwrap_or(ValueKind::Zero))
}

/// A window's count, misses, minimum, mean, maximum, last and left mean deviation, times in ns.
type SampleWindow = [f64; 7];

/// Windows to try a divisor on: from fast devices to seconds, one I/O and many, few misses and
/// many. A divisor that is zero in all of them counts as zero in every window.
const SAMPLE_WINDOWS: [SampleWindow; 5] = [
    [1.0, 0.0, 9e3, 9e3, 9e3, 9e3, 0.0],
    [20_000.0, 19_990.0, 4e3, 5.1e3, 9e6, 6e3, 0.3e3],
    [1_000.0, 7.0, 40e3, 50e3, 200e3, 45e3, 3e3],
    [21.0, 1.0, 2e6, 8e6, 30e6, 5e6, 1e6],
    [3.0, 3.0, 1e9, 2e9, 4e9, 1.5e9, 0.1e9],
];

fn value_in(window: &SampleWindow, statistic: Statistic) -> f64 {
    let &[count, misses, min, mean, max, last, lmd] = window;
    match statistic {
        Statistic::Count => count,
        Statistic::Misses => misses,
        Statistic::Min => min,
        Statistic::Mean => mean,
        Statistic::Max => max,
        Statistic::Last => last,
        Statistic::Lmd => lmd,
        Statistic::Percentile(percent) => min + (max - min) * f64::from(percent) / 100.0,
    }
}
