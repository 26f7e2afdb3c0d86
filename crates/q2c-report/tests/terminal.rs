//! Tests the reports in the terminal as a whole.

#[path = "fixture/analyze.rs"]
mod analyze_fixture;
#[path = "fixture/bench.rs"]
mod bench_fixture;
#[path = "fixture/bench_stages.rs"]
mod bench_stages_fixture;
mod fixture;
#[path = "fixture/kernel_tune.rs"]
mod kernel_tune_fixture;
#[path = "fixture/program.rs"]
mod program_fixture;
#[path = "fixture/replay.rs"]
mod replay_fixture;
#[path = "fixture/sweep.rs"]
mod sweep_fixture;
#[path = "fixture/tune_jobs.rs"]
mod tune_jobs_fixture;
mod widths;

use q2c_report::terminal::{self, Screen};
use q2c_result::analyze::{Figure, Inexact, InexactReason};
use q2c_result::compare::{CompareFinding, NoneValid};
use q2c_result::doctor::{Ready, Use, UseState};
use q2c_result::late::{LateTime, Unseen};
use q2c_result::mode::{Mode, ModeKind};
use q2c_result::replay::{ChangeKind, Invalid};
use q2c_result::tune::{Cell, MethodName, Undecided, Verdict};
use q2c_stats::Ratio;

const PIPE: Screen = Screen {
    width: 120,
    colour: false,
};

#[test]
fn tune_fits_every_width() {
    widths::snapshots("tune", |screen| {
        terminal::tune(&fixture::realistic(), screen)
    });
}

/// The program stands behind the answers, with every kind of what is not copied.
#[test]
fn a_tune_for_a_program_fits_every_width() {
    let result = program_fixture::of_program(fixture::realistic());
    let whole = |screen| terminal::tune(&result, screen);
    widths::snapshots("tune_for_a_program", |screen| {
        let text = whole(screen);
        let own = text.find("worth to the program").expect("the program");
        text[own..].to_owned()
    });
    let text = serde_json::to_string(&result).expect("JSON");
    let read: q2c_result::tune::TuneResult = serde_json::from_str(&text).expect("the same");
    assert_eq!(terminal::tune(&read, PIPE), whole(PIPE));
}

/// Each number of jobs has the same think time, and the head of the report tells it.
#[test]
fn the_think_time_of_all_numbers_of_jobs_is_told() {
    let mut result = tune_jobs_fixture::over_jobs(&fixture::realistic());
    let runs = result.runs.iter_mut();
    runs.for_each(|run| run.job.think_ns = Some(2e6));
    let text = terminal::tune_jobs(&result, PIPE);
    assert!(
        text.contains("jobs with 2 ms between the I/Os of each, "),
        "{text}"
    );
}

#[test]
fn tune_jobs_fits_every_width() {
    let result = tune_jobs_fixture::over_jobs(&fixture::realistic());
    widths::snapshots("tune_jobs", |screen| terminal::tune_jobs(&result, screen));
    let text = serde_json::to_string(&result).expect("JSON");
    let read: q2c_result::tune_jobs::TuneJobsResult =
        serde_json::from_str(&text).expect("the same");
    assert_eq!(
        terminal::tune_jobs(&read, PIPE),
        terminal::tune_jobs(&result, PIPE)
    );
}

