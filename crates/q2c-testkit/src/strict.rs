//! JSON as strict readers take it: no key twice in an object, and nothing after the document.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Reads a JSON document. `serde_json` alone accepts equal keys and keeps the last.
#[track_caller]
pub fn strict_json(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Strict(value)) => value,
        Err(error) => panic!("{error} in {text}"),
    }
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(AnyValue).map(Strict)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(value)) = elements.next_element()? {
            items.push(value);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if fields.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format!("the key {key:?} twice")));
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_is_written() {
        let text = r#"{"a": [1, -2, 0.5, "x", null, true, {}], "b": {"a": 1}}"#;
        let plain: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(strict_json(text), plain);
    }

    #[test]
    #[should_panic(expected = "the key \"a\" twice")]
    fn a_key_twice_is_refused() {
        let _ = strict_json(r#"{"b": [{"a": 1, "a": 1}]}"#);
    }
}
