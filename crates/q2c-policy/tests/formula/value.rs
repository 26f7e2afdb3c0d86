//! Values of formulas, compared with values by hand or with plain arithmetic.

use super::{parse, sample};
use proptest::prelude::*;
use q2c_model::Nanos;
use q2c_policy::{FormulaResult, Statistic};

fn ns(text: &str) -> u64 {
    match parse(text).sleep_for(sample) {
        FormulaResult::Sleep(Nanos(ns)) => ns,
        other => panic!("{text} gives {other:?}"),
    }
}

#[test]
fn values_by_hand() {
    for (text, expected) in [
        // 28 000.7
        ("0.7 * min", 28_001),
        ("70% * min", 28_001),
        // 50 000 - 12 000
        ("mean - 4 * lmd", 38_000),
        ("if(p01 > 40us, p01 - 4us, 0)", 37_000),
        ("if(p01 > 41us, p01 - 4us, 0)", 0),
        ("p99", 139_000),
        ("last", 45_000),
        ("max - min", 159_999),
        ("min(min, last, mean) + max(1us, 2us)", 42_001),
        // 50 000 * (1 - 0.07)
        ("mean * (1 - misses / count)", 46_500),
        ("12us", 12_000),
        ("12µs", 12_000),
        ("1.5ms + 1e3ns + .5s + 2.s", 2_501_501_000),
        ("100ns / 8", 13),
        ("100ns/8/2", 6),
        ("10us - 3us - 2us", 5_000),
        ("1us + 2us * 3 - 4us / 2", 5_000),
        ("- -3us", 3_000),
        ("-(1us - 4us) * 2", 6_000),
        ("mean * mean / last * 0.9", 50_000),
        ("0", 0),
    ] {
        assert_eq!(ns(text), expected, "{text}");
    }
}

#[test]
fn conditions_by_hand() {
    for (condition, holds) in [
        ("min < 40001ns", false),
        ("min <= 40001ns", true),
        ("min >= 40001ns", true),
        ("min > 40001ns", false),
        ("min == 40001ns", true),
        ("min != 40001ns", false),
        ("misses == 7 && count == 100", true),
        ("misses == 7 && count == 99", false),
        ("misses == 8 || count == 100", true),
        // `&&` binds tighter than `||`.
        ("misses == 7 || misses == 7 && count == 0", true),
        ("(misses == 7 || misses == 7) && count == 0", false),
        ("!(misses == 7)", false),
        ("!(misses == 8) && mean > 0", true),
        ("misses / count > 5%", true),
        ("misses / count > 10%", false),
    ] {
        let text = format!("if({condition}, 1us, 2us)");
        assert_eq!(ns(&text), if holds { 1_000 } else { 2_000 }, "{condition}");
    }
}

#[test]
fn no_number_and_no_time_are_told_apart() {
    let quiet = |statistic| match statistic {
        Statistic::Misses | Statistic::Lmd => 0.0,
        other => sample(other),
    };
    let sleep = |ns| FormulaResult::Sleep(Nanos(ns));
    for (text, expected) in [
        ("mean / misses", FormulaResult::Undefined),
        ("lmd / misses", FormulaResult::Undefined),
        ("mean * mean / lmd", FormulaResult::Undefined),
        ("1s * 1e300 * 1e300", FormulaResult::Undefined),
        ("max(mean / misses, 1us)", FormulaResult::Undefined),
        ("if(lmd / misses > 1us, 1us, 2us)", FormulaResult::Undefined),
        ("lmd - 1us", FormulaResult::Negative),
        ("lmd", sleep(0)),
        ("if(misses > 0, mean / misses, 3us)", sleep(3_000)),
        (
            "if(misses == 0 || mean / misses > 1us, 3us, 0)",
            sleep(3_000),
        ),
        (
            "if(misses > 0 && mean / misses > 1us, 0, 3us)",
            sleep(3_000),
        ),
    ] {
        assert_eq!(parse(text).sleep_for(quiet), expected, "{text}");
    }
}

#[test]
fn a_formula_says_what_it_reads() {
    let names = |text: &str| -> Vec<String> {
        let statistics = parse(text).statistics();
        statistics.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        names("if(p99 > max(p05, p50), mean - p05, -lmd * misses / count)"),
        ["count", "mean", "p05", "p50", "p99", "lmd", "misses"]
    );
    assert!(names("40us").is_empty());
}

fn any_sum() -> impl Strategy<Value = (String, f64)> {
    let atom = prop_oneof![
        (1u32..1_000).prop_map(|n| (n.to_string(), f64::from(n))),
        Just(("misses".to_owned(), 7.0)),
        Just(("count".to_owned(), 100.0)),
        (1u32..100).prop_map(|n| (format!("{n}%"), f64::from(n) / 100.0)),
    ];
    atom.prop_recursive(4, 40, 8, |inner| {
        let group = inner.prop_map(|(text, value)| (format!("({text})"), value));
        let more = prop::collection::vec((any::<bool>(), group.clone()), 0..3);
        let product = (group, more).prop_map(|((mut text, mut value), factors)| {
            for (multiply, (factor, by)) in factors {
                text += if multiply { "*" } else { " / " };
                text += &factor;
                value = if multiply { value * by } else { value / by };
            }
            (text, value)
        });
        let more = prop::collection::vec((any::<bool>(), product.clone()), 0..3);
        (product, more).prop_map(|((mut text, mut value), terms)| {
            for (add, (term, by)) in terms {
                text += if add { " +" } else { "-" };
                text += &term;
                value = if add { value + by } else { value - by };
            }
            (text, value)
        })
    })
}

proptest! {
    #[test]
    fn arithmetic_is_that_of_floating_point((text, value) in any_sum()) {
        let text = format!("1s * ({text})");
        prop_assume!(value.is_finite());
        let answer = parse(&text).sleep_for(sample);
        let expected = match value * 1e9 {
            ns if ns < 0.0 => FormulaResult::Negative,
            ns => FormulaResult::Sleep(Nanos(ns.round() as u64)),
        };
        prop_assert_eq!(answer, expected, "{}", text);
    }
}
