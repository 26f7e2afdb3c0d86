//! The contract that every rule in the registry must keep.

use allocation_counter::measure;
use q2c_model::stats::Rng;
use q2c_model::{CpuId, Direction, Nanos};
use q2c_policy::{Decision, Io, Lane, MAX_SLEEP, Outcome, ParamKind, PolicySpec, RULES, Token};

/// Together these read every statistic and use every operator and function.
const FORMULAS: [&str; 7] = [
    "rule:0.7 * min",
    "rule:period=1us, mean - 4 * lmd",
    "rule:period=100us, if(p01 > 40us, p01 - 4us, 0)",
    "rule:if(misses / count > 5% || !(last < p99) && max >= 1ms, max(min, p05, 1us) * 50%, mean * mean / max)",
    "rule:-mean / misses",
    "recent:ios=5, if(misses / count > 5%, p05 - lmd, min(mean, last, p99) * 50%)",
    "recent:ios=1, mean * mean / max",
];

/// Each rule's example, its variants with the least and largest of each number, and the formulas.
fn specs() -> Vec<PolicySpec> {
    let formulas = FORMULAS.map(|text| text.parse().expect(text));
    let mut specs = Vec::from(formulas);
    for rule in RULES {
        let example: PolicySpec = rule.example.parse().expect(rule.example);
        for param in rule.params.iter().filter(|p| p.kind != ParamKind::Formula) {
            for value in [param.min, param.max] {
                specs.push(example.with_param(param.name, value).expect(param.name));
            }
        }
        specs.push(example);
    }
    specs
}

#[derive(Clone, Copy)]
struct SubmittedIo {
    lane: usize,
    io: Io,
    token: Token,
    submitted_at: u64,
    asked: u64,
}

const DEPTH: usize = 16;

/// Seeded random I/Os of all sizes, up to [`DEPTH`] in flight, with device times from 1 ns to 100
/// s. It makes one decision at a time and allocates nothing.
struct Storm {
    rng: Rng,
    now: u64,
    flights: [Option<SubmittedIo>; DEPTH],
}

impl Storm {
    fn new(seed: u64) -> Self {
        Storm {
            rng: Rng::new(seed),
            now: 0,
            flights: [None; DEPTH],
        }
    }

    fn io(&mut self) -> Io {
        let direction = [Direction::Read, Direction::Write][self.rng.below(2) as usize];
        let bytes = [0, 511, 512, 4096, 4097, 131_072, u32::MAX][self.rng.below(7) as usize];
        Io { direction, bytes }
    }

    /// Completes the I/O of a random slot, or submits one there and returns its decision.
    fn step(&mut self, lanes: &mut [Box<dyn Lane>]) -> Option<Decision> {
        let slot = self.rng.below(DEPTH as u64) as usize;
        match self.flights[slot].take() {
            Some(flight) => {
                self.complete(flight, lanes);
                None
            }
            None => Some(self.submit(slot, lanes)),
        }
    }

    fn submit(&mut self, slot: usize, lanes: &mut [Box<dyn Lane>]) -> Decision {
        let (io, lane) = (self.io(), self.rng.below(lanes.len() as u64) as usize);
        self.now += self.rng.below(1000);
        let (decision, token) = lanes[lane].decide(io, Nanos(self.now));
        let asked = match decision {
            Decision::Sleep(Nanos(ns)) => ns,
            Decision::Poll | Decision::Interrupt => 0,
        };
        self.flights[slot] = Some(SubmittedIo {
            lane,
            io,
            token,
            submitted_at: self.now,
            asked,
        });
        decision
    }

    fn complete(&mut self, flight: SubmittedIo, lanes: &mut [Box<dyn Lane>]) {
        let device = 10u64.pow(self.rng.below(12) as u32);
        self.now = self.now.max(flight.submitted_at + device.max(flight.asked));
        let outcome = Outcome::new(self.now - flight.submitted_at, flight.asked >= device);
        let lane = &mut lanes[flight.lane];
        lane.complete(flight.io, flight.token, outcome, Nanos(self.now));
    }
}