/// A number that failed, one that was stopped, and one that was never begun are told apart, and
/// what is not whole is no settled recommendation.
#[test]
fn numbers_of_jobs_that_are_missing_are_told() {
    let whole = tune_jobs_fixture::over_jobs(&fixture::realistic());
    let mut runs = whole.runs;
    runs.truncate(2);
    runs[1].complete = false;
    runs[1].job.cpus = [3, 3].map(q2c_model::CpuId).to_vec();
    let failed = q2c_result::tune_jobs::FailedJobs {
        jobs: 4,
        reason: "verify poll live: Input/output error".to_owned(),
    };
    let result = q2c_result::tune_jobs::TuneJobsResult::new(&[1, 2, 4, 8], runs, Some(failed));
    let text = terminal::tune_jobs(&result, Screen { width: 200, ..PIPE });
    for told in [
        "4 KiB: hybrid min (numbers vary) is recommended at 1 job; not settled at 2 (hybrid min (numbers vary))",
        "4 jobs: failed to verify poll live: Input/output error",
        "incomplete, 2 jobs: the run was stopped early",
        "incomplete: nothing was measured with 4, 8 jobs",
        "2 jobs: they share CPUs 3: a job that polls there takes the CPU from another",
        "in jobs-1, jobs-2 of the run folder",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
}

#[test]
fn kernel_tune_fits_every_width() {
    let result = kernel_tune_fixture::realistic();
    widths::snapshots("kernel_tune", |screen| {
        terminal::kernel_tune(&result, screen)
    });
    let text = serde_json::to_string(&result).expect("JSON");
    let read = serde_json::from_str(&text).expect("the same");
    assert_eq!(result, read);
}

/// Without a method that pays and keeps the floor, classic polling is told, and no line to steer.
#[test]
fn a_kernel_without_room_to_sleep_is_told() {
    let mut result = kernel_tune_fixture::realistic();
    result.recommended = q2c_policy::Method::POLL;
    for (verdict, words) in [
        (Verdict::NoRoom, "no room to sleep:"),
        (Verdict::TradeOff, "kept 97.0 % of its IOPS; --min-iops"),
        (Verdict::Limits, "kept the limits"),
    ] {
        result.verdict = verdict;
        let text = terminal::kernel_tune(&result, PIPE);
        assert!(
            text.contains(words) && !text.contains("poll steer"),
            "{text}"
        );
    }
}

#[test]
fn doctor_fits_every_width() {
    widths::snapshots("doctor", |screen| {
        terminal::doctor(&fixture::realistic().doctor, screen)
    });
}

/// The same checks sorted by use: a use with checks of its own, one that refers to them, and one
/// that is not ready.
#[test]
fn doctor_by_use_fits_every_width() {
    let mut report = fixture::realistic().doctor;
    let of = |id: &str| match id {
        "io-uring" | "poll-queues" => vec![Use::Tune, Use::Bench],
        "kernel-hybrid" => vec![Use::KernelPolling, Use::Tune],
        _ => vec![Use::Measuring],
    };
    for check in &mut report.checks {
        check.uses = of(&check.id);
    }
    let state = |of, ready, by: &[&str], to_improve| UseState {
        of,
        ready,
        by: by.iter().map(|&id| id.to_owned()).collect(),
        to_improve,
    };
    report.uses = vec![
        state(Use::Measuring, Ready::Ready, &[], 0),
        state(Use::Tune, Ready::Limited, &["kernel-hybrid"], 1),
        state(Use::Bench, Ready::Unknown, &["io-uring"], 1),
        state(Use::KernelPolling, Ready::NotReady, &["kernel-hybrid"], 0),
    ];
    widths::snapshots("doctor_by_use", |screen| terminal::doctor(&report, screen));
    let text = terminal::doctor(&report, PIPE);
    let tune = "tune: ready but for hybrid-kernel, kiops-per-core (kernel-hybrid); 1 to improve";
    assert!(text.contains(tune), "{text}");
    assert!(text.contains("See also: io-uring, poll-queues."), "{text}");
}

#[test]
fn bench_fits_every_width() {
    let result = bench_fixture::result();
    widths::snapshots("bench", |screen| terminal::bench(&result, screen));
    let staged = bench_stages_fixture::with_stages(bench_fixture::result());
    widths::snapshots("bench_stages", |screen| terminal::bench(&staged, screen));
}

#[test]
fn analyze_fits_every_width() {
    let result = analyze_fixture::result();
    widths::snapshots("analyze", |screen| terminal::analyze(&result, screen));
}

#[test]
fn sweep_fits_every_width() {
    let result = sweep_fixture::result();
    widths::snapshots("sweep", |screen| terminal::sweep(&result, screen));
}

#[test]
fn a_fallback_and_an_early_end_are_told() {
    let mut result = fixture::realistic();
    result.complete = false;
    result.cells[1].effective_mode.was = Mode::of(ModeKind::Interrupt);
    let text = terminal::tune(&result, PIPE);
    assert!(text.contains("incomplete:"), "{text}");
    assert!(
        text.contains("effective mode: 4 KiB poll: asked poll, was interrupt"),
        "{text}"
    );
}

#[test]
fn lines_fit_the_screen() {
    for width in [100, 120, 140] {
        let text = terminal::tune(&fixture::realistic(), Screen { width, ..PIPE });
        // Lines to copy are indented by four and never wrapped.
        let free = text.lines().filter(|line| !line.starts_with("    "));
        let widest = free.map(|line| line.chars().count()).max();
        assert!(
            widest <= Some(usize::from(width)),
            "{widest:?} columns of {width}:\n{text}"
        );
    }
}

/// Cells without late time share one line for each reason.
#[test]
fn the_reason_for_no_late_time_is_told_once() {
    let mut result = fixture::realistic();
    for cell in &mut result.cells {
        cell.late = Some(LateTime::Unseen(Unseen::Refused("load: EPERM".into())));
    }
    let text = terminal::tune(&result, PIPE);
    let told = "late time: none: failed to capture the block layer: load: EPERM";
    assert_eq!(text.matches(told).count(), 1, "{text}");
    let page = q2c_report::html::tune(&result).expect("a page");
    assert_eq!(
        page.matches("capture the block layer: load: EPERM").count(),
        1
    );
}

#[test]
fn no_colour_unless_asked() {
    let result = fixture::hostile();
    assert!(!terminal::tune(&result, PIPE).contains('\u{1b}'));
    let over_jobs = tune_jobs_fixture::over_jobs(&result);
    assert!(!terminal::tune_jobs(&over_jobs, PIPE).contains('\u{1b}'));
    assert!(!terminal::doctor(&result.doctor, PIPE).contains('\u{1b}'));
    let screen = Screen {
        colour: true,
        ..PIPE
    };
    assert!(terminal::tune(&fixture::realistic(), screen).contains("\u{1b}["));
    assert!(terminal::doctor(&result.doctor, screen).contains("\u{1b}["));
}

#[test]
fn a_devices_name_cannot_command_the_terminal() {
    let mut result = fixture::realistic();
    result.target.path = "\u{1b}]0;title\u{7}\nforged line".into();
    let text = terminal::tune(
        &result,
        Screen {
            colour: true,
            ..PIPE
        },
    );
    assert!(
        text.contains("\\u{1b}]0;title\\u{7}\\u{a}forged line"),
        "{text}"
    );
}

#[test]
fn what_the_doctor_invalidates_is_named_beside_the_numbers() {
    let line = "doctor kernel-hybrid: invalidates hybrid-kernel, kiops-per-core: io_poll_delay is ignored since 5.19";
    let tune = terminal::tune(&fixture::realistic(), PIPE);
    assert!(tune.contains(line), "{tune}");
    let marks = |text: &str| {
        let (tables, _) = text.split_once("Medians over trials").expect("a legend");
        tables.matches('\u{2020}').count()
    };
    let bench = terminal::bench(&bench_fixture::result(), PIPE);
    assert!(bench.contains(line), "{bench}");
    assert_eq!(marks(&bench), 1, "{bench}");
    let mut healthy = bench_fixture::result();
    healthy.doctor.checks.clear();
    let bench = terminal::bench(&healthy, PIPE);
    assert!(!bench.contains("doctor "), "{bench}");
    assert_eq!(marks(&bench), 0, "{bench}");
}

#[test]
fn replay_fits_every_width() {
    widths::snapshots("replay", |screen| {
        terminal::replay(&replay_fixture::timed(), screen)
    });
}

#[test]
fn replay_on_a_saturated_device_fits_every_width() {
    widths::snapshots("replay_on_a_saturated_device", |screen| {
        terminal::replay(&replay_fixture::saturated(), screen)
    });
}

#[test]
fn replay_without_idle_time_fits_every_width() {
    widths::snapshots("replay_without_idle_time", |screen| {
        terminal::replay(&replay_fixture::outstanding(), screen)
    });
}

#[test]
fn compare_fits_every_width() {
    widths::snapshots("compare", |screen| {
        terminal::compare(&replay_fixture::compare(), screen)
    });
}

#[test]
fn published_tables_fits_every_width() {
    widths::snapshots("published_tables", |screen| {
        terminal::compare(&replay_fixture::published(), screen)
    });
}

#[test]
fn replays_fit_the_screen() {
    for width in [60, 80, 100, 120] {
        let screen = Screen { width, ..PIPE };
        for text in [
            terminal::replay(&replay_fixture::timed(), screen),
            terminal::replay(&replay_fixture::outstanding(), screen),
            terminal::replay(&replay_fixture::saturated(), screen),
            terminal::compare(&replay_fixture::compare(), screen),
        ] {
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(
                widest <= Some(usize::from(width)),
                "{widest:?} columns of {width}:\n{text}"
            );
        }
    }
}

#[test]
fn a_replay_says_its_sums_in_numbers_checked_by_hand() {
    let lines = |text: &str, name: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with(name));
        let fields = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
        rows.map(fields).collect()
    };
    let text = terminal::replay(&replay_fixture::timed(), PIPE);
    // 24 780 requests take 90 us each, 5 us less in the block layer; p99 is 90 us x ln 100.
    assert_eq!(
        lines(&text, "sum of U2C  "),
        ["sum of U2C 2.23 s"],
        "{text}"
    );
    assert_eq!(lines(&text, "sum of Q2C"), ["sum of Q2C 2.11 s"], "{text}");
    assert!(
        lines(&text, "p99 ")[0].starts_with("p99 414 us 415 us 391 us"),
        "{text}"
    );
    let text = terminal::replay(&replay_fixture::saturated(), PIPE);
    // Two of the three trials are valid, with 30 ms and 29.1 ms for each request: sums of 743.4 and
    // 721.1 s.
    assert_eq!(
        lines(&text, "sum of U2C  "),
        ["sum of U2C 743 s 732 s"],
        "{text}"
    );
    assert!(text.contains("[721, 743]"), "{text}");
    assert_eq!(
        lines(&text, "sum of Q2C"),
        ["sum of Q2C - (run with --capture)"],
        "{text}"
    );
}

