//! Tests of specifications as users type them.

use proptest::prelude::*;
use q2c_model::Nanos;
use q2c_policy::{Formula, Param, ParamKind, PolicySpec, RULES};

fn parse(text: &str) -> PolicySpec {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn typed_forms_and_their_full_form() {
    for (typed, full) in [
        ("mean", "mean:ratio=50%,period=100ms"),
        ("mean:75%", "mean:ratio=75%,period=100ms"),
        ("linux", "mean:ratio=50%,period=100ms"),
        (" Linux: ", "mean:ratio=50%,period=100ms"),
        ("mean:50%,100ms", "mean:ratio=50%,period=100ms"),
        ("mean:ratio=50%,period=100ms", "mean:ratio=50%,period=100ms"),
        ("mean:period=1s,ratio=0.3", "mean:ratio=30%,period=1s"),
        ("min:70%,10ms", "min:ratio=70%,period=10ms"),
        ("min", "min:ratio=70%,period=10ms"),
        (
            " Min : 70% , period = 1.5ms ",
            "min:ratio=70%,period=1500us",
        ),
        ("fixed:20us", "fixed:sleep=20us"),
        ("pas", "pas:up=0.01,down=0.1,adaptive=on"),
        ("pas:up=0.01,down=0.1", "pas:up=0.01,down=0.1,adaptive=on"),
        ("pas:adaptive=off", "pas:up=0.01,down=0.1,adaptive=off"),
        ("rule:0.7*min", "rule:period=10ms,sleep=0.7*min"),
        (
            "rule: period = 5ms , SLEEP= max( min,\n p01 ) - 4us ",
            "rule:period=5ms,sleep=max( min, p01 ) - 4us",
        ),
        (
            "rule:if(misses == 0, mean, 0)",
            "rule:period=10ms,sleep=if(misses == 0, mean, 0)",
        ),
        (
            "quantile:q=5%,ratio=90%,period=10ms",
            "quantile:q=5%,ratio=90%,period=10ms",
        ),
        ("qt:2%", "qt:miss=2%,gain=0.1"),
        ("qt:miss=0.1%", "qt:miss=0.1%,gain=0.1"),
        (
            "ehp:ctx=1487ns,isr=1076ns,benefit=10",
            "ehp:ctx=1487ns,isr=1076ns,benefit=10,period=10ms",
        ),
        ("lmd", "lmd:deviations=4,period=100ms"),
        (
            "dpas:3",
            "dpas:theta=3,pas=100,poll=1000,overload=100,interrupt=10000",
        ),
        (
            "hypi:4k=60%,interrupt=65536,64k=75%",
            "hypi:512=50%,1k=50%,2k=50%,4k=60%,8k=50%,16k=50%,32k=50%,64k=75%,interrupt=64k,period=100ms",
        ),
        ("linux410", "linux410:ratio=50%,period=134217728ns"),
        ("ewma", "ewma:ratio=50%,weight=12.5%"),
        ("uring", "uring"),
        ("uring:", "uring"),
        ("mean:7%,1500ns", "mean:ratio=7%,period=1500ns"),
        (
            "hypi:4k=12.5%,interrupt=1536",
            "hypi:512=50%,1k=50%,2k=50%,4k=12.5%,8k=50%,16k=50%,32k=50%,64k=50%,interrupt=1536,period=100ms",
        ),
    ] {
        assert_eq!(parse(typed).to_string(), full, "{typed}");
    }
}

#[test]
fn parameters_are_fractions_and_nanoseconds() {
    let params = parse("min:70%,10ms").params();
    assert_eq!(params, [("ratio", 0.7), ("period", 10e6)]);
    assert_eq!(parse("pas:adaptive=off").params()[2], ("adaptive", 0.0));
    assert!(parse("uring").params().is_empty());
}

/// For each mistake: its position from 1, the text, and the message.
const MISTAKES: &str = "\
1 ~ meen:50% ~ unknown rule `meen`, expected one of {rules}
10 ~ mean:50%,perod=1s ~ unknown parameter `perod` of mean, expected one of ratio, period
7 ~ uring:2 ~ too many parameters for uring, expected none
7 ~ linux:60% ~ too many parameters for linux, expected none
7 ~ fixed:n=2us ~ unknown parameter `n` of fixed, expected only sleep
6 ~ mean:150% ~ ratio must be from 0.01% to 100%, found 150%
6 ~ mean:0% ~ ratio must be from 0.01% to 100%, found 0%
11 ~ mean:50%, 0 ~ period must be from 1us to 3600s, found 0ns
6 ~ mean:70 ~ ratio: expected a share such as 70% or 0.7, found `70`
7 ~ fixed:20 ~ sleep: expected a duration with its unit, such as 40us, 100ms or 2s, found `20`
6 ~ fixed ~ sleep is missing, give it as in `fixed:20us`
16 ~ mean:ratio=50%,ratio=60% ~ ratio is given twice, keep one of them
16 ~ mean:period=1s,50% ~ `50%` stands after a named parameter, give it a name too, as in name=50%
13 ~ mean:50%,1s,2s ~ too many parameters for mean, expected one of ratio, period
6 ~ dpas:pas=1.5 ~ pas: expected a whole number such as 100, found `1.5`
6 ~ hypi:interrupt=100 ~ interrupt must be from 512 to 4g, found 100
6 ~ hypi:interrupt=4q ~ interrupt: expected a size such as 4k, 64k or 1m, found `4q`
6 ~ dpas:pas=-1 ~ pas: expected a whole number such as 100, found `-1`
6 ~ dpas:inf ~ theta: expected a number such as 0.01, found `inf`
6 ~ dpas:1% ~ theta: expected a number such as 0.01, found `1%`
5 ~ pas:adaptive=yes ~ adaptive: expected on or off, found `yes`
1 ~  ~ unknown rule ``, expected one of {rules}
5 ~ rule ~ sleep is missing, give it as in `rule:period=10ms,sleep=0.7 * min`
6 ~ rule:perod=1s,mean ~ unknown parameter `perod` of rule, expected one of period, sleep
10 ~ rule:10ms,mean ~ expected an operator or the end, found `,`; parameters stand before the formula, as in rule:period=10ms,sleep=0.7 * min
6 ~ rule:period=0,mean ~ period must be from 1us to 3600s, found 0ns
";

#[test]
fn mistakes_are_named_with_their_place_and_what_exists() {
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    let rules = rules.join(", ");
    for line in MISTAKES.lines() {
        let [place, text, message] = line.split(" ~ ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let error = text.parse::<PolicySpec>().expect_err(text).to_string();
        let message = message.replace("{rules}", &rules);
        let expected = format!("parse sleep rule `{text}` at character {place}: {message}");
        assert_eq!(error, expected);
    }
}

#[test]
fn sweeps_change_one_parameter_at_a_time() {
    let changed = parse("mean")
        .with_param("ratio", 0.3)
        .expect("0.3 is a ratio");
    assert_eq!(changed, parse("mean:30%"));
    let rounded = changed.with_param("period", 1_000_000.4).expect("1 ms");
    assert_eq!(rounded, parse("mean:30%,1ms"), "whole nanoseconds");
    let outside = changed.with_param("ratio", 1.5).expect_err("above 100%");
    let range = "ratio must be from 0.01% to 100%";
    assert!(outside.reason.starts_with(range));
    assert!(changed.with_param("ratio", f64::NAN).is_err());
    let unknown = changed.with_param("tau", 0.5).expect_err("mean has no tau");
    let named = "unknown parameter `tau` of mean";
    assert!(unknown.reason.starts_with(named));
}

#[test]
fn a_formula_is_no_number() {
    let rule = parse("rule:period=2ms,mean - 1us");
    assert_eq!(rule.params(), [("period", 2e6)]);
    let formula = rule.formula().map(ToString::to_string);
    assert_eq!(formula.as_deref(), Some("mean - 1us"));
    assert!(rule.with_param("sleep", 3.0).is_err());
    let slower = rule.with_param("period", 5e6).expect("5 ms");
    assert_eq!(slower, parse("rule:period=5ms,sleep=mean - 1us"));
    assert_ne!(rule, parse("rule:period=2ms,mean - 2us"));
    assert!(parse("mean").formula().is_none() && parse("mean").tally().is_none());
}

#[test]
fn a_formula_and_a_period_make_a_rule() {
    let formula = || "0.7 * min".parse::<Formula>().expect("a formula");
    let assembled = PolicySpec::from_formula(formula(), Nanos(20_000_000)).expect("20 ms");
    assert_eq!(assembled, parse("rule:period=20ms,0.7 * min"));
    let error = PolicySpec::from_formula(formula(), Nanos(10)).expect_err("10 ns");
    let range = "period must be from 1us to 3600s";
    assert!(error.to_string().contains(range), "{error}");
}

fn value_of(param: &'static Param) -> BoxedStrategy<(&'static str, f64)> {
    let range = param.min..=param.max;
    let value = match param.kind {
        ParamKind::Formula => unreachable!("no number stands for it"),
        ParamKind::Switch => prop_oneof![Just(0.0), Just(1.0)].boxed(),
        ParamKind::Ratio | ParamKind::Number => range.boxed(),
        ParamKind::Duration | ParamKind::Count | ParamKind::Size => {
            range.prop_map(f64::round).boxed()
        }
    };
    value.prop_map(|v| (param.name, v)).boxed()
}

fn any_spec() -> impl Strategy<Value = PolicySpec> {
    (0..RULES.len()).prop_flat_map(|i| {
        let rule = &RULES[i];
        let numbers = rule.params.iter().filter(|p| p.kind != ParamKind::Formula);
        let values: Vec<_> = numbers.map(value_of).collect();
        values.prop_map(|values| {
            let start = parse(rule.example);
            values.iter().fold(start, |spec, (name, value)| {
                spec.with_param(name, *value).expect("within its range")
            })
        })
    })
}

proptest! {
    #[test]
    fn full_form_parses_back(spec in any_spec()) {
        let text = spec.to_string();
        prop_assert_eq!(parse(&text), spec, "{}", text);
    }

    #[test]
    fn typed_percentages_are_shown_as_typed(hundredths in 1u32..=10_000) {
        let typed = format!("{}%", f64::from(hundredths) / 100.0);
        let full = parse(&format!("mean:{typed}")).to_string();
        prop_assert_eq!(full, format!("mean:ratio={typed},period=100ms"));
    }

    #[test]
    fn any_text_is_answered(text in "(mean|min|fixed|pas|hypi|qt|rule|uring|[a-zµ]{0,4}):?[a-z=,.0-9%µ ]{0,24}") {
        match text.parse::<PolicySpec>() {
            Ok(spec) => prop_assert_eq!(parse(&spec.to_string()), spec),
            Err(error) => prop_assert!(error.position <= text.chars().count() + 1),
        }
    }
}
