//! What a valid trial kept of the recording, and its requests in flight against those of the
//! recording, in words.

use super::invalid::reasons_of;
use super::job::left_out;
use crate::analysis::time;
use crate::quantity::{bare, count, duration, number};
use crate::said::{Said, Weight};
use q2c_model::replay::Mode;
use q2c_result::replay::{ReplayJob, ReplayTrial, TraceFacts};

/// An outstanding replay kept the number in flight when it was off by at most this share.
const KEPT: f64 = 0.1;
/// Means in flight are told apart when the larger is above the other by more than this share.
const ALIKE: f64 = 0.1;

/// Whether a trial can be compared with others: what it kept of the recording, or why it cannot.
pub(super) fn validity(job: &ReplayJob, trace: &TraceFacts, trial: &ReplayTrial) -> Said {
    if !trial.valid {
        return Said::new(Weight::Bad, "invalid", reasons_of(trial));
    }
    let mut words = kept(job, trial) + "; it can be compared with other runs";
    if !matches!(job.mode, Mode::Outstanding { .. }) {
        words += &other_load(trace, trial).unwrap_or_default();
    }
    Said::new(Weight::Good, "valid", words)
}

/// What the trial kept of the recording, by its mode.
fn kept(job: &ReplayJob, trial: &ReplayTrial) -> String {
    let own = duration(trial.own_lateness_ns.p99);
    let allowed = bare(&duration(job.max_lateness.0 as f64));
    let late = format!(
        "its own lateness was {own} at the 99th percentile, where --max-lateness allows {allowed}"
    );
    match (job.mode, trial.in_flight.error) {
        (Mode::Timed { .. }, _) if trial.saturated => {
            format!("what held requests up was not the replayer ({late})")
        }
        (Mode::Timed { .. }, _) => format!("the replayer kept the recorded times ({late})"),
        (Mode::Closed { .. }, _) => format!("the replayer kept the recorded pauses ({late})"),
        (Mode::Outstanding { .. }, Some(error)) if error <= KEPT => format!(
            "it kept the recorded number in flight, {} % off request by request",
            number(error * 100.0)
        ),
        (Mode::Outstanding { .. }, Some(error)) => format!(
            "the replayer was not what held it up, though the number in flight was {}",
            off(error)
        ),
        (Mode::Outstanding { .. }, None) => "the replayer was not what held it up".to_owned(),
    }
}

/// How the requests in flight were others than the recorded ones; `None` where they were alike or
/// are not known. With the times kept, that comes from how long the requests took, in the device
/// and on the way to it.
fn other_load(trace: &TraceFacts, trial: &ReplayTrial) -> Option<String> {
    let (here, there) = (trial.in_flight.mean, trial.in_flight.recorded_mean?);
    if here.max(there) <= here.min(there) * (1.0 + ALIKE) {
        return None;
    }
    let mut words = format!(
        "; {} were in flight on average where the recording had {}",
        number(here),
        number(there)
    );
    let recorded_ns = trace.sum_latency_s.unwrap_or_default() * 1e9 / trace.completed as f64;
    let took_ns = trial.u2c_ns.mean;
    let longer = took_ns > recorded_ns;
    if trace.sum_latency_s.is_some() && trace.completed > 0 && longer == (here > there) {
        let how = if longer { "longer" } else { "less time" };
        let (took, recorded) = (time(took_ns), time(recorded_ns));
        words += &format!(", because requests took {how}: {took} each, {recorded} recorded");
    }
    Some(words)
}

