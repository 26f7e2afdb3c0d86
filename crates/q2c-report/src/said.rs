//! Sentences and tables that a terminal and a page both show.

use q2c_result::Warning;

/// How much a sentence matters; its colour follows from that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// A fact without a judgement.
    Plain,
    /// A good finding.
    Good,
    /// A finding that changes how the numbers are to be read.
    Caution,
    /// The numbers cannot be used, or some are missing.
    Bad,
}

/// A sentence with its heading, `what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub weight: Weight,
    pub what: String,
    pub words: String,
}

impl Said {
    pub fn new(weight: Weight, what: &str, words: impl Into<String>) -> Self {
        Said {
            weight,
            what: what.to_owned(),
            words: words.into(),
        }
    }

    pub fn plain(what: &str, words: impl Into<String>) -> Self {
        Self::new(Weight::Plain, what, words)
    }

    pub fn warning(warning: &Warning) -> Self {
        let mut words = format!("{}; {}", warning.found, warning.means);
        if !warning.todo.is_empty() {
            words += &format!(". To do: {}", warning.todo);
        }
        Self::new(Weight::Caution, &format!("warning {}", warning.id), words)
    }
}

/// A field of a table: its text, and a second line that qualifies it; either may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub text: String,
    pub below: String,
}

impl<T: Into<String>> From<T> for Field {
    fn from(text: T) -> Self {
        Field {
            text: text.into(),
            below: String::new(),
        }
    }
}

/// Numbers with their units and ranges are not wider than this.
const NUMBER: usize = 24;

/// A table. The first field of a row is the row's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    /// Heads of the columns; a line feed stands where a terminal breaks the head.
    pub head: Vec<String>,
    pub rows: Vec<Vec<Field>>,
    /// How to read the table; may be empty.
    pub legend: &'static str,
}

impl Table {
    /// A table without a legend.
    pub fn of<H: Into<String>, F: Into<Field>>(
        head: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = Vec<F>>,
    ) -> Self {
        let rows = rows.into_iter();
        Table {
            head: head.into_iter().map(H::into).collect(),
            rows: rows
                .map(|row| row.into_iter().map(F::into).collect())
                .collect(),
            legend: "",
        }
    }

    /// Whether a column has sentences, which are too wide to stand in one line.
    pub fn is_of_words(&self, column: &usize) -> bool {
        let fields = self.rows.iter().filter_map(|row| row.get(*column));
        let mut long = fields.filter(|field| field.text.chars().count() > NUMBER);
        long.any(|field| field.text.contains(' '))
    }

    /// Removes the first column, where it would tell rows that need no name.
    pub fn without_names(mut self) -> Self {
        let behind = |column: usize| column > 0;
        self.head = only(self.head, behind);
        let rows = self.rows.into_iter();
        self.rows = rows.map(|row| only(row, behind)).collect();
        self
    }

    /// Removes the columns in which no row has a text; the column of names stays.
    pub fn without_empty_columns(mut self) -> Self {
        let has = |column: usize| {
            let mut fields = self.rows.iter().filter_map(|row| row.get(column));
            column == 0 || fields.any(|field| !field.text.is_empty())
        };
        let kept: Vec<bool> = (0..self.head.len()).map(has).collect();
        let kept = |column: usize| kept.get(column).copied().unwrap_or(false);
        self.head = only(self.head, kept);
        self.rows = self.rows.into_iter().map(|row| only(row, kept)).collect();
        self
    }
}

fn only<T>(items: Vec<T>, kept: impl Fn(usize) -> bool) -> Vec<T> {
    let items = items.into_iter().enumerate();
    let kept = items.filter_map(|(column, item)| kept(column).then_some(item));
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_anything_goes() {
        let table = Table {
            head: ["a", "b", "c"].map(String::from).to_vec(),
            rows: vec![
                ["x", "", "1"].map(Field::from).to_vec(),
                ["", "", ""].map(Field::from).to_vec(),
            ],
            legend: "",
        };
        let table = table.without_empty_columns();
        assert_eq!(table.head, ["a", "c"]);
        assert_eq!(table.rows[0], [Field::from("x"), Field::from("1")]);
        assert_eq!(table.rows[1].len(), 2);
    }
}
