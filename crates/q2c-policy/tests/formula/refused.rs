//! Formulas that are refused: the message, and the caret below the position.

use super::parse;
use proptest::prelude::*;
use q2c_policy::{Formula, PolicySpec, SpecError};

fn refuse(text: &str) -> SpecError {
    text.parse::<Formula>().expect_err(text)
}

/// For each mistake: its position from 1, the formula, and the message.
const MISTAKES: &str = "\
1 ~  ~ expected a number, a name or `(`, found the end
6 ~ 0.7 * ~ expected a number, a name or `(`, found the end
7 ~ 0.7 * * min ~ expected a number, a name or `(`, found `*`
5 ~ 0.7 min ~ expected an operator or the end, found `min`
7 ~ 0.7 * mni ~ unknown name `mni`, expected one of count, mean, min, max, last, p01 to p99, lmd, misses
1 ~ p1 ~ unknown name `p1`, expected one of count, mean, min, max, last, p01 to p99, lmd, misses
1 ~ p00 ~ unknown name `p00`, expected one of count, mean, min, max, last, p01 to p99, lmd, misses
1 ~ p100 ~ unknown name `p100`, expected one of count, mean, min, max, last, p01 to p99, lmd, misses
1 ~ p+1 ~ unknown name `p`, expected one of count, mean, min, max, last, p01 to p99, lmd, misses
1 ~ Min ~ unknown name `Min`, expected one of count, mean, min, max, last, p01 to p99, lmd, misses
8 ~ min - 4usec ~ unknown unit `usec`, expected one of ns, us, ms, s, %
2 ~ 2m ~ unknown unit `m`, expected one of ns, us, ms, s, %
2 ~ 2min ~ unknown unit `min`, expected one of ns, us, ms, s, %
4 ~ 40 us ~ expected an operator or the end, found `us`
4 ~ 1.2.3 * min ~ expected an operator or the end, found `.`
1 ~ . * min ~ expected a number such as 0.7 or 40us, found `.`
1 ~ 1e999 * min ~ expected a number such as 0.7 or 40us, found `1e999`
11 ~ (min + 1us ~ expected an operator or `)`, found the end
10 ~ min + 1us) ~ expected an operator or the end, found `)`
13 ~ max(min, 1us ~ expected an operator, `,` or `)`, found the end
9 ~ max(min,) ~ expected a number, a name or `(`, found `)`
5 ~ max() ~ expected a number, a name or `(`, found `)`
1 ~ max(min) ~ max takes two or more values, found 1
1 ~ if(min > 1us, min) ~ if takes a comparison and two values, found 2
4 ~ if min > 1us ~ expected `(` behind if, found `min`
1 ~ sqrt(min ~ unknown function `sqrt`, expected one of if, min, max
5 ~ min = 3us ~ expected an operator or the end, found `=`
5 ~ min @ 3us ~ expected an operator or the end, found `@`
5 ~ min \u{7} ~ expected an operator or the end, found `\\u{7}`
10 ~ 0.7 * min, period=1s ~ expected an operator or the end, found `,`; parameters stand before the formula, as in rule:period=10ms,sleep=0.7 * min
8 ~ mean - 4 ~ expected a time, as the value before it, found a number without a unit; a time has a unit, as in 4us
9 ~ count + min ~ expected a number without a unit, as the value before it, found a time; a time has a unit, as in 4us
10 ~ if(p01 > 40, min, 0) ~ expected a time, as the value before it, found a number without a unit; a time has a unit, as in 4us
13 ~ max(0, min, count) ~ expected a time, as the value before it, found a number without a unit; a time has a unit, as in 4us
1 ~ 0.7 ~ expected a formula that gives a time, found a number without a unit; such as 0.7 * min or 40us
1 ~ min * max ~ expected a formula that gives a time, found a time to the power of 2; such as 0.7 * min or 40us
1 ~ min > 3us ~ expected a formula that gives a time, found a comparison; such as 0.7 * min or 40us
4 ~ if(min, 1us, 2us) ~ expected a comparison such as p01 > 40us, found a time
1 ~ 1us < min < 3us ~ expected a value, found a comparison; if(comparison, value, value) makes a value of it
7 ~ min / 0 ~ division by zero: this is 0 in every window
13 ~ 0.7 * min / (p50 - p50) ~ division by zero: this is 0 in every window
";

#[test]
fn mistakes_are_named_with_their_place() {
    for line in MISTAKES.lines() {
        let [place, text, message] = line.split(" ~ ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let error = refuse(text);
        let expected = format!("parse sleep rule `{text}` at character {place}: {message}");
        assert_eq!(error.to_string(), expected);
        let (shown, place) = (text.replace('\u{7}', " "), place.parse().expect("a number"));
        assert_eq!(error.pointer(), format!("{shown}\n{:>place$}", '^'));
    }
}

#[test]
fn a_place_counts_characters_and_blanks_of_any_kind() {
    let error = refuse("12µs\n\t+ x");
    assert_eq!(error.pointer(), "12µs  + x\n        ^");
}

#[test]
fn a_place_in_a_specification_counts_from_its_beginning() {
    let text = "rule:period=5ms, max(min, mni)";
    let error = text.parse::<PolicySpec>().expect_err(text);
    let caret = format!("{:>27}", '^');
    assert_eq!(error.pointer(), format!("{text}\n{caret}"));
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = |depth: usize| format!("{}min{}", "(".repeat(depth), ")".repeat(depth));
    let message = |text: &str| refuse(text).to_string();
    parse(&nested(32));
    assert!(message(&nested(33)).contains("nested deeper than 32 levels"));
    for deep in ["-", "!", "max(min,", "if("] {
        let refused = message(&deep.repeat(100));
        assert!(refused.contains("nested deeper than 32"), "{deep}");
    }
    let chain = |terms: usize| format!("0{}", "+0".repeat(terms));
    parse(&chain(499));
    for long in [chain(500), "µ".repeat(501)] {
        assert!(message(&long).contains("longer than 1000 bytes"), "{long}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_pieces_are_answered(pieces in prop::collection::vec(prop::sample::select(&PIECES), 0..24)) {
        check_answer(&pieces.concat())?;
    }

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        check_answer(&text)?;
    }

    #[test]
    fn any_text_behind_a_rule_is_answered(text in "rule:(period=[0-9]{1,3}m?s,)?(sleep=)?[a-z0-9=<>,.()*/ -]{0,20}") {
        match text.parse::<PolicySpec>() {
            Ok(spec) => prop_assert_eq!(spec.to_string().parse::<PolicySpec>(), Ok(spec)),
            Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.position)),
        }
    }
}

const PIECES: [&str; 40] = [
    "min", "max", "mean", "last", "p01", "p50", "p99", "lmd", "misses", "count", "if(", "min(",
    "max(", "(", ")", ",", "+", "-", "*", "/", "<", "<=", "==", "!=", ">", "&&", "||", "!", " ",
    "\n", "0", "1", "4us", "40us", "0.5", "70%", "1e9", "x", "µ", "=",
];

fn check_answer(text: &str) -> Result<(), TestCaseError> {
    match text.parse::<Formula>() {
        Err(error) => {
            let places = 1..=text.chars().count() + 1;
            prop_assert!(places.contains(&error.position), "{}", text);
        }
        Ok(formula) => {
            let again = parse(&formula.to_string());
            prop_assert_eq!(&again, &formula);
            prop_assert_eq!(
                again.sleep_for(super::sample),
                formula.sleep_for(super::sample)
            );
        }
    }
    Ok(())
}
