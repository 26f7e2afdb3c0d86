//! The rule by which a table fits a screen.
//!
//! The first layout that fits is taken: two blanks between columns; one blank; words broken into
//! lines of at least [`COMFORTABLE`] columns; each name on a line above its numbers. Then optional
//! columns go, the last one first, and the last two layouts are tried again. Finally the columns of
//! numbers are divided among several tables, each with all names.

use super::{TerminalTable, widest};
use crate::terminal::pieces;

/// The smallest width of lines that words are broken into, in columns; a short text needs less.
const COMFORTABLE: usize = 22;
/// The indent of numbers below a name, in columns.
pub(super) const INDENT: usize = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TableFit {
    /// Blanks between columns.
    pub gap: usize,
    /// True if names stand on lines of their own.
    pub stacked: bool,
    /// The tables. Each has its columns after the name, as (index, width).
    pub parts: Vec<Vec<(usize, usize)>>,
    /// Width of the name's column.
    pub names: usize,
    /// The columns that were left out.
    pub left_out: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Width {
    natural: usize,
    least: usize,
}

/// Lays a table out for a screen of `room` columns.
pub(super) fn fit(table: &TerminalTable, room: usize) -> TableFit {
    fit_widths(table, &widths(table), room)
}

fn fit_widths(table: &TerminalTable, widths: &[Width], room: usize) -> TableFit {
    let mut shown: Vec<usize> = (0..widths.len()).collect();
    let mut left_out = Vec::new();
    loop {
        let wide = || side_by_side(widths, &shown, room, 2, true).filter(|_| left_out.is_empty());
        let fit = wide()
            .or_else(|| side_by_side(widths, &shown, room, 1, true))
            .or_else(|| side_by_side(widths, &shown, room, 1, false))
            .or_else(|| stacked(widths, &shown, room));
        if let Some(fit) = fit {
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
        ..dealt(widths, &shown, room)
    }
}

/// The smallest width of a screen at which no column is left out.
pub(super) fn width_of_all(table: &TerminalTable, from: usize) -> usize {
    let widths = widths(table);
    let whole = |room: &usize| fit_widths(table, &widths, *room).left_out.is_empty();
    (from..).find(whole).unwrap_or(from)
}

fn widths(table: &TerminalTable) -> Vec<Width> {
    let columns = 0..table.columns.len();
    columns.map(|at| width(table, at)).collect()
}

fn width(table: &TerminalTable, at: usize) -> Width {
    let column = &table.columns[at];
    let fields = table.rows.iter().map(|row| &row[at]);
    let natural = fields.clone().map(|field| field.width()).max().unwrap_or(0);
    let natural = natural.max(widest(&column.head));
    let piece = |field: &super::TerminalField| {
        pieces::widest_piece(&field.text) + field.mark.chars().count().max(field.hang.len())
    };
    let longest = fields.map(piece).max().unwrap_or(0);
    let longest = longest.max(pieces::widest_piece(&column.head));
    let broken = longest.max(COMFORTABLE).min(natural);
    let least = if column.wraps { broken } else { natural };
    Width { natural, least }
}

fn of_columns(widths: &[Width], shown: &[usize]) -> Vec<Width> {
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
    let given = share(&of_columns(widths, shown), room, gap, natural)?;
    let mut columns = shown.iter().copied().zip(given);
    Some(TableFit {
        gap,
        names: columns.next().map_or(0, |(_, width)| width),
        parts: vec![columns.collect()],
        ..TableFit::default()
    })
}

/// Each name on a line of its own, with the other columns below it.
fn stacked(widths: &[Width], shown: &[usize], room: usize) -> Option<TableFit> {
    let behind = shown.get(1..)?;
    let (columns, inner) = (of_columns(widths, behind), room.saturating_sub(INDENT));
    let attempts = [(2, true), (1, false)].into_iter();
    let mut fitting =
        attempts.filter_map(|(gap, natural)| Some((gap, share(&columns, inner, gap, natural)?)));
    let (gap, given) = fitting.next()?;
    Some(TableFit {
        gap,
        stacked: true,
        parts: vec![behind.iter().copied().zip(given).collect()],
        names: room,
        ..TableFit::default()
    })
}

/// Several tables, each with the names and as many other columns as fit.
fn dealt(widths: &[Width], shown: &[usize], room: usize) -> TableFit {
    let mut behind = shown.iter().map(|&at| (at, widths[at].least));
    let names = behind.next().map_or(0, |(_, least)| least.min(room / 2));
    let (mut parts, mut part, mut taken) = (Vec::new(), Vec::new(), names);
    for (at, least) in behind {
        if taken + 1 + least > room && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            taken = names;
        }
        taken += 1 + least;
        part.push((at, least));
    }
    parts.push(part);
    TableFit {
        gap: 1,
        parts,
        names,
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
    let lacking = (wanted - needed).max(1);
    let given = |w: &Width| w.least + spare * (w.natural - w.least) / lacking;
    Some(columns.iter().map(given).collect())
}
