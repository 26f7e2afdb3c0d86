//! The document of `q2c diff`.

use super::{Answer, Document, Reported, Section};
use crate::diff::{
    HEAD, LEGEND, changed, limit, one_simulated, row, side, tells, unpaired, verdict, warnings,
};
use crate::said::{Said, Table, Weight};
use q2c_result::diff::{ComparedFigure, DiffResult, DiffSays};

/// Most changed facts that are told.
const FACTS: usize = 20;

impl Reported for DiffResult {
    fn document(&self) -> Document<'_> {
        let is_worse = self.figures.iter().any(|of| of.says == DiffSays::Worse);
        let answer = Answer {
            weight: if is_worse {
                Weight::Caution
            } else {
                Weight::Good
            },
            caveats: warnings(self),
            ..Answer::new(verdict(self))
        };
        let (told, rest): (Vec<&ComparedFigure>, Vec<&ComparedFigure>) =
            self.figures.iter().partition(|of| tells(of));
        Document {
            simulated: one_simulated(self).map(str::to_owned),
            ..Document::new("diff", &self.version, &self.schema)
        }
        .titled(self.b.path.clone(), format!("set against {}", self.a.path))
        .answers([answer])
        .notices(self.limits.iter().map(|of| {
            let weight = if of.broken.is_empty() {
                Weight::Good
            } else {
                Weight::Bad
            };
            Said::new(weight, "limit", limit(of))
        }))
        .section(figures("Figures that changed", &told))
        .section(Section::new("What differs around them").told(around(self)))
        .section(figures("Figures that tell no change", &rest).folded())
    }
}

fn figures(title: &str, of: &[&ComparedFigure]) -> Section<'static> {
    let table = Table {
        legend: LEGEND,
        ..Table::of(HEAD, of.iter().map(|of| row(of).to_vec()))
    };
    let weight = |of: &&ComparedFigure| match of.says {
        DiffSays::Worse => Weight::Bad,
        DiffSays::Differs => Weight::Caution,
        _ => Weight::Plain,
    };
    Section::new(title).marked(table, of.iter().map(weight).collect())
}

/// The sides, the settings and facts that differ, and what only one side has.
fn around(result: &DiffResult) -> Vec<Said> {
    let mut said = vec![
        Said::plain("A", side(&result.a)),
        Said::plain("B", side(&result.b)),
    ];
    let facts = result.changed.iter().take(FACTS);
    said.extend(facts.map(|fact| Said::plain("changed", changed(fact))));
    if let Some(more @ 1..) = result.changed.len().checked_sub(FACTS) {
        said.push(Said::plain(
            "changed",
            format!("{more} more facts, in --json"),
        ));
    }
    let only = unpaired(result).into_iter();
    said.extend(only.map(|(what, names)| Said::new(Weight::Caution, what, names)));
    said
}
