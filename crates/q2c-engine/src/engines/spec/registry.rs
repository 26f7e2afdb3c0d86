use super::{EngineSpec, parse, sim};
use std::str::FromStr;
use thiserror::Error;

/// One entry of the registry.
pub struct EngineKind {
    /// Name on the command line.
    pub name: &'static str,
    /// The engine and its options, in one line.
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
        help: "a device of known truth: sim:50us, sim:exp(80us), sim:lognormal(50us,0.3), sim:trace=FILE, with ,servers=N",
        parse: sim::parse,
    },
    EngineKind {
        name: "fault",
        help: "spoils the Nth request of another engine: fault:eio@N:ENGINE, short@N, late=1ms@N",
        parse: parse::fault,
    },
];

/// A text that names no engine.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("understand engine `{text}`: {problem}; engines are {known}", known = known())]
pub struct ParseEngineError {
    /// The text that was given.
    pub text: String,
    /// The reason in words.
    pub problem: String,
}

fn known() -> String {
    let names: Vec<&str> = ENGINES.iter().map(|kind| kind.name).collect();
    names.join(", ")
}

/// The engine that a text begins with (`None` when there is none of this name), and the text of its
/// options.
fn kind(text: &str) -> (Option<&'static EngineKind>, &str) {
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    (ENGINES.iter().find(|kind| kind.name == name), options)
}

impl FromStr for EngineSpec {
    type Err = ParseEngineError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |problem| ParseEngineError {
            text: text.to_owned(),
            problem,
        };
        let (kind, options) = kind(text);
        let name = text.split(':').next().unwrap_or(text);
        let kind = kind.ok_or_else(|| wrong(format!("there is no `{name}`")))?;
        (kind.parse)(options).map_err(wrong)
    }
}

impl EngineSpec {
    /// Parses several engines from one text, separated by commas. As options are separated by
    /// commas too, a part that begins with no engine's name belongs to the engine before it.
    #[cfg(test)]
    pub(crate) fn parse_list(text: &str) -> Result<Vec<EngineSpec>, ParseEngineError> {
        let mut texts: Vec<String> = Vec::new();
        for part in text.split(',') {
            match texts.last_mut().filter(|_| kind(part).0.is_none()) {
                None => texts.push(part.to_owned()),
                Some(open) => {
                    open.push(',');
                    open.push_str(part);
                }
            }
        }
        texts.iter().map(|text| text.parse()).collect()
    }
}
