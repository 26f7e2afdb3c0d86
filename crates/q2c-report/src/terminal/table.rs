//! Tables that fit the terminal.
//!
//! The first layout that fits is taken: two blanks between columns; one blank; words broken into
//! lines of at least [`MIN_WRAP_COLUMNS`] columns; each name on a line above its numbers. Then
//! optional columns go, the last one first, and the last two layouts are tried again. Finally the
//! columns of numbers are divided among several tables, each with all names.

use super::screen::{Screen, Tone, printable};
use crate::phrase::{joined, listed_if_any};
use crate::terminal::pieces;
use textwrap::core::display_width;

#[derive(Clone, Debug)]
pub(super) struct TerminalColumn {
    head: String,
    /// True if fields may be broken between words. Numbers stay whole.
    wraps: bool,
    right: bool,
    /// True if the column may be left out on a screen that is too narrow for all columns.
    optional: bool,
}

impl TerminalColumn {
    /// A column of words. Its fields may be broken between them.
    pub(crate) fn words(head: &str) -> Self {
        TerminalColumn {
            head: printable_lines(head),
            wraps: true,
            right: false,
            optional: false,
        }
    }

    /// A column of numbers or short names.
    pub(crate) fn numbers(head: &str) -> Self {
        TerminalColumn {
            wraps: false,
            right: true,
            ..Self::words(head)
        }
    }

    /// Aligns the column to the left and never breaks its fields.
    pub(crate) fn left(mut self) -> Self {
        (self.right, self.wraps) = (false, false);
        self
    }

    /// Allows to leave the column out on a narrow screen; the last optional column goes first.
    pub(crate) fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

/// A field. Its text may have several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TerminalField {
    text: String,
    tone: Tone,
    /// Text before the first line.
    mark: &'static str,
    /// Text before each line that a break between words adds.
    hang: &'static str,
}

impl TerminalField {
    pub(crate) fn new(tone: Tone, text: &str) -> Self {
        TerminalField {
            text: printable_lines(text),
            tone,
            ..TerminalField::default()
        }
    }

    /// Sets the text before the first line and before further lines.
    pub(crate) fn marked(self, mark: &'static str, hang: &'static str) -> Self {
        TerminalField { mark, hang, ..self }
    }

    fn width(&self) -> usize {
        widest_line(&self.text) + display_width(self.mark)
    }
}

impl<T: AsRef<str>> From<T> for TerminalField {
    fn from(text: T) -> Self {
        TerminalField::new(Tone::Plain, text.as_ref())
    }
}

/// A table. The first column has the names of the rows.
#[derive(Clone, Debug)]
pub(super) struct TerminalTable {
    columns: Vec<TerminalColumn>,
    rows: Vec<Vec<TerminalField>>,
}

