//! Finds unsafe code and attributes that allow it by tokens, not by syntax trees: inside macros and
//! attributes, too, and never in comments or strings.

use anyhow::{Result, anyhow};
use proc_macro2::{TokenStream, TokenTree};

/// Lines (from 1) with `unsafe`, or `allow`, `warn` or `expect` of the lint `unsafe_code`.
pub fn find_lines(text: &str) -> Result<Vec<usize>> {
    let tokens: TokenStream = text
        .parse()
        .map_err(|e: proc_macro2::LexError| anyhow!("{e} at line {}", e.span().start().line))?;
    let mut lines = Vec::new();
    search(tokens, &mut lines);
    Ok(lines)
}

fn search(tokens: TokenStream, lines: &mut Vec<usize>) {
    let mut opens_lint = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) => {
                opens_lint = word == "allow" || word == "warn" || word == "expect";
                if word == "unsafe" {
                    lines.push(word.span().start().line);
                }
            }
            TokenTree::Group(group) => {
                if opens_lint && names_lint(&group.stream()) {
                    lines.push(group.span().start().line);
                }
                search(group.stream(), lines);
                opens_lint = false;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => opens_lint = false,
        }
    }
}

fn names_lint(tokens: &TokenStream) -> bool {
    let mut tokens = tokens.clone().into_iter();
    tokens.any(|t| matches!(t, TokenTree::Ident(word) if word == "unsafe_code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_code_is_seen_in_every_form() {
        let cases = [
            "fn f() { unsafe { g() } }",
            "unsafe fn f() {}",
            "unsafe impl Send for X {}",
            "unsafe extern \"C\" {}",
            "#[unsafe(no_mangle)] fn f() {}",
            "fn f() { vec![unsafe { g() }]; }",
            "#[allow(unsafe_code)] fn f() {}",
            "#![cfg_attr(test, expect(unused, unsafe_code))]",
        ];
        for case in cases {
            assert_eq!(find_lines(case).unwrap(), [1], "{case}");
        }
        assert_eq!(find_lines("fn f() {\n\n  unsafe { g() }\n}").unwrap(), [3]);
    }

    #[test]
    fn words_about_it_are_not_unsafe_code() {
        let cases = [
            "// unsafe",
            "/// unsafe code\nfn f() {}",
            "const S: &str = \"unsafe\";",
            "#![deny(unsafe_code)]\n#![forbid(unsafe_code)]",
            "fn f() { result.expect(unsafe_op); }",
        ];
        for case in cases {
            assert_eq!(find_lines(case).unwrap(), Vec::<usize>::new(), "{case}");
        }
        assert!(find_lines("fn f() {").is_err());
    }
}
