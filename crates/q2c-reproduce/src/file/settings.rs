//! The settings of a job, and the devices to create for a run.

use super::fill;
use super::raw::{OneOrMore, Text};
use crate::jobs::AxisValues;
use q2c_bench::interface::Interface;
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, parse_size};
use q2c_policy::Method;
use q2c_result::fs::FileSystem;
use serde::Deserialize;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;

/// The name in experiment files for the device that the user chooses.
pub(crate) const TARGET: &str = "target";
/// The setting of `cpus` with which the scheduler places a job's threads.
const UNPINNED: &str = "any";
/// The engine that does no I/O and needs no device.
const NO_IO: &str = "null";

/// The settings of a job as written in the file, in which `{axis}` stands for the axis' value. A
/// phase may override the job's own settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettingsText {
    /// The job's name; `None` in a phase.
    pub name: Option<Spanned<String>>,
    pub device: Option<Spanned<String>>,
    /// The engine; `None` means the device's own, else io_uring.
    pub engine: Option<Spanned<String>>,
    /// The methods, of which the first one available here is used.
    pub method: Option<Spanned<OneOrMore>>,
    pub pattern: Option<Spanned<String>>,
    pub bs: Option<Spanned<String>>,
    pub depth: Option<Spanned<Text>>,
    pub threads: Option<Spanned<Text>>,
    /// Number of CPUs that the threads share, or `any` to leave them unpinned; `None` gives each
    /// thread a CPU of its own.
    pub cpus: Option<Spanned<Text>>,
    pub rest: Option<bool>,
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
    /// CPUs that the threads share, one for each thread at most; `None` leaves them unpinned.
    pub cpus: Option<u32>,
}

/// A mistake in a setting, and the setting's place in the file if it is written there.
#[derive(Debug)]
pub(crate) struct SettingFault {
    pub span: Option<Range<usize>>,
    pub message: String,
}

impl From<SettingFault> for String {
    fn from(fault: SettingFault) -> String {
        fault.message
    }
}

/// Most threads of a job, and most requests in flight of each.
const MAX_COUNT: u32 = 1024;

const DEFAULT_METHOD: &str = "interrupt";
const DEFAULT_PATTERN: &str = "randread";
const DEFAULT_BS: &str = "4k";

fn text_or<'a, T: AsRef<str>>(setting: &'a Option<Spanned<T>>, default: &'a str) -> &'a str {
    let text = setting.as_ref().map(|text| text.get_ref().as_ref());
    text.unwrap_or(default)
}

pub(super) fn fault<T>(setting: &Option<Spanned<T>>, message: &dyn ToString) -> SettingFault {
    SettingFault {
        span: setting.as_ref().map(Spanned::span),
        message: message.to_string(),
    }
}

impl SettingsText {
    /// Overrides `base`. A phase that sets anything lets a resting job work, unless it sets `rest`.
    pub(super) fn merge(self, base: SettingsText) -> SettingsText {
        SettingsText {
            name: base.name,
            device: self.device.or(base.device),
            engine: self.engine.or(base.engine),
            method: self.method.or(base.method),
            pattern: self.pattern.or(base.pattern),
            bs: self.bs.or(base.bs),
            depth: self.depth.or(base.depth),
            threads: self.threads.or(base.threads),
            cpus: self.cpus.or(base.cpus),
            rest: Some(self.rest.unwrap_or(false)),
        }
    }

    pub(crate) fn settings_at(&self, point: &AxisValues) -> Result<JobSettings, SettingFault> {
        let count = |name: &str, setting: &Option<Spanned<Text>>, default: &str| {
            let text = fill(text_or(setting, default), point);
            let number = text.parse().ok().filter(|n| (1..=MAX_COUNT).contains(n));
            number.ok_or_else(|| fault(setting, &format!(
                "{name} is `{text}`; write a whole number from 1 to {MAX_COUNT}, or an axis in braces such as \"{{jobs}}\""
            )))
        };
        let threads = count("threads", &self.threads, "1")?;
        let engine = self.engine.as_ref();
        let engine = engine.map(|text| fill(text.get_ref(), point).parse());
        let method = |text: &str| fill(text, point).parse::<Method>();
        let methods: Result<_, _> = self.methods().into_iter().map(method).collect();
        let pattern = fill(text_or(&self.pattern, DEFAULT_PATTERN), point).parse::<Pattern>();
        let bs = parse_size(&fill(text_or(&self.bs, DEFAULT_BS), point));
        Ok(JobSettings {
            device: fill(self.device(), point),
            engine: engine.transpose().map_err(|e| fault(&self.engine, &e))?,
            methods: methods.map_err(|e| fault(&self.method, &e))?,
            pattern: pattern.map_err(|e| fault(&self.pattern, &e))?,
            bs: bs.map_err(|e| fault(&self.bs, &e))?,
            depth: count("depth", &self.depth, "1")? as u16,
            threads,
            cpus: match self.cpus {
                Some(_) if fill(text_or(&self.cpus, ""), point) == UNPINNED => None,
                Some(_) => Some(count("cpus", &self.cpus, "1")?.min(threads)),
                None => Some(threads),
            },
        })
    }

