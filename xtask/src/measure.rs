//! Counts the lines of a file and of its functions.
//!
//! All lines of a file count. A function's lines run from the line of its signature to its closing
//! brace, both included; attributes and documentation do not count. A closure counts with the
//! function around it. An item under `#[cfg(test)]` or `#[test]` is test code.

use anyhow::{Result, anyhow};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Ident, Item, Meta, Signature};

#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Line of the signature, counted from 1.
    pub line: usize,
    pub lines: usize,
    pub is_test: bool,
    /// Accepted in writing: `#[expect(clippy::too_many_lines, reason = "...")]`.
    pub waived: bool,
}

#[derive(Debug)]
pub struct File {
    pub lines: usize,
    pub test_lines: usize,
    pub functions: Vec<Function>,
}

pub fn file(text: &str) -> Result<File> {
    let tree =
        syn::parse_file(text).map_err(|e| anyhow!("{e} at line {}", e.span().start().line))?;
    let mut found = Counter::default();
    found.visit_file(&tree);
    Ok(File {
        lines: text.lines().count(),
        test_lines: found.test_lines,
        functions: found.functions,
    })
}

#[derive(Default)]
struct Counter {
    functions: Vec<Function>,
    test_lines: usize,
    in_test: bool,
}

impl Counter {
    fn function(&mut self, attrs: &[Attribute], signature: &Signature, body: &Block) {
        let start = signature.span().start().line;
        let end = body.brace_token.span.close().end().line;
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line: start,
            lines: end - start + 1,
            is_test: self.in_test || attrs.iter().any(is_test),
            waived: attrs.iter().any(is_waiver),
        });
    }

    fn as_test(&mut self, is_test: bool, span: Span, descend: impl FnOnce(&mut Self)) {
        let outer = self.in_test;
        if is_test && !outer {
            self.test_lines += span.end().line - span.start().line + 1;
        }
        self.in_test |= is_test;
        descend(self);
        self.in_test = outer;
    }
}

impl<'ast> Visit<'ast> for Counter {
    fn visit_item(&mut self, item: &'ast Item) {
        let is_test = attributes(item).iter().any(is_test);
        self.as_test(is_test, item.span(), |s| visit::visit_item(s, item));
    }

    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        self.function(&f.attrs, &f.sig, &f.block);
        visit::visit_item_fn(self, f);
    }

    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        self.function(&f.attrs, &f.sig, &f.block);
        visit::visit_impl_item_fn(self, f);
    }

    fn visit_trait_item_fn(&mut self, f: &'ast syn::TraitItemFn) {
        if let Some(body) = &f.default {
            self.function(&f.attrs, &f.sig, body);
        }
        visit::visit_trait_item_fn(self, f);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// `#[test]`, `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
fn is_test(attribute: &Attribute) -> bool {
    let path = attribute.path();
    if path.is_ident("test") {
        return true;
    }
    path.is_ident("cfg")
        && words(attribute).first().is_some_and(|first| {
            first == "test" || (first == "all" && words(attribute).iter().any(|w| w == "test"))
        })
}

fn is_waiver(attribute: &Attribute) -> bool {
    let words = words(attribute);
    let has = |word: &str| words.iter().any(|w| w == word);
    attribute.path().is_ident("expect") && has("too_many_lines") && has("reason")
}

/// Every identifier in the list of an attribute, in order, those within groups included.
fn words(attribute: &Attribute) -> Vec<Ident> {
    fn collect(tokens: proc_macro2::TokenStream, into: &mut Vec<Ident>) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Ident(word) => into.push(word),
                proc_macro2::TokenTree::Group(group) => collect(group.stream(), into),
                _ => {}
            }
        }
    }
    let mut words = Vec::new();
    if let Meta::List(list) = &attribute.meta {
        collect(list.tokens.clone(), &mut words);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
//! A file.

/// Documented.
#[must_use]
pub fn one() -> u32 { 1 }

impl X {
    fn three(&self) {
        let f = |a| a;
    }
}

trait T {
    fn none(&self);
    fn two(&self) {
    }
}

#[expect(clippy::too_many_lines, reason = \"a table\")]
fn waived(
    a: u32,
) {
}

#[cfg(test)]
mod tests {
    #[test]
    fn inner() {
    }
}
";

    #[test]
    fn functions_run_from_signature_to_brace() {
        let file = file(TEXT).unwrap();
        let told = |f: &Function| (f.name.clone(), f.line, f.lines, f.is_test, f.waived);
        let told: Vec<_> = file.functions.iter().map(told).collect();
        let expected = [
            ("one".to_owned(), 5, 1, false, false),
            ("three".to_owned(), 8, 3, false, false),
            ("two".to_owned(), 15, 2, false, false),
            ("waived".to_owned(), 20, 4, false, true),
            ("inner".to_owned(), 28, 2, true, false),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn test_items_are_counted_apart() {
        let file = file(TEXT).unwrap();
        assert_eq!((file.lines, file.test_lines), (30, 6));
    }

    #[test]
    fn only_code_for_tests_is_test_code() {
        let lines = |text: &str| file(text).unwrap().test_lines;
        assert_eq!(lines("#[cfg(all(test, unix))]\nfn f() {}\n"), 2);
        assert_eq!(lines("#[cfg(not(test))]\nfn f() {}\n"), 0);
        assert_eq!(lines("#[cfg(feature = \"test\")]\nfn f() {}\n"), 0);
    }

    #[test]
    fn a_waiver_needs_a_reason() {
        let text = "#[expect(clippy::too_many_lines)]\nfn f() {}\n";
        assert!(!file(text).unwrap().functions[0].waived);
    }
}
