//! Compares the figures of two results.

use crate::difference::facts::{changed_facts, other_conditions};
use crate::difference::limit::{LimitFault, judge};
use crate::difference::{ComparableResult, Limit, NamedFigure};
use crate::phrase::distinct;
use q2c_result::diff::{ComparedFigure, DiffResult, DiffVerdict, SCHEMA, UnpairedFigure};
use q2c_result::figures::Better;

/// Medians whose ratio is off 1 by at most this count as alike, however narrow their intervals are.
const NEGLIGIBLE_CHANGE: f64 = 0.01;

/// Compares `b` with `a`, which must be of one kind. Limits on values are judged on `b`.
pub fn diff(
    a: &ComparableResult,
    b: &ComparableResult,
    limits: &[Limit],
    version: &str,
) -> Result<DiffResult, LimitFault> {
    let figures = a.figures.iter().filter(|figure| figure.figure.compared);
    let figures = figures.filter_map(|figure| Some(compare(figure, find(b, figure)?)));
    let unpaired = [unpaired(a, b, true), unpaired(b, a, false)].concat();
    let changed = changed_facts(&a.facts, &b.facts);
    Ok(DiffResult {
        schema: SCHEMA.to_owned(),
        version: version.to_owned(),
        of: a.schema.clone(),
        a: a.side.clone(),
        b: b.side.clone(),
        unpaired,
        warnings: other_conditions(&changed, &a.facts, &b.facts),
        changed,
        limits: judge(limits, b, Some(a))?,
        figures: figures.collect(),
    })
}

pub(crate) fn find<'a>(
    result: &'a ComparableResult,
    wanted: &NamedFigure,
) -> Option<&'a NamedFigure> {
    let mut figures = result.figures.iter();
    figures.find(|other| other.of == wanted.of && other.figure.name == wanted.figure.name)
}

/// The things that only `a` has figures of. `in_a` says if `a` is the first of the two results.
fn unpaired(a: &ComparableResult, b: &ComparableResult, in_a: bool) -> Vec<UnpairedFigure> {
    let has_figures = |of: &String| b.figures.iter().any(|other| other.of == *of);
    let names = distinct(a.figures.iter().map(|figure| figure.of.clone()));
    let unpaired = names.into_iter().filter(|of| !has_figures(of));
    unpaired.map(|of| UnpairedFigure { of, in_a }).collect()
}

pub(crate) fn compare(a: &NamedFigure, b: &NamedFigure) -> ComparedFigure {
    let ratio = b.value.median / a.value.median;
    let ratio = (a.value.median != 0.0 && ratio.is_finite()).then_some(ratio);
    let has_interval = a.value.trials > 1 && b.value.trials > 1 && a.value.min > 0.0;
    // The smallest and the largest ratio between two trials. They enclose that of the medians.
    let ends = (b.value.min / a.value.max, b.value.max / a.value.min);
    let interval = ratio.filter(|_| has_interval).map(|_| ends);
    let are_disjoint = a.value.is_above(&b.value) || b.value.is_above(&a.value);
    let better = a.figure.better;
    ComparedFigure {
        of: a.of.clone(),
        figure: a.figure.name.to_string(),
        unit: a.figure.unit,
        better,
        a: a.value,
        b: b.value,
        ratio,
        interval,
        says: verdict(ratio, interval.map(|_| are_disjoint), better),
    }
}