#[test]
fn a_replay_that_cannot_be_compared_says_why_first() {
    let mut result = replay_fixture::timed();
    result.trial.valid = false;
    result.trial.invalid = vec![Invalid::CaptureLost {
        lost: 700,
        seen: 24_780,
    }];
    result.trial.whole = false;
    let text = terminal::replay(&result, PIPE);
    let why =
        "invalid: the capture missed 700 of 24780 I/Os; it was stopped before the trace's end";
    assert!(text.contains(why), "{text}");
    assert!(!text.contains("\nvalid:"), "{text}");
}

#[test]
fn empty_things_of_a_replay_are_left_out() {
    let text = terminal::replay(&replay_fixture::outstanding(), PIPE);
    for absent in [
        "lateness",
        "intended",
        "end drift",
        "saturated",
        "changed",
        "order:",
        "failed",
        "trial 1",
        "warning",
    ] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert!(
        text.contains("does not reproduce a trace that idles: nothing is in flight for 19.2 % of"),
        "{text}"
    );
}

#[test]
fn no_string_of_a_replay_commands_the_terminal() {
    const ESCAPE: &str = "\u{1b}]0;title\u{7}\nforged line";
    let mut result = replay_fixture::saturated();
    result.trace.path = ESCAPE.into();
    result.trial.first_error = Some(ESCAPE.into());
    let changed = ChangeKind::Told(ESCAPE.into());
    result.trial.changed.insert(changed, 1);
    result.targets[0].path = ESCAPE.into();
    let mut compared = replay_fixture::compare();
    compared.comparisons[0].devices[0].target.path = ESCAPE.into();
    compared.comparisons[0].separations[0].device = ESCAPE.into();
    compared.comparisons[0].verdict[0] = CompareFinding::NoValidTrial {
        device: ESCAPE.into(),
        why: NoneValid::Failed(ESCAPE.into()),
    };
    compared.comparisons[0].verdict[1] = CompareFinding::Told(ESCAPE.into());
    for text in [
        terminal::replay(&result, PIPE),
        terminal::compare(&compared, PIPE),
    ] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text}"
        );
        assert!(text.contains("\\u{1b}]0;title"), "{text}");
    }
}

