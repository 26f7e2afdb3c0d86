//! What an expression's values are: their unit, and the numbers that compare with them.

use crate::claim::expr::{Aggregate, Expr, FigureReference, Join};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExprQuantity {
    /// A share, 0..1.
    Share,
    /// A time, ns.
    Time,
    Rate,
}

impl ExprQuantity {
    pub(crate) fn unit(self) -> &'static str {
        match self {
            ExprQuantity::Share => "%",
            ExprQuantity::Time => "us",
            ExprQuantity::Rate => "",
        }
    }

    /// What is wrong with the unit of a number that is compared with it.
    pub(crate) fn refuses(self, unit: &str) -> Option<String> {
        let (name, units): (_, &[&str]) = match self {
            ExprQuantity::Share => ("a share", &["%"]),
            ExprQuantity::Time => ("a time", &["ns", "us", "ms", "s"]),
            ExprQuantity::Rate => ("a number of I/Os per second", &["K", "M"]),
        };
        (!unit.is_empty() && !units.contains(&unit)).then(|| {
            let units = units.join(", ");
            format!("the left side is {name}, which has no unit `{unit}`; write {units}")
        })
    }

    /// What is wrong with a number without a unit that stands alone on the other side.
    pub(crate) fn refuses_bare(self, number: f64) -> Option<String> {
        match self {
            ExprQuantity::Share if number > 1.0 => Some(format!(
                "the left side is a share, and {number} is more than all of it; write {number} %"
            )),
            ExprQuantity::Time if number != 0.0 => Some(format!(
                "the left side is a time, and {number} has no unit; write ns, us, ms or s behind it"
            )),
            _ => None,
        }
    }
}

impl FigureReference {
    fn quantity(&self) -> Option<ExprQuantity> {
        match self.name.as_str() {
            "miss_rate" | "cpu" => Some(ExprQuantity::Share),
            "effective_sleep" | "latency" | "p50" | "p99" => Some(ExprQuantity::Time),
            "iops" => Some(ExprQuantity::Rate),
            _ => None,
        }
    }
}

impl Expr {
    /// `None` for numbers alone, for quotients, and for figures that only one kind of study has.
    pub(crate) fn quantity(&self) -> Option<ExprQuantity> {
        use Aggregate::{ArgMax, ArgMin, Spread};
        match self {
            Expr::Figure(figure) | Expr::OverTime(_, figure) => figure.quantity(),
            Expr::Minus(inner) => inner.quantity(),
            Expr::Over { of, each, .. } => match of {
                Spread | ArgMax | ArgMin => None,
                _ => each.quantity(),
            },
            Expr::Join(Join::Plus | Join::Minus | Join::Greater, one, other) => {
                one.quantity().filter(|one| other.quantity() == Some(*one))
            }
            Expr::Number(_) | Expr::Join(..) => None,
        }
    }
}
