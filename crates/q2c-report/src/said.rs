//! Sentences and tables that a terminal and a page both show.

use crate::quantity::NOTHING;
use q2c_result::Warning;

/// How much a sentence matters; its colour follows from that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Weight {
    #[default]
    Plain,
    Good,
    /// A finding that changes how the numbers must be read.
    Caution,
    /// The numbers cannot be used, or some are missing.
    Bad,
}

impl Weight {
    pub(crate) fn sure(is_sure: bool) -> Self {
        if is_sure { Self::Good } else { Self::Caution }
    }

    pub(crate) fn only_when(self, is_so: bool) -> Self {
        if is_so { self } else { Self::Plain }
    }
}

/// A sentence with its heading `what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub weight: Weight,
    pub what: String,
    pub words: String,
}

impl Note {
    pub(crate) fn new(weight: Weight, what: &str, words: impl Into<String>) -> Self {
        Note {
            weight,
            what: what.to_owned(),
            words: words.into(),
        }
    }

    pub(crate) fn plain(what: &str, words: impl Into<String>) -> Self {
        Self::new(Weight::Plain, what, words)
    }

    pub(crate) fn good(what: &str, words: impl Into<String>) -> Self {
        Self::new(Weight::Good, what, words)
    }

    pub(crate) fn caution(what: &str, words: impl Into<String>) -> Self {
        Self::new(Weight::Caution, what, words)
    }

    pub(crate) fn bad(what: &str, words: impl Into<String>) -> Self {
        Self::new(Weight::Bad, what, words)
    }

    /// A note for each of `words`, all with the same heading.
    pub(crate) fn each<W: Into<String>>(
        weight: Weight,
        what: &str,
        words: impl IntoIterator<Item = W>,
    ) -> impl Iterator<Item = Self> {
        words.into_iter().map(move |w| Self::new(weight, what, w))
    }

    pub(crate) fn plains<W: Into<String>>(
        what: &str,
        words: impl IntoIterator<Item = W>,
    ) -> impl Iterator<Item = Self> {
        Self::each(Weight::Plain, what, words)
    }

    pub(crate) fn cautions<W: Into<String>>(
        what: &str,
        words: impl IntoIterator<Item = W>,
    ) -> impl Iterator<Item = Self> {
        Self::each(Weight::Caution, what, words)
    }

    pub(crate) fn warning(warning: &Warning) -> Self {
        let mut message = format!("{}; {}", warning.found, warning.means);
        if !warning.todo.is_empty() {
            message += &format!(". To do: {}", warning.todo);
        }
        Self::caution(&format!("warning {}", warning.id), message)
    }

    pub(crate) fn is_alarm(&self) -> bool {
        matches!(self.weight, Weight::Caution | Weight::Bad)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReportField {
    pub text: String,
    pub below: String,
}

impl ReportField {
    pub(crate) fn over(text: impl Into<String>, below: impl Into<String>) -> Self {
        ReportField {
            text: text.into(),
            below: below.into(),
        }
    }
}

impl<T: Into<String>> From<T> for ReportField {
    fn from(text: T) -> Self {
        ReportField::over(text, "")
    }
}

/// A row of a table. Its fields may have different types.
macro_rules! row {
    ($($field:expr),* $(,)?) => {
        vec![$($crate::said::ReportField::from($field)),*]
    };
}
pub(crate) use row;

/// The largest width of a number with its unit and range, in characters.
const NUMBER: usize = 24;

/// A table. The first field of a row is the row's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReportTable {
    /// Heads of the columns. A line feed is where a terminal breaks a head.
    pub head: Vec<String>,
    pub rows: Vec<Vec<ReportField>>,
    /// How to read the table; may be empty.
    pub legend: &'static str,
}

impl ReportTable {
    pub(crate) fn from_rows<H: Into<String>, R: IntoIterator<Item: Into<ReportField>>>(
        head: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        let fields = |row: R| row.into_iter().map(Into::into).collect();
        ReportTable {
            head: head.into_iter().map(H::into).collect(),
            rows: rows.into_iter().map(fields).collect(),
            legend: "",
        }
    }

    /// A table whose heads are written in one line: `device | size\nMiB | state`.
    pub(crate) fn headed<R: IntoIterator<Item: Into<ReportField>>>(
        heads: &str,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        ReportTable::from_rows(heads.split(" | "), rows)
    }

    /// A table with a row for each of `rows` and a column for each of `columns`. A missing field
    /// becomes `-`.
    pub(crate) fn grid<R, C, F: Into<ReportField>>(
        corner: &str,
        columns: impl IntoIterator<Item = (String, C)>,
        rows: impl IntoIterator<Item = (ReportField, R)>,
        field: impl Fn(&R, &C) -> Option<F>,
    ) -> Self {
        let (heads, columns): (Vec<String>, Vec<C>) = columns.into_iter().unzip();
        let row = |(name, row): (ReportField, R)| {
            let fields = columns.iter().map(|column| field(&row, column));
            std::iter::once(name)
                .chain(fields.map(|field| field.map_or_else(|| NOTHING.into(), Into::into)))
                .collect::<Vec<ReportField>>()
        };
        let heads = std::iter::once(corner.to_owned()).chain(heads);
        ReportTable::from_rows(heads, rows.into_iter().map(row))
    }

    pub(crate) fn legend(self, legend: &'static str) -> Self {
        ReportTable { legend, ..self }
    }

    /// True for a column of sentences, which are too wide for one line.
    pub(crate) fn is_of_words(&self, column: &usize) -> bool {
        let fields = self.rows.iter().filter_map(|row| row.get(*column));
        let mut long = fields.filter(|field| field.text.chars().count() > NUMBER);
        long.any(|field| field.text.contains(' '))
    }

    /// Removes the first column, for rows that need no name.
    pub(crate) fn without_names(mut self) -> Self {
        self.keep(|column| column > 0);
        self
    }

    /// Removes the columns that are empty in all rows, except for the first one.
    pub(crate) fn without_empty_columns(self) -> Self {
        self.without_columns_of("")
    }

    /// Removes the columns that have `text` in all rows, except for the first one.
    pub(crate) fn without_columns_of(mut self, text: &str) -> Self {
        let has = |column: usize| {
            let mut fields = self.rows.iter().filter_map(|row| row.get(column));
            column == 0 || fields.any(|field| field.text != text)
        };
        let kept: Vec<bool> = (0..self.head.len()).map(has).collect();
        self.keep(|column| kept.get(column).copied().unwrap_or(false));
        self
    }

    fn keep(&mut self, kept: impl Fn(usize) -> bool) {
        fn only<T>(items: &mut Vec<T>, kept: impl Fn(usize) -> bool) {
            let mut columns = 0..;
            items.retain(|_| columns.next().is_some_and(&kept));
        }
        only(&mut self.head, &kept);
        self.rows.iter_mut().for_each(|row| only(row, &kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_anything_goes() {
        let rows = [["x", "", "1"], ["", "", ""]];
        assert_eq!(
            ReportTable::headed("a | b | c", rows).without_empty_columns(),
            ReportTable::from_rows(["a", "c"], [["x", "1"], ["", ""]])
        );
    }
}
