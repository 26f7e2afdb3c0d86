//! The text that names an engine.

use super::super::fault::FaultKind;
use super::super::sim::{Service, SimSpec};
use super::EngineSpec;
use q2c_sys::aio::ReapFrom;
use q2c_sys::{RingOptions, TaskRun, VectoredFlags};
use std::fmt::{self, Display, Formatter};

impl Display for EngineSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            EngineSpec::IoUring(options) => named(f, "io_uring", &ring(options)),
            EngineSpec::IoUringCmd { iopoll } => {
                named(f, "io_uring_cmd", &switches(&[(*iopoll, "iopoll")]))
            }
            EngineSpec::Libaio(reap) => {
                let kernel = *reap == ReapFrom::Kernel;
                named(f, "libaio", &switches(&[(kernel, "reap=kernel")]))
            }
            EngineSpec::Pvsync2(flags) => named(f, "pvsync2", &call(*flags)),
            EngineSpec::Null => f.write_str("null"),
            EngineSpec::Sim(spec) => sim(f, spec),
            EngineSpec::Fault { kind, nth, inner } => match kind {
                FaultKind::Eio => write!(f, "fault:eio@{nth}:{inner}"),
                FaultKind::Short => write!(f, "fault:short@{nth}:{inner}"),
                FaultKind::Late(by) => write!(f, "fault:late={}ns@{nth}:{inner}", by.0),
            },
        }
    }
}

fn named(f: &mut Formatter<'_>, name: &str, options: &[String]) -> fmt::Result {
    f.write_str(name)?;
    match options {
        [] => Ok(()),
        some => write!(f, ":{}", some.join(",")),
    }
}

/// The names of the options that are on.
fn switches(all: &[(bool, &str)]) -> Vec<String> {
    let on = all.iter().filter(|(on, _)| *on);
    on.map(|(_, name)| (*name).to_owned()).collect()
}

fn ring(options: &RingOptions) -> Vec<String> {
    let mut words = switches(&[
        (options.iopoll, "iopoll"),
        (options.hybrid, "hybrid"),
        (options.sqpoll.is_some(), "sqpoll"),
    ]);
    let cpu = options.sqpoll.and_then(|sqpoll| sqpoll.cpu);
    words.extend(cpu.map(|cpu| format!("cpu={cpu}")));
    let taskrun = options.taskrun.map(|taskrun| match taskrun {
        TaskRun::Deferred => "taskrun=defer",
        TaskRun::Cooperative => "taskrun=coop",
        TaskRun::Default => "taskrun=none",
    });
    words.extend(taskrun.map(str::to_owned));
    words
}

fn call(flags: VectoredFlags) -> Vec<String> {
    switches(&[
        (flags.hipri, "hipri"),
        (flags.nowait, "nowait"),
        (flags.dsync, "dsync"),
        (flags.sync, "sync"),
        (flags.append, "append"),
    ])
}

fn sim(f: &mut Formatter<'_>, SimSpec { service, servers }: &SimSpec) -> fmt::Result {
    match service {
        Service::Constant(time) => write!(f, "sim:{}ns", time.0)?,
        Service::Lognormal { median, sigma } => write!(f, "sim:lognormal={}ns/{sigma}", median.0)?,
        Service::List(times) => write!(f, "sim:list of {}", times.len())?,
    }
    write!(f, ",servers={servers}")
}
