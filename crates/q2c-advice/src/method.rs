//! How the completion of an I/O is waited for.

use q2c_policy::PolicySpec;
use std::fmt;
use std::str::FromStr;

/// A method that can be recommended.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Wait for the interrupt.
    Interrupt,
    /// Classic polling.
    Poll,
    /// Sleep by this rule, then poll.
    Hybrid(PolicySpec),
}

/// A text that is no method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMethodError(String);

impl fmt::Display for ParseMethodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "expected interrupt, poll or hybrid:POLICY, found `{text}`"
        )
    }
}

impl std::error::Error for ParseMethodError {}

impl Method {
    /// The rule, where there is one.
    #[must_use]
    pub fn policy(&self) -> Option<&PolicySpec> {
        match self {
            Method::Hybrid(policy) => Some(policy),
            _ => None,
        }
    }

    /// Whether the method adapts its sleep to the device: a fixed sleep does not, nor does
    /// io_uring's estimate, which never rises again, nor a formula without a statistic. Methods
    /// without a sleep have nothing to adapt.
    #[must_use]
    pub fn follows_the_device(&self) -> bool {
        self.policy().is_none_or(follows)
    }
}

/// Rules whose sleep does not follow the device.
const DEAF: [&str; 2] = ["fixed", "uring"];

/// [`Method::follows_the_device`] of a rule.
pub(crate) fn follows(policy: &PolicySpec) -> bool {
    let reads = policy.formula().map(|formula| formula.statistics());
    !DEAF.contains(&policy.rule().name) && reads.is_none_or(|all| !all.is_empty())
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Interrupt => f.write_str("interrupt"),
            Method::Poll => f.write_str("poll"),
            Method::Hybrid(policy) => write!(f, "hybrid:{policy}"),
        }
    }
}

impl FromStr for Method {
    type Err = ParseMethodError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseMethodError(text.to_owned());
        match text.split_once(':') {
            None if text == "interrupt" => Ok(Method::Interrupt),
            None if text == "poll" => Ok(Method::Poll),
            Some(("hybrid", policy)) => policy.parse().map(Method::Hybrid).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        for text in ["interrupt", "poll", "hybrid:mean:ratio=50%,period=100ms"] {
            assert_eq!(text.parse::<Method>().unwrap().to_string(), text);
        }
        for text in ["", "polling", "hybrid", "hybrid:nothing:1"] {
            assert!(text.parse::<Method>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_formula_without_a_statistic_is_a_fixed_sleep() {
        for (policy, may) in [
            ("mean", true),
            ("fixed:20us", false),
            ("uring", false),
            ("rule:20us", false),
            ("rule:min - 20us", true),
        ] {
            let policy: PolicySpec = policy.parse().expect(policy);
            assert_eq!(
                Method::Hybrid(policy.clone()).follows_the_device(),
                may,
                "{policy}"
            );
        }
    }
}
