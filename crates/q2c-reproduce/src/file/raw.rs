//! The experiment file as it is written: TOML with the place of each value.

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// A value with its place in the file.
pub type At<T> = Spanned<T>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawFile {
    pub schema: At<String>,
    pub name: At<String>,
    pub title: String,
    pub setting: String,
    pub variant_of: Option<RawVariant>,
    pub trials: Option<At<u32>>,
    pub interval: Option<At<String>>,
    #[serde(default)]
    pub capture: bool,
    #[serde(default)]
    pub windows: BTreeMap<String, At<String>>,
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
pub struct RawVariant {
    pub name: At<String>,
    pub reason: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawDevice {
    pub name: At<String>,
    pub make: At<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawAxis {
    pub name: At<String>,
    pub values: At<Vec<Text>>,
    #[serde(default)]
    pub with: BTreeMap<String, At<Vec<Text>>>,
}

/// The settings of a job. In a phase, those that are given take the place of the job's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawSettings {
    pub device: Option<At<String>>,
    pub engine: Option<At<String>>,
    pub method: Option<At<OneOrMore>>,
    pub pattern: Option<At<String>>,
    pub bs: Option<At<String>>,
    pub depth: Option<At<Text>>,
    pub threads: Option<At<Text>>,
    pub cpus: Option<At<Text>>,
    pub rest: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawJob {
    pub name: At<String>,
    pub device: Option<At<String>>,
    pub engine: Option<At<String>>,
    pub method: Option<At<OneOrMore>>,
    pub pattern: Option<At<String>>,
    pub bs: Option<At<String>>,
    pub depth: Option<At<Text>>,
    pub threads: Option<At<Text>>,
    pub cpus: Option<At<Text>>,
    pub rest: Option<bool>,
}

impl RawJob {
    pub fn settings(&self) -> RawSettings {
        let own = self.clone();
        RawSettings {
            device: own.device,
            engine: own.engine,
            method: own.method,
            pattern: own.pattern,
            bs: own.bs,
            depth: own.depth,
            threads: own.threads,
            cpus: own.cpus,
            rest: own.rest,
        }
    }
}

impl RawSettings {
    /// A phase that sets anything ends a rest of `base`, unless it says `rest` itself.
    pub fn over(&self, base: &RawSettings) -> RawSettings {
        let own = self.clone();
        let base = base.clone();
        RawSettings {
            device: own.device.or(base.device),
            engine: own.engine.or(base.engine),
            method: own.method.or(base.method),
            pattern: own.pattern.or(base.pattern),
            bs: own.bs.or(base.bs),
            depth: own.depth.or(base.depth),
            threads: own.threads.or(base.threads),
            cpus: own.cpus.or(base.cpus),
            rest: Some(own.rest.unwrap_or(false)),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPhase {
    pub name: At<String>,
    pub label: Option<String>,
    pub length: At<String>,
    #[serde(default)]
    pub set: BTreeMap<String, At<RawSettings>>,
}

/// A machine and its tasks for the simulator of placements.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPlace {
    pub cores: At<u32>,
    pub threads: At<u32>,
    pub compute: At<u32>,
    pub polling: At<u32>,
    pub work: At<String>,
}

/// A run of `q2c compare` whose result is judged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCompare {
    pub command: String,
    pub traces: Vec<String>,
    pub devices: Vec<String>,
    pub modes: At<Vec<String>>,
}

/// Rules that compete over the library of patterns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawStudy {
    #[serde(default, rename = "group")]
    pub groups: Vec<RawGroup>,
    #[serde(default)]
    pub only: bool,
    #[serde(default)]
    pub among: BTreeMap<String, At<Vec<String>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawGroup {
    pub name: At<String>,
    pub rules: At<OneOrMore>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawNeeds {
    pub cpus: Option<At<u32>>,
    pub threads_per_core: Option<At<u32>>,
    pub numa_nodes: Option<At<u32>>,
    pub kernel: Option<At<String>>,
    pub poll_queues: Option<At<bool>>,
    pub hw_queues: Option<At<u32>>,
    pub module: Option<At<String>>,
    #[serde(default)]
    pub file_systems: Vec<At<String>>,
    pub spdk: Option<At<bool>>,
    pub devices: Option<At<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawClaim {
    pub says: String,
    pub published: Option<String>,
    pub read_as: Option<String>,
    pub expect: At<OneOrMore>,
    pub window: Option<At<String>>,
    pub phase: Option<At<String>>,
    pub job: Option<At<String>>,
    #[serde(default)]
    pub at: BTreeMap<String, At<Text>>,
    #[serde(default)]
    pub needs: RawNeeds,
    pub fitted: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawChart {
    pub title: String,
    pub figure: At<String>,
    pub over: At<String>,
    pub by: Option<At<String>>,
    #[serde(default)]
    pub published: Vec<RawCurve>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCurve {
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
        let mut all = Vec::new();
        while let Some(text) = list.next_element()? {
            all.push(text);
        }
        Ok(OneOrMore(all))
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ManyVisitor)
    }
}
