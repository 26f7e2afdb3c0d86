use super::super::fault::FaultKind;
use super::super::pvsync2::FLAGS;
use super::{EngineSpec, ParseEngineError, RingKind, sim};
use q2c_model::{Nanos, parse_duration};
use q2c_sys::aio::ReapFrom;
use q2c_sys::{RingOptions, SqPoll, TaskRun, VectoredFlags};
use std::fmt::{self, Display, Formatter};

type EngineSpecResult = Result<EngineSpec, String>;

const CLASH: &str = "ring never polls the device, and iopoll always does: leave one of them out";

/// The options between the commas; an empty text has none.
fn options(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(move |_| !text.is_empty())
}

fn unknown_option<T>(option: &str, known: &str) -> Result<T, String> {
    Err(format!("`{option}` is none of its options: {known}"))
}

pub(super) fn io_uring(text: &str) -> EngineSpecResult {
    const KNOWN: &str = "ring, iopoll, hybrid, sqpoll, cpu=N, taskrun=defer|coop|none";
    if options(text).next().is_none() {
        return Ok(EngineSpec::ByDevice(RingKind::File));
    }
    let (mut ring, mut cpu, mut never_iopoll) = (RingOptions::default(), None, false);
    for option in options(text) {
        match option.split_once('=') {
            None if option == "ring" => never_iopoll = true,
            None if option == "iopoll" => ring.iopoll = true,
            None if option == "hybrid" => ring.hybrid = true,
            None if option == "sqpoll" => ring.sqpoll = Some(SqPoll::default()),
            Some(("cpu", n)) => cpu = Some(n.parse().map_err(|_| "cpu=N wants a CPU's number")?),
            Some(("taskrun", "defer")) => ring.taskrun = Some(TaskRun::Deferred),
            Some(("taskrun", "coop")) => ring.taskrun = Some(TaskRun::Cooperative),
            Some(("taskrun", "none")) => ring.taskrun = Some(TaskRun::Default),
            _ => return unknown_option(option, KNOWN),
        }
    }
    if never_iopoll && ring.iopoll {
        return Err(CLASH.to_owned());
    }
    match (&mut ring.sqpoll, cpu) {
        (None, Some(_)) => return Err("cpu=N is the SQPOLL thread's: add sqpoll".to_owned()),
        (Some(sqpoll), cpu) => sqpoll.cpu = cpu,
        (None, None) => {}
    }
    if ring.hybrid && !ring.iopoll {
        return Err("hybrid is a way of polling: add iopoll".to_owned());
    }
    if ring.sqpoll.is_some() && ring.taskrun.is_some() {
        return Err("sqpoll runs completions in its own thread: leave taskrun out".to_owned());
    }
    Ok(EngineSpec::IoUring(ring))
}

pub(super) fn io_uring_cmd(text: &str) -> EngineSpecResult {
    let mut path = None;
    for option in options(text) {
        let iopoll = match option {
            "ring" => false,
            "iopoll" => true,
            _ => return unknown_option(option, "ring, iopoll"),
        };
        if path.replace(iopoll) == Some(!iopoll) {
            return Err(CLASH.to_owned());
        }
    }
    let by_device = EngineSpec::ByDevice(RingKind::Commands);
    Ok(path.map_or(by_device, |iopoll| EngineSpec::IoUringCmd { iopoll }))
}

pub(super) fn libaio(text: &str) -> EngineSpecResult {
    let mut reap = ReapFrom::Ring;
    for option in options(text) {
        reap = match option {
            "reap=ring" => ReapFrom::Ring,
            "reap=kernel" => ReapFrom::Kernel,
            _ => return unknown_option(option, "reap=ring, reap=kernel"),
        };
    }
    Ok(EngineSpec::Libaio(reap))
}

pub(super) fn pvsync2(text: &str) -> EngineSpecResult {
    let mut flags = VectoredFlags::default();
    for option in options(text) {
        let Some((.., flag)) = FLAGS.iter().find(|(name, ..)| *name == option) else {
            return unknown_option(option, &FLAGS.map(|(name, ..)| name).join(", "));
        };
        *flag(&mut flags) = true;
    }
    Ok(EngineSpec::Pvsync2(flags))
}

