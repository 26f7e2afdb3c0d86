//! The figures of results. Each is declared once, with its name, its unit, its better direction and
//! the function that reads its values. CSV, `q2c diff` and limits read tables of figures and know
//! no kind of result.

/// Implements [`Measures`] for a kind of result, from its columns and the rows of a result.
macro_rules! measures {
    ($kind:ty, $columns:expr, |$result:ident| $rows:expr) => {
        impl crate::figures::Measures for $kind {
            fn declared() -> Vec<crate::figures::Figure> {
                $columns.declared()
            }

            fn figures(&self) -> crate::figures::FigureTable {
                let $result = self;
                $columns.table($rows)
            }
        }
    };
}

mod analyze;
mod bench;
mod fs;
mod place;
mod replay;
mod reproduce;
mod sweep;
mod tune;

use crate::bench::KindFigures;
use q2c_model::Op;
use q2c_model::stats::Interval;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// In which direction a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
    /// Neither direction is better.
    Neither,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureUnit {
    /// I/Os per second.
    PerSecond,
    /// Thousand I/Os per second.
    ThousandPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Seconds.
    Seconds,
    /// A share, 0 to 1.
    Share,
    /// Percent.
    Percent,
    /// CPUs.
    Cpus,
    /// Bytes.
    Bytes,
    /// A number without a unit.
    Number,
}

impl FigureUnit {
    /// The unit as a suffix to a column's name; empty if the name contains the unit.
    const fn suffix(self) -> &'static str {
        match self {
            FigureUnit::Nanoseconds => "_ns",
            FigureUnit::Seconds => "_s",
            FigureUnit::Percent => "_pct",
            FigureUnit::Cpus => "_cpus",
            FigureUnit::Bytes => "_bytes",
            FigureUnit::PerSecond | FigureUnit::ThousandPerSecond => "",
            FigureUnit::Share | FigureUnit::Number => "",
        }
    }
}

/// A figure that results can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Name of the figure, as limits use it: `p99`.
    pub name: Cow<'static, str>,
    /// Unit of the figure's values.
    pub unit: FigureUnit,
    /// The direction in which the figure is better.
    pub better: Better,
    /// True if each value is an interval over trials, false if it is a single number.
    pub over_trials: bool,
    /// Whether `q2c diff` compares two results by this figure. Limits may name any figure.
    pub compared: bool,
    /// Head of the figure's column in the report's table; empty for a figure that it lacks.
    pub head: &'static str,
}

impl Figure {
    /// The name of the CSV column, with the unit: `p99_ns`.
    pub fn column(&self) -> String {
        self.name.replace('.', "") + self.unit.suffix()
    }
}

/// A result as a table: a row for each thing that has figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureTable {
    /// Names of the text columns, which identify a row.
    pub keys: Vec<Cow<'static, str>>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The rows.
    pub rows: Vec<FigureRow>,
}

/// A row of a [`FigureTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct FigureRow {
    /// The name by which `q2c diff` matches rows; `None` if the row is not compared.
    pub of: Option<String>,
    /// True if no direction of the row's figures is better, as with the time between arrivals.
    pub neutral: bool,
    /// Texts in the order of the keys.
    pub keys: Vec<String>,
    /// Values in the order of the figures; an interval with 0 trials means that there is none.
    pub values: Vec<Interval>,
}

/// A result with figures.
pub trait Measures {
    /// The figures that such a result can have.
    fn declared() -> Vec<Figure>;

    /// The table of the result's figures, with a row for each thing that has some.
    fn figures(&self) -> FigureTable;
}

/// The value of a figure: an interval over trials, or a single number, which counts as missing if
/// it is not finite.
trait FigureValue {
    const OVER_TRIALS: bool;

    fn into_interval(self) -> Interval;
}

impl FigureValue for Interval {
    const OVER_TRIALS: bool = true;

    fn into_interval(self) -> Interval {
        self
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl FigureValue for $number {
            const OVER_TRIALS: bool = false;

            fn into_interval(self) -> Interval {
                Interval::from_samples(&[self as f64])
            }
        }
    )*};
}

numbers!(f64, u64, i64);

impl<V: FigureValue> FigureValue for Option<V> {
    const OVER_TRIALS: bool = V::OVER_TRIALS;

    fn into_interval(self) -> Interval {
        self.map(V::into_interval).unwrap_or_default()
    }
}