/// The text of a benchmark with stages, with every run of white space as one blank.
fn bench_with_stages() -> String {
    let result = bench_stages_fixture::with_stages(bench_fixture::result());
    let text = terminal::bench(&result, PIPE);
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
         (96.0, 94.5, 88.9, 83.9, 79.5 % of Q2C); I2D at 18, 22 jobs (22.6, 26.3 % of Q2C); \
         D2C: why D2C; I2D: why I2D",
        // Both grow from 1 to 22 jobs by 21 us.
        "growth of io_uring poll over the jobs: Q2C is 62.5 us at 1 job and 83.5 us at 22 jobs; \
         I2D takes 100 % of the growth",
        "sleeps of io_uring poll for a request (tag): none at 1 job; none at 2 jobs; none at 6 jobs; \
         none at 10 jobs; none at 14 jobs; 0.25 per I/O, 2.00 us each, in 1 hardware queue at 18 jobs; \
         0.26 per I/O, 2.00 us each, in 1 hardware queue, 3 more had no room in the probe at 22 jobs",
        "io_uring poll, 1 job: reads by queue of 259:0: 100 in 1 of 3 queues (unused: 1-2); \
         over all queues uneven (deviation 50.0 %); spread as the map from CPUs to queues has it",
        "io_uring poll, 2 jobs: reads by queue of 259:0: 100 in 2 of 3 queues (unused: 2)",
        "io_uring poll with the capture beside it: 90.0 % of the trials' IOPS, captured by bpf; \
         the thread that reads took up to 12.0 % of a CPU",
        "Stages in the block layer, from a run of each point",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let bare = terminal::bench(&bench_fixture::result(), PIPE);
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
    let mut result = bench_stages_fixture::with_stages(bench_fixture::result());
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
    let text = terminal::bench(&result, PIPE);
    for (_, words) in reasons {
        assert_eq!(text.matches(words).count(), 1, "{words}\n{text}");
    }
    let queues = "io_uring poll, 1 job: hardware queues: not known: tracefs does not tell them";
    assert!(text.contains(queues), "{text}");
}

