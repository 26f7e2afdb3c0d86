//! Sentences on what a valid trial kept of the recording, and on its requests in flight beside
//! those of the recording.

use super::job::squeezed_share;
use super::trial::trial_reasons;
use crate::analysis::latency_name;
use crate::note::Note;
use crate::phrase::when;
use crate::quantity::{count, duration, number, percent, trim_zeros};
use q2c_model::Layer;
use q2c_model::replay::Mode;
use q2c_result::replay::{ReplayJob, ReplayTrial, TraceFacts};

/// An outstanding replay kept the recorded number in flight if it was off by at most this share.
const MAX_KEPT_ERROR: f64 = 0.1;
/// The share by which one mean in flight must exceed another to count as different.
const MIN_DIFFERENCE: f64 = 0.1;
/// A capture is compared with the recording only if at most this share of the requests has no I/O
/// or several I/Os in it.
const MAX_OTHER_IOS_SHARE: f64 = 0.02;

/// Says that a trial can be compared with others, and what it kept of the recording; or why not.
pub(super) fn validity(job: &ReplayJob, trace: &TraceFacts, trial: &ReplayTrial) -> Note {
    if !trial.valid {
        return Note::bad("invalid", trial_reasons(trial));
    }
    let mut sentence = kept_sentence(job, trial) + ". It can be compared with other runs";
    if squeezed_share(job, trace).is_some() {
        sentence += " that leave the idle time out, too";
    }
    if !matches!(job.mode, Mode::Outstanding { .. }) {
        sentence += &other_load(trace, trial).unwrap_or_default();
    }
    Note::good("valid", sentence)
}

fn kept_sentence(job: &ReplayJob, trial: &ReplayTrial) -> String {
    let own_lateness = duration(trial.own_lateness_ns.p99);
    let allowed = trim_zeros(&duration(job.max_lateness.0 as f64));
    let late = format!(
        "its own lateness was {own_lateness} at the 99th percentile, where --max-lateness allows {allowed}"
    );
    match (job.mode, trial.in_flight.error) {
        (Mode::Timed { .. }, _) if trial.saturated => {
            format!("what held requests up was not the replayer ({late})")
        }
        (Mode::Timed { .. }, _) => format!("the replayer kept the recorded times ({late})"),
        (Mode::Closed { .. }, _) => format!("the replayer kept the recorded pauses ({late})"),
        (Mode::Outstanding { .. }, Some(error)) if error <= MAX_KEPT_ERROR => {
            let off = percent(error);
            format!("it kept the recorded number in flight, {off} off request by request")
        }
        (Mode::Outstanding { .. }, error) => {
            let off = error.map(|e| format!(", though the number in flight was {}", error_text(e)));
            "the replayer was not what held it up".to_owned() + &off.unwrap_or_default()
        }
    }
}

/// How the number in flight differed from the recorded one; `None` if it did not, or is unknown. In
/// modes that keep times, the requests' durations are the cause. It is named only if latencies of
/// one kind show it.
fn other_load(trace: &TraceFacts, trial: &ReplayTrial) -> Option<String> {
    let replayed = InFlightLoad::replayed(trace, trial);
    let recorded = InFlightLoad::recorded(trace, trial)?;
    if replayed.mean.max(recorded.mean) <= replayed.mean.min(recorded.mean) * (1.0 + MIN_DIFFERENCE)
    {
        return None;
    }
    let [mean, recorded_mean] = [&replayed, &recorded].map(|load| number(load.mean));
    let same_kind = replayed.kind == recorded.kind;
    let numbers = if same_kind {
        format!(". {mean} were in flight on average where the recording had {recorded_mean}")
    } else {
        let [by, recorded_by] = [replayed.kind, recorded.kind].map(by_latency);
        format!(
            ". {mean} were in flight on average{by}, and {recorded_mean} in the recording{recorded_by}"
        )
    };
    let (Some(took_ns), Some(recorded_ns)) = (replayed.took_ns, recorded.took_ns) else {
        return Some(numbers);
    };
    let [took, recorded_time] = [(took_ns, replayed.kind), (recorded_ns, recorded.kind)]
        .map(|(ns, kind)| format!("{}{}", duration(ns), latency_suffix(kind)));
    let times = format!("{took} each, {recorded_time} recorded");
    let longer = took_ns > recorded_ns;
    // U2C contains Q2C: if U2C is shorter than the recorded Q2C, the request surely took less time.
    let is_cause =
        same_kind || replayed.kind == Some(Layer::User) && recorded.kind.is_some() && !longer;
    Some(if is_cause && longer == (replayed.mean > recorded.mean) {
        let how = if longer { "longer" } else { "less time" };
        format!("{numbers}, because requests took {how}: {times}")
    } else {
        let reason = unlike_reason(replayed.kind, recorded.kind, trial);
        format!("{numbers}, at {times}{reason}")
    })
}

