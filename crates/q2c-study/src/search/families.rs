//! The families of rules that a search tries: policy texts with numbers, and the numbers' ranges.

use q2c_model::stats::Rng;
use q2c_policy::PolicySpec;

#[derive(Clone, Copy, Debug)]
pub(super) struct FamilyAxis {
    min: f64,
    max: f64,
    /// True if a step multiplies the number, false if it adds to it.
    by_factor: bool,
}

pub(super) struct RuleFamily {
    pub text: &'static str,
    axes: &'static [FamilyAxis],
    policy: fn([f64; 4]) -> String,
}

const SHARE: FamilyAxis = linear(0.3, 0.99);
const PERIOD: FamilyAxis = factor(200.0, 200_000.0);
const MISS: FamilyAxis = factor(0.005, 0.5);

const fn linear(min: f64, max: f64) -> FamilyAxis {
    FamilyAxis {
        min,
        max,
        by_factor: false,
    }
}

const fn factor(min: f64, max: f64) -> FamilyAxis {
    FamilyAxis {
        by_factor: true,
        ..linear(min, max)
    }
}

fn rule(period: f64, formula: &str) -> String {
    format!("rule:period={:.0}us,sleep={formula}", period)
}

/// The families: windowed rules, formulas that no built-in rule has, and feedback rules.
pub(super) const FAMILIES: &[RuleFamily] = &[
    RuleFamily {
        text: "min:A,PERIOD",
        axes: &[SHARE, PERIOD],
        policy: |[a, p, ..]| format!("min:ratio={:.1}%,period={p:.0}us", 100.0 * a),
    },
    RuleFamily {
        text: "mean:A,PERIOD",
        axes: &[SHARE, PERIOD],
        policy: |[a, p, ..]| format!("mean:ratio={:.1}%,period={p:.0}us", 100.0 * a),
    },
    RuleFamily {
        text: "quantile:Q,A,PERIOD",
        axes: &[factor(0.005, 0.6), SHARE, PERIOD],
        policy: |[q, a, p, _]| {
            let [q, a] = [100.0 * q, 100.0 * a];
            format!("quantile:q={q:.2}%,ratio={a:.1}%,period={p:.0}us")
        },
    },
    RuleFamily {
        text: "A * (min - B us)",
        axes: &[SHARE, factor(0.2, 30.0), PERIOD],
        policy: |[a, b, p, _]| rule(p, &format!("{a:.3} * (min - {b:.2}us)")),
    },
    RuleFamily {
        text: "A * (mean - B * lmd)",
        axes: &[linear(0.5, 0.99), linear(0.5, 6.0), PERIOD],
        policy: |[a, b, p, _]| rule(p, &format!("{a:.3} * (mean - {b:.2} * lmd)")),
    },
    RuleFamily {
        text: "A * (min + B * (p50 - min))",
        axes: &[SHARE, linear(0.0, 0.9), PERIOD],
        policy: |[a, b, p, _]| rule(p, &format!("{a:.3} * (min + {b:.3} * (p50 - min))")),
    },
    RuleFamily {
        text: "if(misses / count > T, A * min, B * mean)",
        axes: &[MISS, SHARE, SHARE, PERIOD],
        policy: |[t, a, b, p]| {
            let missed = format!("misses / count > {:.2}%", 100.0 * t);
            rule(p, &format!("if({missed}, {a:.3} * min, {b:.3} * mean)"))
        },
    },
    RuleFamily {
        text: "if(misses / count > T, A * min, B * p10)",
        axes: &[MISS, SHARE, SHARE, PERIOD],
        policy: |[t, a, b, p]| {
            let missed = format!("misses / count > {:.2}%", 100.0 * t);
            rule(p, &format!("if({missed}, {a:.3} * min, {b:.3} * p10)"))
        },
    },
    RuleFamily {
        text: "if(p90 > R * p10, A * min, B * p10)",
        axes: &[linear(1.05, 4.0), SHARE, SHARE, PERIOD],
        policy: |[r, a, b, p]| {
            let uneven = format!("p90 > {r:.2} * p10");
            rule(p, &format!("if({uneven}, {a:.3} * min, {b:.3} * p10)"))
        },
    },
    RuleFamily {
        text: "min(A * last, B * mean)",
        axes: &[SHARE, SHARE, PERIOD],
        policy: |[a, b, p, _]| rule(p, &format!("min({a:.3} * last, {b:.3} * mean)")),
    },
    RuleFamily {
        text: "pas:up=U,down=D,adaptive=on",
        axes: &[factor(0.001, 0.1), factor(0.01, 0.6)],
        policy: |[u, d, ..]| format!("pas:up={u:.4},down={d:.4},adaptive=on"),
    },
    RuleFamily {
        text: "pas:up=U,down=D,adaptive=off",
        axes: &[factor(0.0002, 0.1), factor(0.01, 0.6)],
        policy: |[u, d, ..]| format!("pas:up={u:.5},down={d:.4},adaptive=off"),
    },
    RuleFamily {
        text: "qt:miss=M,gain=G",
        axes: &[MISS, factor(0.002, 0.8)],
        policy: |[m, g, ..]| format!("qt:miss={:.2}%,gain={g:.4}", 100.0 * m),
    },
    RuleFamily {
        text: "ewma:A,W",
        axes: &[SHARE, factor(0.002, 0.9)],
        policy: |[a, w, ..]| format!("ewma:ratio={:.1}%,weight={:.2}%", 100.0 * a, 100.0 * w),
    },
    RuleFamily {
        text: "lmd:D,PERIOD",
        axes: &[factor(1.0, 12.0), PERIOD],
        policy: |[d, p, ..]| format!("lmd:deviations={d:.0},period={p:.0}us"),
    },
];

