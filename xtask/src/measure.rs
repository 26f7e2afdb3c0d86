//! Counts the lines of a file and of its functions.
//!
//! All lines of a file count. A function's lines run from the line of its signature to its closing
//! brace, both included; attributes and documentation do not count. A closure counts with the
//! function around it. An item under `#[cfg(test)]` or `#[test]` is test code.

use anyhow::{Result, anyhow};
use proc_macro2::{Span, TokenStream, TokenTree};
use std::ops::RangeInclusive;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Ident, Item, Meta, Signature, Visibility};

#[derive(Debug, PartialEq, Eq)]
pub struct MeasuredFunction {
    pub name: String,
    /// Line of the signature, counted from 1.
    pub line: usize,
    pub lines: usize,
    pub is_test: bool,
    /// True if the length is accepted: `#[expect(clippy::too_many_lines, reason = "...")]`.
    pub waived: bool,
}

#[derive(Debug)]
pub struct MeasuredFile {
    pub lines: usize,
    pub test_lines: usize,
    /// Lines outside test code that are neither blank nor a comment.
    pub code_lines: usize,
    pub functions: Vec<MeasuredFunction>,
    /// Items that are `pub` without a restriction: types, traits, functions, methods, constants.
    pub public_items: usize,
    /// The names of all types and traits.
    pub types: Vec<String>,
    /// Functions and values that are called by a pronoun, a preposition or a participle.
    pub empty_names: usize,
}

const EMPTY_FUNCTIONS: [&str; 9] = [
    "all", "at", "beside", "named", "of", "on", "one", "told", "whole",
];
const EMPTY_VALUES: [&str; 8] = ["all", "each", "found", "of", "own", "told", "why", "words"];

pub fn file(text: &str) -> Result<MeasuredFile> {
    let tree =
        syn::parse_file(text).map_err(|e| anyhow!("{e} at line {}", e.span().start().line))?;
    let mut counter = Counter::default();
    counter.visit_file(&tree);
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let in_test = |line: usize| counter.test_spans.iter().any(|span| span.contains(&line));
    let shipped = text.lines().zip(1..).filter(|&(_, line)| !in_test(line));
    Ok(MeasuredFile {
        lines: text.lines().count(),
        test_lines: counter.test_spans.iter().cloned().flatten().count(),
        code_lines: shipped.filter(|&(text, _)| is_code(text)).count(),
        functions: counter.functions,
        public_items: counter.public_items,
        types: counter.types,
        empty_names: counter.empty_names,
    })
}

#[derive(Default)]
struct Counter {
    functions: Vec<MeasuredFunction>,
    test_spans: Vec<RangeInclusive<usize>>,
    in_test: bool,
    public_items: usize,
    types: Vec<String>,
    empty_names: usize,
}

impl Counter {
    fn add_function(&mut self, attrs: &[Attribute], signature: &Signature, body: &Block) {
        let start = signature.span().start().line;
        let end = body.brace_token.span.close().end().line;
        self.functions.push(MeasuredFunction {
            name: signature.ident.to_string(),
            line: start,
            lines: end - start + 1,
            is_test: self.in_test || attrs.iter().any(is_test),
            waived: attrs.iter().any(is_waiver),
        });
    }

    fn visit_as_test(&mut self, is_test: bool, span: Span, descend: impl FnOnce(&mut Self)) {
        let outer = self.in_test;
        if is_test && !outer {
            self.test_spans.push(span.start().line..=span.end().line);
        }
        self.in_test |= is_test;
        descend(self);
        self.in_test = outer;
    }
}