impl TerminalTable {
    pub(crate) fn new(columns: impl IntoIterator<Item = TerminalColumn>) -> Self {
        TerminalTable {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn add<F: Into<TerminalField>>(&mut self, row: impl IntoIterator<Item = F>) {
        let mut fields: Vec<TerminalField> = row.into_iter().map(Into::into).collect();
        fields.resize_with(self.columns.len(), TerminalField::default);
        self.rows.push(fields);
    }

    /// The table's lines on this screen. Each ends in a line feed, without blanks before it.
    pub fn text(&self, screen: Screen) -> String {
        let fit = fit_widths(self, &widths(self), screen.columns());
        draw(self, &fit, screen)
    }
}

/// Makes each line harmless, and keeps the line feeds.
fn printable_lines(text: &str) -> String {
    joined(text.split('\n').map(printable), "\n")
}

fn widest_line(text: &str) -> usize {
    text.split('\n').map(display_width).max().unwrap_or(0)
}

/// The smallest width of lines that words are broken into, in columns; a short text needs less.
const MIN_WRAP_COLUMNS: usize = 22;
/// The indent of numbers below a name, in columns.
const INDENT: usize = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TableFit {
    /// Blanks between columns.
    pub gap: usize,
    /// True if names stand on lines of their own.
    pub stacked: bool,
    /// The tables. Each has its columns after the name, as (index, width).
    pub tables: Vec<Vec<(usize, usize)>>,
    /// Width of the name's column.
    pub name_width: usize,
    /// The columns that were left out.
    pub left_out: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Width {
    natural: usize,
    least: usize,
}

fn fit_widths(table: &TerminalTable, widths: &[Width], room: usize) -> TableFit {
    let mut shown: Vec<usize> = (0..widths.len()).collect();
    let mut left_out = Vec::new();
    loop {
        let unstacked = |gap, natural| side_by_side(widths, &shown, room, gap, natural);
        let wide = unstacked(2, true).filter(|_| left_out.is_empty());
        let fit = wide.or_else(|| unstacked(1, true).or_else(|| unstacked(1, false)));
        if let Some(fit) = fit.or_else(|| stacked(widths, &shown, room)) {
            return TableFit { left_out, ..fit };
        }
        let optional = |at: &&usize| table.columns[**at].optional;
        let Some(&last) = shown.iter().rev().find(optional) else {
            break;
        };
        shown.retain(|&at| at != last);
        left_out.insert(0, last);
    }
    TableFit {
        left_out,
        ..split(widths, &shown, room)
    }
}

/// The smallest width of a screen at which no column is left out.
fn width_for_all_columns(table: &TerminalTable, from: usize) -> usize {
    let widths = widths(table);
    let is_complete = |room: &usize| fit_widths(table, &widths, *room).left_out.is_empty();
    (from..).find(is_complete).unwrap_or(from)
}

fn widths(table: &TerminalTable) -> Vec<Width> {
    let columns = 0..table.columns.len();
    columns.map(|at| width(table, at)).collect()
}

fn width(table: &TerminalTable, at: usize) -> Width {
    let column = &table.columns[at];
    let fields = table.rows.iter().map(|row| &row[at]);
    let natural = fields.clone().map(|field| field.width()).max().unwrap_or(0);
    let natural = natural.max(widest_line(&column.head));
    let piece = |field: &TerminalField| {
        pieces::widest_piece_columns(&field.text) + field.mark.chars().count().max(field.hang.len())
    };
    let longest_piece = fields.map(piece).max().unwrap_or(0);
    let longest_piece = longest_piece.max(pieces::widest_piece_columns(&column.head));
    let wrapped = longest_piece.max(MIN_WRAP_COLUMNS).min(natural);
    let least = if column.wraps { wrapped } else { natural };
    Width { natural, least }
}

fn widths_of(widths: &[Width], shown: &[usize]) -> Vec<Width> {
    shown.iter().map(|&at| widths[at]).collect()
}

/// All columns side by side, at their natural widths if `natural`, else with words broken.
fn side_by_side(
    widths: &[Width],
    shown: &[usize],
    room: usize,
    gap: usize,
    natural: bool,
) -> Option<TableFit> {
    let shares = share(&widths_of(widths, shown), room, gap, natural)?;
    let mut columns = shown.iter().copied().zip(shares);
    Some(TableFit {
        gap,
        name_width: columns.next().map_or(0, |(_, width)| width),
        tables: vec![columns.collect()],
        ..TableFit::default()
    })
}

/// Each name on a line of its own, with the other columns below it.
fn stacked(widths: &[Width], shown: &[usize], room: usize) -> Option<TableFit> {
    let others = shown.get(1..)?;
    let (columns, inner) = (widths_of(widths, others), room.saturating_sub(INDENT));
    let attempts = [(2, true), (1, false)].into_iter();
    let mut fitting =
        attempts.filter_map(|(gap, natural)| Some((gap, share(&columns, inner, gap, natural)?)));
    let (gap, shares) = fitting.next()?;
    Some(TableFit {
        gap,
        stacked: true,
        tables: vec![others.iter().copied().zip(shares).collect()],
        name_width: room,
        ..TableFit::default()
    })
}

/// Several tables, each with the names and as many other columns as fit.
fn split(widths: &[Width], shown: &[usize], room: usize) -> TableFit {
    let mut others = shown.iter().map(|&at| (at, widths[at].least));
    let name_width = others.next().map_or(0, |(_, least)| least.min(room / 2));
    let (mut tables, mut table, mut used_width) = (Vec::new(), Vec::new(), name_width);
    for (at, least) in others {
        if used_width + 1 + least > room && !table.is_empty() {
            tables.push(std::mem::take(&mut table));
            used_width = name_width;
        }
        used_width += 1 + least;
        table.push((at, least));
    }
    tables.push(table);
    TableFit {
        gap: 1,
        tables,
        name_width,
        ..TableFit::default()
    }
}

/// The widths of columns that fit side by side; `None` if they do not fit. Spare room goes to the
/// columns that are narrower than their natural widths.
fn share(columns: &[Width], room: usize, gap: usize, natural: bool) -> Option<Vec<usize>> {
    let wanted: usize = columns.iter().map(|width| width.natural).sum();
    let needed: usize = columns.iter().map(|width| width.least).sum();
    let room = room.checked_sub(gap * columns.len().saturating_sub(1))?;
    if natural && wanted > room {
        return None;
    }
    let spare = room.checked_sub(needed)?.min(wanted - needed);
    let missing = (wanted - needed).max(1);
    let shares = |w: &Width| w.least + spare * (w.natural - w.least) / missing;
    Some(columns.iter().map(shares).collect())
}

fn draw(table: &TerminalTable, fit: &TableFit, screen: Screen) -> String {
    let pen = |columns| Pen {
        table,
        fit,
        columns,
        screen,
    };
    let mut text = joined(fit.tables.iter().map(|columns| pen(columns).text()), "\n");
    let head = |&at: &usize| table.columns[at].head.trim().replace('\n', " ");
    if let Some(heads) = listed_if_any(fit.left_out.iter().map(head)) {
        let wide = width_for_all_columns(table, screen.columns());
        let sentence = format!("{heads}; {wide} columns have room for it");
        text += &screen.note(Tone::Dim, "left out:", &sentence);
    }
    text
}

struct Pen<'a> {
    table: &'a TerminalTable,
    fit: &'a TableFit,
    columns: &'a [(usize, usize)],
    screen: Screen,
}

impl Pen<'_> {
    fn text(&self) -> String {
        let gap = self.fit.gap;
        let columns_width: usize = self.columns.iter().map(|(_, width)| width + gap).sum();
        let width = if self.fit.stacked {
            INDENT + columns_width.saturating_sub(gap)
        } else {
            self.fit.name_width + columns_width
        };
        let line = "─".repeat(width) + "\n";
        let heads = self.table.columns.iter();
        let heads = heads.map(|column| TerminalField::new(Tone::Strong, &column.head));
        let mut text = self.row(&heads.collect::<Vec<_>>(), None) + &line;
        let mut name_above = None;
        for row in &self.table.rows {
            text += &self.row(row, name_above);
            name_above = row.first();
        }
        text + &line
    }

    /// A row. If names stand on lines of their own, a name that equals `name_above` is left out.
    fn row(&self, row: &[TerminalField], name_above: Option<&TerminalField>) -> String {
        let Some(name) = row.first() else {
            return String::new();
        };
        if !self.fit.stacked {
            let columns = [&[(0, self.fit.name_width)][..], self.columns].concat();
            return self.lines(row, &columns, 0);
        }
        let mut text = String::new();
        if name_above != Some(name) {
            for line in wrap(name, self.fit.name_width) {
                text += &(self.screen.paint(name.tone, line.trim_end()) + "\n");
            }
        }
        if self.columns.iter().any(|&(at, _)| !row[at].text.is_empty()) {
            text += &self.lines(row, self.columns, INDENT);
        }
        text
    }

    fn lines(&self, row: &[TerminalField], columns: &[(usize, usize)], indent: usize) -> String {
        let fields = columns.iter().map(|&(at, width)| match &row[at] {
            field if self.table.columns[at].wraps => wrap(field, width),
            field => field.text.split('\n').map(str::to_owned).collect(),
        });
        let fields: Vec<Vec<String>> = fields.collect();
        let height = fields.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = String::new();
        for line in 0..height {
            // Blanks are written only if something follows them.
            let mut blanks = indent;
            for (&(at, width), lines) in columns.iter().zip(&fields) {
                let piece = lines.get(line).map_or("", String::as_str);
                if piece.is_empty() {
                    blanks += width + self.fit.gap;
                    continue;
                }
                let free = width.saturating_sub(display_width(piece));
                let blanks_before = free * usize::from(self.table.columns[at].right);
                text += &" ".repeat(blanks + blanks_before);
                text += &self.screen.paint(row[at].tone, piece);
                blanks = free - blanks_before + self.fit.gap;
            }
            text += "\n";
        }
        text
    }
}

fn wrap(field: &TerminalField, width: usize) -> Vec<String> {
    pieces::wrap(&field.text, width, field.mark, field.hang)
}
