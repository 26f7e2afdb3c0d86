//! A formula as a tree, and the calculation of its value.

use super::statistic::Statistic;

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
    /// `None` when a part that is needed has none; `if`, `&&` and `||` may not need all.
    pub(super) fn value(&self, of: &dyn Fn(Statistic) -> f64) -> Option<f64> {
        let value = match self {
            FormulaExpr::Number(number) => *number,
            FormulaExpr::Statistic(statistic) => of(*statistic),
            FormulaExpr::Negative(expr) => -expr.value(of)?,
            FormulaExpr::Not(expr) => truth(!expr.is_true(of)?),
            FormulaExpr::Binary(op, sides) => binary(*op, sides, of)?,
            FormulaExpr::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let taken = if condition.is_true(of)? {
                    then
                } else {
                    otherwise
                };
                taken.value(of)?
            }
            FormulaExpr::Smallest(all) => fold(all, of, f64::min)?,
            FormulaExpr::Largest(all) => fold(all, of, f64::max)?,
        };
        value.is_finite().then_some(value)
    }

    fn is_true(&self, of: &dyn Fn(Statistic) -> f64) -> Option<bool> {
        Some(self.value(of)? != 0.0)
    }

    pub(super) fn statistics(&self, all: &mut Vec<Statistic>) {
        let parts: &[FormulaExpr] = match self {
            FormulaExpr::Number(_) => &[],
            FormulaExpr::Statistic(statistic) => {
                all.push(*statistic);
                &[]
            }
            FormulaExpr::Negative(expr) | FormulaExpr::Not(expr) => std::slice::from_ref(expr),
            FormulaExpr::Binary(_, sides) => &sides[..],
            FormulaExpr::If(parts) => &parts[..],
            FormulaExpr::Smallest(parts) | FormulaExpr::Largest(parts) => parts,
        };
        parts.iter().for_each(|part| part.statistics(all));
    }
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn binary(
    op: FormulaOp,
    [left, right]: &[FormulaExpr; 2],
    of: &dyn Fn(Statistic) -> f64,
) -> Option<f64> {
    let a = left.value(of)?;
    match op {
        FormulaOp::Or if a != 0.0 => return Some(1.0),
        FormulaOp::And if a == 0.0 => return Some(0.0),
        _ => {}
    }
    let b = right.value(of)?;
    Some(match op {
        FormulaOp::Or | FormulaOp::And => b,
        FormulaOp::Less => truth(a < b),
        FormulaOp::LessOrEqual => truth(a <= b),
        FormulaOp::More => truth(a > b),
        FormulaOp::MoreOrEqual => truth(a >= b),
        FormulaOp::Equal => truth(a == b),
        FormulaOp::NotEqual => truth(a != b),
        FormulaOp::Add => a + b,
        FormulaOp::Subtract => a - b,
        FormulaOp::Multiply => a * b,
        FormulaOp::Divide => a / b,
    })
}

fn fold(
    all: &[FormulaExpr],
    of: &dyn Fn(Statistic) -> f64,
    pick: fn(f64, f64) -> f64,
) -> Option<f64> {
    let mut values = all.iter().map(|expr| expr.value(of));
    let first = values.next()??;
    values.try_fold(first, |best, value| Some(pick(best, value?)))
}