    fn device(&self) -> &str {
        text_or(&self.device, TARGET)
    }

    fn methods(&self) -> Vec<&str> {
        let given = self.method.as_ref().map(|method| &method.get_ref().0);
        given.map_or(vec![DEFAULT_METHOD], |texts| {
            texts.iter().map(String::as_str).collect()
        })
    }

    pub(crate) fn uses_target(&self) -> bool {
        self.device() == TARGET && text_or(&self.engine, "") != NO_IO
    }
}

impl fmt::Display for SettingsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = text_or(&self.threads, "1");
        let plural = if threads == "1" { "" } else { "s" };
        let pattern = text_or(&self.pattern, DEFAULT_PATTERN);
        let (bs, depth) = (text_or(&self.bs, DEFAULT_BS), text_or(&self.depth, "1"));
        let engine = text_or(&self.engine, "engine of the device");
        let (methods, device) = (self.methods().join(" or "), self.device());
        write!(
            f,
            "{threads} thread{plural}, {pattern} {bs} depth {depth}, {engine} {methods} on {device}"
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DeviceSpec {
    Simulated(EngineSpec),
    /// A loop device of this size over an unnamed file.
    Loop(Bytes),
    /// A file of this size on a file system created for it; all threads share it.
    FileOn(FileSystem, Bytes),
    RamdiskMq(RamDeviceSpec),
    NullBlk(RamDeviceSpec),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RamDeviceSpec {
    pub size: Bytes,
    /// Number of hardware queues; `None` means one per CPU.
    pub queues: Option<u32>,
    pub depth: u32,
    /// Logical block; `None` means that of the module, 512 B.
    pub bs: Option<Bytes>,
    /// True if the device takes bios, without requests of the block layer.
    pub bio: bool,
    /// False if the device drops what is written and reads nothing; only `null_blk` can.
    pub memory_backed: bool,
}

impl FromStr for DeviceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, options) = text.split_once(':').unwrap_or((text, ""));
        let size = |example: &str| {
            parse_size(options).map_err(|e| format!("{e}; write for example {kind}:{example}"))
        };
        match kind {
            "sim" => {
                let engine = text.parse::<EngineSpec>().map_err(|e| e.to_string())?;
                Ok(DeviceSpec::Simulated(engine))
            }
            "loop" => size("1g").map(DeviceSpec::Loop),
            fs if fs.parse::<FileSystem>().is_ok() => {
                let size = size("256m")?;
                Ok(DeviceSpec::FileOn(fs.parse()?, size))
            }
            "ramdisk_mq" => match ram_device(options)? {
                ram if ram.memory_backed => Ok(DeviceSpec::RamdiskMq(ram)),
                _ => Err(format!(
                    "`{text}`: ramdisk_mq has its memory always; write null_blk for a device without"
                )),
            },
            "null_blk" => Ok(DeviceSpec::NullBlk(ram_device(options)?)),
            _ => Err(format!(
                "there is no kind of device `{kind}`; write sim:50us,servers=4, loop:1g, ext4:256m, ramdisk_mq:size=1g,queues=8 or null_blk:size=1g,queues=8"
            )),
        }
    }
}

fn ram_device(text: &str) -> Result<RamDeviceSpec, String> {
    let mut device = RamDeviceSpec {
        size: Bytes(1 << 30),
        queues: None,
        depth: 64,
        bs: None,
        bio: false,
        memory_backed: true,
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
            "bs" => device.bs = Some(parse_size(value).map_err(|e| e.to_string())?),
            "bio" if value.is_empty() => device.bio = true,
            "memory_backed" if ["0", "1"].contains(&value) => device.memory_backed = value == "1",
            _ => {
                return Err(format!(
                    "`{option}` is no option of the device; write size=1g, queues=8, depth=64, bs=4k, bio or memory_backed=0"
                ));
            }
        }
    }
    Ok(device)
}
