//! `q2c diff` in a terminal.

use super::screen::{Screen, Tone};
use super::table::{Column, Field, Table};
use crate::diff::{
    HEAD, LEGEND, changed, limit, one_simulated, row, shown, side, unpaired, verdict, warnings,
};
use q2c_result::diff::{ComparedFigure, DiffResult, DiffSays};

/// Most changed facts that are told.
const FACTS: usize = 20;

/// The verdict, the sides, what changed around them, and the figures: those that tell something,
/// or with `all` every one.
#[must_use]
pub fn diff(result: &DiffResult, all: bool, screen: Screen) -> String {
    let worse = result.figures.iter().any(|of| of.says == DiffSays::Worse);
    let tone = if worse { Tone::Caution } else { Tone::Good };
    let lead = one_simulated(result).map(|words| screen.painted(Tone::Caution, words));
    let mut text = lead.unwrap_or_default();
    text += &screen.painted(tone, &format!("▸ {}", verdict(result)));
    for of in &result.limits {
        let tone = if of.broken.is_empty() {
            Tone::Good
        } else {
            Tone::Bad
        };
        text += &screen.note(tone, "limit", &limit(of));
    }
    text += &screen.note(Tone::Dim, "A:", &side(&result.a));
    text += &screen.note(Tone::Dim, "B:", &side(&result.b));
    for fact in result.changed.iter().take(FACTS) {
        text += &screen.note(Tone::Plain, "changed:", &changed(fact));
    }
    if let Some(more @ 1..) = result.changed.len().checked_sub(FACTS) {
        text += &screen.note(
            Tone::Dim,
            "changed:",
            &format!("{more} more facts, in --json"),
        );
    }
    for line in warnings(result).into_iter().chain(unpaired(result)) {
        text += &screen.note(Tone::Caution, &line, "");
    }
    text + &table(result, all, screen)
}

fn table(result: &DiffResult, all: bool, screen: Screen) -> String {
    let shown = shown(result, all);
    let hidden = result.figures.len() - shown.len();
    let mut text = String::new();
    if !shown.is_empty() {
        let [name, a, b, ratio, interval, says] = HEAD;
        let mut table = Table::new([
            Column::words(name),
            Column::numbers(a),
            Column::numbers(b),
            Column::numbers(ratio),
            Column::numbers(interval),
            Column::words(says).left(),
        ]);
        for of in shown {
            let [fields @ .., says] = row(of);
            let fields = fields.iter().map(Field::from);
            table.add(fields.chain([Field::new(tone(of), &says)]));
        }
        text += &format!("\n{}{}", table.text(screen), screen.legend(LEGEND));
    }
    if hidden > 0 {
        text += &screen.legend(&format!(
            "{hidden} figures that tell no change are in --all"
        ));
    }
    text
}

fn tone(of: &ComparedFigure) -> Tone {
    match of.says {
        DiffSays::Better => Tone::Good,
        DiffSays::Worse => Tone::Bad,
        DiffSays::Differs => Tone::Caution,
        DiffSays::Alike | DiffSays::Single | DiffSays::Unknown => Tone::Dim,
    }
}