impl<'ast> Visit<'ast> for Counter {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, visibility, type_name) = item_parts(item);
        self.public_items += usize::from(visibility.is_some_and(is_public));
        self.types.extend(type_name.map(Ident::to_string));
        let is_test = attributes.iter().any(is_test);
        self.visit_as_test(is_test, item.span(), |s| visit::visit_item(s, item));
    }

    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        self.add_function(&f.attrs, &f.sig, &f.block);
        visit::visit_item_fn(self, f);
    }

    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        self.add_function(&f.attrs, &f.sig, &f.block);
        self.public_items += usize::from(is_public(&f.vis));
        visit::visit_impl_item_fn(self, f);
    }

    fn visit_impl_item_const(&mut self, constant: &'ast syn::ImplItemConst) {
        self.public_items += usize::from(is_public(&constant.vis));
        visit::visit_impl_item_const(self, constant);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        let is_empty = EMPTY_FUNCTIONS.iter().any(|name| signature.ident == name);
        self.empty_names += usize::from(is_empty);
        visit::visit_signature(self, signature);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let pattern = match &local.pat {
            syn::Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        if let syn::Pat::Ident(value) = pattern {
            let is_empty = EMPTY_VALUES.iter().any(|name| value.ident == name);
            self.empty_names += usize::from(is_empty);
        }
        visit::visit_local(self, local);
    }

    fn visit_trait_item_fn(&mut self, f: &'ast syn::TraitItemFn) {
        if let Some(body) = &f.default {
            self.add_function(&f.attrs, &f.sig, body);
        }
        visit::visit_trait_item_fn(self, f);
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The attributes of an item, the visibility of one that may be public, and the name of a type.
fn item_parts(item: &Item) -> (&[Attribute], Option<&Visibility>, Option<&Ident>) {
    match item {
        Item::Const(i) => (&i.attrs, Some(&i.vis), None),
        Item::Enum(i) => (&i.attrs, Some(&i.vis), Some(&i.ident)),
        Item::Fn(i) => (&i.attrs, Some(&i.vis), None),
        Item::Impl(i) => (&i.attrs, None, None),
        Item::Macro(i) => (&i.attrs, None, None),
        Item::Mod(i) => (&i.attrs, None, None),
        Item::Static(i) => (&i.attrs, Some(&i.vis), None),
        Item::Struct(i) => (&i.attrs, Some(&i.vis), Some(&i.ident)),
        Item::Trait(i) => (&i.attrs, Some(&i.vis), Some(&i.ident)),
        Item::Type(i) => (&i.attrs, Some(&i.vis), Some(&i.ident)),
        Item::Union(i) => (&i.attrs, Some(&i.vis), Some(&i.ident)),
        Item::Use(i) => (&i.attrs, None, None),
        _ => (&[], None, None),
    }
}

/// `#[test]`, `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
fn is_test(attribute: &Attribute) -> bool {
    let path = attribute.path();
    if path.is_ident("test") {
        return true;
    }
    let names = identifiers(attribute);
    let first = |word| names.first().is_some_and(|first| first == word);
    let is_among_all = || first("all") && names.iter().any(|word| word == "test");
    path.is_ident("cfg") && (first("test") || is_among_all())
}

fn is_waiver(attribute: &Attribute) -> bool {
    let names = identifiers(attribute);
    let has = |word: &str| names.iter().any(|name| name == word);
    attribute.path().is_ident("expect") && has("too_many_lines") && has("reason")
}

/// Every identifier in the list of an attribute, in order, those within groups included.
fn identifiers(attribute: &Attribute) -> Vec<Ident> {
    fn collect(tokens: TokenStream, into: &mut Vec<Ident>) {
        for token in tokens {
            match token {
                TokenTree::Ident(word) => into.push(word),
                TokenTree::Group(group) => collect(group.stream(), into),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
    let mut names = Vec::new();
    if let Meta::List(list) = &attribute.meta {
        collect(list.tokens.clone(), &mut names);
    }
    names
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
        let summary = |f: &MeasuredFunction| (f.name.clone(), f.line, f.lines, f.is_test, f.waived);
        let summaries: Vec<_> = file.functions.iter().map(summary).collect();
        let expected = [
            ("one".to_owned(), 5, 1, false, false),
            ("three".to_owned(), 8, 3, false, false),
            ("two".to_owned(), 15, 2, false, false),
            ("waived".to_owned(), 20, 4, false, true),
            ("inner".to_owned(), 28, 2, true, false),
        ];
        assert_eq!(summaries, expected);
    }

    #[test]
    fn test_items_are_counted_apart() {
        let file = file(TEXT).unwrap();
        assert_eq!((file.lines, file.test_lines), (30, 6));
    }

    /// Of the 23 lines before the tests four are blank and two comments.
    #[test]
    fn names_public_items_and_code_are_counted() {
        let file = file(TEXT).unwrap();
        assert_eq!((file.code_lines, file.public_items), (17, 1));
        assert_eq!((file.types, file.empty_names), (vec!["T".to_owned()], 1));
        let text = "impl A { pub fn of(&self) { let (a, why) = b; let all: u8 = 1; } }\n\
                    pub(crate) struct B;\npub type C = B;\n";
        let file = super::file(text).unwrap();
        assert_eq!((file.public_items, file.empty_names), (2, 2));
        assert_eq!(file.types, ["B", "C"]);
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
