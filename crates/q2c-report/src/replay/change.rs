//! What a replay changed in requests of the trace, in words.

use crate::quantity::count;
use q2c_result::replay::ReplayTrial;

/// The changes of a trial with their counts, in the order of their words; `None` when nothing was
/// changed.
pub(super) fn changed(trial: &ReplayTrial) -> Option<String> {
    let some = trial.changed.iter().filter(|(_, n)| **n > 0);
    let mut told: Vec<(&str, u64)> = some.map(|(kind, n)| (kind.text(), *n)).collect();
    told.sort_unstable();
    let told = told
        .into_iter()
        .map(|(words, n)| format!("{words} ({})", count(n)));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::replay::Change;

    #[test]
    fn changes_are_told_in_the_order_of_their_words() {
        let trial = |counts: &[(Change, u64)]| ReplayTrial {
            changed: counts.iter().copied().collect(),
            ..ReplayTrial::default()
        };
        let told = changed(&trial(&[
            (Change::WriteRead, 513),
            (Change::Empty, 1),
            (Change::Beyond, 0),
            (Change::Dense, 2),
        ]));
        let wanted = "offsets moved together (2), requests of no bytes, left out (1), \
                      writes, read instead (513)";
        assert_eq!(told.as_deref(), Some(wanted));
        assert_eq!(changed(&trial(&[(Change::Dense, 0)])), None);
    }
}
