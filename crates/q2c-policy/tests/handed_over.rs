//! Rules whose state moves to another lane after any I/O.

use proptest::prelude::*;
use q2c_model::stats::Rng;
use q2c_model::{Direction, Nanos};
use q2c_policy::form::Form;
use q2c_policy::windowed::{Gather, OpenWindow};
use q2c_policy::{Decision, Io, Lane, MAX_SLEEP, Outcome, PolicySpec, RULES};

fn learning_rules() -> Vec<PolicySpec> {
    let learns = |spec: &PolicySpec| matches!(spec.form(), Form::Opaque(_) | Form::Pas(_));
    RULES
        .iter()
        .map(|rule| rule.example.parse::<PolicySpec>())
        .map(|spec| spec.expect("an example is a rule"))
        .filter(learns)
        .collect()
}

struct IoSource {
    rng: Rng,
    now: u64,
}

impl IoSource {
    fn new(seed: u64) -> Self {
        let rng = Rng::new(seed);
        IoSource { rng, now: 0 }
    }

    fn next(&mut self, lane: &mut dyn Lane) -> Decision {
        let direction = [Direction::Read, Direction::Write][self.rng.below(2) as usize];
        let bytes = [100, 512, 4096, 65_536][self.rng.below(4) as usize];
        let io = Io { direction, bytes };
        let device = 500 + self.rng.below(100_000);
        self.now += self.rng.below(5_000);
        let (decision, token) = lane.decide(io, Nanos(self.now));
        let slept = match decision {
            Decision::Sleep(Nanos(ns)) => ns,
            Decision::Poll | Decision::Interrupt => 0,
        };
        let outcome = Outcome::new(device.max(slept), slept >= device);
        self.now += outcome.observed.0;
        lane.complete(io, token, outcome, Nanos(self.now));
        decision
    }
}

#[test]
fn seven_rules_learn_from_every_io() {
    let names: Vec<&str> = learning_rules()
        .iter()
        .map(|spec| spec.rule().name)
        .collect();
    let expected = ["dpas", "ewma", "linux410", "pas", "qt", "recent", "uring"];
    assert_eq!(names, expected);
}

#[test]
fn another_lane_goes_on() {
    for spec in learning_rules() {
        let (mut ios, mut same_ios) = (IoSource::new(3), IoSource::new(3));
        let mut original = spec.build(1).remove(0);
        let mut moved = spec.build(1).remove(0);
        for n in 0..20_000 {
            if n % 17 == 0 {
                let state = moved.state().expect("a rule that learns");
                moved = spec.build(1).remove(0);
                assert!(moved.restore(&state).is_some(), "{spec}");
                assert_eq!(moved.state().as_deref(), Some(&state[..]), "{spec}");
            }
            let (expected, resumed) = (ios.next(&mut *original), same_ios.next(&mut *moved));
            assert_eq!(resumed, expected, "{spec}, I/O {n}");
        }
        assert_eq!(moved.state(), original.state(), "{spec}");
    }
}

#[test]
fn the_others_have_no_numbers() {
    for rule in RULES {
        let spec: PolicySpec = rule.example.parse().expect(rule.example);
        let mut lane = spec.build(1).remove(0);
        let learns = learning_rules().contains(&spec);
        assert_eq!(lane.state().is_some(), learns, "{spec}");
        assert!(learns || lane.restore(&[]).is_none(), "{spec}");
    }
}

proptest! {
    /// Numbers that a rule cannot have learned are refused, or its sleeps stay bounded.
    #[test]
    fn other_numbers_do_not_panic(
        seed in any::<u64>(),
        ios in 0..300usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        for spec in learning_rules() {
            let mut lane = spec.build(1).remove(0);
            let mut ios_source = IoSource::new(seed);
            (0..ios).for_each(|_| {
                ios_source.next(&mut *lane);
            });
            let mut numbers = lane.state().expect("a rule that learns");
            let truncated = &numbers[..cut.index(numbers.len())];
            prop_assert!(spec.build(1)[0].restore(truncated).is_none(), "{}", spec);
            for (place, number) in &changes {
                let place = place.index(numbers.len());
                numbers[place] = *number;
            }
            let mut other = spec.build(1).remove(0);
            if other.restore(&numbers).is_some() {
                (0..100).for_each(|_| {
                    ios_source.next(&mut *other);
                });
            }
        }
    }

    #[test]
    fn other_windows_do_not_panic(
        shifts in prop::collection::vec(0..64u32, 9..13),
        bits in any::<u64>(),
        mean in 0u64..90_000,
    ) {
        let numbers: Vec<u64> = shifts.iter().map(|shift| bits >> shift).collect();
        for rule in RULES {
            let spec: PolicySpec = rule.example.parse().expect(rule.example);
            let Some(rule) = spec.form().window_rule() else {
                continue;
            };
            if let Some(window) = OpenWindow::from_numbers(rule.gather, &numbers)
                && window.totals.samples > 0
            {
                let decision = rule.decide(&window.window(3, Nanos(mean)));
                let bounded = match decision {
                    Decision::Sleep(ns) => Nanos::ZERO < ns && ns <= MAX_SLEEP,
                    Decision::Poll | Decision::Interrupt => true,
                };
                prop_assert!(bounded, "{}: {:?}", spec, decision);
            }
        }
    }

    #[test]
    fn a_window_comes_back(
        times in prop::collection::vec((1u64..200_000, any::<bool>()), 1..60),
        quantiles in any::<bool>(),
        mean in 0u64..90_000,
    ) {
        let gather = if quantiles { Gather::Quantiles } else { Gather::Totals };
        let (mut original, mut moved) = (OpenWindow::new(gather), OpenWindow::new(gather));
        for (n, (ns, missed)) in times.iter().enumerate() {
            let outcome = Outcome::new(*ns, *missed);
            let now = Nanos(1_000 * n as u64);
            moved = OpenWindow::from_numbers(gather, &moved.to_numbers()).expect("its own numbers");
            original.add(outcome, now, Nanos(mean));
            moved.add(outcome, now, Nanos(mean));
        }
        let text = |gathered: &OpenWindow| format!("{:?}", gathered.window(3, Nanos(mean)));
        prop_assert_eq!(text(&moved), text(&original));
        let numbers = original.to_numbers();
        prop_assert!(OpenWindow::from_numbers(gather, &numbers[1..]).is_none() || quantiles);
        prop_assert!(OpenWindow::from_numbers(gather, &numbers[..8]).is_none());
    }
}
