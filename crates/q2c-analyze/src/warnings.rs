//! Warnings: conditions of the recording under which the result of its analysis misleads.
//!
//! Also counts the I/Os that the latencies of an analysis lack.

use q2c_model::Layer;
use q2c_model::lost::{Losses, unrecorded_text};
use q2c_result::Warning;
use q2c_result::analyze::{AnalyzeResult, IncompleteIos};
use q2c_trace::import::DUPLICATE_RECORD;

/// Returns the warnings of a result whose input, lost and unmatched events are filled in already.
pub(crate) fn warnings(result: &AnalyzeResult) -> Vec<Warning> {
    let requests = result.requests;
    let count = |reason: &str| result.unmatched.get(reason).copied();
    let missing_files = result.input.facts.get("cpus_without_file").map(|cpus| {
        Warning::new(
            "missing-cpu-files",
            format!("no file of CPUs {cpus}"),
            "events of these CPUs are missing",
            "copy the files of all CPUs",
        )
    });
    let unfinished = count("never completed").filter(|never| never * 100 > requests);
    let unfinished = unfinished.map(|never| {
        Warning::new(
            "unfinished",
            format!("{never} of {requests} I/Os never complete in the trace"),
            "latencies are of the others alone",
            "record until the device is idle",
        )
    });
    let times_fall = count(UNTIMED).map(|fall| {
        Warning::new(
            "times-fall",
            format!("the times of {fall} of {} I/Os fall", fall + requests),
            "they are in no figure: a clock was set back, CPUs' clocks differ, or several recordings were joined",
            "record with one clock (blktrace -a, q2c trace record), and give joined recordings as files of their own",
        )
    });
    let doubled = count(DUPLICATE_RECORD).map(|doubled| {
        Warning::new(
            "duplicate",
            format!("{doubled} records were there twice"),
            "each was counted once",
            "",
        )
    });
    let unsorted = count(UNSORTED).map(|rows| {
        Warning::new(
            "unsorted",
            format!("{rows} of {requests} rows come after one that began later"),
            "latencies and stages are right; figures over time, in flight, seeks and idle time are not",
            "sort the rows by their begin: queue_ns, or submit_ns",
        )
    });
    let (losses, events) = (losses(result), start_and_latency(result));
    let warnings = [
        losses,
        missing_files,
        unfinished,
        times_fall,
        doubled,
        unsorted,
        events,
    ];
    warnings.into_iter().flatten().collect()
}

/// BPF loses I/Os as a whole. Events lost from a buffer may leave I/Os with stages missing.
fn losses(result: &AnalyzeResult) -> Option<Warning> {
    let capture = result.input.facts.get("capture");
    let by_bpf = capture.is_some_and(|by| by == "bpf");
    // A recording that fell back to tracefs lacks whole I/Os of its first part.
    let losses = Losses::from_counts(&result.unmatched);
    let of_ios = losses.as_ref().is_some_and(|losses| losses.of_ios);
    match (result.lost, by_bpf || capture.is_some() && of_ios) {
        (0, _) => None,
        (lost, true) => {
            let causes = losses.as_ref().map(|losses| format!(": {}", losses.causes));
            Some(Warning::new(
                "lost-ios",
                unrecorded_text(lost) + &causes.unwrap_or_default(),
                "counts are too low by these, whose times are not known; the others are whole",
                losses.as_ref().map_or("", |losses| &losses.remedies),
            ))
        }
        (lost, false) => Some(Warning::new(
            "lost-events",
            format!("the source lost {lost} events"),
            "some I/Os lack stages or are missing, and some completions may be those of others on the same sector",
            "record with larger or more buffers, or fewer events",
        )),
    }
}

/// Warns of names cut by the length limit and of processes whose names were not kept.
pub(crate) fn names_left_out(cut: usize, nameless: usize) -> Option<Warning> {
    (cut + nameless > 0).then(|| {
        Warning::new(
            "names-left-out",
            format!("{cut} names of processes were cut, and {nameless} or more were left out"),
            "some processes are told by their number, or by the beginning of a name that others may share",
            "",
        )
    })
}

/// Warns if I/Os have only a start and a latency, or only issue and completion.
fn start_and_latency(result: &AnalyzeResult) -> Option<Warning> {
    if result.layer != Layer::Block || result.completed == 0 || result.bottleneck.is_some() {
        return None;
    }
    let (id, finding, means) = match result.in_flight.mean {
        Some(_) => (
            "start-and-latency",
            "no I/O has an event between its start and its completion",
            "Q2C is that of block layer and device together, so there are no stages and no bottleneck",
        ),
        None => (
            "issue-and-completion",
            "no I/O has the event of its queueing",
            "D2C is the time of the device; the time before, I/Os in flight and idle time are not known",
        ),
    };
    let todo = "record the stages: q2c trace record, or blktrace";
    Some(Warning::new(id, finding.to_owned(), means, todo))
}