pub(super) fn null(text: &str) -> EngineSpecResult {
    match text {
        "" => Ok(EngineSpec::Null),
        _ => Err(format!("it takes no arguments, found `{text}`")),
    }
}

pub(super) fn duration(text: &str) -> Result<Nanos, String> {
    parse_duration(text).map_err(|e| e.to_string())
}

pub(super) fn fault(args: &str) -> EngineSpecResult {
    const SHAPE: &str =
        "expected KIND@N:ENGINE with KIND eio, short, late=DURATION, swap, hang or twice";
    let (fault, inner) = args.split_once(':').ok_or(SHAPE)?;
    let (kind, nth) = fault.split_once('@').ok_or(SHAPE)?;
    let nth = nth.parse().ok().filter(|&n| n > 0);
    let nth = nth.ok_or("N counts from 1")?;
    let kind = match kind.split_once('=') {
        None if kind == "eio" => FaultKind::Eio,
        None if kind == "short" => FaultKind::Short,
        None if kind == "swap" => FaultKind::Swap,
        None if kind == "hang" => FaultKind::Hang,
        None if kind == "twice" => FaultKind::Twice,
        Some(("late", delay)) => FaultKind::Late(duration(delay)?),
        _ => return Err(SHAPE.to_owned()),
    };
    let inner = inner.parse().map_err(|e: ParseEngineError| e.to_string())?;
    Ok(EngineSpec::Fault {
        kind,
        nth,
        inner: Box::new(inner),
    })
}

impl Display for EngineSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            EngineSpec::ByDevice(RingKind::File) => f.write_str("io_uring"),
            EngineSpec::ByDevice(RingKind::Commands) => f.write_str("io_uring_cmd"),
            EngineSpec::IoUring(options) => write_engine(f, "io_uring", &ring_names(options)),
            EngineSpec::IoUringCmd { iopoll } => {
                let path = [(*iopoll, "iopoll"), (!*iopoll, "ring")];
                write_engine(f, "io_uring_cmd", &enabled_names(&path))
            }
            EngineSpec::Libaio(reap) => {
                let by_kernel = *reap == ReapFrom::Kernel;
                write_engine(f, "libaio", &enabled_names(&[(by_kernel, "reap=kernel")]))
            }
            EngineSpec::Pvsync2(flags) => write_engine(f, "pvsync2", &call_names(*flags)),
            EngineSpec::Null => f.write_str("null"),
            EngineSpec::Sim(spec) => sim::write(f, spec),
            EngineSpec::Fault { kind, nth, inner } => match kind {
                FaultKind::Eio => write!(f, "fault:eio@{nth}:{inner}"),
                FaultKind::Short => write!(f, "fault:short@{nth}:{inner}"),
                FaultKind::Swap => write!(f, "fault:swap@{nth}:{inner}"),
                FaultKind::Hang => write!(f, "fault:hang@{nth}:{inner}"),
                FaultKind::Twice => write!(f, "fault:twice@{nth}:{inner}"),
                FaultKind::Late(by) => write!(f, "fault:late={}ns@{nth}:{inner}", by.0),
            },
        }
    }
}

fn write_engine(f: &mut Formatter<'_>, name: &str, options: &[String]) -> fmt::Result {
    f.write_str(name)?;
    match options {
        [] => Ok(()),
        options => write!(f, ":{}", options.join(",")),
    }
}

fn enabled_names(options: &[(bool, &str)]) -> Vec<String> {
    let enabled = options.iter().filter(|(is_enabled, _)| *is_enabled);
    enabled.map(|(_, name)| (*name).to_owned()).collect()
}

fn ring_names(options: &RingOptions) -> Vec<String> {
    let has_options = *options != RingOptions::default();
    let mut flags = enabled_names(&[
        (!has_options, "ring"),
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

fn call_names(mut flags: VectoredFlags) -> Vec<String> {
    let options = FLAGS.map(|(name, _, flag)| (*flag(&mut flags), name));
    enabled_names(&options)
}

q2c_model::serde_as_text!(EngineSpec);
