//! The README: short, true in what it names, and the same commands in both languages.

use super::program::Place;
use std::fs;
use std::path::{Path, PathBuf};

const MAX_LINES: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The indented lines, which are commands and what they print.
fn code(readme: &str) -> Vec<&str> {
    let lines = readme.lines();
    lines.filter_map(|line| line.strip_prefix("    ")).collect()
}

#[test]
fn both_readmes_are_short_and_have_the_same_commands() {
    let (english, korean) = (text("README.md"), text("README.ko.md"));
    assert_eq!(code(&english), code(&korean));
    for readme in [&english, &korean] {
        assert!(readme.lines().count() <= MAX_LINES);
        let links = readme.split("](").skip(1);
        for link in links.map(|rest| rest.split([')', '#']).next().unwrap()) {
            assert!(root().join(link).exists(), "{link}");
        }
    }
}

#[test]
fn the_readme_names_commands_of_the_program() {
    let readme = text("README.md");
    let lines = code(&readme).into_iter();
    let split_lines = lines.map(|line| line.trim_start_matches("sudo ").split(' '));
    let commands =
        split_lines.filter_map(|mut line| (line.next() == Some("q2c")).then(|| line.next()));
    let commands: Vec<&str> = commands.flatten().collect();
    assert!(commands.len() > 3, "{commands:?}");
    for command in commands {
        Place::new().done(format!("help {command}"));
    }
}

/// `make run` and `make test` install what `scripts/prerequisites.sh` prints in these lines.
#[test]
fn the_readme_names_what_make_installs() {
    let (readme, script) = (
        text("README.md").to_lowercase(),
        text("scripts/prerequisites.sh"),
    );
    let (_, function) = script.split_once("\nother_packages() {").unwrap();
    let (function, _) = function.split_once("\n}").unwrap();
    let lines = function.lines().filter(|line| !line.contains("jre"));
    let printed = lines.filter_map(|line| line.split_once("printf '%s\\n' "));
    let packages =
        printed.flat_map(|(_, names)| names.split([' ', ';']).take_while(|n| *n != "fi"));
    let packages: Vec<&str> = packages.filter(|name| !name.is_empty()).collect();
    assert!(
        packages.contains(&"clang") && packages.contains(&"chromium"),
        "{packages:?}"
    );
    for package in packages.iter().filter(|name| **name != "libc6-dev") {
        assert!(readme.contains(package), "{package}");
    }
}
