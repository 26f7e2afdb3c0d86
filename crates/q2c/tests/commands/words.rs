//! Words of command lines, and phrases of a command's output.

/// Phrases that a text must contain, separated by ` | `, or as a list.
pub(crate) trait Phrases {
    fn phrases(&self) -> Vec<&str>;
}

impl Phrases for str {
    fn phrases(&self) -> Vec<&str> {
        self.split(" | ").collect()
    }
}

impl Phrases for [&str] {
    fn phrases(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Phrases for [&str; N] {
    fn phrases(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Phrases for Vec<&str> {
    fn phrases(&self) -> Vec<&str> {
        self.clone()
    }
}

#[track_caller]
pub(crate) fn has_words(text: &(impl AsRef<str> + ?Sized), phrases: &(impl Phrases + ?Sized)) {
    let text = text.as_ref();
    for word in phrases.phrases() {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// The words of a line, split at whitespace.
pub(crate) fn split(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The words of a command line, split at blanks except within single quotes.
pub(crate) fn words(line: &str) -> Vec<&str> {
    let pieces = line.split('\'').enumerate();
    let lists = pieces.map(
        |(n, part)| {
            if n % 2 == 1 { vec![part] } else { split(part) }
        },
    );
    lists.flatten().collect()
}
