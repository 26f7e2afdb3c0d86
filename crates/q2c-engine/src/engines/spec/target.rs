use super::{ENGINES, EngineSpec, ParseEngineError};
use std::path::Path;

impl EngineSpec {
    /// The engine that does I/O on `target` (a path, or the text of a simulated device): the engine
    /// that was asked for, else the simulated device that the text names, else io_uring.
    pub fn for_target(
        asked: Option<&EngineSpec>,
        target: &str,
    ) -> Result<EngineSpec, ParseEngineError> {
        if let Some(engine) = asked {
            return Ok(engine.clone());
        }
        match target.parse::<EngineSpec>() {
            Ok(spec) if !spec.needs_file() => Ok(spec),
            // A text such as `sim:50parsecs` is a mistake, unless there is a file of that name.
            Err(error) if names_an_engine(target) && !Path::new(target).exists() => Err(error),
            _ => Ok(EngineSpec::IO_URING),
        }
    }
}

fn names_an_engine(target: &str) -> bool {
    let (name, args) = target.split_once(':').unwrap_or((target, ""));
    !args.is_empty() && ENGINES.iter().any(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_asked_engine_comes_first_then_the_named_one_then_io_uring() {
        let engine_for = |asked: Option<&str>, target: &str| {
            let asked = asked.map(|text| text.parse().unwrap());
            EngineSpec::for_target(asked.as_ref(), target).map(|engine| engine.to_string())
        };
        assert_eq!(engine_for(Some("libaio"), "sim:50us").unwrap(), "libaio");
        assert_eq!(engine_for(None, "null").unwrap(), "null");
        assert!(engine_for(None, "sim:50us").unwrap().starts_with("sim:"));
        // The text of an engine that needs a file is a path.
        for path in ["/dev/null", "io_uring", "a:b"] {
            assert_eq!(engine_for(None, path).unwrap(), "io_uring", "{path}");
        }
        let mistake = engine_for(None, "sim:50parsecs").unwrap_err();
        assert!(mistake.to_string().contains("sim:50parsecs"), "{mistake}");
    }
}
