use super::*;
use serde::{Deserialize, Serialize};

const TEXTS: [&str; 10] = [
    "interrupt",
    "poll",
    "sqpoll",
    "sqpoll-iopoll",
    "hybrid-uring",
    "hybrid-kernel",
    "hybrid-kernel:57us",
    "hybrid-kernel:mean:ratio=50%,period=100ms",
    "hybrid:min:ratio=70%,period=10ms",
    "hybrid:rule:period=10ms,sleep=max(min - 4us, 0)",
];

#[test]
fn texts_are_read_back() {
    for text in TEXTS {
        let method: Method = text.parse().unwrap();
        assert_eq!(method.to_string(), text);
        let json = serde_json::to_string(&method).unwrap();
        assert_eq!(json, format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Method>(&json).unwrap(), method);
    }
}

#[test]
fn what_is_no_method_is_refused_with_a_hint() {
    for (text, hint) in [
        ("", "the nearest is poll"),
        ("polling", "the nearest is poll"),
        ("interupt", "the nearest is interrupt"),
        ("hybrid-kernelly", "the nearest is hybrid-kernel"),
        ("hybrid", "the nearest is hybrid"),
        ("poll:57us", "poll takes nothing behind its name"),
        ("hybrid:median", "unknown rule `median`"),
        ("hybrid-kernel:57", "a sleep of 1us or more"),
        ("hybrid-kernel:0us", "a sleep of 1us or more"),
        ("hybrid-kernel:-5us", "a sleep of 1us or more"),
        ("hybrid-kernel:xus", "a sleep of 1us or more"),
        ("hybrid-kernel:2147484us", "at most 2147483us"),
    ] {
        let error = text.parse::<Method>().unwrap_err().to_string();
        assert!(error.contains(hint), "{text}: {error}");
    }
    assert!("hybrid-kernel:2147483us".parse::<Method>().is_ok());
    assert!("sqpoll".parse::<LaneMethod>().is_err());
}

/// In a list, `period=10ms` belongs to the preceding rule, and every method begins a new item.
#[test]
fn a_part_of_a_list_begins_a_method_or_belongs_to_one() {
    assert!(TEXTS.iter().all(|text| Method::begins(text)));
    assert!(!Method::begins("period=10ms") && !Method::begins("hybrid"));
}

#[test]
fn linux_is_a_name_of_its_rule() {
    let method: Method = "hybrid:linux".parse().unwrap();
    assert_eq!(method.to_string(), "hybrid:mean:ratio=50%,period=100ms");
    let steered: Method = "hybrid-kernel:linux".parse().unwrap();
    assert_eq!(steered.detail(), "mean:ratio=50%,period=100ms");
    assert!("linux".parse::<Method>().is_err());
}

#[test]
fn a_method_in_two_fields() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flattened {
        #[serde(flatten, with = "parts")]
        method: Method,
        iops: f64,
    }
    for method in TEXTS.map(|text| text.parse::<Method>().unwrap()) {
        let (name, detail) = (method.name(), method.detail());
        let text = format!(r#"{{"method":"{name}","policy":"{detail}","iops":1.0}}"#);
        let cell: Flattened = serde_json::from_str(&text).unwrap();
        assert_eq!(cell.method, method);
        assert_eq!(serde_json::to_string(&cell).unwrap(), text);
    }
    let wrong = r#"{"method":"hybrid-kernel","policy":"57","iops":1.0}"#;
    assert!(serde_json::from_str::<Flattened>(wrong).is_err());
}

#[test]
fn a_fixed_sleep_is_whole_microseconds() {
    let us = |ns| KernelSleep::fixed(Nanos(ns));
    assert_eq!(us(0), KernelSleep::Fixed(1));
    assert_eq!(us(57_499), KernelSleep::Fixed(57));
    assert_eq!(us(57_500), KernelSleep::Fixed(58));
    assert_eq!(us(u64::MAX), KernelSleep::Fixed(2_147_483));
}

#[test]
fn only_rules_that_read_the_device_follow_it() {
    for (text, follows) in [
        ("interrupt", true),
        ("hybrid:mean", true),
        ("hybrid:fixed:20us", false),
        ("hybrid:uring", false),
        ("hybrid:rule:20us", false),
        ("hybrid:rule:min - 20us", true),
    ] {
        let method: LaneMethod = text.parse().unwrap();
        assert_eq!(method.follows_the_device(), follows, "{text}");
    }
}

/// The kernel's own rule closes a window every 100 ms (block/blk-mq.c).
#[test]
fn the_period_is_that_of_rules_with_windows_of_time() {
    let ms = |ms| Some(Nanos::from_millis(ms));
    for (text, period) in [
        ("interrupt", None),
        ("poll", None),
        ("hybrid:mean:ratio=50%,period=100ms", ms(100)),
        ("hybrid:min:ratio=70%,period=10ms", ms(10)),
        ("hybrid:rule:period=5ms,sleep=min - 4us", ms(5)),
        ("hybrid:fixed:20us", None),
        ("hybrid:rule:period=5ms,sleep=20us", None),
        ("hybrid:pas", None),
        ("hybrid-uring", None),
        ("hybrid-kernel", ms(100)),
        ("hybrid-kernel:57us", None),
        ("hybrid-kernel:min:ratio=70%,period=20ms", ms(20)),
    ] {
        let method: Method = text.parse().unwrap();
        assert_eq!(method.period(), period, "{text}");
    }
}

#[test]
fn methods_that_differ_in_numbers_alone_are_alike() {
    for (a, b, alike) in [
        ("poll", "poll", true),
        ("poll", "interrupt", false),
        ("hybrid:min:70%,10ms", "hybrid:min:85%,50ms", true),
        ("hybrid:min", "hybrid:mean", false),
        ("hybrid:fixed:20us", "hybrid-kernel:20us", false),
        ("hybrid:rule:min - 4us", "hybrid:rule:min - 5us", false),
        (
            "hybrid:rule:period=5ms,min - 4us",
            "hybrid:rule:min - 4us",
            true,
        ),
        ("hybrid-kernel:57us", "hybrid-kernel:60us", true),
        ("hybrid-kernel", "hybrid-kernel:60us", false),
        ("hybrid-kernel:min:70%", "hybrid-kernel:min:80%", true),
        ("hybrid-kernel:min:70%", "hybrid:min:70%", false),
    ] {
        let (a, b): (Method, Method) = (a.parse().unwrap(), b.parse().unwrap());
        assert_eq!(a.same_rule(&b), alike, "{a} {b}");
        assert_eq!(b.same_rule(&a), alike, "{b} {a}");
    }
}
