//! Names of targets on a command line: `@disk`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Options that allow writing take no `@name`: a changed file must not redirect a write.
const WRITE_OPTIONS: [&str; 1] = ["--allow-write"];

/// Splits `@disk`, `--target=@disk` or `8:16=@disk` into what stands before the `@` and the name.
pub fn target_name(word: &str) -> Option<(&str, &str)> {
    let at = word.find('@')?;
    let (before, name) = (&word[..at], &word[at + 1..]);
    (may_stand_before(before) && is_name(name)).then_some((before, name))
}

fn may_stand_before(before: &str) -> bool {
    let value = match before.strip_prefix("--") {
        Some(option) => option.split_once('=').map(|(_, value)| value),
        None => Some(before),
    };
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let is_device_number = |text: &str| {
        let device = text.strip_suffix('=').and_then(|text| text.split_once(':'));
        device.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
    };
    value.is_some_and(|value| value.is_empty() || is_device_number(value))
}

/// True if a target can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().all(plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Replaces the target names in a command line up to `--`, and returns each name with its target.
/// The error says which name cannot be replaced, and why.
pub fn replace(
    words: &mut [OsString],
    targets: &BTreeMap<String, String>,
    file: &str,
) -> Result<BTreeMap<String, String>, String> {
    let mut replaced = BTreeMap::new();
    for at in 0..words.len() {
        if words[at] == "--" {
            break;
        }
        let word = words[at].clone();
        let Some((before, name)) = word.to_str().and_then(target_name) else {
            continue;
        };
        let previous_and_word = &words[at.saturating_sub(1)..=at];
        if let Some(option) = previous_and_word.iter().find_map(|word| write_option(word)) {
            return Err(format!(
                "allow writing to @{name}: expected the path itself, found a name; {option} takes no name of q2c.toml"
            ));
        }
        let target = targets.get(name).ok_or_else(|| {
            let expected = expected_names(targets, file);
            format!(
                "find the target @{name}: expected {expected}, found no target of that name; a file of that name is written ./@{name}"
            )
        })?;
        replaced.insert(name.to_owned(), target.clone());
        words[at] = format!("{before}{target}").into();
    }
    Ok(replaced)
}

fn write_option(word: &OsStr) -> Option<&'static str> {
    let option = word.to_str()?.split('=').next()?;
    WRITE_OPTIONS.into_iter().find(|wanted| *wanted == option)
}

fn expected_names(targets: &BTreeMap<String, String>, file: &str) -> String {
    let names: Vec<String> = targets.keys().map(|name| format!("@{name}")).collect();
    if names.is_empty() {
        return format!("a name in [targets] of {file}, which has none");
    }
    format!("a name in [targets] of {file}: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(command: &str) -> Result<String, String> {
        let targets = [("disk", "/dev/nvme0n1"), ("sim-1", "sim:50us")];
        let targets = targets.map(|(name, target)| (name.to_owned(), target.to_owned()));
        let mut arguments: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        replace(&mut arguments, &targets.into(), "q2c.toml")?;
        Ok(arguments.join(OsStr::new(" ")).into_string().unwrap())
    }

    #[test]
    fn names_stand_for_targets() {
        for (command, wanted) in [
            ("q2c tune @disk", "q2c tune /dev/nvme0n1"),
            ("compare t @disk @sim-1", "compare t /dev/nvme0n1 sim:50us"),
            ("t --map 8:16=@disk", "t --map 8:16=/dev/nvme0n1"),
            ("t --map=8:16=@disk", "t --map=8:16=/dev/nvme0n1"),
            ("t @disk -- fio @disk", "t /dev/nvme0n1 -- fio @disk"),
            ("tune ./@disk a@disk @", "tune ./@disk a@disk @"),
            ("fs --target=@disk", "fs --target=/dev/nvme0n1"),
            ("fs --metric a=@disk", "fs --metric a=@disk"),
        ] {
            assert_eq!(replaced(command).as_deref(), Ok(wanted));
        }
    }

    #[test]
    fn what_is_no_name_is_told() {
        let unknown = replaced("tune @dsk").unwrap_err();
        let expected =
            "find the target @dsk: expected a name in [targets] of q2c.toml: @disk, @sim-1,";
        assert!(unknown.starts_with(expected), "{unknown}");
        for command in [
            "tune @disk --allow-write @disk",
            "tune x --allow-write=@disk",
        ] {
            let error = replaced(command).unwrap_err();
            assert!(error.starts_with("allow writing to @disk: "), "{error}");
        }
    }
}