/// The line stands between the stages and the groups. 3 + 44 of 1,000 whole ones and these.
#[test]
fn the_ios_that_the_percentiles_lack_stand_beside_them() {
    let mut result = analyze_fixture::result();
    let text = terminal::analyze(&result, PIPE);
    let line = text.find("not wholly seen: 47 of 1").expect("the line");
    assert!(
        text.find("Q2C") < Some(line) && Some(line) < text.find("write"),
        "{text}"
    );
    assert!(text.contains("4.49 %"), "{text}");
    let none = result.not_whole.as_mut().expect("the fixture has it");
    none.ios = 0;
    let text = terminal::analyze(&result, PIPE);
    assert!(text.contains("not wholly seen: none of 1"), "{text}");
}

/// An analysis put together from those of several devices lacks figures, and says which.
#[test]
fn an_analysis_made_of_parts_says_what_it_lacks() {
    let mut result = analyze_fixture::result();
    result.completed = 9;
    let whole = terminal::analyze(&result, PIPE);
    assert!(whole.contains("0 at most") && whole.contains("active:"));
    assert!(!whole.contains("not exact"), "{whole}");
    (result.in_flight.most, result.activity) = (None, None);
    result.inexact = vec![Inexact {
        figure: Figure::MostInFlight,
        reason: InexactReason::Devices,
        joins: 2,
    }];
    let text = terminal::analyze(&result, Screen { width: 400, ..PIPE });
    let words = "not exact: most I/Os in flight: not known from parts of different devices";
    assert!(text.contains(words), "{text}");
    assert!(
        !text.contains("at most") && !text.contains("active:"),
        "{text}"
    );
    let page = q2c_report::html::analyze(&result).expect("make the page");
    assert!(page.contains("not known from parts of different devices"));
}

/// A ratio of one trial each is a number without an interval.
#[test]
fn one_trial_has_no_interval() {
    let words = |low, high| {
        let mut result = fixture::realistic();
        let ratio = 1.5;
        result.recommendation[0].over_linux = Some(Ratio { ratio, low, high });
        let text = terminal::tune(&result, Screen { width: 400, ..PIPE });
        text.split("times that of Linux's rule")
            .nth(1)
            .map(|rest| rest[..40].to_owned())
    };
    let several = words(1.4, 1.6).expect("the sentence on Linux's rule");
    assert!(
        several.starts_with(" (95 % interval 1.40 to 1.60)"),
        "{several}"
    );
    let one = words(1.5, 1.5).expect("the sentence on Linux's rule");
    assert!(!one.starts_with(" (95 %"), "{one}");
}

/// The part of a report on the first block size.
fn of_first_size(text: &str) -> String {
    let end = text.find("64 KiB randread").expect("the second size");
    text[..end].to_owned()
}

