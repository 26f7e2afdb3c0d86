//! Why a claim has its verdict, in words.

use super::figures::judged_from;
use crate::quantity::{bare, duration};
use q2c_result::reproduce::{JudgedClaim, Missing, Need, NeedKind, Reason, ShortWindow};

/// Why a claim has its verdict, in words.
#[must_use]
pub fn why(claim: &JudgedClaim) -> String {
    let reasons = claim.reasons.iter();
    let told = reasons.filter_map(|reason| because(reason, claim));
    let mut words: Vec<String> = told.collect();
    words.extend(absent(claim));
    words.extend(judged_from(claim).map(|trials| format!("from {trials}")));
    let scaled = claim
        .reasons
        .iter()
        .any(|reason| matches!(reason, Reason::Scaled { .. }));
    let reading = match scaled {
        true => "read, at full length, as",
        false => "read as",
    };
    words.extend(claim.read_as.iter().map(|how| format!("{reading}: {how}")));
    words.join("; ")
}

/// The words of a reason; `None` for figures that are missing, which are told together.
fn because(reason: &Reason, claim: &JudgedClaim) -> Option<String> {
    Some(match reason {
        Reason::Missing(_) => return None,
        Reason::Lacks => {
            let lacks = claim.needs.iter().filter(|need| !need.met).map(lack);
            lacks.collect::<Vec<_>>().join("; ")
        }
        Reason::ShortWindow(short) => too_short(short),
        Reason::FewTrials { trials, least } => {
            format!("a verdict needs {least} trials, and there are {trials}")
        }
        Reason::Across { text } => format!("some trials meet `{text}`, and some do not"),
        Reason::Outside { text } => format!("no trial meets `{text}`"),
        Reason::Fitted { model } => {
            format!("{model} was fitted to this very figure, so it says nothing of it")
        }
        Reason::Predicted(stated) => format!("predicted by {}: {}", stated.model, stated.error),
        Reason::Scaled { scale } => format!("with all times multiplied by {scale}"),
    })
}

/// The figures that are missing. Those that are missing for one reason stand in one sentence.
fn absent(claim: &JudgedClaim) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for reason in &claim.reasons {
        let Reason::Missing(missing) = reason else {
            continue;
        };
        let own = by_reason.iter_mut().find(|(why, _)| *why == missing.why);
        match own {
            Some((_, figures)) => figures.push(placed(missing)),
            None => by_reason.push((&missing.why, vec![placed(missing)])),
        }
    }
    let told = by_reason.into_iter();
    told.map(|(why, figures)| format!("there is no {}: {why}", figures.join(" and no ")))
        .collect()
}

/// A figure with the point at which it is missing. An axis that the figure names itself is not
/// told again.
fn placed(missing: &Missing) -> String {
    let parts = missing.figure.split(['[', ',', ']']).map(str::trim);
    let named: Vec<&str> = parts.collect();
    let all = missing
        .at
        .iter()
        .map(|(axis, value)| format!("{axis}={value}"));
    let others: Vec<String> = all.filter(|at| !named.contains(&at.as_str())).collect();
    match others.is_empty() {
        true => missing.figure.clone(),
        false => format!("{} at {}", missing.figure, others.join(" ")),
    }
}

/// A window that is too short, with what makes it longer.
fn too_short(short: &ShortWindow) -> String {
    let time = |seconds: f64| bare(&duration(seconds * 1e9));
    let begin = match short.starting_s > 0.0 {
        true => format!(" after the {} in which it begins", time(short.starting_s)),
        false => String::new(),
    };
    let words = format!(
        "the sleep rule changes its sleep every {}, so {} needs a window of {} such periods{begin}, \
         {}, and its window has {}",
        time(short.period_s),
        short.figure,
        short.periods,
        time(short.needed_s),
        time(short.present_s),
    );
    // Rounded up, so that the window is long enough.
    let scale = (short.scale * short.needed_s / short.present_s * 1e3 - 1e-6).ceil() / 1e3;
    match short.scale < 1.0 && scale.is_finite() {
        true => format!("{words}; use --scale {scale} or more"),
        false => format!("{words}; make the window longer in the file"),
    }
}

