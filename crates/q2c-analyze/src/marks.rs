//! What is no longer exact after parts were joined.

use q2c_result::analyze::{Inexact, InexactFigure, InexactReason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures that are not exact, with the reasons and the number of joins that had them.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Marks(BTreeMap<(InexactFigure, InexactReason), u64>);

impl Marks {
    pub(crate) fn add(&mut self, figure: InexactFigure, reason: InexactReason) {
        self.more(figure, reason, 1);
    }

    fn more(&mut self, figure: InexactFigure, reason: InexactReason, joins: u64) {
        let sum = self.0.entry((figure, reason)).or_default();
        *sum = sum.saturating_add(joins);
    }

    pub(crate) fn merge(&mut self, other: &Marks) {
        for ((figure, reason), joins) in &other.0 {
            self.more(*figure, *reason, *joins);
        }
    }

    pub(crate) fn inexact_figures(&self) -> Vec<Inexact> {
        let inexact = |(&(figure, reason), &joins): (&(_, _), &u64)| Inexact {
            figure,
            reason,
            joins,
        };
        self.0.iter().map(inexact).collect()
    }
}
