//! The I/Os that the latencies of an analysis lack.

use q2c_model::Layer;
use q2c_result::analyze::{AnalyzeResult, NotWhole};

/// The reasons in `unmatched` that count I/Os which have no latency from Q to C. Other reasons
/// count events or requests, or I/Os that their submitter queued again.
const REASONS: [&str; 7] = [
    "completion without queue",
    "never issued",
    "never completed",
    "queued again, its end not seen",
    "lost: ring full",
    "lost: too many in flight",
    UNTIMED,
];

/// The reason of I/Os whose times are in no figure ([`q2c_trace::Span::is_untimed`]).
pub(crate) const UNTIMED: &str = "times that fall";

/// The reason of I/Os that come after one that began later. They are in all figures.
pub(crate) const UNSORTED: &str = "row after one that began later";

/// The result has its stages and its unmatched events already.
pub(crate) fn not_whole(result: &AnalyzeResult) -> Option<NotWhole> {
    let whole = result.stages.get("Q2C").map_or(0, |stage| stage.n);
    if result.layer != Layer::Block || whole == 0 {
        return None;
    }
    let counted = REASONS.iter().filter_map(|reason| {
        let n = *result.unmatched.get(*reason)?;
        Some(((*reason).to_owned(), n))
    });
    let mut not_whole = NotWhole {
        reasons: counted.collect(),
        ..NotWhole::default()
    };
    not_whole.ios = not_whole.reasons.values().sum();
    not_whole.of = whole + not_whole.ios;
    not_whole.share = not_whole.ios as f64 / not_whole.of as f64;
    Some(not_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::analyze::StageStats;

    /// 955 I/Os with Q and C, 45 without: 4.5 %.
    #[test]
    fn io_counts_alone_are_in_the_share() {
        let mut result = AnalyzeResult {
            layer: Layer::Block,
            ..AnalyzeResult::default()
        };
        assert_eq!(not_whole(&result), None);
        let stage = StageStats {
            n: 955,
            ..StageStats::default()
        };
        result.stages.insert("Q2C".to_owned(), stage);
        let unmatched = [
            ("queued again, its end not seen", 40),
            ("never completed", 5),
            ("never had a request", 1_000),
            ("event skipped by the kernel", 7),
            ("more than 256 merged", 2),
        ];
        result.unmatched = unmatched.map(|(reason, n)| (reason.to_owned(), n)).into();
        let share = not_whole(&result).expect("a share");
        assert_eq!((share.ios, share.of), (45, 1_000));
        assert!((share.share - 0.045).abs() < 1e-12);
        assert_eq!(share.reasons.len(), 2);
        result.layer = Layer::User;
        assert_eq!(not_whole(&result), None);
    }
}