impl FamilyAxis {
    fn value_at(&self, share: f64) -> f64 {
        if self.by_factor {
            self.min * (self.max / self.min).powf(share)
        } else {
            self.min + (self.max - self.min) * share
        }
    }
}

impl RuleFamily {
    pub(crate) fn dimensions(&self) -> usize {
        self.axes.len()
    }

    /// The policy at a point. Each coordinate, 0 to 1, is the share of the way along an axis.
    pub(crate) fn policy_at(&self, point: &[f64]) -> Option<PolicySpec> {
        let mut numbers = [0.0; 4];
        for ((number, axis), &share) in numbers.iter_mut().zip(self.axes).zip(point) {
            *number = axis.value_at(share);
        }
        (self.policy)(numbers).parse().ok()
    }

    pub(crate) fn random_point(&self, rng: &mut Rng) -> Vec<f64> {
        self.axes.iter().map(|_| rng.unit()).collect()
    }

    /// A random point near another one, at a distance of about `reach` (0 to 1) along each axis.
    pub(crate) fn point_near(&self, point: &[f64], reach: f64, rng: &mut Rng) -> Vec<f64> {
        let step = |&at: &f64| (at + reach * rng.normal()).clamp(0.0, 1.0);
        point.iter().map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_of_a_family_is_a_rule() {
        let mut rng = Rng::new(3);
        for family in FAMILIES {
            let corners = [0.0, 0.5, 1.0].map(|at| vec![at; family.dimensions()]);
            let random = (0..50).map(|_| family.random_point(&mut rng));
            let mut points: Vec<Vec<f64>> = random.chain(corners).collect();
            let near = points
                .iter()
                .map(|p| family.point_near(p, 0.3, &mut Rng::new(1)));
            points.extend(near.collect::<Vec<_>>());
            for point in points {
                let policy = family.policy_at(&point);
                let policy = policy.unwrap_or_else(|| panic!("{} at {point:?}", family.text));
                assert!(policy.follows_the_device(), "{policy}");
                assert!(!policy.rule().interrupts, "{policy}");
            }
        }
    }

    #[test]
    fn an_axis_goes_from_end_to_end() {
        let close = |got: f64, wanted: f64| assert!((got - wanted).abs() < 1e-9, "{got} {wanted}");
        close(factor(1.0, 100.0).value_at(0.5), 10.0);
        close(linear(1.0, 3.0).value_at(0.5), 2.0);
        close(PERIOD.value_at(0.0), 200.0);
        close(PERIOD.value_at(1.0), 200_000.0);
    }
}
