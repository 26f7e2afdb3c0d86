//! Follows the page on adding a rule, word by word, in a copy of the workspace.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

const PAGE: &str = "docs/policies/adding.md";

/// A code block of the page: its kind, the last file named before it, and its text.
struct Block {
    kind: String,
    file: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn named_file(line: &str) -> Option<&str> {
    let mut quoted = line.split('`').skip(1).step_by(2);
    quoted.find(|text| text.ends_with(".rs"))
}

fn blocks(page: &str) -> Vec<Block> {
    let (mut blocks, mut file, mut unfinished) = (Vec::new(), String::new(), None::<Block>);
    for line in page.lines() {
        match (&mut unfinished, line.strip_prefix("```")) {
            (Some(_), Some("")) => blocks.extend(unfinished.take()),
            (Some(block), _) => block.text += &format!("{line}\n"),
            (None, Some(kind)) => {
                unfinished = Some(Block {
                    kind: kind.to_owned(),
                    file: file.clone(),
                    text: String::new(),
                });
            }
            (None, None) => file = named_file(line).map_or(file, str::to_owned),
        }
    }
    blocks
}

/// Writes with the modification time of the original, so that cargo does not build the file again.
fn write(path: &Path, text: impl AsRef<[u8]>, modified_at: SystemTime) {
    fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file = File::options()
        .write(true)
        .open(path)
        .expect("just written");
    file.set_modified(modified_at).expect("an own file");
}

fn modified(path: &Path) -> SystemTime {
    let meta = fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    meta.modified().expect("a file system with times")
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("room for a copy");
        for entry in fs::read_dir(from).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        write(to, fs::read(from).expect("a file"), modified(from));
    }
}

fn copy_workspace() -> PathBuf {
    let copied = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding");
    if copied.exists() {
        fs::remove_dir_all(&copied).expect("the last run's copy");
    }
    fs::create_dir_all(&copied).expect("room for a copy");
    for part in ["Cargo.toml", "Cargo.lock", "clippy.toml", "crates", "xtask"] {
        copy(&root().join(part), &copied.join(part));
    }
    change_version(&copied.join("Cargo.toml"));
    copied
}

/// Gives the copy another version, which makes it another package to cargo: its build then replaces
/// nothing that cargo built of the original in the same target folder.
fn change_version(manifest: &Path) {
    let modified_at = modified(manifest);
    let text = fs::read_to_string(manifest).expect("the manifest");
    let line = concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "\"\n");
    let other = concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "-adding\"\n");
    assert_eq!(text.matches(line).count(), 1, "{}", manifest.display());
    write(manifest, text.replace(line, other), modified_at);
}

/// `list` with `line` in its alphabetical place among the names in the braces of `rules!`.
fn with_line(list: &str, line: &str) -> String {
    let (before, names) = list.split_once("\nrules! {\n").expect("the list");
    let (names, after) = names.split_once('}').expect("its end");
    let place = names.lines().position(|name| name > line);
    let mut names: Vec<&str> = names.lines().collect();
    names.insert(place.unwrap_or(names.len()), line);
    format!("{before}\nrules! {{\n{}\n}}{after}", names.join("\n"))
}

fn follow(block: &Block, workspace: &Path, cargo: &Path) -> String {
    let path = workspace.join(&block.file);
    let page = modified(&root().join(PAGE));
    match block.kind.as_str() {
        "rust" => {
            assert!(!path.exists(), "the page's rule exists: {}", block.file);
            write(&path, &block.text, page);
            String::new()
        }
        "text" => {
            let list = fs::read_to_string(&path).expect("the list");
            let newest = modified(&path).max(page);
            write(&path, with_line(&list, block.text.trim_end()), newest);
            String::new()
        }
        "sh" => run_cargo(&block.text, workspace, cargo),
        kind => panic!("a block that nobody follows: {kind}"),
    }
}

fn run_cargo(command: &str, workspace: &Path, cargo: &Path) -> String {
    let mut arguments = command.split_whitespace();
    assert_eq!(arguments.next(), Some("cargo"), "{command}");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
    let done = Command::new(cargo)
        .args(arguments)
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .expect("cargo runs");
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command}: {output}\n{errors}");
    output
}

#[test]
fn the_page_followed_to_the_letter_gives_a_rule() {
    let Some(cargo) = std::env::var_os("CARGO") else {
        return q2c_testkit::skip(
            "the_page_followed_to_the_letter",
            "cargo did not start this test",
        );
    };
    let page = fs::read_to_string(root().join(PAGE)).expect("the page");
    let blocks = blocks(&page);
    let kinds: Vec<&str> = blocks.iter().map(|block| block.kind.as_str()).collect();
    // The page's blocks are a rule's file, its line in the list, and a command.
    assert_eq!(kinds, ["rust", "text", "sh"]);
    let workspace = copy_workspace();
    let follow = |block| follow(block, &workspace, Path::new(&cargo));
    let output: String = blocks.iter().map(follow).collect();
    // The rule's own test ran, and so did the contract tests.
    for line in [
        "test rules::midrange::tests::sleeps_a_share_of_the_middle ... ok",
        "test nothing_is_allocated_after_build ... ok",
    ] {
        assert!(output.contains(line), "{line} is not in\n{output}");
    }
}

fn rule_files() -> Vec<PathBuf> {
    let folder = root().join("crates/q2c-policy/src/rules");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the rules")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect();
    files.sort();
    files
}

/// A rule file without its line in the list would be dead code that no test sees.
#[test]
fn every_file_has_its_line() {
    let files = rule_files();
    let stems = files.iter().filter_map(|path| path.file_stem()?.to_str());
    let listed = q2c_policy::RULES.iter().map(|rule| rule.name);
    // `share.rs` holds what rules have in common and is not a rule.
    let unlisted = stems.filter(|stem| !listed.clone().any(|rule| *stem == rule));
    assert_eq!(unlisted.collect::<Vec<_>>(), ["share"]);
}

/// `cargo fmt` does not follow modules declared by a macro, so each file is checked separately.
#[test]
fn rules_are_formatted() {
    let check = Command::new("rustfmt")
        .args(["--check", "--edition", "2024"])
        .args(rule_files())
        .output();
    let Ok(check) = check else {
        return q2c_testkit::skip("rules_are_formatted", "there is no rustfmt");
    };
    let output = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success(), "run rustfmt on\n{output}");
}
