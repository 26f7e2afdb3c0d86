//! The families of rules that a search goes through: texts with numbers in them, and the ranges of
//! the numbers.

use q2c_policy::PolicySpec;
use q2c_stats::Rng;

/// A number of a family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    least: f64,
    most: f64,
    /// Whether a step multiplies the number; else it adds to it.
    by_factor: bool,
}

/// A family of rules.
pub(super) struct RuleFamily {
    /// The policy with letters in place of numbers, for the result.
    pub text: &'static str,
    axes: &'static [Axis],
    /// The policy with these numbers.
    policy: fn(&[f64]) -> String,
}

/// A share of a time.
const SHARE: Axis = linear(0.3, 0.99);
/// The period of a window, us.
const PERIOD: Axis = factor(200.0, 200_000.0);
/// A miss rate.
const MISS: Axis = factor(0.005, 0.5);

const fn linear(least: f64, most: f64) -> Axis {
    Axis {
        least,
        most,
        by_factor: false,
    }
}

const fn factor(least: f64, most: f64) -> Axis {
    Axis {
        least,
        most,
        by_factor: true,
    }
}

/// A formula over windows of `period` us.
fn rule(period: f64, formula: &str) -> String {
    format!("rule:period={:.0}us,sleep={formula}", period)
}

/// The families: the windowed rules with their numbers, formulas over one window that no rule has,
/// and feedback rules with their constants.
pub(super) const FAMILIES: &[RuleFamily] = &[
    RuleFamily {
        text: "min:A,PERIOD",
        axes: &[SHARE, PERIOD],
        policy: |x| format!("min:ratio={:.1}%,period={:.0}us", 100.0 * x[0], x[1]),
    },
    RuleFamily {
        text: "mean:A,PERIOD",
        axes: &[SHARE, PERIOD],
        policy: |x| format!("mean:ratio={:.1}%,period={:.0}us", 100.0 * x[0], x[1]),
    },
    RuleFamily {
        text: "quantile:Q,A,PERIOD",
        axes: &[factor(0.005, 0.6), SHARE, PERIOD],
        policy: |x| {
            format!(
                "quantile:q={:.2}%,ratio={:.1}%,period={:.0}us",
                100.0 * x[0],
                100.0 * x[1],
                x[2]
            )
        },
    },
    RuleFamily {
        text: "A * (min - B us)",
        axes: &[SHARE, factor(0.2, 30.0), PERIOD],
        policy: |x| rule(x[2], &format!("{:.3} * (min - {:.2}us)", x[0], x[1])),
    },
    RuleFamily {
        text: "A * (mean - B * lmd)",
        axes: &[linear(0.5, 0.99), linear(0.5, 6.0), PERIOD],
        policy: |x| rule(x[2], &format!("{:.3} * (mean - {:.2} * lmd)", x[0], x[1])),
    },
    RuleFamily {
        text: "A * (min + B * (p50 - min))",
        axes: &[SHARE, linear(0.0, 0.9), PERIOD],
        policy: |x| {
            rule(
                x[2],
                &format!("{:.3} * (min + {:.3} * (p50 - min))", x[0], x[1]),
            )
        },
    },
    RuleFamily {
        text: "if(misses / count > T, A * min, B * mean)",
        axes: &[MISS, SHARE, SHARE, PERIOD],
        policy: |x| {
            let formula = format!(
                "if(misses / count > {:.2}%, {:.3} * min, {:.3} * mean)",
                100.0 * x[0],
                x[1],
                x[2]
            );
            rule(x[3], &formula)
        },
    },
    RuleFamily {
        text: "if(misses / count > T, A * min, B * p10)",
        axes: &[MISS, SHARE, SHARE, PERIOD],
        policy: |x| {
            let formula = format!(
                "if(misses / count > {:.2}%, {:.3} * min, {:.3} * p10)",
                100.0 * x[0],
                x[1],
                x[2]
            );
            rule(x[3], &formula)
        },
    },
    RuleFamily {
        text: "if(p90 > R * p10, A * min, B * p10)",
        axes: &[linear(1.05, 4.0), SHARE, SHARE, PERIOD],
        policy: |x| {
            let formula = format!(
                "if(p90 > {:.2} * p10, {:.3} * min, {:.3} * p10)",
                x[0], x[1], x[2]
            );
            rule(x[3], &formula)
        },
    },
    RuleFamily {
        text: "min(A * last, B * mean)",
        axes: &[SHARE, SHARE, PERIOD],
        policy: |x| {
            rule(
                x[2],
                &format!("min({:.3} * last, {:.3} * mean)", x[0], x[1]),
            )
        },
    },
    RuleFamily {
        text: "pas:up=U,down=D,adaptive=on",
        axes: &[factor(0.001, 0.1), factor(0.01, 0.6)],
        policy: |x| format!("pas:up={:.4},down={:.4},adaptive=on", x[0], x[1]),
    },
    RuleFamily {
        text: "pas:up=U,down=D,adaptive=off",
        axes: &[factor(0.0002, 0.1), factor(0.01, 0.6)],
        policy: |x| format!("pas:up={:.5},down={:.4},adaptive=off", x[0], x[1]),
    },
    RuleFamily {
        text: "qt:miss=M,gain=G",
        axes: &[MISS, factor(0.002, 0.8)],
        policy: |x| format!("qt:miss={:.2}%,gain={:.4}", 100.0 * x[0], x[1]),
    },
    RuleFamily {
        text: "ewma:A,W",
        axes: &[SHARE, factor(0.002, 0.9)],
        policy: |x| {
            format!(
                "ewma:ratio={:.1}%,weight={:.2}%",
                100.0 * x[0],
                100.0 * x[1]
            )
        },
    },
    RuleFamily {
        text: "lmd:D,PERIOD",
        axes: &[factor(1.0, 12.0), PERIOD],
        policy: |x| format!("lmd:deviations={:.0},period={:.0}us", x[0], x[1]),
    },
];

