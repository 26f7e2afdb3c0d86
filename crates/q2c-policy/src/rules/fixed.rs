//! Always sleeps the same time, as Linux does with a positive `io_poll_delay`. It is the baseline
//! that shows the worth of prediction and, with 1 us, the price of sleeping at all.

use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, Token};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "fixed",
    summary: "always sleep the same time",
    scope: Scope::PerLane,
    follows_device: false,
    interrupts: false,
    params: &[Param::new(
        "sleep",
        "how long",
        ParamKind::Duration,
        None,
        1.0..=MAX_SLEEP.0 as f64,
    )],
    example: "fixed:20us",
    form: |spec| Form::Fixed(Nanos(spec.integer("sleep"))),
};

pub(crate) struct FixedSleep(pub(crate) Nanos);

impl Lane for FixedSleep {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        (Decision::Sleep(self.0), Token::default())
    }

    fn complete(&mut self, _: Io, _: Token, _: Outcome, _: Nanos) {}
}
