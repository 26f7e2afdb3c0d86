//! Tests the terminal reports of tune, also over jobs and for a program.

use crate::{PIPE, fixture, tune_jobs_fixture, widths};
use q2c_model::stats::{Interval, Ratio};
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::Warning;
use q2c_result::late::{LateTime, UnseenReason};
use q2c_result::mode::{ModeKind, WaitMode};
use q2c_result::tune::{Cell, LuckyMethod, MethodName, OpenQuestion, TuneResult, Verdict};

/// A screen so wide that no sentence is broken.
const WIDE: Screen = Screen {
    verbose: true,
    width: 2_000,
    ..PIPE
};

/// The program comes after the answers, with every kind of difference that is not copied.
#[test]
fn a_tune_for_a_program_fits_every_width() {
    let result = fixture::tune_program();
    widths::fits("tune_for_a_program", |screen| {
        let text = result.document().text(screen);
        text[text.find("worth to the program").expect("the program")..].to_owned()
    });
}

/// All numbers of jobs have the same think time, and the head of the report states it.
#[test]
fn the_think_time_of_all_numbers_of_jobs_is_told() {
    let mut result = tune_jobs_fixture::over_jobs(&fixture::tune());
    let runs = result.runs.iter_mut();
    runs.for_each(|run| run.job.think_ns = Some(2e6));
    let text = result.document().text(PIPE);
    assert!(
        text.contains("jobs with 2 ms between the I/Os of each, "),
        "{text}"
    );
}

