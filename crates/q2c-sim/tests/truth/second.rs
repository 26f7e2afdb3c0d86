//! A second closed loop, from the description alone: whole ns, one event heap, all samples kept.

use crate::cases::{drive, figures, ranks, rule, same, zero};
use proptest::prelude::*;
use q2c_model::{CostModel, Curve, Direction, Latencies, Rates, SimulatedFigures, WakeDelay};
use q2c_policy::Io;
use q2c_sim::{LaneRecording, SimOutcome, simulate};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Debug)]
struct RecordedIo {
    write: bool,
    submit: u64,
    wait: u64,
    gap: u64,
}

#[derive(Clone, Debug)]
struct TruthCharges {
    clear: TruthDelay,
    hit: TruthDelay,
    lead: u64,
    reap: u64,
    cpu_clear: u64,
    cpu_hit: u64,
    wait: u64,
    submit: u64,
    other_cpu: u64,
}

#[derive(Clone, Copy, Debug)]
struct TruthDelay {
    middle: i64,
    spread: i64,
    deviations: i64,
    least: i64,
    most: Option<i64>,
}

impl TruthDelay {
    fn ns(self) -> u64 {
        let wanted = self.middle + self.spread * self.deviations;
        let capped = self.most.map_or(wanted, |most| wanted.min(most));
        capped.max(self.least).max(0) as u64
    }

