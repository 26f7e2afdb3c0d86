use super::{EngineSpec, parse, sim};
use q2c_service::SimInterface;
use std::path::Path;
use std::str::FromStr;
use thiserror::Error;

/// One entry of the registry.
pub struct EngineKind {
    /// Name on the command line.
    pub name: &'static str,
    /// One line that names the engine's purpose and its options.
    pub help: &'static str,
    parse: fn(&str) -> Result<EngineSpec, String>,
}

/// Every engine. To add one, write its file, a variant of [`EngineSpec`] and an entry here.
pub const ENGINES: &[EngineKind] = &[
    EngineKind {
        name: "io_uring",
        help: "asynchronous I/O by io_uring; options ring, iopoll, hybrid, sqpoll, cpu=N, taskrun=defer|coop|none",
        parse: parse::io_uring,
    },
    EngineKind {
        name: "libaio",
        help: "asynchronous I/O by kernel AIO; option reap=kernel (poll by io_getevents)",
        parse: parse::libaio,
    },
    EngineKind {
        name: "pvsync2",
        help: "one call per I/O by preadv2 and pwritev2; options hipri, nowait, dsync, sync, append",
        parse: parse::pvsync2,
    },
    EngineKind {
        name: "io_uring_cmd",
        help: "NVMe commands by io_uring to a character device such as /dev/ng0n1; options ring, iopoll",
        parse: parse::io_uring_cmd,
    },
    EngineKind {
        name: "null",
        help: "completes at once: the harness's own cost",
        parse: parse::null,
    },
    EngineKind {
        name: "sim",
        help: "a device of known truth: sim:50us, sim:exp(80us), sim:lognormal(50us,0.3), sim:trace=FILE, with ,servers=N ,queues=N ,nr_requests=N ,interface=NAME",
        parse: sim::parse,
    },
    EngineKind {
        name: "fault",
        help: "spoils the Nth request of another engine: fault:eio@N:ENGINE, short@N, late=1ms@N, swap@N, hang@N, twice@N",
        parse: parse::fault,
    },
];

/// A text that names no engine.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("understand engine `{text}`: {problem}; engines are {known}", known = engine_names())]
pub struct ParseEngineError {
    /// The text that was given.
    pub text: String,
    /// The reason in words.
    pub problem: String,
}

fn engine_names() -> String {
    let names: Vec<&str> = ENGINES.iter().map(|kind| kind.name).collect();
    names.join(", ")
}

/// The engine that a text begins with (`None` if there is none of this name), and the text after
/// its colon.
fn find_kind(text: &str) -> (Option<&'static EngineKind>, &str) {
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    (ENGINES.iter().find(|kind| kind.name == name), options)
}

impl FromStr for EngineSpec {
    type Err = ParseEngineError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem| ParseEngineError {
            text: text.to_owned(),
            problem,
        };
        let (kind, options) = find_kind(text);
        let name = text.split(':').next().unwrap_or(text);
        let kind = kind.ok_or_else(|| error(format!("there is no `{name}`")))?;
        (kind.parse)(options).map_err(error)
    }
}

impl EngineSpec {
    /// The engine that does I/O on `target` (a path, or the text of a simulated device): the engine
    /// `asked` for, else the simulated device that the text names, else io_uring. On a simulated
    /// device the engine is the device behind the interface of that name.
    pub fn for_target(
        asked: Option<&EngineSpec>,
        target: &str,
    ) -> Result<EngineSpec, ParseEngineError> {
        if let Some(engine) = asked {
            let behind = behind_interface(target, &engine.to_string());
            return behind.map_or(Ok(engine.clone()), |text| text.parse());
        }
        match target.parse::<EngineSpec>() {
            Ok(spec) if !spec.needs_file() => Ok(spec),
            // A text such as `sim:50parsecs` is a mistake, unless a file has that name.
            Err(error) if names_an_engine(target) && !Path::new(target).exists() => Err(error),
            _ => Ok(EngineSpec::IO_URING),
        }
    }
}

/// The text of the simulated device `target` behind the interface `name`; `None` if the target is
/// none, or there is no such interface.
pub fn behind_interface(target: &str, name: &str) -> Option<String> {
    let engine: EngineSpec = target.parse().ok()?;
    let is_simulated = engine.simulates().is_some() && !Path::new(target).exists();
    let interface: SimInterface = name.parse().ok().filter(|_| is_simulated)?;
    Some(format!("{target},interface={interface}"))
}

fn names_an_engine(target: &str) -> bool {
    let (kind, options) = find_kind(target);
    kind.is_some() && !options.is_empty()
}
