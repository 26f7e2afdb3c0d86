//! What a replay changed in requests of the trace, in words.

use crate::quantity::count;
use q2c_result::replay::{ChangeKind, ReplayTrial};

/// The changes of a trial with their counts, in the order of their words; `None` when nothing was
/// changed.
pub(super) fn changed(trial: &ReplayTrial) -> Option<String> {
    let some = trial.changed.iter().filter(|(_, n)| **n > 0);
    let mut told: Vec<(&str, u64)> = some.map(|(kind, n)| (words(kind), *n)).collect();
    told.sort_unstable();
    let told = told
        .into_iter()
        .map(|(words, n)| format!("{words} ({})", count(n)));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn words(kind: &ChangeKind) -> &str {
    match kind {
        ChangeKind::Known(change) => change.text(),
        ChangeKind::Told(words) => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::replay::Change;

    #[test]
    fn changes_are_told_in_the_order_of_their_words() {
        let trial = |counts: &[(ChangeKind, u64)]| ReplayTrial {
            changed: counts.iter().cloned().collect(),
            ..ReplayTrial::default()
        };
        let known = ChangeKind::Known;
        let told = changed(&trial(&[
            (known(Change::WriteRead), 513),
            (known(Change::Empty), 1),
            (known(Change::Beyond), 0),
            (ChangeKind::Told("some other change".to_owned()), 2),
        ]));
        let wanted = "requests of no bytes, left out (1), some other change (2), \
                      writes, read instead (513)";
        assert_eq!(told.as_deref(), Some(wanted));
        assert_eq!(changed(&trial(&[(known(Change::Dense), 0)])), None);
    }
}