/// What a machine does not have.
fn lack(need: &Need) -> String {
    let Need {
        needed, present, ..
    } = need;
    let has = |what: &str| format!("this takes {what}, and this machine has {present}");
    match need.kind {
        NeedKind::Cpus => has(&format!("{needed} CPUs")),
        NeedKind::ThreadsPerCore => format!(
            "this takes cores with {needed} hardware threads each, and those of this machine have {present}"
        ),
        NeedKind::NumaNodes => has(&format!("{needed} NUMA nodes")),
        NeedKind::Kernel => format!("this takes Linux {needed}, and this machine runs {present}"),
        NeedKind::PollQueues => {
            format!("this takes a target with poll queues (present: {present})")
        }
        NeedKind::HwQueues => {
            format!("this takes a target with {needed} hardware queues (present: {present})")
        }
        NeedKind::Device => format!("this takes {needed}: {present}"),
        NeedKind::Module => format!("this takes the kernel module {needed}, which is {present}"),
        NeedKind::FileSystem => {
            format!("this takes the file system {needed}, and this kernel has {present}")
        }
        NeedKind::Spdk => format!("this takes {needed}: {present}"),
        NeedKind::Capture => {
            format!("this takes the right to capture the block layer: {present}")
        }
        NeedKind::Other => format!("this takes {needed} (present: {present})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::replay::Invalid;
    use q2c_result::reproduce::{
        Basis, Expected, FailedTrial, StatedError, TrialsJudged, Verdict, WhyNot,
    };
    use q2c_stats::Interval;
    use std::collections::BTreeMap;

    fn claim(reasons: Vec<Reason>) -> JudgedClaim {
        JudgedClaim {
            says: "it is so".to_owned(),
            published: None,
            read_as: Some("so is so".to_owned()),
            verdict: Verdict::CannotJudge,
            basis: Basis::Measured,
            expects: Vec::new(),
            needs: vec![need(NeedKind::Cpus, "120", "2")],
            reasons,
        }
    }

    fn need(kind: NeedKind, needed: &str, present: &str) -> Need {
        Need {
            kind,
            needed: needed.to_owned(),
            present: present.to_owned(),
            met: false,
        }
    }

    fn short(present_s: f64, scale: f64) -> Reason {
        Reason::ShortWindow(ShortWindow {
            figure: "start.miss_rate".to_owned(),
            period_s: 0.1,
            periods: 3,
            starting_s: 0.0,
            needed_s: 0.3,
            present_s,
            scale,
        })
    }

    #[test]
    fn every_reason_has_its_words() {
        let text = || "iops > 1".to_owned();
        let missing = Missing {
            figure: "iops".to_owned(),
            at: BTreeMap::from([("jobs".to_owned(), "8".to_owned())]),
            why: "the device is gone".to_owned(),
        };
        let stated = StatedError {
            model: "a model".to_owned(),
            error: "5 % off".to_owned(),
        };
        let few = Reason::FewTrials {
            trials: 1,
            least: 3,
        };
        let fitted = Reason::Fitted {
            model: "it".to_owned(),
        };
        for (reason, words) in [
            (Reason::Lacks, "takes 120 CPUs, and this machine has 2"),
            (
                Reason::Missing(missing),
                "no iops at jobs=8: the device is gone",
            ),
            (few, "needs 3 trials, and there are 1"),
            (
                Reason::Across { text: text() },
                "some trials meet `iops > 1`, and some do not",
            ),
            (
                Reason::Outside { text: text() },
                "no trial meets `iops > 1`",
            ),
            (fitted, "it was fitted to this very figure"),
            (Reason::Predicted(stated), "predicted by a model: 5 % off"),
            (Reason::Scaled { scale: 0.1 }, "multiplied by 0.1"),
        ] {
            let told = why(&claim(vec![reason]));
            assert!(told.contains(words), "{told}");
            assert!(told.ends_with("as: so is so"), "{told}");
        }
    }

    #[test]
    fn figures_that_are_missing_for_one_reason_are_told_together() {
        let missing = |device: &str, why: &str| {
            Reason::Missing(Missing {
                figure: format!("completion[device={device}]"),
                at: [("device", device), ("mode", "timed")]
                    .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
                    .into(),
                why: why.to_owned(),
            })
        };
        let all = vec![
            missing("first", "nothing was replayed"),
            missing("second", "nothing was replayed"),
            missing("third", "the disk was gone"),
        ];
        let wanted = "there is no completion[device=first] at mode=timed and no \
                      completion[device=second] at mode=timed: nothing was replayed; \
                      there is no completion[device=third] at mode=timed: the disk was gone; ";
        let told = why(&claim(all));
        assert!(told.starts_with(wanted), "{told}");
    }

    /// Windows grow with the scale: 90 ms at 0.045 are 300 ms at 0.15, and 70 ms at 0.035, too.
    #[test]
    fn a_short_window_is_told_with_the_scale_that_is_enough() {
        let told = why(&claim(vec![short(0.09, 0.045)]));
        for words in [
            "changes its sleep every 100 ms",
            "start.miss_rate needs a window of 3 such periods, 300 ms, and its window has 90 ms",
            "use --scale 0.15 or more",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert!(why(&claim(vec![short(0.07, 0.035)])).contains("--scale 0.15 or"));
        // 0.01 * 300 / 70 is 0.04285...
        assert!(why(&claim(vec![short(0.07, 0.01)])).contains("--scale 0.043 or"));
        let own = why(&claim(vec![short(0.09, 1.0)]));
        assert!(own.contains("make the window longer in the file"), "{own}");
        assert!(!own.contains("--scale"), "{own}");
    }

    #[test]
    fn what_a_machine_lacks_is_a_sentence() {
        for (need, words) in [
            (
                need(NeedKind::Kernel, "below 5.0", "6.18"),
                "this takes Linux below 5.0, and this machine runs 6.18",
            ),
            (
                need(NeedKind::ThreadsPerCore, "2", "1"),
                "this takes cores with 2 hardware threads each, and those of this machine have 1",
            ),
            (
                need(NeedKind::Module, "ramdisk_mq", "not there"),
                "this takes the kernel module ramdisk_mq, which is not there",
            ),
            (
                need(NeedKind::PollQueues, "yes", "no target"),
                "this takes a target with poll queues (present: no target)",
            ),
        ] {
            assert_eq!(lack(&need), words);
        }
    }

    #[test]
    fn trials_that_were_left_out_are_named_once_each() {
        let told = |trial| FailedTrial {
            trial,
            why: WhyNot::Told("the disk was gone".to_owned()),
        };
        let bound = FailedTrial {
            trial: 3,
            why: WhyNot::Invalid(vec![Invalid::Stopped]),
        };
        let expected = |left_out: Vec<FailedTrial>| Expected {
            text: "x > 1".to_owned(),
            measured: Some(Interval::of(&[1.0, 2.0, 3.0])),
            right: None,
            unit: String::new(),
            trials: TrialsJudged {
                judged: 3,
                asked: 5,
                left_out,
            },
            verdict: Verdict::Holds,
        };
        let mut partly = claim(Vec::new());
        partly.expects = vec![
            expected(vec![told(1), bound.clone()]),
            expected(vec![told(1), bound]),
        ];
        let words = why(&partly);
        let wanted = "from 3 of 5 trials (left out: trial 2: the disk was gone; \
                      trial 4: it was stopped before the trace's end)";
        assert!(words.starts_with(wanted), "{words}");
        // Comparisons that lack other trials are told apart.
        partly.expects = vec![
            expected(vec![told(1), told(4)]),
            expected(vec![told(0), told(1)]),
        ];
        partly.expects[1].text = "y > 1".to_owned();
        let words = why(&partly);
        let wanted = "from 3 of 5 trials for `x > 1` (left out: trials 2, 5: the disk was gone), \
                      3 of 5 trials for `y > 1` (left out: trials 1, 2: the disk was gone)";
        assert!(words.starts_with(wanted), "{words}");
    }
}