/// `are_disjoint` says whether the intervals are disjoint; `None` if a side has a single trial.
fn verdict(ratio: Option<f64>, are_disjoint: Option<bool>, better: Better) -> DiffVerdict {
    let (ratio, are_disjoint) = match (ratio, are_disjoint) {
        (None, _) => return DiffVerdict::Unknown,
        (_, None) => return DiffVerdict::Single,
        (Some(ratio), Some(are_disjoint)) => (ratio, are_disjoint),
    };
    match better {
        _ if !are_disjoint || (ratio - 1.0).abs() <= NEGLIGIBLE_CHANGE => DiffVerdict::Alike,
        Better::Neither => DiffVerdict::Differs,
        Better::Less if ratio < 1.0 => DiffVerdict::Better,
        Better::More if ratio > 1.0 => DiffVerdict::Better,
        _ => DiffVerdict::Worse,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::difference::side;
    use proptest::prelude::*;
    use q2c_model::stats::Interval;
    use q2c_result::figures::{Figure, FigureUnit};
    use serde_json::Value;
    use std::collections::BTreeMap;

    /// A result with figures without a unit, from (thing, name, better direction, trials).
    pub(crate) fn result_of(values: &[(&str, &'static str, Better, &[f64])]) -> ComparableResult {
        let figure =
            |(thing, name, better, trials): &(&str, &'static str, Better, &[f64])| NamedFigure {
                of: (*thing).to_owned(),
                figure: Figure {
                    name: (*name).into(),
                    unit: FigureUnit::Number,
                    better: *better,
                    over_trials: true,
                    compared: true,
                    head: "",
                },
                value: Interval::from_samples(trials),
            };
        ComparableResult {
            schema: "kind".to_owned(),
            side: side("path", &Value::Null),
            figures: values.iter().map(figure).collect(),
            facts: BTreeMap::new(),
        }
    }

    /// Two results. The first figure's trials, 95 to 105 and 115 to 125, do not overlap: the ratio
    /// is 115/105 to 125/95.
    pub(crate) fn grown_pair() -> (ComparableResult, ComparableResult) {
        let a = result_of(&[
            ("x", "p99", Better::Less, &[95.0, 100.0, 105.0]),
            ("x", "iops", Better::More, &[95.0, 100.0, 105.0]),
            ("x", "p50", Better::Less, &[100.0]),
            ("x", "zero", Better::Less, &[0.0, 0.0]),
            ("gone", "rare", Better::Less, &[1.0]),
        ]);
        let b = result_of(&[
            ("x", "p99", Better::Less, &[115.0, 120.0, 125.0]),
            ("x", "iops", Better::More, &[104.0, 110.0, 120.0]),
            ("x", "p50", Better::Less, &[120.0]),
            ("x", "zero", Better::Less, &[1.0, 1.0]),
            ("new", "rare", Better::Less, &[1.0]),
        ]);
        (a, b)
    }

    #[test]
    fn a_figure_that_grew_is_worse_where_less_is_better() {
        let (a, b) = grown_pair();
        let limits: [Limit; 2] = ["p99>+5%", "iops<200"].map(|text| text.parse().unwrap());
        let result = diff(&a, &b, &limits, "0").unwrap();
        let says: Vec<DiffVerdict> = result.figures.iter().map(|figure| figure.says).collect();
        use DiffVerdict::{Alike, Single, Unknown, Worse};
        assert_eq!(says, [Worse, Alike, Single, Unknown]);
        let (low, high) = result.figures[0].interval.unwrap();
        assert!((low - 115.0 / 105.0).abs() < 1e-12 && (high - 125.0 / 95.0).abs() < 1e-12);
        let broken: Vec<_> = result.limits.iter().map(|l| l.broken.len()).collect();
        assert_eq!(broken, [1, 1]);
        let unpaired = result.unpaired.iter().map(|u| (u.of.as_str(), u.in_a));
        let unpaired: Vec<_> = unpaired.collect();
        assert_eq!(unpaired, [("gone", true), ("new", false)]);
    }

    proptest! {
        /// Exchanging the two results turns better into worse.
        #[test]
        fn sides_may_be_changed(
            a in proptest::collection::vec(1.0f64..100.0, 2..6),
            b in proptest::collection::vec(1.0f64..100.0, 2..6),
        ) {
            let measured_p99 = |trials: &[f64]| result_of(&[("x", "p99", Better::Less, trials)]);
            let forward = diff(&measured_p99(&a), &measured_p99(&b), &[], "0").unwrap();
            let forward = forward.figures[0].clone();
            let back = diff(&measured_p99(&b), &measured_p99(&a), &[], "0").unwrap();
            let back = back.figures[0].clone();
            let reversed = match forward.says {
                DiffVerdict::Better => DiffVerdict::Worse,
                DiffVerdict::Worse => DiffVerdict::Better,
                other => other,
            };
            let ratio = forward.ratio.unwrap();
            // Within 0.1 % of the threshold of 1 %, the two directions can round differently.
            prop_assume!((ratio - 1.0).abs() > 0.011 || (ratio - 1.0).abs() < 0.009);
            prop_assert_eq!(back.says, reversed);
            let (low, high) = forward.interval.unwrap();
            prop_assert!(low <= ratio && ratio <= high);
        }
    }
}
