//! Run time of computing tasks by policy, a plot for each set-up.

use crate::place;
use crate::plot::{Axis, Plot, Series, Values, View, Whiskers};
use q2c_result::place::{PlaceSimResult, PolicyFigures, Setup};

/// The plots of all set-ups.
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

fn names(setup: &Setup) -> Values {
    let policies = setup.policies.iter();
    policies.map(|of| place::policy(of.policy)).collect()
}

fn times(setup: &Setup) -> Series {
    let over = |of: fn(&PolicyFigures) -> f64| setup.policies.iter().map(of).collect();
    let whiskers = Whiskers {
        above: over(|of| of.c_slowdown_high - of.c_slowdown),
        below: over(|of| of.c_slowdown - of.c_slowdown_low),
        thin: false,
    };
    let times = setup.policies.iter().map(|of| of.c_slowdown);
    Series::bars("run time of C", names(setup), times.collect())
        .y_whiskers(whiskers)
        .colour("@chosen")
        .hover("{y:.3f} times alone")
}

fn states(setup: &Setup) -> [Series; 4] {
    let state = |name: &str, colour: &'static str, of: fn(&PolicyFigures) -> f64| {
        let shares = setup.policies.iter().map(|policy| of(policy) * 100.0);
        Series::stacked_bars(name, names(setup), shares.collect())
            .colour(colour)
            .hover("{y:.1f} %")
    };
    [
        state("colocate", "@chosen", |of| of.states.colocate),
        state("spread", "@a", |of| of.states.spread),
        state("bunch", "@poll", |of| of.states.bunch),
        state("heap", "@d", |of| of.states.heap),
    ]
}
