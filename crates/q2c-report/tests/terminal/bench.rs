//! Tests the terminal reports of benchmarks, with and without stages.

use crate::{PIPE, fixture};
use q2c_report::Reported;
use q2c_result::late::UnseenReason;

/// A capture by tracefs does not know the hardware queues, and the report says so.
#[test]
fn unknown_queues_and_other_reasons_are_told() {
    use q2c_result::bench::PointStages;
    use q2c_result::replay::CapturedBy;
    let mut result = fixture::bench_stages();
    if let Some(PointStages::Seen(run)) = &mut result.cells[0].stages {
        run.queues.clear();
        run.captured_by = CapturedBy::Tracefs;
    }
    let reasons = [
        (
            UnseenReason::PastBlockLayer,
            "none: the I/O does not go through the block layer",
        ),
        (
            UnseenReason::NoDevice,
            "none: no block device stands under the target",
        ),
        (
            UnseenReason::Failed("do I/O: EIO".to_owned()),
            "none: failed to do I/O: EIO",
        ),
        (
            UnseenReason::NoIo { others: 3 },
            "saw no I/O of the jobs, and 3 of others",
        ),
        (UnseenReason::Stopped, "none: the run was stopped before"),
    ];
    for (cell, (reason, _)) in result.cells[7..].iter_mut().zip(&reasons) {
        cell.stages = Some(PointStages::Unseen(reason.clone()));
    }
    let text = result.document().text(PIPE);
    for (_, words) in reasons {
        assert_eq!(text.matches(words).count(), 1, "{words}\n{text}");
    }
    let queues = "io_uring poll, 1 job: hardware queues: not known: tracefs does not tell them";
    assert!(text.contains(queues), "{text}");
}