/// The report tells apart a number of jobs that failed, one that was stopped, and one that never
/// started. An incomplete run is not a settled recommendation.
#[test]
fn numbers_of_jobs_that_are_missing_are_told() {
    let mut runs = tune_jobs_fixture::over_jobs(&fixture::tune()).runs;
    runs.truncate(2);
    runs[1].complete = false;
    runs[1].job.cpus = [3, 3].map(q2c_model::CpuId).to_vec();
    let failed = q2c_result::tune_jobs::FailedJobs {
        jobs: 4,
        reason: "verify poll live: Input/output error".to_owned(),
    };
    let result = q2c_result::tune_jobs::TuneJobsResult::new(&[1, 2, 4, 8], runs, Some(failed));
    let text = result.document().text(Screen { width: 200, ..PIPE });
    for part in [
        "is recommended at 1 job; not settled at 2 (hybrid min",
        "4 jobs: failed to verify poll live: Input/output error",
        "incomplete, 2 jobs:",
        "incomplete: nothing was measured with 4, 8 jobs",
        "2 jobs: they share CPUs 3:",
        "in jobs-1, jobs-2 of",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_fallback_and_an_early_end_are_told() {
    let mut result = fixture::tune();
    result.complete = false;
    result.cells[1].effective_mode.mode = WaitMode::from_kind(ModeKind::Interrupt);
    let text = result.document().text(PIPE);
    assert!(text.contains("incomplete:"), "{text}");
    assert!(
        text.contains("effective mode: 4 KiB poll: asked poll, was interrupt"),
        "{text}"
    );
}

/// Cells without late time share one line per reason.
#[test]
fn the_reason_for_no_late_time_is_told_once() {
    let mut result = fixture::tune();
    for cell in &mut result.cells {
        cell.late = Some(LateTime::Unseen(UnseenReason::Refused(
            "load: EPERM".into(),
        )));
    }
    let text = result.document().text(PIPE);
    let expected = "late time: none: failed to capture the block layer: load: EPERM";
    assert_eq!(text.matches(expected).count(), 1, "{text}");
    let page = result.document().page().expect("a page");
    assert_eq!(
        page.matches("capture the block layer: load: EPERM").count(),
        1
    );
}

#[test]
fn no_colour_unless_asked() {
    let result = fixture::tune_hostile();
    assert!(!result.document().text(PIPE).contains('\u{1b}'));
    let over_jobs = tune_jobs_fixture::over_jobs(&result);
    assert!(!over_jobs.document().text(PIPE).contains('\u{1b}'));
    assert!(!result.doctor.document().text(PIPE).contains('\u{1b}'));
    let screen = Screen {
        colour: true,
        ..PIPE
    };
    assert!(fixture::tune().document().text(screen).contains("\u{1b}["));
    assert!(result.doctor.document().text(screen).contains("\u{1b}["));
}

#[test]
fn a_devices_name_cannot_command_the_terminal() {
    let mut result = fixture::tune();
    result.target.path = "\u{1b}]0;title\u{7}\nforged line".into();
    let text = result.document().text(Screen {
        colour: true,
        ..PIPE
    });
    assert!(
        text.contains("\\u{1b}]0;title\\u{7}\\u{a}forged line"),
        "{text}"
    );
}

#[test]
fn what_the_doctor_invalidates_is_named_beside_the_numbers() {
    let line = "doctor kernel-hybrid: invalidates hybrid-kernel, kiops-per-core: io_poll_delay is ignored since 5.19";
    let tune = fixture::tune().document().text(PIPE);
    assert!(tune.contains(line), "{tune}");
    // A method that is listed as unavailable, with the reason, is not repeated.
    let mut named = fixture::tune();
    let mut check = named.doctor.checks.iter_mut();
    let check = check.find(|check| check.id == "kernel-hybrid");
    check.expect("the check").id = "hybrid-kernel".to_owned();
    let text = named.document().text(PIPE);
    assert!(
        text.contains("Not available here\nhybrid-kernel: "),
        "{text}"
    );
    assert!(!text.contains("doctor hybrid-kernel"), "{text}");
    let marks = |text: &str| {
        let (tables, _) = text.split_once("Medians over trials").expect("a legend");
        tables.matches('\u{2020}').count()
    };
    let bench = fixture::bench().document().text(PIPE);
    assert!(bench.contains(line), "{bench}");
    assert_eq!(marks(&bench), 1, "{bench}");
    let mut healthy = fixture::bench();
    healthy.doctor.checks.clear();
    let bench = healthy.document().text(PIPE);
    assert!(!bench.contains("doctor "), "{bench}");
    assert_eq!(marks(&bench), 0, "{bench}");
}

/// A ratio of one trial each is a number without an interval.
#[test]
fn one_trial_has_no_interval() {
    let after_ratio = |low, high| {
        let mut result = fixture::tune();
        let ratio = 1.5;
        result.recommendation[0].over_linux = Some(Ratio { ratio, low, high });
        let text = result.document().text(Screen { width: 400, ..PIPE });
        text.split("times the IOPS per core of Linux's rule")
            .nth(1)
            .map(|tail| tail[..40].to_owned())
    };
    let several = after_ratio(1.4, 1.6).expect("the sentence on Linux's rule");
    assert!(
        several.starts_with(" (95 % interval 1.40 to 1.60)"),
        "{several}"
    );
    let one = after_ratio(1.5, 1.5).expect("the sentence on Linux's rule");
    assert!(!one.starts_with(" (95 %"), "{one}");
}

/// The part of a report that is about the first block size.
fn of_first_size(text: &str) -> String {
    let end = text.find("▸ 64 KiB randread").expect("the second size");
    text[..end].to_owned()
}

/// The short verdict tells that trials leave something open; a caveat tells each open question.
#[test]
fn what_is_undecided_is_told_first() {
    let report = |undecided: Vec<OpenQuestion>| {
        let mut result = fixture::tune();
        result.recommendation[0].undecided = undecided;
        of_first_size(&result.document().text(WIDE))
    };
    let named = |name: &str| MethodName(name.parse().unwrap());
    let single = OpenQuestion::SingleTrials {
        single: 7,
        tried: 8,
    };
    let untried = ["interrupt", "poll", "hybrid:mean", "hybrid:min:70%,10ms"].map(named);
    let untried = OpenQuestion::Untried(untried.to_vec());
    let floor = OpenQuestion::FloorWithin {
        min: 0.62,
        max: 1.51,
    };
    for (undecided, caveat) in [
        (
            vec![single, untried.clone()],
            "7 of 8 methods have one trial",
        ),
        (
            vec![untried],
            "interrupt, poll, hybrid mean:ratio=50%,period=100ms and 1 more",
        ),
        (
            vec![floor],
            "Its trials gave 62.0 to 151 % of polling's IOPS,",
        ),
    ] {
        let text = report(undecided);
        let is_open = text.contains("4 KiB randread: Best so far: hybrid polling by min");
        let (_, caveats) = text.split_once("\ncaveat: ").expect("a caveat");
        assert!(is_open && caveats.contains(caveat), "{text}");
    }
    assert!(report(vec![]).contains(": Use hybrid polling by min"));

    let mut result = fixture::tune();
    result.recommendation[0].elsewhere = Some(LuckyMethod {
        method: named("hybrid:mean:40%,10ms"),
        iops: 0.985,
        iops_over_run: 0.937,
    });
    let text = of_first_size(&result.document().text(WIDE));
    for part in [
        "caveat: hybrid mean:ratio=40%,period=10ms kept 98.5 %",
        "would keep 93.7 % (sim",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Below the verdict of each block size stands what disturbed its own trials, without what
/// disturbed those of another size.
#[test]
fn what_disturbed_the_trials_stands_under_the_verdict() {
    let mut result = fixture::tune();
    let warning = |id: &str, found: &str| Warning::new(id, found.to_owned(), "it matters", "wait");
    result.warnings = vec![
        warning("busy-at-rest", "1.40 CPUs were busy"),
        warning("device-drift", "64 KiB: polling gave 352 to 13050 IOPS"),
        warning("two-paths", "polling differs"),
    ];
    let busy = "of its IOPS.\ncaveat: 1.40 CPUs were busy; it matters [busy-at-rest]\n";
    let drift = "caveat: 64 KiB: polling gave 352 to 13050 IOPS; it matters [device-drift]\n";
    let text = result.document().text(WIDE);
    let (small, large) = text.split_at(of_first_size(&text).len());
    assert!(small.contains(&busy.to_owned()), "{small}");
    assert!(large.contains(&format!("{busy}{drift}")), "{large}");
    assert!(!text.contains("[two-paths]"), "{text}");
    let page = result.document().page().expect("make the page");
    let caveat = "<ul class=\"caveats\"><li>1.40 CPUs were busy";
    assert_eq!(page.matches(caveat).count(), 2, "{caveat}");

    let mut bench = fixture::bench();
    bench.warnings = result.warnings;
    let text = bench.document().text(WIDE);
    let begin = text.find("\n\n").expect("the end of the conclusions");
    assert!(text[..begin].contains("[busy-at-rest]"), "{text}");
}

/// Nothing keeps a floor above polling's IOPS, so polling is not offered as the way to keep it. A
/// method that gives more than polling costs nothing.
#[test]
fn a_floor_above_polling_is_not_kept_by_polling() {
    let report = |floor: f64, kept: f64| {
        let mut result = fixture::tune();
        let name: MethodName = MethodName("hybrid:min:85%,10ms".parse().unwrap());
        let mut cells = result.cells.iter_mut();
        let cell = cells
            .find(|cell: &&mut Cell| cell.bs == fixture::SIZES[0] && cell.method == name.0)
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
        of_first_size(&result.document().text(WIDE))
    };
    let usual = report(0.97, 0.9);
    assert!(usual.contains("Poll. Sleeping by min:ratio=85%"), "{usual}");
    assert!(usual.contains("--min-iops 90%.\n"), "{usual}");
    let above = report(1.25, 1.05);
    for words in [
        "Nothing keeps the floor, which is more than polling gives. Sleeping by",
        "and cost no IOPS",
        "with --min-iops 105%.\n",
        "(--min-iops 99000), which is more than polling gives",
    ] {
        assert!(above.contains(words), "{words}: {above}");
    }
    assert!(!above.contains("Poll."), "{above}");
}

#[test]
fn what_kiops_per_core_divides_by_is_told() {
    let mut result = fixture::bench();
    let has_caution = |result: &q2c_result::bench::BenchResult| {
        result.document().text(PIPE).contains("KIOPS/core: in ")
    };
    assert!(!has_caution(&result));
    result.cells[0].per_core = q2c_result::tune::PerCore::Threads;
    let measured = result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let head = format!("KIOPS/core: in 1 of {} points", measured.count());
    assert!(result.document().text(PIPE).contains(&head), "{head}");
}

#[test]
fn costs_of_an_earlier_run_are_told_beside_fidelity() {
    let mut result = fixture::tune();
    let expected = "the calibration was that of an earlier run";
    let text = |result: &TuneResult| result.document().text(PIPE).replace("\n  ", " ");
    assert!(!text(&result).contains(expected));
    result.calibration[0].reused = true;
    assert!(text(&result).contains(expected), "{}", text(&result));
}

/// A figure that no trial measured is never shown as 0, in a terminal or on a page.
#[test]
fn kiops_per_core_that_nobody_knows_are_unknown() {
    let mut tune = fixture::tune();
    for cell in &mut tune.cells {
        cell.measured.kiops_per_core = Interval::default();
    }
    let expected = "Classic polling: 12310 IOPS, KIOPS/core unknown";
    let text = tune.document().text(PIPE);
    for report in [text, tune.document().page().expect("make the page")] {
        assert!(
            report.contains(expected) && !report.contains(" 0 KIOPS/core"),
            "{report}"
        );
    }
    let mut bench = fixture::bench();
    for cell in &mut bench.cells[..7] {
        cell.kiops_per_core = Interval::default();
        cell.cpu.busy_s = Interval::default();
    }
    let text = bench.document().text(Screen { width: 200, ..PIPE });
    let row = text.lines().find(|line| line.starts_with("io_uring poll"));
    let fields: Vec<&str> = row.expect("a row").split_whitespace().collect();
    assert_eq!(
        fields.iter().filter(|field| **field == "-").count(),
        2,
        "{fields:?}"
    );
    assert!(!text.contains("is best for a core"), "{text}");
}