/// The kinds of requests that have figures of their own.
const KINDS: [Op; 3] = [Op::Read, Op::Write, Op::Flush];

type KindFigure = (
    &'static str,
    FigureUnit,
    Better,
    fn(&KindFigures) -> Interval,
);

const OF_KIND: [KindFigure; 5] = [
    ("iops", FigureUnit::PerSecond, Better::More, |of| of.iops),
    ("mean", FigureUnit::Nanoseconds, Better::Less, |of| {
        of.lat_ns.mean
    }),
    ("p50", FigureUnit::Nanoseconds, Better::Less, |of| {
        of.lat_ns.p50
    }),
    ("p99", FigureUnit::Nanoseconds, Better::Less, |of| {
        of.lat_ns.p99
    }),
    ("p99.9", FigureUnit::Nanoseconds, Better::Less, |of| {
        of.lat_ns.p999
    }),
];

/// Adds the figures of each kind of request: `read_iops`, `write_p99`, `flush_mean`.
fn add_kinds<T>(
    columns: Columns<T>,
    kinds: impl Fn(&T) -> &[KindFigures] + Copy + 'static,
) -> Columns<T> {
    KINDS.into_iter().fold(columns, |columns, op| {
        OF_KIND
            .into_iter()
            .fold(columns, |columns, (figure, unit, better, value)| {
                let of_row = move |row: &T| KindFigures::find(kinds(row), op).map(value);
                columns.figure(format!("{}_{figure}", op.name()), unit, better, of_row)
            })
    })
}

/// The function that reads the value of one column from a row.
type CellReader<T, V> = Box<dyn Fn(&T) -> V>;

struct Columns<T> {
    row_name: CellReader<T, Option<String>>,
    keys: Vec<(Cow<'static, str>, CellReader<T, String>)>,
    figures: Vec<(Figure, CellReader<T, Interval>)>,
    /// True if `q2c diff` compares the figures that are added from now on.
    compared: bool,
}

impl<T> Columns<T> {
    /// A table without columns. `row_name` returns the name by which `q2c diff` matches rows.
    fn new(row_name: impl Fn(&T) -> Option<String> + 'static) -> Self {
        Columns {
            row_name: Box::new(row_name),
            keys: Vec::new(),
            figures: Vec::new(),
            compared: true,
        }
    }

    fn key(
        mut self,
        name: impl Into<Cow<'static, str>>,
        text: impl Fn(&T) -> String + 'static,
    ) -> Self {
        self.keys.push((name.into(), Box::new(text)));
        self
    }

    fn figure<V: FigureValue>(
        mut self,
        name: impl Into<Cow<'static, str>>,
        unit: FigureUnit,
        better: Better,
        value: impl Fn(&T) -> V + 'static,
    ) -> Self {
        let figure = Figure {
            name: name.into(),
            unit,
            better,
            over_trials: V::OVER_TRIALS,
            compared: self.compared,
            head: "",
        };
        let value = Box::new(move |row: &T| value(row).into_interval());
        self.figures.push((figure, value));
        self
    }

    /// Gives the figure that was added last a column in the report's table.
    fn shown(mut self, head: &'static str) -> Self {
        if let Some((figure, _)) = self.figures.last_mut() {
            figure.head = head;
        }
        self
    }

    /// Excludes the figures that are added after this call from comparisons of results.
    fn not_compared(mut self) -> Self {
        self.compared = false;
        self
    }

    fn declared(&self) -> Vec<Figure> {
        self.figures.iter().map(|(f, _)| f.clone()).collect()
    }

    fn table(&self, rows: impl IntoIterator<Item = T>) -> FigureTable {
        let row = |row: T| FigureRow {
            of: (self.row_name)(&row),
            neutral: false,
            keys: self.keys.iter().map(|(_, text)| text(&row)).collect(),
            values: self.figures.iter().map(|(_, value)| value(&row)).collect(),
        };
        FigureTable {
            keys: self.keys.iter().map(|(name, _)| name.clone()).collect(),
            figures: self.declared(),
            rows: rows.into_iter().map(row).collect(),
        }
    }
}

/// The word by which results store an enum variant without fields.
fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_tells_its_unit() {
        let columns = Columns::new(|_: &f64| None);
        let columns = columns.figure("p99.9", FigureUnit::Nanoseconds, Better::Less, |of| *of);
        assert_eq!(columns.declared()[0].column(), "p999_ns");
    }
}
