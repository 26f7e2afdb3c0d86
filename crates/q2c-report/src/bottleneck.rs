//! The stages in which I/Os spend most time, in words: among all stages, and before the device.

use crate::analysis::STAGE_ORDER;
use crate::note::Note;
use crate::phrase::when;
use crate::quantity::percent;
use q2c_result::analyze::Bottleneck;

/// Stages of an I/O before the device has it.
const BEFORE_DEVICE: [&str; 6] = ["Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D"];

type StageShare = (&'static str, f64);

/// A note on the stage that takes most of the time between Q and C. If that stage does not lie
/// before the device, a second note names the largest one that does.
pub(crate) fn notes(bottleneck: &Bottleneck) -> Vec<Note> {
    let (Some((most, share)), before) = largest_stages(bottleneck) else {
        return Vec::new();
    };
    let where_it_is = when(BEFORE_DEVICE.contains(&most), ", before the device");
    let sentence = format!(
        "{most}, {} of the time from queued to complete (Q2C){where_it_is}: {}",
        percent(share),
        stage_meaning(bottleneck, most)
    );
    let before = before.map(|(stage, share)| {
        let (share, meaning) = (percent(share), stage_meaning(bottleneck, stage));
        format!("most in {stage}, {share} of Q2C: {meaning}")
    });
    std::iter::once(Note::plain("most time", sentence))
        .chain(Note::plains("before the device", before))
        .collect()
}

/// The stage that takes most time and, if it is another one, the largest before the device, in a
/// few words: `D2C 66.0 %, before it I2D 32.4 %`.
pub(crate) fn brief(bottleneck: &Bottleneck) -> String {
    let with_share = |(stage, share): StageShare| format!("{stage} {}", percent(share));
    let (most, before) = largest_stages(bottleneck);
    let before = before.map(|before| format!(", before it {}", with_share(before)));
    most.map(with_share).unwrap_or_default() + &before.unwrap_or_default()
}

/// The stage that takes most time and, if it is another one, the largest before the device;
/// `None` for one that took no time.
fn largest_stages(bottleneck: &Bottleneck) -> (Option<StageShare>, Option<StageShare>) {
    let share = |stage: &str| match bottleneck.shares.get(stage) {
        Some(share) => *share,
        None if stage == bottleneck.stage => bottleneck.share,
        None => 0.0,
    };
    let largest_among = |stages: &[&'static str]| {
        let shares = stages.iter().map(|stage| (*stage, share(stage)));
        let positive_shares = shares.filter(|(_, share)| *share > 0.0);
        positive_shares.max_by(|(_, a), (_, b)| a.total_cmp(b))
    };
    let most = largest_among(&[&STAGE_ORDER[..], &["rest"]].concat());
    let before = largest_among(&BEFORE_DEVICE);
    (most, before.filter(|before| most != Some(*before)))
}

/// Says what happens to an I/O in a stage. For the bottleneck itself, the analysis has the words.
fn stage_meaning<'a>(bottleneck: &'a Bottleneck, stage: &str) -> &'a str {
    match stage {
        bottleneck_stage if bottleneck_stage == bottleneck.stage => &bottleneck.why,
        "Q2G" => "I/Os wait before they have a request",
        "G2I" => "requests wait before they reach the scheduler",
        "I2D" => "requests wait in the scheduler",
        "G2D" => "requests wait for the driver, without a scheduler",
        "Q2M" | "M2D" => "merged I/Os wait for the request that carries them",
        "D2C" => "the device and its driver have the I/O",
        _ => "no event tells where the I/O was",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bottleneck_at(stage: &str, shares: &[(&str, f64)]) -> Bottleneck {
        let shares = shares.iter();
        let shares = shares.map(|(name, share)| ((*name).to_owned(), *share));
        Bottleneck {
            stage: stage.to_owned(),
            why: format!("why {stage}"),
            shares: shares.collect(),
            ..Bottleneck::default()
        }
    }

    #[test]
    fn the_device_is_named_where_it_takes_most() {
        let bottleneck = bottleneck_at("I2D", &[("Q2G", 0.016), ("I2D", 0.324), ("D2C", 0.66)]);
        let most = "D2C, 66.0 % of the time from queued to complete (Q2C): the device and its driver \
                    have the I/O";
        assert_eq!(
            notes(&bottleneck),
            [
                Note::plain("most time", most),
                Note::plain("before the device", "most in I2D, 32.4 % of Q2C: why I2D")
            ]
        );
        assert_eq!(brief(&bottleneck), "D2C 66.0 %, before it I2D 32.4 %");
    }

    #[test]
    fn one_sentence_is_enough_where_one_stage_is_both() {
        let bottleneck = bottleneck_at("Q2G", &[("Q2G", 0.6), ("D2C", 0.4)]);
        let most = "Q2G, 60.0 % of the time from queued to complete (Q2C), before the device: \
                    why Q2G";
        assert_eq!(notes(&bottleneck), [Note::plain("most time", most)]);
        assert_eq!(brief(&bottleneck), "Q2G 60.0 %");
    }

    #[test]
    fn time_that_no_stage_covers_can_be_the_most() {
        let bottleneck = bottleneck_at("rest", &[("D2C", 0.2), ("rest", 0.8)]);
        let sentences = notes(&bottleneck);
        assert!(
            sentences[0].text.starts_with("rest, 80.0 % of"),
            "{sentences:?}"
        );
        assert_eq!(sentences.len(), 1, "{sentences:?}");
    }
}