/// What the trials do not say is in the verdict in short, and a caveat each.
#[test]
fn what_is_undecided_is_told_first() {
    let told = |undecided: Vec<Undecided>| {
        let mut result = fixture::realistic();
        result.recommendation[0].undecided = undecided;
        let text = terminal::tune(
            &result,
            Screen {
                width: 2_000,
                ..PIPE
            },
        );
        of_first_size(&text)
    };
    let named = |name: &str| MethodName(name.parse().unwrap());
    let single = Undecided::SingleTrials {
        single: 7,
        tried: 8,
    };
    let untried = ["interrupt", "poll", "hybrid:mean", "hybrid:min:70%,10ms"].map(named);
    let untried = Undecided::Untried(untried.to_vec());
    let both = told(vec![single.clone(), untried.clone()]);
    let wanted = [
        "▸ use min:ratio=85%,period=10ms as far as a single trial tells: 2.23 times the KIOPS/core",
        "caveat: nothing is decided by intervals: 7 of 8 methods have one trial",
    ];
    assert!(wanted.iter().all(|words| both.contains(words)), "{both}");
    let part = told(vec![untried]);
    let wanted = [
        "▸ use min:ratio=85%,period=10ms as far as was tried: 2.23 times",
        "caveat: not in this answer, for want of a trial that can be compared: \
         interrupt, poll, hybrid mean:ratio=50%,period=100ms and 1 more",
    ];
    assert!(wanted.iter().all(|words| part.contains(words)), "{part}");
    assert!(!told(vec![]).contains("as far as"));
}

/// A floor above polling's IOPS is kept by nothing: polling is not told as the way to keep it. A
/// method that gives more than polling costs nothing.
#[test]
fn a_floor_above_polling_is_not_kept_by_polling() {
    let told = |floor: f64, kept: f64| {
        let mut result = fixture::realistic();
        let name: MethodName = MethodName("hybrid:min:85%,10ms".parse().unwrap());
        let own = |cell: &&mut Cell| cell.bs == fixture::SIZES[0] && cell.method == name.0;
        let cell = result
            .cells
            .iter_mut()
            .find(own)
            .expect("a cell of the fixture");
        let relative = cell.relative.as_mut().expect("trials");
        relative.iops.median = kept;
        relative.kiops_per_core.median = 1.5;
        let recommendation = &mut result.recommendation[0];
        recommendation.verdict = Verdict::TradeOff;
        recommendation.method = q2c_policy::Method::POLL;
        recommendation.nearest = Some(name);
        recommendation.floor = floor;
        recommendation.floor_asked = "99000".to_owned();
        let text = terminal::tune(
            &result,
            Screen {
                width: 2_000,
                ..PIPE
            },
        );
        of_first_size(&text)
    };
    let usual = told(0.97, 0.9);
    assert!(usual.contains("a trade-off: sleeping costs"), "{usual}");
    assert!(usual.contains("--min-iops 90%, else poll\n"), "{usual}");
    let above = told(1.25, 1.05);
    for words in [
        "nothing keeps the floor, which is more than polling gives; below it a trade-off: sleeping costs none of the",
        "with --min-iops 105%\n",
        "(--min-iops 99000), more than polling gives: classic polling does not keep it",
    ] {
        assert!(above.contains(words), "{words}: {above}");
    }
    assert!(!above.contains("else poll"), "{above}");
}

#[test]
fn what_kiops_per_core_divides_by_is_told() {
    let mut result = bench_fixture::result();
    let told = |result: &_| terminal::bench(result, PIPE).contains("KIOPS/core: in ");
    assert!(!told(&result));
    result.cells[0].per_core = q2c_result::tune::PerCore::Threads;
    let measured = result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let head = format!("KIOPS/core: in 1 of {} points", measured.count());
    assert!(terminal::bench(&result, PIPE).contains(&head), "{head}");
}

#[test]
fn costs_of_an_earlier_run_are_told_beside_fidelity() {
    let mut result = fixture::realistic();
    let told = "the calibration was that of an earlier run";
    let text = |result: &_| terminal::tune(result, PIPE).replace("\n  ", " ");
    assert!(!text(&result).contains(told));
    result.calibration[0].reused = true;
    assert!(text(&result).contains(told), "{}", text(&result));
}
