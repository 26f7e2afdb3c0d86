//! A formula as a tree, and the calculation of its value.

use super::statistic::Statistic;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
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
pub(super) enum Expr {
    Number(f64),
    Statistic(Statistic),
    Negative(Box<Expr>),
    Not(Box<Expr>),
    Binary(Op, Box<[Expr; 2]>),
    If(Box<[Expr; 3]>),
    Smallest(Vec<Expr>),
    Largest(Vec<Expr>),
}

impl Expr {
    /// `None` when a part that is needed has none; `if`, `&&` and `||` may not need all.
    pub(super) fn value(&self, of: &dyn Fn(Statistic) -> f64) -> Option<f64> {
        let value = match self {
            Expr::Number(number) => *number,
            Expr::Statistic(statistic) => of(*statistic),
            Expr::Negative(expr) => -expr.value(of)?,
            Expr::Not(expr) => truth(!expr.is_true(of)?),
            Expr::Binary(op, sides) => binary(*op, sides, of)?,
            Expr::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let taken = if condition.is_true(of)? {
                    then
                } else {
                    otherwise
                };
                taken.value(of)?
            }
            Expr::Smallest(all) => fold(all, of, f64::min)?,
            Expr::Largest(all) => fold(all, of, f64::max)?,
        };
        value.is_finite().then_some(value)
    }

    fn is_true(&self, of: &dyn Fn(Statistic) -> f64) -> Option<bool> {
        Some(self.value(of)? != 0.0)
    }

    pub(super) fn statistics(&self, all: &mut Vec<Statistic>) {
        let parts: &[Expr] = match self {
            Expr::Number(_) => &[],
            Expr::Statistic(statistic) => {
                all.push(*statistic);
                &[]
            }
            Expr::Negative(expr) | Expr::Not(expr) => std::slice::from_ref(expr),
            Expr::Binary(_, sides) => &sides[..],
            Expr::If(parts) => &parts[..],
            Expr::Smallest(parts) | Expr::Largest(parts) => parts,
        };
        parts.iter().for_each(|part| part.statistics(all));
    }
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn binary(op: Op, [left, right]: &[Expr; 2], of: &dyn Fn(Statistic) -> f64) -> Option<f64> {
    let a = left.value(of)?;
    match op {
        Op::Or if a != 0.0 => return Some(1.0),
        Op::And if a == 0.0 => return Some(0.0),
        _ => {}
    }
    let b = right.value(of)?;
    Some(match op {
        Op::Or | Op::And => b,
        Op::Less => truth(a < b),
        Op::LessOrEqual => truth(a <= b),
        Op::More => truth(a > b),
        Op::MoreOrEqual => truth(a >= b),
        Op::Equal => truth(a == b),
        Op::NotEqual => truth(a != b),
        Op::Add => a + b,
        Op::Subtract => a - b,
        Op::Multiply => a * b,
        Op::Divide => a / b,
    })
}

fn fold(all: &[Expr], of: &dyn Fn(Statistic) -> f64, pick: fn(f64, f64) -> f64) -> Option<f64> {
    let mut values = all.iter().map(|expr| expr.value(of));
    let first = values.next()??;
    values.try_fold(first, |best, value| Some(pick(best, value?)))
}
