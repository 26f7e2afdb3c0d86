//! Runs the checks on small workspaces. A sound one passes, and every broken rule is found.

#![expect(clippy::unwrap_used, reason = "a test stops at its first fault")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const TABLE: &str = "\
# Architecture

| crate | kind | does | may use |
|---|---|---|---|
| `q2c-model` | pure | words | - |
| `q2c-sim` | pure | simulates | model |
| `q2c-sys` | unsafe | calls | model |
| `q2c-engine` | safe | runs | sys |
| `q2c` | safe | glue | all |
";

const ROOT: &str = "\
[workspace]
resolver = \"3\"
members = [\"crates/*\"]

[workspace.lints.rust]
unsafe_code = \"deny\"
";

const SIZES: &str = "\
crates = 5
lines = 9999
code_lines = 9999
program_code_lines = 2
public_items = 9999
repeated_type_names = 0
empty_names = 0
";

/// A sound workspace, which a test then breaks in one place.
struct Tree(TempDir);

impl Tree {
    fn sound() -> Self {
        let tree = Tree(TempDir::new().unwrap());
        tree.write("Cargo.toml", ROOT);
        tree.write("ARCHITECTURE.md", TABLE);
        tree.write("sizes.toml", SIZES);
        tree.package("q2c-model", &[], "pub struct Nanos(pub u64);\n");
        let model = &["q2c-model"];
        tree.package("q2c-sim", model, "//! Not unsafe.\npub fn sim() {}\n");
        tree.package("q2c-sys", model, "pub fn sys() { unsafe { ffi() } }\n");
        tree.write_own_lints("q2c-sys", "allow");
        tree.package("q2c-engine", &["q2c-sys", "q2c-model"], "pub fn run() {}\n");
        tree.package("q2c", &["q2c-engine", "q2c-sim"], "pub fn main() {}\n");
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn package(&self, name: &str, uses: &[&str], source: &str) {
        let used = |used: &&str| format!("{used} = {{ path = \"../{used}\" }}\n");
        let uses: String = uses.iter().map(used).collect();
        let manifest_head = manifest_head(name);
        let manifest = format!("{manifest_head}[lints]\nworkspace = true\n[dependencies]\n{uses}");
        self.write(&format!("crates/{name}/Cargo.toml"), &manifest);
        self.write(&format!("crates/{name}/src/lib.rs"), source);
    }

    fn write_own_lints(&self, name: &str, level: &str) {
        let manifest = format!(
            "{}[lints.rust]\nunsafe_code = \"{level}\"\n[dependencies]\nq2c-model = {{ path = \"../q2c-model\" }}\n",
            manifest_head(name)
        );
        self.write(&format!("crates/{name}/Cargo.toml"), &manifest);
    }

    fn append(&self, path: &str, text: &str) {
        let old = fs::read_to_string(self.0.path().join(path)).unwrap();
        self.write(path, &(old + text));
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let old = fs::read_to_string(self.0.path().join(path)).unwrap();
        self.write(path, &old.replace(from, to));
    }

    fn run(&self, command: &str) -> Output {
        xtask(command, self.0.path())
    }

    /// The breaches that a command prints. It must fail if there are any, and else succeed.
    fn breaches(&self, command: &str) -> Vec<String> {
        let out = self.run(command);
        let stderr = String::from_utf8(out.stderr).unwrap();
        let breach = |l: &str| l.strip_prefix("error: ").map(str::to_owned);
        let breaches: Vec<String> = stderr.lines().filter_map(breach).collect();
        let expected = i32::from(!breaches.is_empty());
        assert_eq!(out.status.code(), Some(expected), "{stderr}");
        breaches
    }
}

fn manifest_head(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
}

fn xtask(command: &str, root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args([command, "--root"])
        .arg(root)
        .output()
        .unwrap()
}

fn stdout(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).unwrap()
}

#[test]
fn a_sound_tree_passes() {
    let tree = Tree::sound();
    assert_eq!(tree.breaches("deps"), Vec::<String>::new());
    assert_eq!(tree.breaches("sizes"), Vec::<String>::new());
    assert!(stdout(&tree.run("deps")).contains("deps: 5 packages, 0 breaches"));
}

const UNSAFE: &str = "fn f() { unsafe { g() } }\n";

#[test]
fn broken_rules_are_found() {
    type Break = fn(&Tree);
    let broken: [(Break, &[&str]); 10] = [
        (
            |tree| {
                let engine = "q2c-engine = { path = \"../q2c-engine\" }\n";
                tree.append("crates/q2c-sim/Cargo.toml", engine);
            },
            &["q2c-sim depends on q2c-engine; its row allows: q2c-model"],
        ),
        (
            |tree| {
                let renamed = "[dev-dependencies]\n\
                    other = { package = \"q2c-sim\", path = \"../q2c-sim\" }\n";
                tree.append("crates/q2c-model/Cargo.toml", renamed);
            },
            &["q2c-model depends on q2c-sim; its row allows: "],
        ),
        (
            |tree| {
                tree.append("crates/q2c-sim/Cargo.toml", "libc = \"0.2\"\n");
                tree.append("crates/q2c-engine/Cargo.toml", "libc = \"0.2\"\n");
            },
            &["q2c-sim is pure but depends on libc"],
        ),
        (
            |tree| {
                let lint = "#[allow(unsafe_code)]\nfn f() {}\n";
                tree.write("crates/q2c-engine/src/ring.rs", &format!("\n{UNSAFE}"));
                tree.write("crates/q2c-engine/tests/ring.rs", lint);
            },
            &[
                "crates/q2c-engine/src/ring.rs:2: unsafe code, which q2c-engine may not hold",
                "crates/q2c-engine/tests/ring.rs:1: unsafe code, which q2c-engine may not hold",
            ],
        ),
        (
            |tree| {
                tree.write("crates/q2c-engine/src/target/ring.rs", UNSAFE);
                tree.write("crates/q2c-engine/target/debug/made.rs", UNSAFE);
            },
            &["crates/q2c-engine/src/target/ring.rs:1: unsafe code, which q2c-engine may not hold"],
        ),
        (
            |tree| tree.write_own_lints("q2c-sim", "allow"),
            &["q2c-sim sets the lint unsafe_code to allow; expected deny or forbid"],
        ),
        (
            |tree| tree.write("crates/q2c-model/Cargo.toml", &manifest_head("q2c-model")),
            &["q2c-model sets the lint unsafe_code to nothing; expected deny or forbid"],
        ),
        (
            |tree| tree.package("q2c-extra", &[], ""),
            &["q2c-extra has no row in ARCHITECTURE.md"],
        ),
        (
            |tree| {
                tree.edit("crates/q2c-sim/Cargo.toml", "\"q2c-sim\"", "\"q2c-model2\"");
                let alone = format!("{}[lints]\nworkspace = true\n", manifest_head("q2c"));
                tree.write("crates/q2c/Cargo.toml", &alone);
            },
            &[
                "crates/q2c-sim holds the package q2c-model2: a folder has its crate's name",
                "q2c-model2 has no row in ARCHITECTURE.md",
            ],
        ),
        (
            |tree| {
                tree.edit("Cargo.toml", "crates/*", "crates/q2c*");
                tree.write("crates/notes/read.txt", "no package");
            },
            &["crates/notes is no member of the workspace"],
        ),
    ];
    for (breaks, expected) in broken {
        let tree = Tree::sound();
        breaks(&tree);
        assert_eq!(tree.breaches("deps"), expected);
    }
}

#[test]
fn a_weak_workspace_lint_is_found_in_every_crate_that_inherits_it() {
    let tree = Tree::sound();
    let warn = "{ level = \"warn\", priority = 1 }";
    tree.edit("Cargo.toml", "\"deny\"", warn);
    let breaches = tree.breaches("deps");
    assert_eq!(breaches.len(), 4, "{breaches:?}");
    let weak = |b: &String| b.ends_with("to warn; expected deny or forbid");
    assert!(breaches.iter().all(weak));
}

#[test]
fn a_row_without_a_crate_is_noted() {
    let tree = Tree::sound();
    let row = "| `q2c-late` | safe | comes later | model |\n";
    tree.append("ARCHITECTURE.md", row);
    assert_eq!(tree.breaches("deps"), Vec::<String>::new());
    let note = "note: q2c-late has a row in ARCHITECTURE.md and no code";
    assert!(stdout(&tree.run("deps")).contains(note));
}

#[test]
fn a_path_that_does_not_exist_is_found() {
    let tree = Tree::sound();
    tree.append("ARCHITECTURE.md", "See `crates/q2c/src/gone.rs`.\n");
    let dead = "ARCHITECTURE.md names crates/q2c/src/gone.rs, which does not exist";
    assert_eq!(tree.breaches("deps"), [dead]);
}

#[test]
fn a_missing_table_is_an_error() {
    let tree = Tree::sound();
    tree.write("ARCHITECTURE.md", "# Architecture\n");
    let out = tree.run("deps");
    assert_eq!(out.status.code(), Some(1));
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert!(stderr.contains("crate table"));
}

/// The text of a function of `lines` lines, signature and closing brace included.
fn function(lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
}

#[test]
fn a_function_over_80_lines_is_found_unless_waived() {
    let tree = Tree::sound();
    tree.write("crates/q2c-sim/src/edge.rs", &function(80));
    assert_eq!(tree.breaches("sizes"), Vec::<String>::new());
    tree.write("crates/q2c-sim/src/edge.rs", &format!("\n{}", function(81)));
    let expected = "crates/q2c-sim/src/edge.rs:2: fn long has 81 lines, at most 80";
    assert_eq!(tree.breaches("sizes"), [expected]);
    let waiver = "#[expect(clippy::too_many_lines, reason = \"one table\")]\n";
    let waived = format!("{waiver}{}", function(81));
    tree.write("crates/q2c-sim/src/edge.rs", &waived);
    assert_eq!(tree.breaches("sizes"), Vec::<String>::new());
}

#[test]
fn a_room_without_files_is_found() {
    let tree = Tree::sound();
    let row = "| `q2c-sim/sweep` | pure | sweeps | model |\n| `q2c-sys`";
    tree.edit("ARCHITECTURE.md", "| `q2c-sys`", row);
    let expected = ["q2c-sim/sweep has a row and no files"];
    assert_eq!(tree.breaches("deps"), expected);
    tree.write("crates/q2c-sim/src/sweep.rs", "pub fn sweep() {}\n");
    assert_eq!(tree.breaches("deps"), Vec::<String>::new());
}

#[test]
fn a_size_of_the_whole_above_its_limit_is_found() {
    let tree = Tree::sound();
    let items = "pub fn on() {}\npub struct Nanos;\n";
    tree.append("crates/q2c/src/lib.rs", items);
    let above = |size: &str| format!("sizes.toml: {size}");
    let expected = [
        above("program_code_lines is 3, at most 2"),
        above("repeated_type_names is 1, at most 0"),
        above("empty_names is 1, at most 0"),
    ];
    assert_eq!(tree.breaches("sizes"), expected);
}

#[test]
fn a_file_over_800_lines_is_found() {
    let tree = Tree::sound();
    tree.write("crates/q2c-sim/tests/long.rs", &"// line\n".repeat(800));
    assert_eq!(tree.breaches("sizes"), Vec::<String>::new());
    tree.write("crates/q2c-sim/tests/long.rs", &"// line\n".repeat(801));
    let expected = "crates/q2c-sim/tests/long.rs: 801 lines, at most 800";
    assert_eq!(tree.breaches("sizes"), [expected]);
}

#[test]
fn a_row_tells_files_and_functions_without_test_code() {
    let tree = Tree::sound();
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n";
    let code = format!("{}\n{tests}", function(9));
    tree.write("crates/q2c-sim/src/lib.rs", &code);
    tree.write("crates/q2c-sim/tests/more.rs", &function(70));
    let text = stdout(&tree.run("sizes"));
    let row = text.lines().find(|l| l.starts_with("q2c-sim ")).unwrap();
    let columns: Vec<&str> = row.split_whitespace().collect();
    // The package has one file of 15 lines, 5 of which are test code, and one function.
    assert_eq!(columns.join(" "), "q2c-sim 1 10 / 10 / 10 1 9 / 9 / 9 0");
}

#[test]
fn unknown_words_are_refused() {
    let out = xtask("size", Path::new("."));
    assert_eq!(out.status.code(), Some(1));
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert!(stderr.contains("usage: cargo xtask"));
}
