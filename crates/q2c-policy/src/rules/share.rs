//! A share of a time, and the parameters and functions that rules based on it have in common.

use crate::PolicySpec;
use crate::form::{Form, WindowForm, WindowStatistic};
use crate::registry::{Param, ParamKind};
use q2c_model::Nanos;

pub(super) const RATIO: Param = Param::new(
    "ratio",
    "share of the statistic to sleep",
    ParamKind::Ratio,
    Some(0.5),
    0.0001..=1.0,
);

pub(crate) const PERIOD: Param = Param::new(
    "period",
    "shortest length of a window",
    ParamKind::Duration,
    Some(100e6),
    1e3..=3_600e9,
);

/// [`RATIO`] for rules based on a short time, which other load disturbs less than the mean.
pub(super) const RATIO_OF_SHORT: Param = Param {
    default: Some(0.7),
    ..RATIO
};

/// [`PERIOD`] with a default of 10 ms, which was published for rules on the shortest time.
pub(super) const PERIOD_10_MS: Param = Param {
    default: Some(10e6),
    ..PERIOD
};

pub(super) fn form(spec: &PolicySpec, statistic: WindowStatistic) -> Form {
    Form::Windowed(WindowForm {
        statistic,
        period: Nanos(spec.integer("period").max(1)),
        share: Share::new(spec.value("ratio")),
    })
}

/// A ratio in parts per billion, which is exact for every percentage that a person types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share(pub(crate) u64);

/// The share of 100 %, in parts per billion.
const BILLION: u64 = 1_000_000_000;
/// Times below this, ns (8.6 s), can be multiplied by [`BILLION`] within 64 bits.
const MAX_64_BIT_NS: u64 = 1 << 33;

impl Share {
    pub(super) fn new(fraction: f64) -> Self {
        Share((fraction * BILLION as f64).round() as u64)
    }

    /// This share of `time`, halves rounded up. For one half it equals Linux' `(time + 1) / 2`.
    #[inline]
    pub(crate) fn apply(self, time: Nanos) -> Nanos {
        if time.0 < MAX_64_BIT_NS {
            return Nanos((time.0 * self.0 + BILLION / 2) / BILLION);
        }
        let billion = u128::from(BILLION);
        let ns = (u128::from(time.0) * u128::from(self.0) + billion / 2) / billion;
        Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exact_for_typed_percentages() {
        // 21,840.7 and 1.5 round up.
        let max = u64::MAX;
        for (share, ns, slept) in [(0.7, 31_201, 21_841), (0.03, 50, 2), (1.0, max, max)] {
            assert_eq!(Share::new(share).apply(Nanos(ns)), Nanos(slept), "{share}");
        }
    }

    proptest! {
        #[test]
        fn one_half_is_linux(ns in 0..u64::MAX) {
            prop_assert_eq!(Share::new(0.5).apply(Nanos(ns)), Nanos(ns.div_ceil(2)));
        }
    }
}
