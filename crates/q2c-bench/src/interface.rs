//! The values of the axis of interfaces: engines, and SPDK's own program.

use q2c_engine::EngineSpec;
use q2c_engine::engines::ENGINES;
use std::fmt;
use std::str::FromStr;

/// The interface that carries a point's I/O.
#[derive(Clone, Debug, PartialEq)]
pub enum Interface {
    /// An engine, which q2c's own loop drives.
    Engine(EngineSpec),
    /// `spdk_nvme_perf`, an external program that submits and measures by itself.
    Spdk,
}

const SPDK: &str = "spdk";

impl Interface {
    /// True if the text begins with an interface's name. A comma separates two interfaces only
    /// before such a text.
    pub(crate) fn begins(text: &str) -> bool {
        let name = text.split(':').next().unwrap_or(text);
        name == SPDK || ENGINES.iter().any(|kind| kind.name == name)
    }

    /// The engine; `None` for SPDK's program.
    pub fn engine(&self) -> Option<&EngineSpec> {
        match self {
            Interface::Engine(engine) => Some(engine),
            Interface::Spdk => None,
        }
    }

    /// True if the interface sends NVMe commands through the kernel's driver, past the block layer.
    pub fn sends_commands(&self) -> bool {
        let engine = self.engine();
        engine.is_some_and(EngineSpec::needs_character_device)
    }

    /// True if a kernel thread works for each job (SQPOLL).
    pub(crate) fn has_helper(&self) -> bool {
        self.engine().is_some_and(EngineSpec::has_helper)
    }
}

impl FromStr for Interface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == SPDK => Ok(Interface::Spdk),
            Some((SPDK, options)) => Err(format!(
                "understand engine `{text}`: spdk takes no options, found `{options}`; its controller is the target"
            )),
            _ => {
                let engine = text.parse().map(Interface::Engine);
                engine.map_err(|error| format!("{error}, {SPDK}"))
            }
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interface::Engine(engine) => engine.fmt(f),
            Interface::Spdk => f.write_str(SPDK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_others_are_refused() {
        for text in ["io_uring:iopoll", "io_uring_cmd", "spdk"] {
            assert_eq!(text.parse::<Interface>().unwrap().to_string(), text);
            assert!(Interface::begins(text));
        }
        assert!(!Interface::begins("cpu=1"));
        let options = "spdk:0000:04:00.0".parse::<Interface>().unwrap_err();
        assert!(options.contains("no options"), "{options}");
        let unknown = "spdq".parse::<Interface>().unwrap_err();
        assert!(unknown.ends_with("fault, spdk"), "{unknown}");
    }

    #[test]
    fn commands_are_told_from_other_engines() {
        let sends = |text: &str| text.parse::<Interface>().unwrap().sends_commands();
        assert!(sends("io_uring_cmd:iopoll") && sends("fault:eio@5:io_uring_cmd"));
        assert!(!sends("io_uring") && !sends("spdk"));
    }
}