/// Why latencies of two kinds do not show whether requests took longer, and which option would.
const NO_Q2C_FOR_SOME: &str = ", which lacks the time outside of the block layer. The capture does not have one Q2C \
     for each request";
const NOT_CAPTURED: &str = ", which lacks the time outside of the block layer. Run with --capture to compare Q2C \
     with Q2C";

fn unlike_reason(a: Option<Layer>, b: Option<Layer>, trial: &ReplayTrial) -> &'static str {
    match (a, b) {
        (Some(Layer::User), Some(Layer::Block)) if trial.sum_q2c_s.is_some() => NO_Q2C_FOR_SOME,
        (Some(Layer::User), Some(Layer::Block)) => NOT_CAPTURED,
        (_, None) => ". This result does not tell whether that is U2C or Q2C",
        _ => "",
    }
}

/// The mean number of requests in flight, computed from one kind of latency.
struct InFlightLoad {
    /// The layer of the latencies; `None` if unknown.
    kind: Option<Layer>,
    mean: f64,
    /// Mean latency, ns; `None` if unknown.
    took_ns: Option<f64>,
}

impl InFlightLoad {
    fn recorded(trace: &TraceFacts, trial: &ReplayTrial) -> Option<InFlightLoad> {
        let sum_s = trace.sum_latency_s.filter(|_| trace.completed > 0);
        Some(InFlightLoad {
            kind: trace.layer,
            mean: trial.in_flight.recorded_mean?,
            took_ns: sum_s.map(|s| s * 1e9 / trace.completed as f64),
        })
    }

    /// The trial's load, by Q2C if the recording has Q2C and the capture is complete; else by U2C.
    fn replayed(trace: &TraceFacts, trial: &ReplayTrial) -> InFlightLoad {
        let block = trace.layer == Some(Layer::Block);
        let by_q2c = block.then(|| InFlightLoad::by_q2c(trial)).flatten();
        by_q2c.unwrap_or(InFlightLoad {
            kind: Some(Layer::User),
            mean: trial.in_flight.mean,
            took_ns: Some(trial.u2c_ns.mean),
        })
    }

    /// Returns `None` unless nearly each request is exactly one I/O of the capture.
    fn by_q2c(trial: &ReplayTrial) -> Option<InFlightLoad> {
        let (sum_s, spread) = (trial.sum_q2c_s?, trial.q2c_ns.as_ref()?);
        let others = trial.q2c_lost.max(trial.q2c_excess.unsigned_abs());
        let is_complete = others as f64 <= MAX_OTHER_IOS_SHARE * trial.issued as f64;
        (is_complete && trial.completion_s > 0.0).then(|| InFlightLoad {
            kind: Some(Layer::Block),
            mean: sum_s / trial.completion_s,
            took_ns: Some(spread.mean),
        })
    }
}

/// The kind of latency, to follow a time: ` U2C`.
fn latency_suffix(kind: Option<Layer>) -> String {
    kind.map_or(String::new(), |layer| format!(" {}", latency_name(layer)))
}

/// The kind of latency, to follow a number of requests: ` by U2C`.
fn by_latency(kind: Option<Layer>) -> String {
    kind.map_or(String::new(), |_| format!(" by{}", latency_suffix(kind)))
}

/// The requests in flight, compared with the recording. For an outstanding replay the error by
/// request comes first, because it keeps the number that each request finds.
pub(super) fn in_flight(job: &ReplayJob, trace: &TraceFacts, trial: &ReplayTrial) -> String {
    let over_time = over_time_text(job, trace, trial);
    let Some(error) = trial.in_flight.error else {
        return over_time;
    };
    let (by_user, by_block) = match trace.layer {
        Some(Layer::Block) => (by_latency(Some(Layer::User)), by_latency(trace.layer)),
        _ => Default::default(),
    };
    let compared =
        format!("the number{by_user} before each request with that{by_block} in the recording");
    let off = format!("{}, comparing {compared}", error_text(error));
    match job.mode {
        Mode::Outstanding { .. } => format!("{off}. Over the whole time {over_time}"),
        _ => format!("{over_time}. By request {off}"),
    }
}