/// The reasons in `unmatched` that count I/Os without a latency from Q to C. Other reasons count
/// events, requests, or I/Os that their submitter queued again.
const INCOMPLETE_REASONS: [&str; 7] = [
    "completion without queue",
    "never issued",
    "never completed",
    "queued again, its end not seen",
    "lost: ring full",
    "lost: too many in flight",
    UNTIMED,
];

/// The reason for I/Os whose times fall ([`q2c_trace::Span::is_untimed`]). No figure uses them.
pub(crate) const UNTIMED: &str = "times that fall";

/// The reason for I/Os that come after one that began later. All figures include them.
pub(crate) const UNSORTED: &str = "row after one that began later";

/// Counts the I/Os without Q2C. The result must have its stages and unmatched events already.
pub(crate) fn incomplete_ios(result: &AnalyzeResult) -> Option<IncompleteIos> {
    let with_q2c = result.stages.get("Q2C").map_or(0, |stage| stage.n);
    if result.layer != Layer::Block || with_q2c == 0 {
        return None;
    }
    let counted = INCOMPLETE_REASONS.iter().filter_map(|reason| {
        let n = *result.unmatched.get(*reason)?;
        Some(((*reason).to_owned(), n))
    });
    let mut incomplete_ios = IncompleteIos {
        reasons: counted.collect(),
        ..IncompleteIos::default()
    };
    incomplete_ios.ios = incomplete_ios.reasons.values().sum();
    incomplete_ios.of = with_q2c + incomplete_ios.ios;
    incomplete_ios.share = incomplete_ios.ios as f64 / incomplete_ios.of as f64;
    Some(incomplete_ios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::analyze::{Bottleneck, StageStats};

    fn warnings_of(change: impl FnOnce(&mut AnalyzeResult)) -> Vec<Warning> {
        let mut result = AnalyzeResult::default();
        change(&mut result);
        warnings(&result)
    }

    fn ids(change: impl FnOnce(&mut AnalyzeResult)) -> Vec<String> {
        warnings_of(change).into_iter().map(|one| one.id).collect()
    }

    fn lost(result: &mut AnalyzeResult, lost: u64, capture: Option<&str>) {
        result.lost = lost;
        let fact = capture.map(|by| ("capture".to_owned(), by.to_owned()));
        result.input.facts.extend(fact);
    }

    #[test]
    fn losses_are_told_as_what_they_are() {
        let bpf = ids(|result| lost(result, 32, Some("bpf")));
        assert_eq!(bpf, ["lost-ios"]);
        for capture in [Some("tracefs"), None] {
            let other = ids(|result| lost(result, 32, capture));
            assert_eq!(other, ["lost-events"], "{capture:?}");
        }
        assert!(ids(|_| {}).is_empty());
        let warning = &warnings_of(|result| {
            result.unmatched = [("lost: ring full".to_owned(), 656)].into();
            lost(result, 656, Some("bpf"));
        })[0];
        assert!(warning.found.contains("656 without room"), "{warning:?}");
        assert!(warning.todo.contains("--min-size"), "{warning:?}");
    }

    #[test]
    fn a_start_and_a_latency_tell_no_stages() {
        let of_stages = |layer, bottleneck: Option<Bottleneck>| {
            ids(|result| {
                (result.layer, result.bottleneck) = (layer, bottleneck);
                (result.completed, result.in_flight.mean) = (9, Some(1.0));
            })
        };
        assert_eq!(of_stages(Layer::Block, None), ["start-and-latency"]);
        assert!(of_stages(Layer::User, None).is_empty());
        assert!(of_stages(Layer::Block, Some(Bottleneck::default())).is_empty());
    }

    /// One unfinished I/O in a hundred is usual at the end of a recording; two are not.
    #[test]
    fn unfinished_ios_are_told_from_above_one_percent() {
        for (never, wanted) in [(1, &[][..]), (2, &["unfinished"][..])] {
            let ids = ids(|result| {
                result.requests = 100;
                result.unmatched = [("never completed".to_owned(), never)].into();
            });
            assert_eq!(ids, wanted, "{never}");
        }
    }

    /// 955 I/Os have Q and C, and 45 do not: 4.5 %.
    #[test]
    fn io_counts_alone_are_in_the_share() {
        let mut result = AnalyzeResult {
            layer: Layer::Block,
            ..AnalyzeResult::default()
        };
        assert_eq!(incomplete_ios(&result), None);
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
        let share = incomplete_ios(&result).expect("a share");
        assert_eq!((share.ios, share.of), (45, 1_000));
        assert!((share.share - 0.045).abs() < 1e-12);
        assert_eq!(share.reasons.len(), 2);
        result.layer = Layer::User;
        assert_eq!(incomplete_ios(&result), None);
    }
}