/// The requests in flight against those of the recording. An outstanding replay keeps the number
/// that each request finds, so this figure is the first one there.
pub(super) fn in_flight(job: &ReplayJob, trace: &TraceFacts, trial: &ReplayTrial) -> String {
    let of = &trial.in_flight;
    let idle = left_out(job, trace).map_or(String::new(), |share| {
        let percent = number(share * 100.0);
        format!(", {percent} % of whose time nothing is in flight")
    });
    let mean = of.recorded_mean.map_or(String::new(), |mean| {
        format!(" ({} in the recording{idle})", number(mean))
    });
    let most = of.recorded_most.map_or(String::new(), |most| {
        format!(" ({} in the recording)", count(most))
    });
    let device = if trace.devices.len() > 1 {
        " on one device"
    } else {
        ""
    };
    let over_time = format!(
        "{} on average{mean}, {} at most{device}{most}",
        number(of.mean),
        count(of.most)
    );
    let Some(error) = of.error else {
        return over_time;
    };
    let off = off(error);
    match job.mode {
        Mode::Outstanding { .. } => format!(
            "{off}, comparing the number before each request with that before the same request of \
             the recording; over the whole time {over_time}"
        ),
        _ => format!(
            "{over_time}; {off}, comparing the number before each request with that before the \
             same request of the recording"
        ),
    }
}

/// How far the number in flight was off, given the error relative to the recorded number.
fn off(error: f64) -> String {
    match error <= 1.0 {
        true => format!("{} % off the recording", number(error * 100.0)),
        false => format!("off by {} times the recorded number", number(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Nanos;
    use q2c_model::replay::{Count, Idle};
    use q2c_result::replay::{InFlight, Lateness, Spread};

    /// A trace of 1000 requests of 60 us each, which idles a tenth of its time.
    fn trace() -> TraceFacts {
        TraceFacts {
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

    /// A valid trial that has `mean` in flight, was off by `error`, and whose requests took so many
    /// us. The recording has 2.68.
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

    #[test]
    fn a_timed_replay_says_why_other_numbers_were_in_flight() {
        let timed = job(Mode::default());
        let told = |trial: &ReplayTrial| validity(&timed, &trace(), trial).words;
        const KEPT: &str = "the replayer kept the recorded times (its own lateness was 12.5 us at \
                            the 99th percentile, where --max-lateness allows 100 us); it can \
                            be compared with other runs";
        assert_eq!(told(&trial(2.7, Some(0.01), 61.0)), KEPT);
        assert_eq!(
            told(&trial(5.86, Some(2.86), 132.0)),
            format!(
                "{KEPT}; 5.86 were in flight on average where the recording had 2.68, because \
                 requests took longer: 132 us each, 60.0 us recorded"
            )
        );
        let faster = told(&trial(1.2, Some(0.5), 30.0));
        assert!(
            faster.contains("because requests took less time: "),
            "{faster}"
        );
        let saturated = ReplayTrial {
            saturated: true,
            ..trial(5.86, Some(2.86), 132.0)
        };
        assert!(told(&saturated).starts_with("what held requests up was not the replayer (its"));
        // More were in flight although requests took less time: that is another cause.
        let other = told(&trial(5.86, Some(2.86), 30.0));
        assert!(!other.contains("because"), "{other}");
    }

    #[test]
    fn what_is_compared_with_what_is_said_by_the_mode() {
        const COMPARED: &str = ", comparing the number before each request with that before the \
                                same request of the recording";
        let shown = trial(5.86, Some(2.86), 132.0);
        assert_eq!(
            in_flight(&job(Mode::default()), &trace(), &shown),
            format!(
                "5.86 on average (2.68 in the recording), 287 at most (4 in the recording); \
                 off by 2.86 times the recorded number{COMPARED}"
            )
        );
        let kept = trial(3.89, Some(0.0036), 87.0);
        let squeezed = outstanding(Idle::Squeeze);
        assert_eq!(
            in_flight(&squeezed, &trace(), &kept),
            format!(
                "0.36 % off the recording{COMPARED}; over the whole time 3.89 on average (2.68 in the recording, \
                 10.0 % of whose time nothing is in flight), 287 at most (4 in the recording)"
            )
        );
        let with_idle = in_flight(&outstanding(Idle::Keep), &trace(), &kept);
        assert!(with_idle.contains("(2.68 in the recording), 287"));
        assert_eq!(
            validity(&squeezed, &trace(), &kept).words,
            "it kept the recorded number in flight, 0.36 % off request by request; it can be \
             compared with other runs"
        );
        let off = validity(&squeezed, &trace(), &trial(0.9, Some(0.6), 20.0)).words;
        assert!(off.starts_with("the replayer was not what held it up, though"));
    }
}
