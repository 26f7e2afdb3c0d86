//! Feeds the analysis with times and lengths as a damaged trace may have them.

use crate::{analyze, span};
use proptest::prelude::*;
use q2c_trace::Span;

fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![0..1000u64, any::<u64>(), Just(u64::MAX)]
}

proptest! {
    /// The sum of Q2C is the integral of the number in flight.
    #[test]
    fn nothing_is_assumed(
        raw in prop::collection::vec((prop::array::uniform5(any_time()), any::<u64>(), any::<u64>(), any::<bool>()), 1..40),
    ) {
        let one = |(id, (times, sector, bytes, merged))| {
            let [begin_ns, getrq_ns, insert_ns, issue_ns, end_ns]: [u64; 5] = times;
            let merged_into = if merged { 0 } else { u64::MAX };
            Span { begin_ns, getrq_ns, insert_ns, issue_ns, end_ns, sector, bytes, merged_into, ..span(id, [0; 5]) }
        };
        let spans: Vec<Span> = (0..).zip(raw).map(one).collect();
        let result = analyze(&spans);
        prop_assert_eq!(result.in_flight.sum_q2c_ns, result.in_flight.integral_ns);
        prop_assert_eq!(result.requests, spans.len() as u64);
    }
}
