//! Notes and tables that a terminal and a page both show.

use crate::quantity::DASH;
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
    /// Good if `is_sure`, else a caution.
    pub(crate) fn good_if(is_sure: bool) -> Self {
        if is_sure { Self::Good } else { Self::Caution }
    }

    pub(crate) fn only_if(self, is_so: bool) -> Self {
        if is_so { self } else { Self::Plain }
    }
}

/// A sentence with its heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub weight: Weight,
    pub heading: String,
    pub text: String,
}

impl Note {
    pub(crate) fn new(weight: Weight, heading: &str, text: impl Into<String>) -> Self {
        Note {
            weight,
            heading: heading.to_owned(),
            text: text.into(),
        }
    }

    pub(crate) fn plain(heading: &str, text: impl Into<String>) -> Self {
        Self::new(Weight::Plain, heading, text)
    }

    pub(crate) fn good(heading: &str, text: impl Into<String>) -> Self {
        Self::new(Weight::Good, heading, text)
    }

    pub(crate) fn caution(heading: &str, text: impl Into<String>) -> Self {
        Self::new(Weight::Caution, heading, text)
    }

    pub(crate) fn bad(heading: &str, text: impl Into<String>) -> Self {
        Self::new(Weight::Bad, heading, text)
    }

    /// A note for each of `texts`, all with the same heading.
    pub(crate) fn many<T: Into<String>>(
        weight: Weight,
        heading: &str,
        texts: impl IntoIterator<Item = T>,
    ) -> impl Iterator<Item = Self> {
        let texts = texts.into_iter();
        texts.map(move |text| Self::new(weight, heading, text))
    }

    pub(crate) fn plains<T: Into<String>>(
        heading: &str,
        texts: impl IntoIterator<Item = T>,
    ) -> impl Iterator<Item = Self> {
        Self::many(Weight::Plain, heading, texts)
    }

    pub(crate) fn cautions<T: Into<String>>(
        heading: &str,
        texts: impl IntoIterator<Item = T>,
    ) -> impl Iterator<Item = Self> {
        Self::many(Weight::Caution, heading, texts)
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
    /// Further lines below the text; may be empty.
    pub below: String,
}

impl ReportField {
    pub(crate) fn stacked(text: impl Into<String>, below: impl Into<String>) -> Self {
        ReportField {
            text: text.into(),
            below: below.into(),
        }
    }
}

impl<T: Into<String>> From<T> for ReportField {
    fn from(text: T) -> Self {
        ReportField::stacked(text, "")
    }
}

/// A row of a table. Its fields may have different types.
macro_rules! row {
    ($($field:expr),* $(,)?) => {
        vec![$($crate::note::ReportField::from($field)),*]
    };
}
pub(crate) use row;

/// The largest width of a number with its unit and range, in characters.
const MAX_NUMBER_CHARS: usize = 24;

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
    pub(crate) fn new<R: IntoIterator<Item: Into<ReportField>>>(
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
                .chain(fields.map(|field| field.map_or_else(|| DASH.into(), Into::into)))
                .collect::<Vec<ReportField>>()
        };
        let heads = std::iter::once(corner.to_owned()).chain(heads);
        ReportTable::from_rows(heads, rows.into_iter().map(row))
    }

    pub(crate) fn legend(self, legend: &'static str) -> Self {
        ReportTable { legend, ..self }
    }

    /// True for a column of sentences, which are too wide for one line.
    pub(crate) fn has_sentences(&self, column: &usize) -> bool {
        let fields = self.rows.iter().filter_map(|row| row.get(*column));
        let mut long = fields.filter(|field| field.text.chars().count() > MAX_NUMBER_CHARS);
        long.any(|field| field.text.contains(' '))
    }

    /// Removes the first column, for rows that need no name.
    pub(crate) fn without_names(mut self) -> Self {
        self.retain_columns(|column| column > 0);
        self
    }

    /// Removes the columns that are empty in all rows, except for the first one.
    pub(crate) fn without_empty_columns(self) -> Self {
        self.without_columns_of("")
    }

    /// Removes the columns that have `text` in all rows, except for the first one.
    pub(crate) fn without_columns_of(mut self, text: &str) -> Self {
        let is_kept = |column: usize| {
            let mut fields = self.rows.iter().filter_map(|row| row.get(column));
            column == 0 || fields.any(|field| field.text != text)
        };
        let flags: Vec<bool> = (0..self.head.len()).map(is_kept).collect();
        self.retain_columns(|column| flags.get(column).copied().unwrap_or(false));
        self
    }

    fn retain_columns(&mut self, is_kept: impl Fn(usize) -> bool) {
        fn retain<T>(items: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
            let mut columns = 0..;
            items.retain(|_| columns.next().is_some_and(&is_kept));
        }
        retain(&mut self.head, &is_kept);
        self.rows.iter_mut().for_each(|row| retain(row, &is_kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_anything_goes() {
        let rows = [["x", "", "1"], ["", "", ""]];
        assert_eq!(
            ReportTable::new("a | b | c", rows).without_empty_columns(),
            ReportTable::from_rows(["a", "c"], [["x", "1"], ["", ""]])
        );
    }
}