impl Axis {
    /// The number at `share` of the way through the range.
    fn at(&self, share: f64) -> f64 {
        match self.by_factor {
            true => self.least * (self.most / self.least).powf(share),
            false => self.least + (self.most - self.least) * share,
        }
    }
}

impl RuleFamily {
    /// Number of numbers.
    pub fn numbers(&self) -> usize {
        self.axes.len()
    }

    /// The policy at a point, each coordinate of which is a share of the way through its axis;
    /// `None` where the numbers make no policy.
    pub fn at(&self, point: &[f64]) -> Option<PolicySpec> {
        let numbers: Vec<f64> = self
            .axes
            .iter()
            .zip(point)
            .map(|(axis, &share)| axis.at(share))
            .collect();
        (self.policy)(&numbers).parse().ok()
    }

    /// A point anywhere.
    pub fn anywhere(&self, rng: &mut Rng) -> Vec<f64> {
        self.axes.iter().map(|_| rng.unit()).collect()
    }

    /// A point near another one, at a distance of about `reach` along each axis.
    pub fn near(&self, point: &[f64], reach: f64, rng: &mut Rng) -> Vec<f64> {
        let step = |&at: &f64| (at + reach * rng.normal()).clamp(0.0, 1.0);
        point.iter().map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Corners, middles and neighbours are policies that follow the device.
    #[test]
    fn every_point_of_a_family_is_a_rule() {
        let mut rng = Rng::new(3);
        for family in FAMILIES {
            let corners = [0.0, 0.5, 1.0].map(|at| vec![at; family.numbers()]);
            let some = (0..50).map(|_| family.anywhere(&mut rng));
            let mut points: Vec<Vec<f64>> = some.chain(corners).collect();
            let near = points.iter().map(|p| family.near(p, 0.3, &mut Rng::new(1)));
            points.extend(near.collect::<Vec<_>>());
            for point in points {
                let policy = family.at(&point);
                let policy = policy.unwrap_or_else(|| panic!("{} at {point:?}", family.text));
                assert!(policy.follows_the_device(), "{policy}");
                assert!(!policy.rule().interrupts, "{policy}");
            }
        }
    }

    #[test]
    fn an_axis_goes_from_end_to_end() {
        let close = |got: f64, wanted: f64| assert!((got - wanted).abs() < 1e-9, "{got} {wanted}");
        close(factor(1.0, 100.0).at(0.5), 10.0);
        close(linear(1.0, 3.0).at(0.5), 2.0);
        close(PERIOD.at(0.0), 200.0);
        close(PERIOD.at(1.0), 200_000.0);
    }
}
