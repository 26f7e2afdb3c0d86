//! Analyses of successive parts of a trace, joined, equal the analysis of the whole.

use super::made::{random_index, trace};
use super::oracle::OracleFigures;
use super::{CASES, feed, finished, restored, same_but_for_the_inexact};
use crate::Analyzer;
use proptest::prelude::*;
use q2c_model::Layer;
use q2c_result::analyze::InexactFigure;
use q2c_trace::Span;

/// Cuts the I/Os at random places; some of the parts are empty.
fn cut_spans<'a>(spans: &'a [Span], cuts: &[u32]) -> Vec<&'a [Span]> {
    let places = cuts.iter().map(|cut| random_index(spans.len() + 1, *cut));
    let mut places: Vec<usize> = places.chain([0, spans.len()]).collect();
    places.sort_unstable();
    let pairs = places.windows(2);
    pairs.map(|pair| &spans[pair[0]..pair[1]]).collect()
}

/// Analyses parts. The numbers of `heads` limit in turn the head that each later part keeps.
pub(super) fn parts(parts: &[&[Span]], heads: &[usize]) -> Vec<Analyzer> {
    let analyze = |(at, spans): (usize, &&[Span])| {
        let new = match at {
            0 => Analyzer::new(Layer::Block),
            at => Analyzer::part_with_head(Layer::Block, heads[at % heads.len()]),
        };
        feed(new, spans, 7)
    };
    parts.iter().enumerate().map(analyze).collect()
}

/// Joins random neighbours until one is left. Some are serialised and restored in between.
fn joined(mut parts: Vec<Analyzer>, order: &[u32]) -> Analyzer {
    let mut order = order.iter().cycle();
    while parts.len() > 1 {
        let random = *order.next().expect("not empty");
        let at = random_index(parts.len() - 1, random);
        let (mut earlier, mut later) = (parts.remove(at), parts.remove(at));
        match random >> 16 & 3 {
            0 => earlier = restored(&earlier),
            1 => later = restored(&later),
            _ => {}
        }
        parts.insert(at, earlier.append(later).expect("the layers are the same"));
    }
    restored(&parts.remove(0))
}

fn analyze_whole(spans: &[Span]) -> Analyzer {
    feed(Analyzer::new(Layer::Block), spans, 1000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// In a short trace, a part's head holds everything that depends on earlier parts.
    #[test]
    fn parts_are_the_whole(
        spans in prop_oneof![trace(false), trace(true)],
        cuts in prop::collection::vec(any::<u32>(), 0..6),
        order in prop::collection::vec(any::<u32>(), 1..8),
    ) {
        let merged = joined(parts(&cut_spans(&spans, &cuts), &[Analyzer::MAX_HEAD_IOS]), &order);
        let inexact = same_but_for_the_inexact(finished(merged), finished(analyze_whole(&spans)));
        prop_assert_eq!(inexact, []);
    }

    /// With short heads, most of a part is analysed before it is known what was in flight earlier.
    #[test]
    fn what_is_not_exact_is_named(
        spans in prop_oneof![trace(false), trace(true)],
        cuts in prop::collection::vec(any::<u32>(), 0..6),
        order in prop::collection::vec(any::<u32>(), 1..8),
        heads in prop::collection::vec(0..12usize, 1..4),
    ) {
        let merged = joined(parts(&cut_spans(&spans, &cuts), &heads), &order);
        same_but_for_the_inexact(finished(merged), finished(analyze_whole(&spans)));
    }

    /// If I/Os come in order, the largest number in flight is exact, however long they last.
    #[test]
    fn in_order_the_most_in_flight_is_exact(
        spans in trace(false),
        cuts in prop::collection::vec(any::<u32>(), 0..6),
        order in prop::collection::vec(any::<u32>(), 1..8),
        heads in prop::collection::vec(0..12usize, 1..4),
    ) {
        // The I/Os in flight are in order if every I/O has its begin.
        let has_begin = |span: &&Span| span.begin_ns != u64::MAX;
        let spans: Vec<Span> = spans.iter().filter(has_begin).copied().collect();
        let merged = finished(joined(parts(&cut_spans(&spans, &cuts), &heads), &order));
        let is_inexact = |figure: InexactFigure| merged.inexact.iter().any(|mark| mark.figure == figure);
        prop_assert!(!is_inexact(InexactFigure::MostInFlight), "{:?}", merged.inexact);
        let oracle = OracleFigures::from_spans(&spans);
        let has_completions = spans.iter().any(|span| span.end_ns != u64::MAX);
        prop_assert_eq!(merged.in_flight.most, has_completions.then_some(oracle.most));
        prop_assert_eq!(merged.in_flight.integral_ns, oracle.integral);
        prop_assert_eq!(merged.in_flight.sum_q2c_ns, oracle.integral);
        if !is_inexact(InexactFigure::Activity) {
            prop_assert_eq!(merged.activity, has_completions.then_some(oracle.activity));
        }
        if !is_inexact(InexactFigure::OverLoad) {
            let bottleneck = merged.bottleneck.unwrap_or_default();
            let classes = bottleneck.over_load.iter().map(|c| (c.from, c.requests));
            let classes: Vec<(u64, u64)> = classes.collect();
            prop_assert!(classes.is_empty() || classes == oracle.classes, "{classes:?}");
        }
    }
}
