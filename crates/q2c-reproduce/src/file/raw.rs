//! The TOML of an experiment file, with the place of each value.

use super::{DeviceText, Needs, SettingsText};
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::{fmt, iter};
use toml::Spanned;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFile {
    pub schema: Spanned<String>,
    pub name: Spanned<String>,
    pub title: String,
    pub setting: String,
    /// Read by itself, in `origins`.
    #[serde(rename = "from")]
    _from: Option<IgnoredAny>,
    pub variant_of: Option<RawVariant>,
    pub trials: Option<Spanned<u32>>,
    pub interval: Option<Spanned<String>>,
    #[serde(default)]
    pub capture: bool,
    pub machine: Option<Spanned<String>>,
    #[serde(default)]
    pub windows: BTreeMap<String, Spanned<String>>,
    #[serde(default, rename = "device")]
    pub devices: Vec<DeviceText>,
    #[serde(default, rename = "axis")]
    pub axes: Vec<RawAxis>,
    #[serde(default, rename = "job")]
    pub jobs: Vec<Spanned<SettingsText>>,
    #[serde(default, rename = "phase")]
    pub phases: Vec<RawPhase>,
    pub place: Option<RawPlace>,
    pub compare: Option<RawCompare>,
    pub study: Option<RawStudy>,
    pub mix: Option<RawMix>,
    #[serde(default)]
    pub needs: Needs,
    #[serde(rename = "claim")]
    pub claims: Vec<RawClaim>,
    #[serde(default, rename = "chart")]
    pub charts: Vec<RawChart>,
}

/// An unknown key is refused here, but not in results, which later versions may write.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVariant {
    pub name: String,
    pub reason: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawAxis {
    pub name: Spanned<String>,
    pub values: Spanned<Vec<Text>>,
    #[serde(default)]
    pub with: BTreeMap<String, Spanned<Vec<Text>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPhase {
    pub name: Spanned<String>,
    pub label: Option<String>,
    pub length: Spanned<String>,
    #[serde(default)]
    pub set: BTreeMap<String, Spanned<SettingsText>>,
}

/// A machine and its tasks for the simulator of placements.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawPlace {
    pub cores: Spanned<u32>,
    pub threads: Spanned<u32>,
    pub compute: Spanned<u32>,
    pub polling: Spanned<u32>,
    pub work: Spanned<String>,
    pub background: Option<Spanned<String>>,
    pub threshold: Option<Spanned<u32>>,
}

/// A run of `q2c compare` whose result is judged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCompare {
    pub command: String,
    pub traces: Vec<String>,
    pub devices: Vec<String>,
    pub modes: Spanned<Vec<String>>,
    #[serde(default)]
    pub lengths: Vec<Spanned<String>>,
}

/// The built-in mix of work on a mounted device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawMix {
    pub tasks: Spanned<Text>,
    pub length: Spanned<String>,
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
    pub among: BTreeMap<String, Spanned<Vec<String>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawGroup {
    pub name: Spanned<String>,
    pub rules: Spanned<OneOrMore>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawClaim {
    pub says: String,
    pub published: Option<String>,
    pub read_as: Option<String>,
    pub expect: Spanned<OneOrMore>,
    pub window: Option<Spanned<String>>,
    pub phase: Option<Spanned<String>>,
    pub job: Option<Spanned<String>>,
    #[serde(default)]
    pub at: BTreeMap<String, Spanned<Text>>,
    #[serde(default)]
    pub needs: Needs,
    pub fitted: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawChart {
    pub title: String,
    pub figure: Spanned<String>,
    pub over: Spanned<String>,
    pub by: Option<Spanned<String>>,
    #[serde(default)]
    pub published: Vec<RawCurve>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCurve {
    pub name: String,
    pub points: Vec<(Text, f64)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text(pub String);

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OneOrMore(pub Vec<String>);

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
        let texts: Result<_, _> = iter::from_fn(|| list.next_element().transpose()).collect();
        texts.map(OneOrMore)
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ManyVisitor)
    }
}
