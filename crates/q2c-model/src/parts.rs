//! The parts of a latency in the user layer, where the block layer was seen as well.

use serde::{Deserialize, Serialize};

/// The parts of U2C of I/Os whose block-layer requests are known. They follow each other in time,
/// and add up to U2C. An I/O that the kernel split has the hand-over of its first request and the
/// completion of its last.
///
/// `T` is the form of each part: `u64` for one I/O, `f64` for a mean over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct U2cParts<T> {
    /// From the start of the submission to the hand-over to the driver (D), ns.
    pub submission_ns: T,
    /// From the hand-over to the completion (C), ns.
    pub device_ns: T,
    /// From the completion to the return of the submitting call, ns; 0 where the call returned
    /// before the completion. In a virtual machine the call can last as long as the device needs,
    /// because the host takes the request within it.
    pub return_ns: T,
    /// From the completion, or from the call's return where that came later, to the end of the
    /// sleep that was asked for, ns; 0 where the thread did not sleep, or asked for less.
    pub oversleep_ns: T,
    /// From the latest of completion, return and the end of the sleep asked to the wake-up, ns; 0
    /// where the thread did not sleep, or woke before the completion. The timer, the CPU or the
    /// scheduler were late.
    pub wakeup_ns: T,
    /// From the latest of completion, return and wake-up to the reaping, ns.
    pub reap_ns: T,
}

each_field!(
    U2cParts,
    submission_ns,
    device_ns,
    return_ns,
    oversleep_ns,
    wakeup_ns,
    reap_ns
);

impl<T> U2cParts<T> {
    /// The parts in the order of time.
    pub fn in_order(self) -> [T; 6] {
        [
            self.submission_ns,
            self.device_ns,
            self.return_ns,
            self.oversleep_ns,
            self.wakeup_ns,
            self.reap_ns,
        ]
    }
}

impl<T: std::iter::Sum> U2cParts<T> {
    /// The sum of the parts: U2C.
    pub fn u2c_ns(self) -> T {
        self.in_order().into_iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_meets_its_own_kind() {
        let counting_from = |first: u64| U2cParts {
            submission_ns: first,
            device_ns: first + 1,
            return_ns: first + 2,
            oversleep_ns: first + 3,
            wakeup_ns: first + 4,
            reap_ns: first + 5,
        };
        let sums = counting_from(10)
            .zip(counting_from(100))
            .map(|(a, b)| a + b);
        assert_eq!(sums.in_order(), [110, 112, 114, 116, 118, 120]);
        assert_eq!(sums.u2c_ns(), 690);
    }
}
