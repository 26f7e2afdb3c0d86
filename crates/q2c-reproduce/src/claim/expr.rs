//! The expressions of claims.

use std::fmt;

/// A comparison that a claim expects to be true.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    pub text: String,
    pub left: Expr,
    pub compare: Compare,
    /// The right side, or the middle where it has a tolerance.
    pub right: Expr,
    /// The tolerance of [`Compare::Near`].
    pub within: Option<Expr>,
    /// The first unit of the right side (`%`, `us`, `K`), else of the left side's figures, or none.
    pub unit: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compare {
    Above,
    AtLeast,
    Below,
    AtMost,
    Near,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number; times are in ns, shares in 0..1.
    Number(f64),
    Figure(FigureReference),
    /// The highest or lowest interval of a figure within its window.
    OverTime(Extreme, FigureReference),
    Minus(Box<Expr>),
    Join(Join, Box<Expr>, Box<Expr>),
    /// A computation for each value of an axis or for each phase, and one number from them.
    Over {
        of: Aggregate,
        each: Box<Expr>,
        /// The axis, or `phase`.
        axis: String,
        /// The first and last value of the axis that count; `None` for all.
        range: Option<(String, String)>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Highest,
    Lowest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    Plus,
    Minus,
    Times,
    By,
    Greater,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    Min,
    Max,
    Mean,
    /// The largest less the least, over the mean.
    Spread,
    /// The value of the axis at which it is largest.
    ArgMax,
    ArgMin,
}

/// A figure of an experiment. What is not named is that of the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FigureReference {
    pub name: String,
    /// Windows, phases or jobs before its name: `steady` of `steady.miss_rate`.
    pub words: Vec<String>,
    /// Values of axes, or a phase, job or window by its kind: `iops[jobs=8, phase=none]`.
    pub at: Vec<(String, String)>,
}

impl Aggregate {
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
    pub(crate) fn has_figures(&self) -> bool {
        let mut has = false;
        self.figures(&mut |_| has = true);
        has
    }

    pub(crate) fn figures(&self, look: &mut dyn FnMut(&FigureReference)) {
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