/// The mean and the largest number in flight, each with the recording's. Numbers are by U2C unless
/// they say otherwise.
fn over_time_text(job: &ReplayJob, trace: &TraceFacts, trial: &ReplayTrial) -> String {
    let in_flight = &trial.in_flight;
    let user = Some(Layer::User);
    let by_recorded = match trace.layer {
        Some(Layer::Block) => by_latency(trace.layer),
        _ => String::new(),
    };
    let idle = squeezed_share(job, trace).map_or(String::new(), |share| {
        format!(", {} of whose time nothing is in flight", percent(share))
    });
    let load = InFlightLoad::replayed(trace, trial);
    let mean_suffix = if load.kind == user { &*by_recorded } else { "" };
    let recorded_mean = in_flight.recorded_mean.map_or(String::new(), |mean| {
        format!(" ({}{mean_suffix} in the recording{idle})", number(mean))
    });
    let mean = number(in_flight.mean);
    let (by_load, by_user) = (by_latency(load.kind), by_latency(user));
    let means = match load.kind {
        Some(Layer::User) => format!("{mean} on average{by_user}{recorded_mean}"),
        _ => {
            let load = number(load.mean);
            format!("{load} on average{by_load}{recorded_mean}, {mean}{by_user}")
        }
    };
    let most = in_flight.recorded_most.map_or(String::new(), |most| {
        format!(" ({}{by_recorded} in the recording)", count(most))
    });
    let device = when(trace.devices.len() > 1, " on one device");
    format!("{means}, {} at most{device}{most}", count(in_flight.most))
}

