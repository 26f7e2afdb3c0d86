//! The I/Os that the percentiles of an analysis lack, in words.

use crate::quantity::{count, number};
use q2c_result::analyze::AnalyzeResult;

/// How many I/Os the percentiles lack and why, and whether there are any; `None` where the result
/// does not say.
pub(crate) fn told(result: &AnalyzeResult) -> Option<(bool, String)> {
    let lack = result.not_whole.as_ref()?;
    if lack.ios == 0 {
        return Some((false, format!("none of {} I/Os", count(lack.of))));
    }
    let reasons = lack.reasons.iter().filter(|(_, n)| **n > 0);
    let reasons: Vec<String> = reasons
        .map(|(reason, n)| format!("{} {}", count(*n), in_words(reason)))
        .collect();
    let told = format!(
        "{} of {} I/Os ({} %), which no percentile of Q2C has: {}",
        count(lack.ios),
        count(lack.of),
        number(lack.share * 100.0),
        reasons.join("; ")
    );
    let warned = result.warnings.iter().any(|of| of.id == "lost-ios");
    let more = if warned {
        "; the warning lost-ios says what to do"
    } else {
        ""
    };
    Some((true, told + more))
}

/// A reason for which an I/O was not wholly seen, in words that follow a number.
fn in_words(reason: &str) -> &str {
    match reason {
        "completion without queue" => {
            "have no begin: in flight when the recording began, or the kernel did not show their Q"
        }
        "never issued" => "were not handed to the driver until the end of the recording",
        "never completed" => {
            "have no end: in flight when the recording ended, or the kernel did not show their C"
        }
        "queued again, its end not seen" => "have no end: the kernel did not show their C",
        "lost: ring full" => "found no room in the ring of their CPU",
        "lost: too many in flight" => "were too many in flight",
        "times that fall" => "have times that fall, so that they are in no figure",
        other => other,
    }
}
