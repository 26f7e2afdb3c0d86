//! What is no longer exact after parts were joined.

use q2c_result::analyze::{Figure, Inexact, InexactReason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures that are not exact, with the reasons and the number of joins that had them.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Marks(BTreeMap<(Figure, InexactReason), u64>);

impl Marks {
    pub(crate) fn add(&mut self, figure: Figure, reason: InexactReason) {
        self.more(figure, reason, 1);
    }

    fn more(&mut self, figure: Figure, reason: InexactReason, joins: u64) {
        let sum = self.0.entry((figure, reason)).or_default();
        *sum = sum.saturating_add(joins);
    }

    pub(crate) fn merge(&mut self, other: &Marks) {
        for ((figure, reason), joins) in &other.0 {
            self.more(*figure, *reason, *joins);
        }
    }

    pub(crate) fn told(&self) -> Vec<Inexact> {
        let each = self.0.iter();
        each.map(|((figure, reason), joins)| Inexact {
            figure: *figure,
            reason: *reason,
            joins: *joins,
        })
        .collect()
    }
}
