//! Tests the analysis of a capture in memory against figures computed by hand.

use crate::span;
use q2c_analyze::{CapturedIo, analyze_capture};
use q2c_model::{Op, facts};
use q2c_result::analyze::MapVerdict;
use q2c_trace::Span;
use q2c_trace::recording::RecordedIo;
use q2c_trace::span::NONE;
use std::collections::BTreeMap;

/// An I/O as a capture reports it; `lead` is as in [`RecordedIo`].
fn io(span: Span, lead: u64) -> CapturedIo {
    CapturedIo::from(&RecordedIo {
        key: span.id,
        span,
        lead,
        carries: false,
        tid: 31,
        comm: [0; 16],
    })
}

#[test]
fn a_merged_io_is_told_from_one_with_a_request_of_its_own() {
    let [alone, merged] = [0, 9].map(|lead| io(span(1, [0, 1, 2, 3, 4]), lead));
    assert_eq!((alone.span.merged_into, alone.tid), (NONE, 31));
    assert_ne!(merged.span.merged_into, NONE);
}

/// Three reads and a merged write on two of three queues, in the order of completion.
#[test]
fn stages_and_queues_of_ios_in_any_order() {
    let span_on = |id, times, hctx| Span {
        hctx,
        cpu_submit: hctx,
        ..span(id, times)
    };
    let mut write = span_on(4, [30, 70, -1, 80, 100], 1);
    write.op = Op::Write;
    let spans = vec![
        span_on(3, [20, 21, 24, 25, 35], 1),
        span_on(1, [0, 10, 20, 30, 60], 0),
        span_on(2, [10, 30, 40, 60, 95], 0),
        io(write, 3).span,
    ];
    let device = spans[0].device;
    let facts = BTreeMap::from([(facts::queue_map(device), "0:0 1:1 2:2".to_owned())]);
    let result = analyze_capture(spans, &facts);
    assert_eq!((result.requests, result.merged, result.issued), (4, 1, 3));
    let mean = |stage: &str| result.stages[stage].mean_ns;
    // Q2G: 10, 20, 1. G2I: 10, 10, 3. I2D: 10, 20, 1. D2C: 30, 35, 10, 20. Q2C: 60, 85, 15, 70.
    for (stage, wanted) in [
        ("Q2G", 31.0 / 3.0),
        ("G2I", 23.0 / 3.0),
        ("I2D", 31.0 / 3.0),
        ("Q2M", 40.0),
        ("M2D", 10.0),
        ("D2C", 95.0 / 4.0),
        ("Q2C", 230.0 / 4.0),
        // Q2Q: the I/Os begin at 0, 10, 20 and 30.
        ("Q2Q", 10.0),
    ] {
        let mean_ns = mean(stage);
        assert!((mean_ns - wanted).abs() < 1e-9, "{stage}: {mean_ns}");
    }
    let queues = &result.queues[0];
    assert_eq!((queues.queues, &queues.writes), (Some(3), &None));
    let reads = queues.reads.as_ref().expect("reads");
    let counts: Vec<u64> = reads.queues.iter().map(|queue| queue.requests).collect();
    assert_eq!(counts, [2, 1, 0]);
    assert_eq!(reads.unused.as_deref(), Some(&[2][..]));
    assert_eq!(reads.map.map(|map| map.verdict), Some(MapVerdict::AsMapped));
}
