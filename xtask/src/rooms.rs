//! Rooms: modules with a row of their own in the crate table, such as `q2c-place/scheduler`.
//!
//! A manifest does not say what each module of a crate uses, so the tokens of its files are read.

use crate::source::SourceFile;
use crate::table::{CrateKind, CrateTable};
use anyhow::{Context, Result, anyhow};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::Path;

/// Checks the files of a crate that has rooms, each against the row that holds for it.
pub fn check(
    name: &str,
    files: &[SourceFile],
    table: &CrateTable,
    system: &str,
) -> Result<Vec<String>> {
    let rooms: BTreeSet<&str> = table.rooms(name).collect();
    let mut breaches = Vec::new();
    if rooms.is_empty() {
        return Ok(breaches);
    }
    for file in files.iter().filter(|file| !file.is_test) {
        let path = file.path.display();
        let row = row_of(name, &file.path, &rooms);
        let allowed = table.allowed(&row);
        let tokens: TokenStream = (file.text.parse())
            .map_err(|error| anyhow!("{error}"))
            .with_context(|| format!("failed to parse {path}"))?;
        let mut names = BTreeSet::new();
        collect_names(tokens, &mut names);
        for used in &names {
            let used_row = match used.strip_prefix("crate::") {
                Some(module) => row_of_module(name, module, &rooms),
                None => used.replace('_', "-"),
            };
            let is_crate = used_row.starts_with("q2c-");
            if is_crate && used_row != row && !allowed.contains(used_row.as_str()) {
                breaches.push(format!("{path} uses {used_row}, which {row} may not"));
            }
            let is_system = system.split(' ').any(|system| system == used_row);
            if is_system && table.kind(&row) == Some(CrateKind::Pure) {
                breaches.push(format!("{path} uses {used_row}, and {row} is pure"));
            }
        }
    }
    Ok(breaches)
}

/// The rows of rooms whose module is gone. Its files would silently have the row of their crate.
pub fn check_files(root: &Path, table: &CrateTable) -> Vec<String> {
    let rooms = table.names().filter_map(|row| row.split_once('/'));
    let is_gone = |(crate_name, module): &(&str, &str)| {
        let folder = root.join(format!("crates/{crate_name}/src/{module}"));
        !folder.is_dir() && !folder.with_extension("rs").is_file()
    };
    let breach = |(crate_name, module)| format!("{crate_name}/{module} has a row and no files");
    rooms.filter(is_gone).map(breach).collect()
}

fn row_of(name: &str, path: &Path, rooms: &BTreeSet<&str>) -> String {
    let mut parts = path.iter().skip_while(|part| *part != "src");
    let module = Path::new(parts.nth(1).unwrap_or_default()).with_extension("");
    row_of_module(name, &module.to_string_lossy(), rooms)
}

fn row_of_module(name: &str, module: &str, rooms: &BTreeSet<&str>) -> String {
    let room = Some(format!("{name}/{module}"));
    let room = room.filter(|room| rooms.contains(room.as_str()));
    room.unwrap_or_else(|| name.to_owned())
}

/// Adds all words of the tokens that may name a crate, and `crate::x` for each module that is named
/// from the root.
fn collect_names(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "crate" && is_path(&tokens[i + 1..]) => {
                collect_modules(tokens.get(i + 3), names);
            }
            TokenTree::Ident(word) => {
                names.insert(word.to_string());
            }
            TokenTree::Group(group) => collect_names(group.stream(), names),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn is_path(tokens: &[TokenTree]) -> bool {
    tokens.len() > 2 && tokens[..2].iter().all(|token| is_punct(token, ':'))
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == wanted)
}

/// Adds the modules of `crate::x` and of `crate::{x::y, z}`.
fn collect_modules(after_path: Option<&TokenTree>, names: &mut BTreeSet<String>) {
    match after_path {
        Some(TokenTree::Ident(module)) => {
            names.insert(format!("crate::{module}"));
        }
        Some(TokenTree::Group(group)) => {
            let parts: Vec<TokenTree> = group.stream().into_iter().collect();
            for part in parts.split(|token| is_punct(token, ',')) {
                collect_modules(part.first(), names);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
| crate | kind | does | may use |
|---|---|---|---|
| `q2c-model` | pure | words | - |
| `q2c-sys` | unsafe | calls | model |
| `q2c-place` | pure | computes | model |
| `q2c-place/daemon` | safe | moves | place, sys |
";

    fn breaches(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile {
            path: path.into(),
            text: text.to_owned(),
            is_test: false,
        };
        let table = CrateTable::parse(TABLE).unwrap();
        check("q2c-place", &[file], &table, "libc rustix").unwrap()
    }

    #[test]
    fn each_file_keeps_to_its_row() {
        let daemon = "crates/q2c-place/src/daemon/moves.rs";
        let rules = "crates/q2c-place/src/rules.rs";
        let sound = "use crate::rules::Rule; use q2c_sys::x; use rustix::y; // q2c_other\n";
        assert_eq!(breaches(daemon, sound), Vec::<String>::new());
        let wanted = "crates/q2c-place/src/rules.rs uses q2c-sys, which q2c-place may not";
        assert_eq!(breaches(rules, "use q2c_sys::x;"), [wanted]);
        for text in [
            "use crate::{map, daemon::Move};",
            "fn f() { g(crate::daemon::h) }",
        ] {
            let wanted =
                "crates/q2c-place/src/rules.rs uses q2c-place/daemon, which q2c-place may not";
            assert_eq!(breaches(rules, text), [wanted], "{text}");
        }
        let wanted = "crates/q2c-place/src/rules.rs uses libc, and q2c-place is pure";
        assert_eq!(breaches(rules, "fn f() { libc::read() }"), [wanted]);
    }
}
