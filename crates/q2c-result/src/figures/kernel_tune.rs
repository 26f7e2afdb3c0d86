//! The figures of `q2c poll tune-kernel`: each method.

use super::Better::{Less, More, Neither};
use super::Columns;
use super::FigureUnit::{
    Nanoseconds as Ns, Number, PerSecond, Percent, Share, ThousandPerSecond as Thousands,
};
use crate::kernel_tune::{KernelMethod, KernelTuneResult};

measures!(KernelTuneResult, with_predictions(measured()), |result| {
    &result.methods
});

fn measured<'a>() -> Columns<&'a KernelMethod> {
    Columns::new(|of: &&KernelMethod| Some(of.method.to_string()))
        .key("method", |of| of.method.name().to_owned())
        .key("policy", |of| of.method.detail())
        .key("role", |of| of.role.text().to_owned())
        .figure("iops", PerSecond, More, |of| of.measured.rates.iops)
        .figure("kiops_per_core", Thousands, More, |of| {
            of.measured.kiops_per_core
        })
        .figure("cpu", Percent, Less, |of| of.measured.rates.cpu_pct)
        .figure("miss_rate", Share, Less, |of| of.measured.rates.miss_rate)
        .figure("effective_sleep", Ns, Neither, |of| {
            of.measured.rates.effective_sleep_ns
        })
        .figure("d2c_p99", Ns, Less, |of| of.measured.d2c_p99_ns)
        .aside()
        .figure("relative_iops", Number, More, |of| of.relative.iops)
        .figure("relative_kiops_per_core", Number, More, |of| {
            of.relative.kiops_per_core
        })
}

fn with_predictions(columns: Columns<&KernelMethod>) -> Columns<&KernelMethod> {
    columns
        .number("predicted_iops", PerSecond, More, |of| {
            of.predicted.rates.iops
        })
        .number("predicted_kiops_per_core", Thousands, More, |of| {
            of.predicted.kiops_per_core
        })
        .number("predicted_cpu", Percent, Less, |of| {
            of.predicted.rates.cpu_pct
        })
        .number("predicted_miss_rate", Share, Less, |of| {
            of.predicted.rates.miss_rate
        })
        .number("predicted_effective_sleep", Ns, Neither, |of| {
            of.predicted.rates.effective_sleep_ns
        })
}
