//! The settings of a job, and devices that are made for the run.

use super::filled;
use crate::jobs::AxisValues;
use q2c_bench::interface::Interface;
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, parse_size};
use q2c_policy::Method;
use q2c_result::fs::FileSystem;
use std::fmt;
use std::str::FromStr;

/// The name of the device that the user names.
pub(crate) const TARGET: &str = "target";
/// The engine that does nothing, which needs no device.
const NO_IO: &str = "null";

/// The settings of a job as the file has them: `{axis}` stands for the axis' value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsText {
    pub device: String,
    /// The engine; `None` takes the device's own, or io_uring.
    pub engine: Option<String>,
    /// The methods, of which the first one that exists here is used.
    pub methods: Vec<String>,
    pub pattern: String,
    pub bs: String,
    pub depth: String,
    pub threads: String,
    /// CPUs that the threads share; `None` for one each.
    pub cpus: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JobSettings {
    pub device: String,
    pub engine: Option<Interface>,
    pub methods: Vec<Method>,
    pub pattern: Pattern,
    pub bs: Bytes,
    pub depth: u16,
    pub threads: u32,
    pub cpus: u32,
}

/// Most threads of a job, and most requests in flight of each.
const MOST: u32 = 1024;

impl SettingsText {
    pub(crate) fn settings_at(&self, point: &AxisValues) -> Result<JobSettings, String> {
        let fill = |text: &String| filled(text, point);
        let number = |what: &str, text: &String| {
            let text = fill(text);
            let number: Option<u32> = text.parse().ok();
            number.filter(|n| (1..=MOST).contains(n)).ok_or_else(|| {
                format!("{what} is `{text}`; write a whole number from 1 to {MOST}, or an axis in braces such as \"{{jobs}}\"")
            })
        };
        let threads = number("threads", &self.threads)?;
        let cpus = self.cpus.as_ref().map(|cpus| number("cpus", cpus));
        let engine = self.engine.as_ref().map(|text| fill(text).parse());
        let method = |text| fill(text).parse::<Method>().map_err(|e| e.to_string());
        let pattern = fill(&self.pattern).parse::<Pattern>();
        Ok(JobSettings {
            device: fill(&self.device),
            engine: engine.transpose()?,
            methods: self.methods.iter().map(method).collect::<Result<_, _>>()?,
            pattern: pattern.map_err(|e| e.to_string())?,
            bs: parse_size(&fill(&self.bs)).map_err(|e| e.to_string())?,
            depth: number("depth", &self.depth)? as u16,
            threads,
            cpus: cpus.transpose()?.unwrap_or(threads).min(threads),
        })
    }

    pub(crate) fn on_target(&self) -> bool {
        let no_io = self.engine.as_deref() == Some(NO_IO);
        self.device == TARGET && !no_io
    }
}

impl fmt::Display for SettingsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.engine.as_deref().unwrap_or("engine of the device");
        let plural = if self.threads == "1" { "" } else { "s" };
        write!(
            f,
            "{} thread{plural}, {} {} depth {}, {engine} {} on {}",
            self.threads,
            self.pattern,
            self.bs,
            self.depth,
            self.methods.join(" or "),
            self.device
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DeviceAsked {
    Simulated(EngineSpec),
    /// A loop device over a file without a name, of this size.
    Loop(Bytes),
    /// A file of this size on a file system that is made for it, which all threads share.
    FileOn(FileSystem, Bytes),
    RamdiskMq(RamDeviceSpec),
    /// The module `null_blk`, memory-backed.
    NullBlk(RamDeviceSpec),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RamDeviceSpec {
    pub size: Bytes,
    /// Hardware queues; `None` for as many as there are CPUs.
    pub queues: Option<u32>,
    pub depth: u32,
    /// Whether it takes bios, past the block layer's requests.
    pub bio: bool,
}

impl FromStr for DeviceAsked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let size = |example: &str| {
            parse_size(rest).map_err(|e| format!("{e}; write for example {kind}:{example}"))
        };
        match kind {
            "sim" => {
                let engine = text.parse::<EngineSpec>().map_err(|e| e.to_string())?;
                Ok(DeviceAsked::Simulated(engine))
            }
            "loop" => size("1g").map(DeviceAsked::Loop),
            fs if fs.parse::<FileSystem>().is_ok() => {
                let size = size("256m")?;
                Ok(DeviceAsked::FileOn(fs.parse()?, size))
            }
            "ramdisk_mq" => Ok(DeviceAsked::RamdiskMq(ram(rest)?)),
            "null_blk" => Ok(DeviceAsked::NullBlk(ram(rest)?)),
            _ => Err(format!(
                "there is no kind of device `{kind}`; write sim:50us,servers=4, loop:1g, ext4:256m, ramdisk_mq:size=1g,queues=8 or null_blk:size=1g,queues=8"
            )),
        }
    }
}

fn ram(text: &str) -> Result<RamDeviceSpec, String> {
    let mut device = RamDeviceSpec {
        size: Bytes(1 << 30),
        queues: None,
        depth: 64,
        bio: false,
    };
    for option in text.split(',').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let number = || {
            let number = value.parse().ok().filter(|n| (1..=65_536).contains(n));
            number
                .ok_or_else(|| format!("{key} is `{value}`; write a whole number from 1 to 65536"))
        };
        match key {
            "size" => device.size = parse_size(value).map_err(|e| e.to_string())?,
            "queues" => device.queues = Some(number()?),
            "depth" => device.depth = number()?,
            "bio" if value.is_empty() => device.bio = true,
            _ => {
                return Err(format!(
                    "`{option}` is no option of the device; write size=1g, queues=8, depth=64 or bio"
                ));
            }
        }
    }
    Ok(device)
}
