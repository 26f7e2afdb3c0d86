//! Run time of computing tasks by policy, a plot for each set-up.

use crate::place;
use crate::plot::{Axis, Plot, Series, View, Whiskers};
use q2c_result::place::{PlaceSimResult, PolicyFigures, Setup};

pub(crate) fn plots(result: &PlaceSimResult) -> Vec<Plot> {
    let setups = result.setups.iter().enumerate();
    setups.map(|(n, setup)| plot(n, setup)).collect()
}

fn plot(n: usize, setup: &Setup) -> Plot {
    let view = |label, y| View::new(label, Axis::new(""), Axis::from_zero(y));
    Plot::new(format!("place-{n}"), "By policy", 420)
        .note(format!(
            "{}. Bars: mean over the starts, with 95 % of them; shares of time.",
            place::title(setup)
        ))
        .view(view("run time of C", "times alone").series([times(setup)]))
        .view(view("where P is", "% of time").series(states(setup)))
}

fn by_policy(
    setup: &Setup,
    of: fn(&PolicyFigures) -> f64,
) -> impl Iterator<Item = (&'static str, f64)> {
    let policies = setup.policies.iter();
    policies.map(move |figures| (place::policy(figures.policy), of(figures)))
}

fn times(setup: &Setup) -> Series {
    let reach = setup.policies.iter().map(|of| {
        let slowdown = of.c_slowdown;
        (slowdown - of.c_slowdown_low, of.c_slowdown_high - slowdown)
    });
    Series::bars("run time of C", by_policy(setup, |of| of.c_slowdown))
        .y_whiskers(Whiskers::reaching(reach))
        .colour("@chosen")
        .hover("{y:.3f} times alone")
}

fn states(setup: &Setup) -> [Series; 4] {
    let state = |name: &str, colour: &'static str, of: fn(&PolicyFigures) -> f64| {
        let shares = by_policy(setup, of).map(|(policy, share)| (policy, share * 100.0));
        let bars = Series::stacked_bars(name, shares);
        bars.colour(colour).hover("{y:.1f} %")
    };
    [
        state("colocate", "@chosen", |of| of.states.colocate),
        state("spread", "@a", |of| of.states.spread),
        state("bunch", "@poll", |of| of.states.bunch),
        state("heap", "@d", |of| of.states.heap),
    ]
}
