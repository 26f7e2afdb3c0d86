//! The experiment file as it is written: TOML with the place of each value.

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// A value with its place in the file.
pub(crate) type SpannedValue<T> = Spanned<T>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFile {
    pub schema: SpannedValue<String>,
    pub name: SpannedValue<String>,
    pub title: String,
    pub setting: String,
    pub variant_of: Option<RawVariant>,
    pub trials: Option<SpannedValue<u32>>,
    pub interval: Option<SpannedValue<String>>,
    #[serde(default)]
    pub capture: bool,
    #[serde(default)]
    pub windows: BTreeMap<String, SpannedValue<String>>,
    #[serde(default, rename = "device")]
    pub devices: Vec<RawDevice>,
    #[serde(default, rename = "axis")]
    pub axes: Vec<RawAxis>,
    #[serde(default, rename = "job")]
    pub jobs: Vec<RawJob>,
    #[serde(default, rename = "phase")]
    pub phases: Vec<RawPhase>,
    pub place: Option<RawPlace>,
    pub compare: Option<RawCompare>,
    pub study: Option<RawStudy>,
    #[serde(default)]
    pub needs: RawNeeds,
    #[serde(rename = "claim")]
    pub claims: Vec<RawClaim>,
    #[serde(default, rename = "chart")]
    pub charts: Vec<RawChart>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVariant {
    pub name: SpannedValue<String>,
    pub reason: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDevice {
    pub name: SpannedValue<String>,
    pub make: SpannedValue<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawAxis {
    pub name: SpannedValue<String>,
    pub values: SpannedValue<Vec<Text>>,
    #[serde(default)]
    pub with: BTreeMap<String, SpannedValue<Vec<Text>>>,
}

/// The settings of a job. In a phase, those that are given take the place of the job's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSettings {
    pub device: Option<SpannedValue<String>>,
    pub engine: Option<SpannedValue<String>>,
    pub method: Option<SpannedValue<OneOrMore>>,
    pub pattern: Option<SpannedValue<String>>,
    pub bs: Option<SpannedValue<String>>,
    pub depth: Option<SpannedValue<Text>>,
    pub threads: Option<SpannedValue<Text>>,
    pub cpus: Option<SpannedValue<Text>>,
    pub rest: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawJob {
    pub name: SpannedValue<String>,
    pub device: Option<SpannedValue<String>>,
    pub engine: Option<SpannedValue<String>>,
    pub method: Option<SpannedValue<OneOrMore>>,
    pub pattern: Option<SpannedValue<String>>,
    pub bs: Option<SpannedValue<String>>,
    pub depth: Option<SpannedValue<Text>>,
    pub threads: Option<SpannedValue<Text>>,
    pub cpus: Option<SpannedValue<Text>>,
    pub rest: Option<bool>,
}

impl RawJob {
    pub(crate) fn settings(&self) -> RawSettings {
        let job = self.clone();
        RawSettings {
            device: job.device,
            engine: job.engine,
            method: job.method,
            pattern: job.pattern,
            bs: job.bs,
            depth: job.depth,
            threads: job.threads,
            cpus: job.cpus,
            rest: job.rest,
        }
    }
}

impl RawSettings {
    /// A phase that sets anything ends a rest of `base`, unless it says `rest` itself.
    pub(crate) fn over(&self, base: &RawSettings) -> RawSettings {
        let overrides = self.clone();
        let base = base.clone();
        RawSettings {
            device: overrides.device.or(base.device),
            engine: overrides.engine.or(base.engine),
            method: overrides.method.or(base.method),
            pattern: overrides.pattern.or(base.pattern),
            bs: overrides.bs.or(base.bs),
            depth: overrides.depth.or(base.depth),
            threads: overrides.threads.or(base.threads),
            cpus: overrides.cpus.or(base.cpus),
            rest: Some(overrides.rest.unwrap_or(false)),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPhase {
    pub name: SpannedValue<String>,
    pub label: Option<String>,
    pub length: SpannedValue<String>,
    #[serde(default)]
    pub set: BTreeMap<String, SpannedValue<RawSettings>>,
}

/// A machine and its tasks for the simulator of placements.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPlace {
    pub cores: SpannedValue<u32>,
    pub threads: SpannedValue<u32>,
    pub compute: SpannedValue<u32>,
    pub polling: SpannedValue<u32>,
    pub work: SpannedValue<String>,
}

/// A run of `q2c compare` whose result is judged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCompare {
    pub command: String,
    pub traces: Vec<String>,
    pub devices: Vec<String>,
    pub modes: SpannedValue<Vec<String>>,
}

/// Rules that compete over the library of patterns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawStudy {
    #[serde(default, rename = "group")]
    pub groups: Vec<RawGroup>,
    #[serde(default)]
    pub only: bool,
    #[serde(default)]
    pub among: BTreeMap<String, SpannedValue<Vec<String>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawGroup {
    pub name: SpannedValue<String>,
    pub rules: SpannedValue<OneOrMore>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNeeds {
    pub cpus: Option<SpannedValue<u32>>,
    pub threads_per_core: Option<SpannedValue<u32>>,
    pub numa_nodes: Option<SpannedValue<u32>>,
    pub kernel: Option<SpannedValue<String>>,
    pub poll_queues: Option<SpannedValue<bool>>,
    pub hw_queues: Option<SpannedValue<u32>>,
    pub module: Option<SpannedValue<String>>,
    #[serde(default)]
    pub file_systems: Vec<SpannedValue<String>>,
    pub spdk: Option<SpannedValue<bool>>,
    pub devices: Option<SpannedValue<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawClaim {
    pub says: String,
    pub published: Option<String>,
    pub read_as: Option<String>,
    pub expect: SpannedValue<OneOrMore>,
    pub window: Option<SpannedValue<String>>,
    pub phase: Option<SpannedValue<String>>,
    pub job: Option<SpannedValue<String>>,
    #[serde(default)]
    pub at: BTreeMap<String, SpannedValue<Text>>,
    #[serde(default)]
    pub needs: RawNeeds,
    pub fitted: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawChart {
    pub title: String,
    pub figure: SpannedValue<String>,
    pub over: SpannedValue<String>,
    pub by: Option<SpannedValue<String>>,
    #[serde(default)]
    pub published: Vec<RawCurve>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCurve {
    pub name: String,
    pub points: Vec<(Text, f64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Text(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOrMore(pub Vec<String>);

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a text in quotes such as \"{jobs}\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextVisitor)
    }
}

struct ManyVisitor;

impl<'de> Visitor<'de> for ManyVisitor {
    type Value = OneOrMore;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotes, or a list of texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMore, E> {
        Ok(OneOrMore(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element()? {
            texts.push(text);
        }
        Ok(OneOrMore(texts))
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ManyVisitor)
    }
}
