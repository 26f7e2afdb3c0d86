//! Tests the terminal reports of benchmarks, with and without stages.

use crate::{PIPE, fixture, widths};
use q2c_report::Reported;
use q2c_result::late::Unseen;

#[test]
fn bench_fits_every_width() {
    let result = fixture::bench();
    widths::fits("bench", |screen| result.document().text(screen));
    let staged = fixture::bench_stages();
    widths::fits("bench_stages", |screen| staged.document().text(screen));
}

/// The text of a benchmark with stages, with every run of white space as one blank.
fn bench_with_stages() -> String {
    let result = fixture::bench_stages();
    let text = result.document().text(PIPE);
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
fn the_stages_of_each_number_of_jobs_are_told() {
    let text = bench_with_stages();
    for words in [
        // The name and the number of jobs stand in the first row of a point. Q2Q is no stage.
        "interface, method jobs stage mean p50 p99 of Q2C",
        "io_uring poll 10 Q2G 1.00 us 900 ns 2.00 us 1.40 % G2I 500 ns 450 ns 1.00 us 0.70 % \
         I2D 10.0 us 9.00 us 20.0 us 14.0 % D2C 60.0 us 54.0 us 120 us 83.9 % \
         Q2C 71.5 us 64.3 us 143 us io_uring poll 14",
        // 60 us over 61.5 us and 1 us per job; I2D over the same.
        "bottleneck of io_uring poll over the jobs: D2C at 1, 2, 6, 10, 14 jobs \
         (96.0, 94.5, 88.9, 83.9, 79.5 % of Q2C). I2D at 18, 22 jobs (22.6, 26.3 % of Q2C). \
         D2C: why D2C. I2D: why I2D",
        // Both grow from 1 to 22 jobs by 21 us.
        "growth of io_uring poll over the jobs: Q2C is 62.5 us at 1 job and 83.5 us at 22 jobs. \
         I2D takes 100 % of the growth",
        "sleeps of io_uring poll for a request (tag): none at 1 job; none at 2 jobs; none at 6 jobs; \
         none at 10 jobs; none at 14 jobs; 0.25 per I/O, 2.00 us each, in 1 hardware queue at 18 jobs; \
         0.26 per I/O, 2.00 us each, in 1 hardware queue, 3 more had no room in the probe at 22 jobs",
        "io_uring poll, 1 job: reads by queue of 259:0: 100 in 1 of 3 queues (unused: 1-2); \
         over all queues uneven (deviation 50.0 %); spread as the map from CPUs to queues has it",
        "io_uring poll, 2 jobs: reads by queue of 259:0: 100 in 2 of 3 queues (unused: 2)",
        "io_uring poll with the capture beside it: 90.0 % of the trials' IOPS, captured by bpf. \
         The thread that reads took up to 12.0 % of a CPU",
        "Stages in the block layer, from a run of each point",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let bare = fixture::bench().document().text(PIPE);
    assert!(!bare.contains("tages"), "{bare}");
}

/// 17.78 M IOPS at 10 jobs are complete; of 1.23 M IOPS at 22 jobs the capture lost some. What is
/// unknown has its reason, once.
#[test]
fn what_the_stages_lack_is_told_beside_them() {
    let text = bench_with_stages();
    assert!(
        text.contains("I/Os of io_uring poll, 6 jobs: 1 234 of others on the disk are left out"),
        "{text}"
    );
    let partial = "I/Os of io_uring poll, 2 jobs: 2 lack an event, so that some of their stages";
    assert!(text.contains(partial), "{text}");
    let lacks = "40 were lost; unmatched: ring full (40)";
    assert!(
        text.contains("I/Os of io_uring poll, 22 jobs: the block layer had"),
        "{text}"
    );
    assert_eq!(text.matches(lacks).count(), 1, "{text}");
    assert!(!text.contains("I/Os of io_uring poll, 10 jobs"), "{text}");
    let unseen =
        "stages of libaio poll: none: failed to capture the block layer: load a program: EPERM";
    assert_eq!(text.matches(unseen).count(), 1, "{text}");
}

/// A capture by tracefs does not tell the hardware queues, and says so.
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
            Unseen::PastBlockLayer,
            "none: the I/O does not go through the block layer",
        ),
        (
            Unseen::NoDevice,
            "none: no block device stands under the target",
        ),
        (
            Unseen::Failed("do I/O: EIO".to_owned()),
            "none: failed to do I/O: EIO",
        ),
        (
            Unseen::NoIo { others: 3 },
            "saw no I/O of the jobs, and 3 of others",
        ),
        (Unseen::Stopped, "none: the run was stopped before"),
    ];
    for (cell, (why, _)) in result.cells[7..].iter_mut().zip(&reasons) {
        cell.stages = Some(PointStages::Unseen(why.clone()));
    }
    let text = result.document().text(PIPE);
    for (_, words) in reasons {
        assert_eq!(text.matches(words).count(), 1, "{words}\n{text}");
    }
    let queues = "io_uring poll, 1 job: hardware queues: not known: tracefs does not tell them";
    assert!(text.contains(queues), "{text}");
}
