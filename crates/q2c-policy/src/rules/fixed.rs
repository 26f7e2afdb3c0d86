//! Sleeps always the same time, as Linux' `io_poll_delay` does with a positive number of
//! microseconds. The rule learns nothing. It is the base line that shows the worth of prediction;
//! with 1 us it shows the price of sleeping at all.

use crate::form::Form;
use crate::registry::{Kind, Param, Rule, Scope};
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, PolicySpec, Token};
use q2c_model::Nanos;

pub(super) const RULE: Rule = Rule {
    name: "fixed",
    summary: "always sleep the same time",
    scope: Scope::PerLane,
    follows_device: false,
    interrupts: false,
    params: &[Param {
        name: "sleep",
        summary: "how long",
        kind: Kind::Duration,
        default: None,
        min: 1.0,
        max: MAX_SLEEP.0 as f64,
    }],
    example: "fixed:20us",
    build,
    form: |spec| Form::Fixed(Nanos(spec.nanos("sleep"))),
};

fn build(spec: &PolicySpec, lanes: usize) -> Vec<Box<dyn Lane>> {
    let sleep = Nanos(spec.nanos("sleep"));
    let lane = |_| -> Box<dyn Lane> { Box::new(FixedSleep(sleep)) };
    (0..lanes).map(lane).collect()
}

struct FixedSleep(Nanos);

impl Lane for FixedSleep {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        (Decision::Sleep(self.0), Token::default())
    }

    fn complete(&mut self, _: Io, _: Token, _: Outcome, _: Nanos) {}
}