    fn model(self) -> WakeDelay {
        let constant = |ns: i64| Curve::constant(ns as f64);
        WakeDelay {
            base_ns: constant(self.middle),
            spread_ns: constant(self.spread),
            least_ns: constant(self.least),
            most_ns: self.most.map(constant).unwrap_or_default(),
            z: vec![self.deviations as f64],
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum RuleKind {
    Fixed(u64),
    /// Ratio in percent, and period in ns.
    Mean(u64, u64),
    Min(u64, u64),
}

impl RuleKind {
    fn text(self) -> String {
        match self {
            RuleKind::Fixed(ns) => format!("fixed:{ns}ns"),
            RuleKind::Mean(percent, period) => format!("mean:{percent}%,{period}ns"),
            RuleKind::Min(percent, period) => format!("min:{percent}%,{period}ns"),
        }
    }
}

/// State that all lanes share: the samples since the window opened, reads and writes separately.
#[derive(Default)]
struct SharedWindow {
    opened: Option<u64>,
    samples: [Vec<u64>; 2],
    sleeps: [u64; 2],
}

impl SharedWindow {
    fn close_if_over(&mut self, rule: RuleKind, now: u64) {
        let (RuleKind::Mean(percent, period) | RuleKind::Min(percent, period)) = rule else {
            return;
        };
        if self.opened.is_some_and(|at| now >= at + period) {
            self.opened = None;
            for (samples, sleep) in self.samples.iter_mut().zip(&mut self.sleeps) {
                let period_samples = std::mem::take(samples);
                let Some(&min) = period_samples.iter().min() else {
                    continue;
                };
                let mean = period_samples.iter().sum::<u64>() / period_samples.len() as u64;
                let is_min = matches!(rule, RuleKind::Min(..));
                let value = if is_min { min } else { mean };
                *sleep = (value * percent + 50) / 100;
            }
        }
    }
}

struct SimulatedIo {
    u2c: u64,
    asked: u64,
    missed: bool,
    cpu: u64,
    other_cpu: u64,
    polled: u64,
    late: u64,
    device: u64,
}

fn simulate_io(item: &RecordedIo, asked: u64, charges: &TruthCharges) -> SimulatedIo {
    let (submit, wait) = match asked {
        0 => (item.submit, item.wait),
        _ => (item.submit + charges.submit, item.wait + charges.wait),
    };
    let (clear, hit) = (asked + charges.clear.ns(), asked + charges.hit.ns());
    let missed = asked > 0 && clear + charges.lead >= wait;
    let (observed, polled, sleeping) = match (asked, missed) {
        (0, _) => (wait, wait, 0),
        (_, false) => (wait, wait - clear, charges.cpu_clear),
        (_, true) => (wait.max(hit) + charges.reap, 0, charges.cpu_hit),
    };
    SimulatedIo {
        u2c: submit + observed,
        asked,
        missed,
        cpu: submit + (sleeping + polled).min(observed) + item.gap,
        other_cpu: if asked > 0 { charges.other_cpu } else { 0 },
        polled,
        late: observed - item.wait,
        device: item.wait,
    }
}

/// Simulates the I/Os that begin in `from..until`. At equal times the lower lane comes first.
fn replay(
    lanes: &[Vec<RecordedIo>],
    rule: RuleKind,
    charges: &TruthCharges,
    from: u64,
    until: u64,
) -> Vec<SimulatedIo> {
    let mut device = SharedWindow::default();
    let mut events = BinaryHeap::new();
    // Per lane: index and begin of the next I/O, and the observed time of the one in flight.
    let mut state: Vec<(usize, u64, Option<u64>)> = vec![(0, 0, None); lanes.len()];
    for (lane, items) in lanes.iter().enumerate() {
        events.push(Reverse((items[0].submit, lane)));
    }
    let mut ios = Vec::new();
    while let Some(Reverse((now, lane))) = events.pop() {
        let (n, begin, flight) = &mut state[lane];
        let item = &lanes[lane][*n % lanes[lane].len()];
        if let Some(observed) = flight.take() {
            device.close_if_over(rule, now);
            device.opened.get_or_insert(now);
            device.samples[usize::from(item.write)].push(observed);
            *n += 1;
            *begin = now + item.gap;
            let next = &lanes[lane][*n % lanes[lane].len()];
            events.push(Reverse((*begin + next.submit, lane)));
        } else if *begin < until {
            device.close_if_over(rule, now);
            let asked = match rule {
                RuleKind::Fixed(ns) => ns,
                _ => device.sleeps[usize::from(item.write)],
            };
            let io = simulate_io(item, asked, charges);
            let submit = item.submit + if asked > 0 { charges.submit } else { 0 };
            *flight = Some(io.u2c - submit);
            events.push(Reverse((*begin + io.u2c, lane)));
            if *begin >= from {
                ios.push(io);
            }
        }
    }
    ios
}

fn summary(ios: &[SimulatedIo], wall: u64, lanes: usize) -> SimOutcome {
    if ios.is_empty() {
        return SimOutcome::default();
    }
    let sum = |value: fn(&SimulatedIo) -> u64| ios.iter().map(value).sum::<u64>() as f64;
    let (n, wall) = (ios.len() as f64, wall as f64);
    let mut sorted: Vec<u64> = ios.iter().map(|r| r.u2c).collect();
    sorted.sort_unstable();
    let rank = |per_mille: usize| sorted[(sorted.len() * per_mille).div_ceil(1000) - 1] as f64;
    SimOutcome {
        ios: ios.len() as u64,
        gives: SimulatedFigures {
            rates: Rates {
                iops: n * 1e9 / wall,
                cpu_pct: 100.0 * sum(|r| r.cpu) / (wall * lanes as f64),
                miss_rate: sum(|r| u64::from(r.missed)) / n,
                effective_sleep_ns: sum(|r| r.asked) / n,
            },
            cpu_ns_per_io: sum(|r| r.cpu) / n,
            kiops_per_core: n * 1e6 / (sum(|r| r.cpu) + sum(|r| r.other_cpu)),
            t_over: sum(|r| r.late) / sum(|r| r.device),
            t_under: sum(|r| r.polled) / sum(|r| r.device),
            latencies: Latencies {
                mean_ns: sum(|r| r.u2c) / n,
                p50_ns: rank(500),
                p99_ns: rank(990),
                p999_ns: rank(999),
            },
        },
    }
}

fn recorded(items: &[RecordedIo]) -> LaneRecording {
    let mut recording = LaneRecording::default();
    for item in items {
        let direction = [Direction::Read, Direction::Write][usize::from(item.write)];
        let io = Io {
            direction,
            ..Io::READ_4K
        };
        recording.push(io, item.submit as f32, item.wait as f32, item.gap as f32);
    }
    recording
}

fn model(charges: &TruthCharges) -> CostModel {
    CostModel {
        wake_clear: charges.clear.model(),
        wake_hit: charges.hit.model(),
        hit_lead_ns: charges.lead as f64,
        reap_hit_ns: charges.reap as f64,
        sleep_cpu_clear_ns: Curve::constant(charges.cpu_clear as f64),
        sleep_cpu_hit_ns: Curve::constant(charges.cpu_hit as f64),
        added_latency_ns: Curve::constant(charges.wait as f64),
        added_submit_ns: Curve::constant(charges.submit as f64),
        other_cpu_sleep_ns: charges.other_cpu as f64,
        ..zero()
    }
}

fn item() -> impl Strategy<Value = RecordedIo> {
    let times = (0u64..4_000, 1u64..80_000, 0u64..4_000);
    (any::<bool>(), times).prop_map(|(write, (submit, wait, gap))| RecordedIo {
        write,
        submit,
        wait,
        gap,
    })
}

fn any_delay() -> impl Strategy<Value = TruthDelay> {
    let drawn = (0i64..5_000, 0i64..1_000, -9i64..10);
    let bounds = (-500i64..3_000, prop::option::of(0i64..6_000));
    (drawn, bounds).prop_map(
        |((middle, spread, deviations), (least, above))| TruthDelay {
            middle,
            spread,
            deviations,
            least,
            most: above.map(|above| least + above),
        },
    )
}

fn charges() -> impl Strategy<Value = TruthCharges> {
    let delays = (any_delay(), any_delay(), 0u64..20_000);
    let others = prop::collection::vec(0u64..5_000, 6);
    (delays, others).prop_map(|((clear, hit, lead), v)| TruthCharges {
        clear,
        hit,
        lead,
        reap: v[0],
        cpu_clear: v[1],
        cpu_hit: v[2],
        wait: v[3] / 10,
        submit: v[4] / 10,
        other_cpu: v[5],
    })
}

fn any_rule() -> impl Strategy<Value = RuleKind> {
    let window = || (1u64..=100, 1_000u64..400_000);
    prop_oneof![
        (1u64..90_000).prop_map(RuleKind::Fixed),
        window().prop_map(|(ratio, period)| RuleKind::Mean(ratio, period)),
        window().prop_map(|(ratio, period)| RuleKind::Min(ratio, period)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn both_implementations_agree(
        lanes in prop::collection::vec(prop::collection::vec(item(), 1..12), 1..4),
        rule_kind in any_rule(),
        charges in charges(),
        from in 0u64..500_000,
        length in 1u64..4_000_000,
    ) {
        let ios = replay(&lanes, rule_kind, &charges, from, from + length);
        let wanted = summary(&ios, length, lanes.len());
        let recordings: Vec<LaneRecording> = lanes.iter().map(|l| recorded(l)).collect();
        let method = rule(&rule_kind.text(), lanes.len());
        let got = simulate(&recordings, &model(&charges), method, drive(from, length));
        prop_assert_eq!(got.ios, wanted.ios);
        let all_figures = |o: &SimOutcome| figures(o).into_iter().chain(ranks(o));
        for (a, b) in all_figures(&got).zip(all_figures(&wanted)) {
            prop_assert!(same(a, b), "{:?}\n{:?}", got, wanted);
        }
    }
}
