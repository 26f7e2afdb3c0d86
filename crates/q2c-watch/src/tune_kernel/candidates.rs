//! The rules that the kernel can follow.

use crate::steer::Steering;
use q2c_model::{Exit, Fault, Nanos};
use q2c_policy::PolicySpec;
use q2c_sim::Grid;

/// The daemon looks every half window, and every millisecond at most.
pub(crate) const SHORTEST_WINDOW: Nanos = Nanos::from_millis(2);

/// The named ones, or the standard grid; and the number of those that the kernel cannot follow.
pub(crate) fn candidates(
    named: &[PolicySpec],
    p50: Nanos,
) -> Result<(Vec<PolicySpec>, usize), Fault> {
    let policies = match named {
        [] => Grid::standard(p50).policies,
        named => named.to_vec(),
    };
    let policy_count = policies.len();
    let fitting: Vec<PolicySpec> = policies.into_iter().filter(can_be_followed).collect();
    match fitting.len() {
        0 => {
            let text = format!(
                "tune the kernel's polling: expected rules that the kernel can follow (mean, min, quantile, fixed or a formula, with \
                 windows of {SHORTEST_WINDOW} or more), found none among the {policy_count} named"
            );
            Err(Fault::new(Exit::Usage, text))
        }
        some => Ok((fitting, policy_count - some)),
    }
}

fn can_be_followed(policy: &PolicySpec) -> bool {
    let short = |(name, ns): (&str, f64)| name == "period" && (ns as u64) < SHORTEST_WINDOW.0;
    Steering::new(policy).is_ok() && !policy.params().into_iter().any(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_grid_keeps_what_the_kernel_can_follow() {
        let (fitting, left_out) = candidates(&[], Nanos(80_000)).unwrap();
        // mean and min over 19 ratios and the 7 periods from 2 ms on, and ten fixed sleeps.
        assert_eq!(fitting.len(), 2 * 19 * 7 + 10);
        // The periods of 1 ms, pas and uring.
        assert_eq!(left_out, 2 * 19 + 2);
    }

    #[test]
    fn rules_that_need_more_are_refused() {
        let pas = ["pas".parse().unwrap()];
        let message = candidates(&pas, Nanos(80_000)).unwrap_err().to_string();
        assert!(message.contains("none among the 1 named"), "{message}");
        let two = ["pas".parse().unwrap(), "min:70%,10ms".parse().unwrap()];
        let (fitting, left_out) = candidates(&two, Nanos(80_000)).unwrap();
        assert_eq!((fitting.len(), left_out), (1, 1));
    }
}
