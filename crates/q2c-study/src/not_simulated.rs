//! Warnings of reads and writes that are not simulated.

use q2c_model::LeftOut;
use q2c_result::Warning;
use q2c_result::sweep::SweepInput;

/// Share of the reads and writes from which on those that are not simulated are told.
const MANY: f64 = 0.01;

/// Those whose times fall, or of which the recording does not have both ends.
pub(crate) fn left_out(inputs: &[&SweepInput]) -> Vec<Warning> {
    let number_of = |reason: LeftOut| -> u64 {
        inputs
            .iter()
            .filter_map(|input| input.taken_as.left_out.get(&reason))
            .sum()
    };
    let simulated: u64 = inputs.iter().map(|input| input.ios).sum();
    let fall = number_of(LeftOut::Disordered);
    let fall = (fall > 0).then(|| {
        Warning::new(
            "times-fall",
            format!("the times of {fall} requests fall; {simulated} were simulated"),
            "a clock was set back, CPUs' clocks differ, or several recordings were joined: the think times \
             around the requests left out are too long",
            "record with one clock (blktrace -a, q2c trace record)",
        )
    });
    let halves = [LeftOut::NoCompletion, LeftOut::NoBegin, LeftOut::Failed];
    let [open, begun, failed] = halves.map(number_of);
    let unseen = open + begun + failed;
    let many = unseen as f64 > MANY * (unseen + simulated) as f64;
    let unseen = many.then(|| {
        Warning::new(
            "left-out",
            format!(
                "{unseen} of {} reads and writes were left out: {open} without a completion, {begun} without a begin, \
                 {failed} failed",
                unseen + simulated
            ),
            "the slowest ones may be among them, and the think times around them are too long",
            "record until the device is idle, with larger buffers",
        )
    });
    fall.into_iter().chain(unseen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(reasons: &[(LeftOut, u64)]) -> Vec<String> {
        let input = |ios| SweepInput {
            ios,
            ..SweepInput::default()
        };
        let (mut input, other) = (input(900), input(90));
        input.taken_as.left_out = reasons.iter().copied().collect();
        left_out(&[&input, &other])
            .into_iter()
            .map(|warning| warning.found)
            .collect()
    }

    /// Of 1,000 reads and writes 10 are not many, and 11 of 1,001 are.
    #[test]
    fn many_without_an_end_are_told_and_flushes_are_not() {
        let few = [
            (LeftOut::NeitherReadNorWrite, 500),
            (LeftOut::NoCompletion, 10),
        ];
        assert!(findings(&few).is_empty());
        let many = [
            (LeftOut::NoCompletion, 6),
            (LeftOut::NoBegin, 3),
            (LeftOut::Failed, 2),
        ];
        let expected = "11 of 1001 reads and writes were left out: 6 without a completion, 3 without a begin, 2 failed";
        assert_eq!(findings(&many), [expected]);
        let fall = findings(&[(LeftOut::Disordered, 1)]);
        assert_eq!(fall, ["the times of 1 requests fall; 990 were simulated"]);
    }
}
