//! Lists the tested specifications, each with its second implementation.

use super::closed_loop::RuleUnderTest;
use super::dpas::{DpasLengths, ReferenceDpas};
use super::epochs::{self, EpochRule, EpochScope, Epochs};
use super::pas::ReferencePas;
use super::smooth::{ReferenceEwma, ReferenceLinux410, ReferenceRecent, ReferenceUring, Tracker};
use std::collections::{BTreeMap, HashMap};

pub(crate) struct RulePair {
    pub spec: String,
    pub tolerance: u64,
    pub second: Box<dyn Fn() -> Box<dyn RuleUnderTest>>,
}

/// Pairs that calculate in whole numbers agree exactly; fractions may change a sleep by 1 ns.
pub(crate) fn pairs() -> Vec<RulePair> {
    let mut pairs = Vec::new();
    let per_device =
        |spec, answer, percent, period| windowed(spec, answer, percent, period, EpochScope::Device);
    for percent in [1, 3, 37, 50, 75, 100] {
        let spec = format!("mean:{percent}%,200us");
        pairs.push(per_device(spec, epochs::mean, percent, 200_000));
    }
    for (percent, period) in [(70, 200_000), (50, 1_000), (100, 50_000)] {
        let spec = format!("min:{percent}%,{period}ns");
        pairs.push(per_device(spec, epochs::min, percent, period));
    }
    for (percent, period) in [(70, 200_000), (90, 1_000_000)] {
        let spec = format!("quantile:5%,{percent}%,{period}ns");
        pairs.push(per_device(spec, epochs::quantile_5, percent, period));
    }
    for (formula, answer, percent) in [
        ("mean / 2", epochs::mean as EpochRule, 50),
        (
            "if(misses > count, 1s, min(mean, max) * 3%)",
            epochs::mean,
            3,
        ),
        ("0.7 * min", epochs::min, 70),
    ] {
        let spec = format!("rule:period=200us,{formula}");
        let pair = per_device(spec, answer, percent, 200_000);
        pairs.push(RulePair {
            tolerance: 1,
            ..pair
        });
    }
    for period in [100_000, 1_000_000] {
        let by_period = |name, answer, scope| {
            let spec = format!("{name}:period={period}ns");
            windowed(spec, answer, 0, period, scope)
        };
        pairs.push(by_period("lmd", epochs::lmd, EpochScope::Device));
        pairs.push(by_period("ehp", epochs::ehp, EpochScope::Lane));
    }
    pairs.push(hypi());
    let pas = |(spec, adaptive)| pair(spec, 1, move || ReferencePas::new(adaptive));
    pairs.extend([("pas:adaptive=off", false), ("pas", true)].map(pas));
    pairs.extend([(1.0, true), (2.5, true), (1.0, false)].map(dpas));
    pairs.extend([(50, 8), (90, 4)].map(ewma));
    pairs.extend([(0.02, 0.1), (0.2, 0.05)].map(tracker));
    pairs.extend(recent());
    pairs.extend([(50, 134_217_728), (75, 300_000)].map(linux410));
    pairs.push(pair("uring", 0, ReferenceUring::default));
    pairs
}

fn pair<S: RuleUnderTest + 'static>(
    spec: impl Into<String>,
    tolerance: u64,
    second: impl Fn() -> S + 'static,
) -> RulePair {
    RulePair {
        spec: spec.into(),
        tolerance,
        second: Box::new(move || Box::new(second())),
    }
}

fn windowed(
    spec: String,
    answer: EpochRule,
    percent: u64,
    period: u64,
    scope: EpochScope,
) -> RulePair {
    pair(spec, 0, move || Epochs::new(answer, percent, period, scope))
}

fn hypi() -> RulePair {
    let classes = ["512", "1k", "2k", "4k", "8k", "16k", "32k", "64k"];
    let share = |(n, class): (usize, &str)| format!("{class}={}%", 30 + 5 * n);
    let shares: Vec<String> = classes.into_iter().enumerate().map(share).collect();
    let spec = format!("hypi:{},interrupt=16k,period=200us", shares.join(","));
    pair(spec, 0, || {
        let epochs = Epochs::new(epochs::mean_by_size, 0, 200_000, EpochScope::Device);
        epochs.with_interrupts_from(16_384)
    })
}

fn dpas((theta, short): (f64, bool)) -> RulePair {
    let [pas, cp, ol, int] = if short {
        [10, 30, 15, 40]
    } else {
        [100, 1_000, 100, 10_000]
    };
    let lengths = DpasLengths { pas, cp, ol, int };
    let typed = format!("dpas:{theta},pas={pas},poll={cp},overload={ol},interrupt={int}");
    let spec = if short { typed } else { "dpas".to_owned() };
    pair(spec, 1, move || ReferenceDpas {
        theta,
        lengths,
        cores: HashMap::new(),
    })
}

fn ewma((percent, slowness): (i128, i128)) -> RulePair {
    let weight = 100.0 / slowness as f64;
    pair(format!("ewma:{percent}%,{weight}%"), 1, move || {
        ReferenceEwma {
            percent,
            slowness,
            means: HashMap::new(),
        }
    })
}

fn recent() -> [RulePair; 3] {
    [
        pair("recent:ios=8,0.5 * min", 1, || {
            ReferenceRecent::new(8, |last, _| last.min().div_ceil(2))
        }),
        pair("recent:ios=5,if(misses > 0, 0.3 * min, p50 / 2)", 1, || {
            ReferenceRecent::new(5, |last, _| match last.misses() {
                0 => last.rank(3).div_ceil(2),
                _ => last.min() * 3 / 10,
            })
        }),
        pair("recent:ios=3,0.5 * (mean - lmd)", 1, || {
            ReferenceRecent::new(3, |last, before| {
                let below = before.map_or(0, |before| last.mean_below(before.mean()));
                last.mean().saturating_sub(below).div_ceil(2)
            })
        }),
    ]
}

fn tracker((miss, gain): (f64, f64)) -> RulePair {
    pair(format!("qt:{miss},{gain}"), 1, move || Tracker {
        miss,
        gain,
        logs: HashMap::new(),
    })
}

fn linux410((percent, period): (u64, u64)) -> RulePair {
    pair(format!("linux410:{percent}%,{period}ns"), 0, move || {
        ReferenceLinux410 {
            percent,
            period,
            times: BTreeMap::new(),
        }
    })
}
