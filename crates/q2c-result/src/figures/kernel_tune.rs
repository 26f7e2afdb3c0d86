//! The figures of `q2c poll tune-kernel`: each method.

use super::Better::{Less, More, Neither};
use super::Columns;
use super::FigureUnit::ThousandPerSecond as Thousands;
use super::FigureUnit::{Nanoseconds as Ns, Number, PerSecond, Percent, Share};
use crate::kernel_tune::{KernelMeasured, KernelMethod, KernelTuneResult};
use q2c_model::SimulatedFigures;

type KernelFigureRow<'a> = (&'a KernelMethod, &'a KernelMeasured, &'a SimulatedFigures);

measures!(KernelTuneResult, columns(), |result| {
    result
        .methods
        .iter()
        .map(|of| (of, &of.measured, &of.predicted))
});

fn columns<'a>() -> Columns<KernelFigureRow<'a>> {
    Columns::new(|(of, ..): &KernelFigureRow| Some(of.method.to_string()))
        .key("method", |(of, ..)| of.method.name().to_owned())
        .key("policy", |(of, ..)| of.method.detail())
        .key("role", |(of, ..)| of.role.text().to_owned())
        .figure("iops", PerSecond, More, |(_, m, _)| m.rates.iops)
        .figure("kiops_per_core", Thousands, More, |r| r.1.kiops_per_core)
        .figure("cpu", Percent, Less, |(_, m, _)| m.rates.cpu_pct)
        .figure("miss_rate", Share, Less, |(_, m, _)| m.rates.miss_rate)
        .figure("effective_sleep", Ns, Neither, |r| {
            r.1.rates.effective_sleep_ns
        })
        .figure("d2c_p99", Ns, Less, |(_, m, _)| m.d2c_p99_ns)
        .aside()
        .figure("relative_iops", Number, More, |(of, ..)| of.relative.iops)
        .figure("relative_kiops_per_core", Number, More, |(of, ..)| {
            of.relative.kiops_per_core
        })
        .number("predicted_iops", PerSecond, More, |(.., p)| p.rates.iops)
        .number("predicted_kiops_per_core", Thousands, More, |(.., p)| {
            p.kiops_per_core
        })
        .number("predicted_cpu", Percent, Less, |(.., p)| p.rates.cpu_pct)
        .number("predicted_miss_rate", Share, Less, |(.., p)| {
            p.rates.miss_rate
        })
        .number("predicted_effective_sleep", Ns, Neither, |(.., p)| {
            p.rates.effective_sleep_ns
        })
}