fn storm(spec: &PolicySpec, lanes: usize, seed: u64) -> Vec<Decision> {
    let (mut lanes, mut storm) = (spec.build(lanes), Storm::new(seed));
    let decisions = (0..20_000).filter_map(|_| storm.step(&mut lanes));
    decisions.collect()
}

/// Simulations do not choose rules with interrupts if their cost is unknown, so the registry marks
/// these rules. `dpas` uses interrupts only under overload, which does not happen here.
#[test]
fn a_rule_that_uses_interrupts_says_so() {
    let uses = |spec: &PolicySpec| storm(spec, 1, 3).contains(&Decision::Interrupt);
    let using: Vec<PolicySpec> = specs().into_iter().filter(uses).collect();
    assert!(using.iter().all(|spec| spec.rule().interrupts), "{using:?}");
    let names: Vec<&str> = using.iter().map(|spec| spec.rule().name).collect();
    let both = ["ehp", "hypi"].iter().all(|name| names.contains(name));
    assert!(both, "{names:?}");
}

#[test]
fn the_same_calls_get_the_same_answers() {
    for spec in specs() {
        assert!(storm(&spec, 3, 7) == storm(&spec, 3, 7), "{spec}");
    }
}

#[test]
fn sleeps_are_bounded_and_never_empty() {
    for (seed, spec) in specs().iter().enumerate() {
        for decision in storm(spec, 2, seed as u64) {
            if let Decision::Sleep(ns) = decision {
                assert!(Nanos::ZERO < ns && ns <= MAX_SLEEP, "{spec}: {ns}");
            }
        }
    }
}

#[test]
fn every_rule_sleeps_in_the_storm() {
    for rule in RULES {
        let spec: PolicySpec = rule.example.parse().expect(rule.example);
        let decisions = storm(&spec, 1, 1);
        // If a rule only polled here, the other tests would prove nothing about its sleeps.
        let sleeps = |d: &Decision| matches!(d, Decision::Sleep(_));
        assert!(decisions.iter().any(sleeps), "{spec}");
    }
}

#[test]
fn cpus_of_their_own_change_nothing() {
    for spec in specs() {
        let mut lanes = spec.build_on(&[4, 2, 9].map(CpuId));
        let mut unshared = Storm::new(5);
        let steps = (0..20_000).filter_map(|_| unshared.step(&mut lanes));
        assert!(steps.eq(storm(&spec, 3, 5)), "{spec}");
    }
}

#[test]
fn nothing_is_allocated_after_build() {
    for spec in specs() {
        let mut lanes = spec.build_on(&[0, 0, 1, 2].map(CpuId));
        let mut storm = Storm::new(11);
        let heap = measure(|| {
            (0..20_000).for_each(|_| {
                storm.step(&mut lanes);
            })
        });
        assert_eq!((heap.count_total, heap.bytes_total), (0, 0), "{spec}");
    }
}

#[test]
fn the_counter_counts() {
    let heap = measure(|| drop(std::hint::black_box(Box::new(1u64))));
    assert_eq!(heap.count_total, 1);
}

#[test]
fn builds_any_number_of_lanes() {
    for spec in specs() {
        for lanes in [0, 1, 2, 3, 7, 64] {
            let cpus: Vec<CpuId> = (0..lanes as u32).map(|n| CpuId(n % 5)).collect();
            let built = [spec.build(lanes).len(), spec.build_on(&cpus).len()];
            assert_eq!(built, [lanes; 2], "{spec}");
        }
    }
}

#[test]
fn outcomes_that_cannot_be_are_survived() {
    let io = Io::READ_4K;
    let impossible = Outcome::new(u64::MAX, false);
    for spec in specs() {
        let mut lanes = spec.build(1);
        for now in [0, 0, u64::MAX, u64::MAX, u64::MAX] {
            let (_, token) = lanes[0].decide(io, Nanos(now));
            lanes[0].complete(io, token, impossible, Nanos(now));
            lanes[0].complete(io, Token(u64::MAX), impossible, Nanos(now));
        }
    }
}

#[test]
fn full_form_is_stable() {
    for spec in specs() {
        let again: PolicySpec = spec.to_string().parse().expect("its own full form");
        assert_eq!((again.to_string(), &again), (spec.to_string(), &spec));
    }
}
