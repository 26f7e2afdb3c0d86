//! The expressions of claims.

use std::fmt;

/// A comparison that a claim expects to be true.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expect {
    pub text: String,
    pub left: Expr,
    pub compare: Compare,
    /// The right side, or the middle if there is a tolerance.
    pub right: Expr,
    /// The tolerance of [`Compare::Near`].
    pub within: Option<Expr>,
    /// The first unit on the right side (`%`, `us`, `K`), else that of the left; may be empty.
    pub unit: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Compare {
    Above,
    AtLeast,
    Below,
    AtMost,
    Near,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    /// A number; times are in ns, shares in 0..1.
    Number(f64),
    Figure(FigureReference),
    /// The highest or lowest of a figure's values by time interval, within its window.
    OverTime(Extreme, FigureReference),
    Minus(Box<Expr>),
    Join(Join, Box<Expr>, Box<Expr>),
    /// Evaluates `each` for every value of an axis or every phase, and makes one number of them.
    Over {
        of: Aggregate,
        each: Box<Expr>,
        /// The axis, or `phase`.
        axis: String,
        /// The first and last value of the axis to use; `None` for all.
        range: Option<(String, String)>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Highest,
    Lowest,
}

/// An arithmetic operation that joins two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    Plus,
    Minus,
    Times,
    Div,
    /// The greater of the two.
    Greater,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Min,
    Max,
    Mean,
    /// The maximum less the minimum, divided by the mean.
    Spread,
    /// The value of the axis at which the figure is largest.
    ArgMax,
    ArgMin,
}

/// A figure of an experiment. Whatever it does not name comes from the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FigureReference {
    pub name: String,
    /// Windows, phases or jobs before its name: `steady` of `steady.miss_rate`.
    pub words: Vec<String>,
    /// Values of axes, or a phase, job or window by its kind, as in `iops[jobs=8, phase=none]`.
    pub at: Vec<(String, String)>,
}

impl Aggregate {
    pub(crate) const ALL: [(&'static str, Aggregate); 6] = [
        ("min", Aggregate::Min),
        ("max", Aggregate::Max),
        ("mean", Aggregate::Mean),
        ("spread", Aggregate::Spread),
        ("argmax", Aggregate::ArgMax),
        ("argmin", Aggregate::ArgMin),
    ];
}

impl Expr {
    /// True if it contains a figure, and not only numbers.
    pub(crate) fn has_figures(&self) -> bool {
        let mut has_figure = false;
        self.visit_figures(&mut |_| has_figure = true);
        has_figure
    }

    pub(crate) fn visit_figures(&self, visit: &mut dyn FnMut(&FigureReference)) {
        match self {
            Expr::Number(_) => {}
            Expr::Figure(figure) | Expr::OverTime(_, figure) => visit(figure),
            Expr::Minus(inner) | Expr::Over { each: inner, .. } => inner.visit_figures(visit),
            Expr::Join(_, one, other) => {
                one.visit_figures(visit);
                other.visit_figures(visit);
            }
        }
    }

    /// The quantity of the value, by which units are checked. `None` where it is not known: for
    /// plain numbers, products, quotients, and figures that only one kind of study has.
    pub(crate) fn quantity(&self) -> Option<ExprQuantity> {
        use Aggregate::{ArgMax, ArgMin, Spread};
        match self {
            Expr::Figure(figure) | Expr::OverTime(_, figure) => match figure.name.as_str() {
                "miss_rate" | "cpu" => Some(ExprQuantity::Share),
                "effective_sleep" | "latency" | "p50" | "p99" => Some(ExprQuantity::Time),
                "completion" | "sum_q2c" | "sum_u2c" => Some(ExprQuantity::ReplayTime),
                "iops" => Some(ExprQuantity::Rate),
                _ => None,
            },
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

impl Expect {
    pub(crate) fn sides(&self) -> Vec<&Expr> {
        let sides = [&self.left, &self.right].into_iter();
        sides.chain(&self.within).collect()
    }
}

impl fmt::Display for FigureReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for word in &self.words {
            write!(f, "{word}.")?;
        }
        f.write_str(&self.name)?;
        let at: Vec<String> = self.at.iter().map(|(k, v)| format!("{k}={v}")).collect();
        if at.is_empty() {
            Ok(())
        } else {
            write!(f, "[{}]", at.join(", "))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExprQuantity {
    /// A share, 0..1.
    Share,
    /// A time, ns.
    Time,
    /// A time of a whole replay, ns.
    ReplayTime,
    Rate,
}

impl ExprQuantity {
    pub(crate) fn unit(self) -> &'static str {
        match self {
            ExprQuantity::Share => "%",
            ExprQuantity::Time => "us",
            ExprQuantity::ReplayTime => "s",
            ExprQuantity::Rate => "",
        }
    }

    /// Returns what is wrong with the unit of a number that is compared with this quantity.
    pub(crate) fn unit_problem(self, unit: &str) -> Option<String> {
        let (name, units): (_, &[&str]) = match self {
            ExprQuantity::Share => ("a share", &["%"]),
            ExprQuantity::Time | ExprQuantity::ReplayTime => ("a time", &["ns", "us", "ms", "s"]),
            ExprQuantity::Rate => ("a number of I/Os per second", &["K", "M"]),
        };
        (!unit.is_empty() && !units.contains(&unit)).then(|| {
            let units = units.join(", ");
            format!("the left side is {name}, which has no unit `{unit}`; write {units}")
        })
    }

    /// Returns what is wrong if the other side is this number without a unit.
    pub(crate) fn bare_number_problem(self, number: f64) -> Option<String> {
        match self {
            ExprQuantity::Share if number > 1.0 => Some(format!(
                "the left side is a share, and {number} is more than all of it; write {number} %"
            )),
            ExprQuantity::Time | ExprQuantity::ReplayTime if number != 0.0 => Some(format!(
                "the left side is a time, and {number} has no unit; write ns, us, ms or s behind it"
            )),
            _ => None,
        }
    }
}
