//! Chooses the few cells of a sweep that a table shows.

use q2c_result::sweep::{SimCell, SweepAnswer, SweepResult};
use std::collections::BTreeMap;

/// Up to this number all cells are shown.
const FEW: usize = 40;

/// Indices of the shown cells of one trace, best first, and how many are left out. All are shown
/// when there are few; else one for each rule: the answer where it is of that rule, else the best
/// by the objective among those above the IOPS floor, or among all where none is above it.
pub(crate) fn shortlist(result: &SweepResult, answer: &SweepAnswer) -> (Vec<usize>, u64) {
    let of_trace = result
        .cells
        .iter()
        .enumerate()
        .filter(|(_, c)| c.input == answer.input);
    let cells: Vec<(usize, &SimCell)> = of_trace.collect();
    let key = |cell: &SimCell| {
        (
            cell.gives.rates.iops >= answer.floor_iops,
            score(result, cell),
        )
    };
    let mut shown: Vec<(usize, &SimCell)> = match cells.len() <= FEW {
        true => cells.clone(),
        false => {
            let mut best: BTreeMap<&str, (usize, &SimCell)> = BTreeMap::new();
            for &(index, cell) in &cells {
                let now = best.entry(&cell.rule).or_insert((index, cell));
                let is_answer = |index| answer.best == Some(index);
                if is_answer(index) || (!is_answer(now.0) && key(cell) > key(now.1)) {
                    *now = (index, cell);
                }
            }
            best.into_values().collect()
        }
    };
    shown.sort_by(|a, b| {
        let (a, b) = (key(a.1), key(b.1));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let hidden = (cells.len() - shown.len()) as u64;
    (shown.into_iter().map(|(index, _)| index).collect(), hidden)
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
