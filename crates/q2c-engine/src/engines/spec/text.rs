use super::super::fault::FaultKind;
use super::{EngineSpec, RingKind, sim};
use q2c_sys::aio::ReapFrom;
use q2c_sys::{RingOptions, TaskRun, VectoredFlags};
use std::fmt::{self, Display, Formatter};

impl Display for EngineSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            EngineSpec::ByDevice(RingKind::File) => f.write_str("io_uring"),
            EngineSpec::ByDevice(RingKind::Commands) => f.write_str("io_uring_cmd"),
            EngineSpec::IoUring(options) => write_engine(f, "io_uring", &ring(options)),
            EngineSpec::IoUringCmd { iopoll } => {
                let path = [(*iopoll, "iopoll"), (!*iopoll, "ring")];
                write_engine(f, "io_uring_cmd", &switches(&path))
            }
            EngineSpec::Libaio(reap) => {
                let kernel = *reap == ReapFrom::Kernel;
                write_engine(f, "libaio", &switches(&[(kernel, "reap=kernel")]))
            }
            EngineSpec::Pvsync2(flags) => write_engine(f, "pvsync2", &call(*flags)),
            EngineSpec::Null => f.write_str("null"),
            EngineSpec::Sim(spec) => sim::write(f, spec),
            EngineSpec::Fault { kind, nth, inner } => match kind {
                FaultKind::Eio => write!(f, "fault:eio@{nth}:{inner}"),
                FaultKind::Short => write!(f, "fault:short@{nth}:{inner}"),
                FaultKind::Late(by) => write!(f, "fault:late={}ns@{nth}:{inner}", by.0),
            },
        }
    }
}

fn write_engine(f: &mut Formatter<'_>, name: &str, options: &[String]) -> fmt::Result {
    f.write_str(name)?;
    match options {
        [] => Ok(()),
        some => write!(f, ":{}", some.join(",")),
    }
}

fn switches(all: &[(bool, &str)]) -> Vec<String> {
    let on = all.iter().filter(|(on, _)| *on);
    on.map(|(_, name)| (*name).to_owned()).collect()
}

fn ring(options: &RingOptions) -> Vec<String> {
    let chosen = *options != RingOptions::default();
    let mut flags = switches(&[
        (!chosen, "ring"),
        (options.iopoll, "iopoll"),
        (options.hybrid, "hybrid"),
        (options.sqpoll.is_some(), "sqpoll"),
    ]);
    let cpu = options.sqpoll.and_then(|sqpoll| sqpoll.cpu);
    flags.extend(cpu.map(|cpu| format!("cpu={cpu}")));
    let taskrun = options.taskrun.map(|taskrun| match taskrun {
        TaskRun::Deferred => "taskrun=defer",
        TaskRun::Cooperative => "taskrun=coop",
        TaskRun::Default => "taskrun=none",
    });
    flags.extend(taskrun.map(str::to_owned));
    flags
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

q2c_model::kept_as_text!(EngineSpec);
