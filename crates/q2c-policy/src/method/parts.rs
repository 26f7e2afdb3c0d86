//! Serialises a method as two fields of a result, `method` (its name) and `policy` (its rule). Use
//! it as `#[serde(flatten, with = "q2c_policy::method::parts")]`.

use super::Method;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
struct MethodParts<'a> {
    method: Cow<'a, str>,
    policy: Cow<'a, str>,
}

/// Writes both fields.
///
/// # Errors
/// Fails as the serializer does.
pub fn serialize<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    let parts = MethodParts {
        method: method.name().into(),
        policy: method.detail().into(),
    };
    parts.serialize(serializer)
}

/// Reads both fields.
///
/// # Errors
/// Fails if a field is missing, or if the two are no method.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Method, D::Error> {
    let MethodParts { method, policy } = MethodParts::deserialize(deserializer)?;
    let text = if policy.is_empty() {
        method
    } else {
        format!("{method}:{policy}").into()
    };
    text.parse().map_err(de::Error::custom)
}