/// How far the number in flight was off. `error` is relative to the recorded number.
fn error_text(error: f64) -> String {
    match error {
        share if share <= 1.0 => format!("{} off the recording", percent(share)),
        times => format!("off by {} times the recorded number", number(times)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Nanos;
    use q2c_model::replay::{Count, Idle};
    use q2c_result::replay::{InFlight, Lateness, Spread};

    /// A trace of 1000 requests with a U2C of 60 us each, idle for a tenth of its time.
    fn trace() -> TraceFacts {
        TraceFacts {
            layer: Some(Layer::User),
            requests: 1_000,
            completed: 1_000,
            idle_share: Some(0.1),
            sum_latency_s: Some(0.06),
            ..TraceFacts::default()
        }
    }

    fn job(mode: Mode) -> ReplayJob {
        ReplayJob {
            mode,
            max_lateness: Nanos(100_000),
            ..ReplayJob::default()
        }
    }

    fn outstanding(idle: Idle) -> ReplayJob {
        let count = Count::Blocks;
        job(Mode::Outstanding { count, idle })
    }

    /// A valid trial with `mean` in flight, off by `error`, whose requests took `took_us` each. The
    /// recording has a mean of 2.68.
    fn trial(mean: f64, error: Option<f64>, took_us: f64) -> ReplayTrial {
        ReplayTrial {
            valid: true,
            whole: true,
            own_lateness_ns: Lateness {
                p99: 12_500.0,
                ..Lateness::default()
            },
            u2c_ns: Spread {
                mean: took_us * 1e3,
                ..Spread::default()
            },
            in_flight: InFlight {
                mean,
                most: 287,
                recorded_mean: Some(2.68),
                recorded_most: Some(4),
                error,
            },
            ..ReplayTrial::default()
        }
    }

    #[track_caller]
    fn assert_has(text: &str, words: &[&str]) {
        assert!(words.iter().all(|p| text.contains(p)), "{words:?}: {text}");
    }

    #[test]
    fn a_timed_replay_says_why_other_numbers_were_in_flight() {
        let timed = job(Mode::default());
        let sentence = |trial: &ReplayTrial| validity(&timed, &trace(), trial).text;
        let kept = sentence(&trial(2.7, Some(0.01), 61.0));
        assert_has(
            &kept,
            &["lateness was 12.5 us", "--max-lateness allows 100 us"],
        );
        assert!(kept.ends_with("compared with other runs"), "{kept}");
        let numbers = "5.86 were in flight on average where the recording had 2.68, because";
        let took = "took longer: 132 us U2C each, 60.0 us U2C recorded";
        assert_has(&sentence(&trial(5.86, Some(2.86), 132.0)), &[numbers, took]);
        let faster = sentence(&trial(1.2, Some(0.5), 30.0));
        assert_has(&faster, &["because requests took less time: "]);
        let saturated = ReplayTrial {
            saturated: true,
            ..trial(5.86, Some(2.86), 132.0)
        };
        assert!(
            sentence(&saturated).starts_with("what held requests up was not the replayer (its")
        );
        // More were in flight although requests took less time, so the cause is another one.
        let other = sentence(&trial(5.86, Some(2.86), 30.0));
        assert!(!other.contains("because"), "{other}");
    }

    /// A trace of the block layer has Q2C, so only a replay with a capture shows what made the
    /// difference.
    #[test]
    fn q2c_and_u2c_are_not_compared() {
        let timed = job(Mode::default());
        let trace_with = |layer| TraceFacts { layer, ..trace() };
        let block = trace_with(Some(Layer::Block));
        let sentence =
            |trace: &TraceFacts, trial: &ReplayTrial| validity(&timed, trace, trial).text;
        let longer = trial(5.86, Some(2.86), 132.0);
        let numbers = "5.86 were in flight on average by U2C, and 2.68 in the recording by Q2C, at";
        let took = "132 us U2C each, 60.0 us Q2C recorded, which lacks the time outside";
        assert_has(
            &sentence(&block, &longer),
            &[numbers, took, "--capture to compare Q2C"],
        );
        let over_time =
            "5.86 on average by U2C (2.68 by Q2C in the recording), 287 at most (4 by Q2C";
        let by_request =
            "off by 2.86 times the recorded number, comparing the number by U2C before";
        assert_has(
            &in_flight(&timed, &block, &longer),
            &[over_time, by_request],
        );
        assert_has(
            &sentence(&block, &trial(1.2, Some(0.5), 30.0)),
            &["less time: 30.0 us U2C each, 60.0 us Q2C recorded"],
        );
        assert_has(
            &sentence(&trace_with(None), &longer),
            &["60.0 us recorded. This result does not tell whether"],
        );
    }

    #[test]
    fn a_captured_replay_compares_q2c_with_q2c() {
        let timed = job(Mode::default());
        let block = TraceFacts {
            layer: Some(Layer::Block),
            ..trace()
        };
        let captured = |sum_s, took_us, lost| ReplayTrial {
            completion_s: 0.01,
            issued: 1_000,
            sum_q2c_s: Some(sum_s),
            q2c_ns: Some(Spread {
                mean: took_us * 1e3,
                ..Spread::default()
            }),
            q2c_lost: lost,
            ..trial(5.86, Some(2.86), 132.0)
        };
        let sentence = |trial: &ReplayTrial| validity(&timed, &block, trial).text;
        let same_kind = captured(0.0275, 61.0, 0);
        assert!(sentence(&same_kind).ends_with("compared with other runs"));
        let over_time =
            "2.75 on average by Q2C (2.68 in the recording), 5.86 by U2C, 287 at most (4 by";
        assert_has(&in_flight(&timed, &block, &same_kind), &[over_time]);
        let longer = "4.00 were in flight on average where the recording had 2.68, because";
        let took = "longer: 90.0 us Q2C each, 60.0 us Q2C recorded";
        assert_has(&sentence(&captured(0.04, 90.0, 20)), &[longer, took]);
        // A capture that lacks many I/Os is not compared with the recording.
        let by_u2c = "5.86 were in flight on average by U2C";
        assert_has(
            &sentence(&captured(0.04, 90.0, 21)),
            &[by_u2c, "does not have one Q2C for each request"],
        );
    }

    #[test]
    fn what_is_compared_with_what_is_said_by_the_mode() {
        let over_time = "5.86 on average by U2C (2.68 in the recording), 287 at most (4 in the";
        let by_request = "By request off by 2.86 times the recorded number, comparing the number";
        let timed = in_flight(
            &job(Mode::default()),
            &trace(),
            &trial(5.86, Some(2.86), 132.0),
        );
        assert_has(&timed, &[over_time, by_request]);
        let kept = trial(3.89, Some(0.0036), 87.0);
        let squeezed = outstanding(Idle::Squeeze);
        let text = in_flight(&squeezed, &trace(), &kept);
        assert!(text.starts_with("0.36 % off the recording"), "{text}");
        let idle =
            "(2.68 in the recording, 10.0 % of whose time nothing is in flight), 287 at most";
        assert_has(&text, &["Over the whole time 3.89 on average by U2C", idle]);
        let with_idle = in_flight(&outstanding(Idle::Keep), &trace(), &kept);
        assert_has(&with_idle, &["(2.68 in the recording), 287"]);
        assert_has(
            &validity(&squeezed, &trace(), &kept).text,
            &[
                "0.36 % off request by request",
                "that leave the idle time out, too",
            ],
        );
        let kept_idle = validity(&outstanding(Idle::Keep), &trace(), &kept).text;
        assert!(
            kept_idle.ends_with("compared with other runs"),
            "{kept_idle}"
        );
        let off = validity(&squeezed, &trace(), &trial(0.9, Some(0.6), 20.0)).text;
        assert!(off.starts_with("the replayer was not what held it up, though"));
    }
}
