//! Parts of different devices over the same time.

use super::made::{random_index, trace};
use super::{CASES, feed, finished, json, restored, same_but_for_the_inexact};
use crate::Analyzer;
use proptest::prelude::*;
use q2c_model::{Exit, Fault, Layer};
use q2c_result::analyze::{InexactFigure, InexactReason};
use q2c_trace::Span;
use std::collections::BTreeSet;

fn by_device(spans: &[Span]) -> Vec<Vec<Span>> {
    let devices: BTreeSet<_> = spans.iter().map(|span| span.device).collect();
    let ios_of = |device| spans.iter().filter(move |span| span.device == device);
    let devices = devices.into_iter();
    let parts = devices.map(|device| ios_of(device).copied().collect());
    parts.chain([Vec::new()]).collect()
}

/// Merges random pairs of parts until one is left.
fn merged_in_order(mut parts: Vec<Analyzer>, order: &[u32]) -> Analyzer {
    let mut order = order.iter().cycle().copied();
    let mut next = |count: usize| random_index(count, order.next().expect("not empty"));
    while parts.len() > 1 {
        let one = restored(&parts.swap_remove(next(parts.len())));
        let other = parts.swap_remove(next(parts.len()));
        parts.push(one.merge_devices(other).expect("the devices differ"));
    }
    restored(&parts.remove(0))
}

/// The figures that need the I/Os of all devices in one order.
const COMMON: [InexactFigure; 4] = [
    InexactFigure::MostInFlight,
    InexactFigure::Activity,
    InexactFigure::OverLoad,
    InexactFigure::Excerpts,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// All figures but four equal those of one pass. The four are exact for a single device only.
    #[test]
    fn devices_add_up_in_any_order(
        spans in trace(true),
        order in prop::collection::vec(any::<u32>(), 1..8),
        other_order in prop::collection::vec(any::<u32>(), 1..8),
        head in prop_oneof![Just(None), (0..20usize).prop_map(Some)],
    ) {
        let devices = by_device(&spans);
        let new = || match head {
            None => Analyzer::new(Layer::Block),
            Some(ios) => Analyzer::part_with_head(Layer::Block, ios),
        };
        let parts = || devices.iter().map(|ios| feed(new(), ios, 5)).collect();
        let merged = finished(merged_in_order(parts(), &order));
        let again = finished(merged_in_order(parts(), &other_order));
        prop_assert_eq!(json(&merged), json(&again));
        let whole = finished(feed(Analyzer::new(Layer::Block), &spans, 64));
        let inexact = same_but_for_the_inexact(merged, whole);
        match devices.len() {
            0..=2 => prop_assert_eq!(inexact, []),
            _ => prop_assert_eq!(inexact, COMMON),
        }
    }

    /// Parts of each device and third of the time: joined by time first, then by device.
    #[test]
    fn devices_by_time_add_up(
        spans in trace(false),
        order in prop::collection::vec(any::<u32>(), 1..8),
    ) {
        let third = spans.len().div_ceil(3).max(1);
        let devices = by_device(&spans);
        let mut parts = Vec::new();
        for ios in &devices {
            let of_device = |third: &[Span]| -> Vec<Span> {
                let spans = third.iter().filter(|span| ios.iter().any(|io| io.id == span.id));
                spans.copied().collect()
            };
            let mut device = Analyzer::new(Layer::Block);
            for of_third in spans.chunks(third).map(of_device) {
                let part = feed(Analyzer::part(Layer::Block), &of_third, 3);
                device = device.append(part).expect("one layer");
            }
            parts.push(device);
        }
        let merged = finished(merged_in_order(parts, &order));
        let whole = finished(feed(Analyzer::new(Layer::Block), &spans, 64));
        let inexact = same_but_for_the_inexact(merged, whole);
        prop_assert!(inexact.iter().all(|figure| COMMON.contains(figure)), "{inexact:?}");
    }
}

#[test]
fn what_several_devices_do_not_tell_is_none() {
    let io = |minor: u32, at: u64| Span {
        device: q2c_model::DevId { major: 8, minor },
        ..super::stored::read(u64::from(minor), at, at + 50)
    };
    let one = feed(Analyzer::new(Layer::Block), &[io(0, 10), io(0, 20)], 2);
    let other = feed(Analyzer::new(Layer::Block), &[io(16, 30)], 1);
    let both = one.clone().merge_devices(other.clone());
    let result = finished(both.expect("two devices"));
    assert_eq!((result.in_flight.most, result.activity), (None, None));
    // 3 * 50 ns in flight, over the 70 ns from 10 to 80.
    assert_eq!(result.in_flight.integral_ns, 150);
    assert!((result.in_flight.mean.unwrap() - 150.0 / 70.0).abs() < 1e-12);
    let reasons = result.inexact.iter().map(|mark| (mark.reason, mark.joins));
    let reasons: Vec<_> = reasons.collect();
    assert_eq!(reasons, [(InexactReason::Devices, 1); COMMON.len()]);
    let refused = |joined: Result<Analyzer, Fault>, word: &str| {
        let fault = joined.err().unwrap();
        assert_eq!(fault.exit(), Exit::Usage);
        assert!(fault.message().contains(word), "{fault}");
    };
    refused(one.clone().merge_devices(one), "a device in both");
    let user = Analyzer::new(Layer::User);
    refused(other.clone().merge_devices(user.clone()), "block and user");
    refused(other.append(user), "block and user");
}
