//! The expressions of claims.

use std::fmt;

/// A comparison that a claim expects to be true.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Its text.
    pub text: String,
    /// The left side, which is shown as the measured figure.
    pub left: Expr,
    /// The comparison.
    pub compare: Compare,
    /// The first unit of the right side, `%`, `us`, `K` and so on; where it has none, that of the
    /// left side's figures; or nothing.
    pub unit: &'static str,
}

/// The comparisons.
#[derive(Clone, Debug, PartialEq)]
pub enum Compare {
    /// The left side is above.
    Above(Expr),
    /// It is above or equal.
    AtLeast(Expr),
    /// It is below.
    Below(Expr),
    /// It is below or equal.
    AtMost(Expr),
    /// It is near the first, at most the second away.
    Near(Expr, Expr),
}

/// A computation.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number; times are in ns, shares in 0..1.
    Number(f64),
    /// A figure of the experiment.
    Figure(Figure),
    /// The highest or lowest interval of a figure within its window.
    OverTime(Extreme, Figure),
    /// The opposite.
    Minus(Box<Expr>),
    /// Two computations joined.
    Join(Join, Box<Expr>, Box<Expr>),
    /// A computation for each value of an axis or for each phase, and one number from them.
    Over {
        /// What is made of the values.
        of: Aggregate,
        /// The computation.
        each: Box<Expr>,
        /// The axis, or `phase`.
        axis: String,
        /// The first and last value of the axis that count; `None` for all.
        range: Option<(String, String)>,
    },
}

/// The highest or the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The highest.
    Highest,
    /// The lowest.
    Lowest,
}

/// The ways to join two computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Sum.
    Plus,
    /// Difference.
    Minus,
    /// Product.
    Times,
    /// Quotient.
    By,
    /// The greater of two.
    Greater,
}

/// The ways to make one number of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The least.
    Min,
    /// The largest.
    Max,
    /// The mean.
    Mean,
    /// The largest less the least, over the mean.
    Spread,
    /// The value of the axis at which it is largest.
    ArgMax,
    /// The value of the axis at which it is least.
    ArgMin,
}

/// A figure of an experiment. What is not named is that of the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// Its name, such as `iops` or `miss_rate`.
    pub name: String,
    /// The words before its name, which are windows, phases or jobs: `steady` of
    /// `steady.miss_rate`.
    pub words: Vec<String>,
    /// Values of axes, or a phase, job or window by its kind: `iops[jobs=8, phase=none]`.
    pub at: Vec<(String, String)>,
}

impl Aggregate {
    /// All of them with their names.
    pub const ALL: [(&'static str, Aggregate); 6] = [
        ("min", Aggregate::Min),
        ("max", Aggregate::Max),
        ("mean", Aggregate::Mean),
        ("spread", Aggregate::Spread),
        ("argmax", Aggregate::ArgMax),
        ("argmin", Aggregate::ArgMin),
    ];
}

impl Expr {
    /// Whether it is made of figures, and not of numbers alone.
    #[must_use]
    pub fn has_figures(&self) -> bool {
        let mut has = false;
        self.figures(&mut |_| has = true);
        has
    }

    /// Calls `look` with every figure in it.
    pub fn figures(&self, look: &mut dyn FnMut(&Figure)) {
        match self {
            Expr::Number(_) => {}
            Expr::Figure(figure) | Expr::OverTime(_, figure) => look(figure),
            Expr::Minus(inner) | Expr::Over { each: inner, .. } => inner.figures(look),
            Expr::Join(_, one, other) => {
                one.figures(look);
                other.figures(look);
            }
        }
    }
}

impl Compare {
    /// The right side, or the middle where it has a tolerance.
    #[must_use]
    pub fn right(&self) -> &Expr {
        match self {
            Compare::Above(right)
            | Compare::AtLeast(right)
            | Compare::Below(right)
            | Compare::AtMost(right)
            | Compare::Near(right, _) => right,
        }
    }
}

impl Expect {
    /// The right side, or the middle where it has a tolerance.
    #[must_use]
    pub fn right(&self) -> &Expr {
        self.compare.right()
    }

    /// All its sides.
    pub fn sides(&self) -> Vec<&Expr> {
        let mut sides = vec![&self.left, self.right()];
        if let Compare::Near(_, within) = &self.compare {
            sides.push(within);
        }
        sides
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for word in &self.words {
            write!(f, "{word}.")?;
        }
        f.write_str(&self.name)?;
        let at: Vec<String> = self.at.iter().map(|(k, v)| format!("{k}={v}")).collect();
        match at.is_empty() {
            true => Ok(()),
            false => write!(f, "[{}]", at.join(", ")),
        }
    }
}
