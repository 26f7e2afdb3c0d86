//! Run time of computing tasks by placement policy, with a plot for each set-up.

use crate::place;
use crate::plot::{Plot, PlotAxis, PlotSeries, View, Whiskers};
use q2c_result::place::{PlaceSimResult, PolicyFigures, Setup};

pub(crate) fn plots(result: &PlaceSimResult) -> Vec<Plot> {
    let setups = result.setups.iter().enumerate();
    setups.map(|(n, setup)| plot(n, setup)).collect()
}

fn plot(n: usize, setup: &Setup) -> Plot {
    let view = |label, y| View::new(label, PlotAxis::new(""), PlotAxis::from_zero(y));
    let note = "Bars: mean over the starts, with 95 % of them; shares of time.";
    Plot::new(format!("place-{n}"), "By policy", 420)
        .note(format!("{}. {note}", place::setup_title(setup)))
        .view(view("run time of C", "times alone").series([times(setup)]))
        .view(view("where P is", "% of time").series(states(setup)))
}

fn by_policy(setup: &Setup, get: fn(&PolicyFigures) -> f64) -> impl Iterator<Item = (String, f64)> {
    let policies = setup.policies.iter();
    policies.map(move |figures| (place::policy(figures.policy), get(figures)))
}

fn times(setup: &Setup) -> PlotSeries {
    let slowdowns = by_policy(setup, |policy| policy.c_slowdown);
    let bars = PlotSeries::bars("run time of C", slowdowns).colour("@chosen");
    bars.y_whiskers(Whiskers::from_reach(setup.policies.iter().map(|policy| {
        let (low, high) = (policy.c_slowdown_low, policy.c_slowdown_high);
        (policy.c_slowdown - low, high - policy.c_slowdown)
    })))
    .hover("{y:.3f} times alone")
}

fn states(setup: &Setup) -> [PlotSeries; 4] {
    let state = |name: &str, colour: &'static str, get: fn(&PolicyFigures) -> f64| {
        let shares = by_policy(setup, get).map(|(policy, share)| (policy, share * 100.0));
        let bars = PlotSeries::stacked_bars(name, shares);
        bars.colour(colour).hover("{y:.1f} %")
    };
    [
        state("colocate", "@chosen", |policy| policy.states.colocate),
        state("spread", "@a", |policy| policy.states.spread),
        state("bunch", "@poll", |policy| policy.states.bunch),
        state("heap", "@d", |policy| policy.states.heap),
    ]
}
