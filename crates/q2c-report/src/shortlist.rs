//! Chooses the few cells of a sweep that a table shows.

use crate::label;
use crate::phrase::when;
use q2c_result::sweep::{SimCell, SweepAnswer, SweepResult};
use std::collections::BTreeMap;

/// Up to this number all cells are shown.
const FEW: usize = 40;

/// Indices of the shown cells of one trace, best first, and how many are left out. All are shown
/// when there are few; else one for each rule (the answer where it is of that rule, else the best
/// by the objective among those that keep the limits, or among all where none does), and those that
/// the conclusions name.
pub(crate) fn shortlist(result: &SweepResult, answer: &SweepAnswer) -> (Vec<usize>, u64) {
    let of_trace = result.cells.iter().enumerate();
    let of_trace = of_trace.filter(|(_, cell)| cell.input == answer.input);
    let mut shown: Vec<(usize, &SimCell)> = of_trace.collect();
    let all = shown.len();
    let key = |cell: &SimCell| (keeps_limits(cell, answer), score(result, cell));
    if all > FEW {
        let mut best: BTreeMap<&str, (usize, &SimCell)> = BTreeMap::new();
        for &(index, cell) in &shown {
            let now = best.entry(&cell.rule).or_insert((index, cell));
            let is_answer = |index| answer.best == Some(index);
            if is_answer(index) || (!is_answer(now.0) && key(cell) > key(now.1)) {
                *now = (index, cell);
            }
        }
        let named = [
            answer.best,
            answer.most_kiops_per_core,
            answer.most_iops,
            answer.nearest,
        ];
        shown.retain(|(index, cell)| {
            best[cell.rule.as_str()].0 == *index || named.contains(&Some(*index))
        });
    }
    shown.sort_by(|a, b| {
        let (a, b) = (key(a.1), key(b.1));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let hidden = (all - shown.len()) as u64;
    (shown.into_iter().map(|(index, _)| index).collect(), hidden)
}

/// How the rows of a table are sorted, and where some are left out, which are shown.
pub(crate) fn sorted(result: &SweepResult, some: bool) -> String {
    let by = match result.objective.as_str() {
        "cpu" => "least CPU first".to_owned(),
        other => format!("most {} first", label::objective(other)),
    };
    let which = when(
        some,
        " Shown is the best of each rule, and what is named above.",
    );
    format!("Rules that keep the limits stand above those that do not; {by} in both.{which}")
}

/// Whether a cell keeps the limits. A cell that does not say so is judged by the IOPS floor alone.
fn keeps_limits(cell: &SimCell, answer: &SweepAnswer) -> bool {
    let floor = cell.gives.rates.iops >= answer.floor_iops;
    cell.keeps_limits.unwrap_or(floor)
}

fn score(result: &SweepResult, cell: &SimCell) -> f64 {
    match result.objective.as_str() {
        "iops" => cell.gives.rates.iops,
        "cpu" => -cell.gives.rates.cpu_pct,
        _ => cell.gives.kiops_per_core,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Rates, Simulated};

    fn cell(rule: &str, kiops_per_core: f64) -> SimCell {
        let rates = Rates {
            iops: 100.0,
            ..Rates::default()
        };
        SimCell {
            rule: rule.to_owned(),
            gives: Simulated {
                rates,
                kiops_per_core,
                ..Simulated::default()
            },
            ..SimCell::default()
        }
    }

    /// The answer misses less than the cell of its rule with the most, which is 0.4 % ahead.
    #[test]
    fn the_answer_stands_for_its_rule() {
        let mut cells: Vec<SimCell> = (0..=FEW).map(|n| cell("min", 50.0 + n as f64)).collect();
        cells[7] = cell("min", 99.6);
        cells[8] = cell("min", 100.0);
        cells.push(cell("mean", 40.0));
        let mut result = SweepResult {
            cells,
            ..SweepResult::default()
        };
        "kiops-per-core".clone_into(&mut result.objective);
        let answer = |best| SweepAnswer {
            best,
            ..SweepAnswer::default()
        };
        let hidden = FEW as u64;
        assert_eq!(
            shortlist(&result, &answer(Some(7))),
            (vec![7, FEW + 1], hidden)
        );
        assert_eq!(
            shortlist(&result, &answer(None)),
            (vec![8, FEW + 1], hidden)
        );
    }
}
