//! Plots over time of one trial of each method of `q2c poll tune-kernel`.

use crate::kernel_tune::name;
use crate::plot::{Plot, PlotAxis, PlotSeries, Quantity, View, with_data};
use q2c_result::kernel_tune::{KernelMethod, KernelTuneResult};
use q2c_result::kernel_watch::KernelInterval;

const COLOURS: [&str; 4] = ["@poll", "@a", "@chosen", "@b"];

const QUANTITIES: [Quantity<KernelInterval, Option<f64>>; 4] = [
    Quantity::new("miss rate", "missed, %", 100.0, |i| i.rates.miss_rate),
    Quantity::new("effective sleep", "effective sleep, us", 1e-3, |i| {
        i.rates.effective_sleep_ns
    }),
    Quantity::new("CPU", "CPU, % of one", 1.0, |i| i.rates.cpu_pct),
    Quantity::new("IOPS", "KIOPS", 1e-3, |i| i.rates.iops),
];

/// The plots of a run; none if no trial has several intervals, because one shows no change.
pub(crate) fn plots(result: &KernelTuneResult) -> Vec<Plot> {
    let views = QUANTITIES.iter();
    let views = views.map(|quantity| view(&result.methods, quantity));
    let plot = Plot::new("kernel-over-time", "Over time, in the kernel", 380)
        .note("The trial with the median IOPS of each method, as the kernel's probe counted it.")
        .views(views.filter(|view| !view.series.is_empty()));
    with_data([plot], "")
}

fn view(methods: &[KernelMethod], quantity: &Quantity<KernelInterval, Option<f64>>) -> View {
    let series = |(method, colour): (&KernelMethod, &&'static str)| {
        let figure = |interval| Some((quantity.of)(interval)? * quantity.scale);
        let points = method.series.iter();
        let points = points.map(|interval| (interval.end_s, figure(interval)));
        let known = points.clone().filter(|(_, figure)| figure.is_some());
        let line = PlotSeries::line(name(&method.method), points).colour(*colour);
        (known.count() > 1).then_some(line)
    };
    let coloured = methods.iter().zip(COLOURS.iter().cycle());
    let view = quantity.view(PlotAxis::over_time("time, s"));
    view.series(coloured.filter_map(series))
}
