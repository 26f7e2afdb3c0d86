//! The chart library as text, the hash by which the browser's policy admits it, and the packing of
//! what a page unpacks by itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::Write as _;

/// plotly.js 3.7.0 in the bundle for charts with two axes (MIT licence, beside the file), packed by
/// gzip. What is packed is the file of the npm package `plotly.js-cartesian-dist-min`, unchanged.
/// The whole plotly.js is three times as large, and no page draws maps or bodies in space.
const PACKED: &[u8] = include_bytes!("../../assets/plotly/plotly-cartesian.min.js.gz");
/// The name of the unpacked file by which the browser's policy admits it.
pub(super) const HASH: &str = "'sha256-fFk7ntoOdKHQczXPicv3pV/8EUkJmAw3Ka+DVFO9sCo='";

/// The packed library in letters that are harmless in a page.
pub(super) fn library() -> String {
    STANDARD.encode(PACKED)
}

/// Text packed by gzip, which makes it a third as large or less, in letters that are harmless in a
/// page.
pub(super) fn packed(text: &[u8]) -> String {
    let mut packing = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = packing.write_all(text).and_then(|()| packing.finish());
    STANDARD.encode(bytes.expect("a vector takes all bytes"))
}

/// The name by which a Content-Security-Policy admits a script of exactly this text.
pub(super) fn csp_hash(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn unpacked() -> String {
        let mut text = String::new();
        let mut unpacking = flate2::read::GzDecoder::new(PACKED);
        unpacking
            .read_to_string(&mut text)
            .expect("unpack the library");
        text
    }

    #[test]
    fn the_file_is_the_published_one() {
        // The digest is of the file as the npm registry hands it out.
        let digest: String = Sha256::digest(unpacked())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let published = "7c593b9eda0e74a1d07335cf89cbf7a55ffc114909980c3729af835453bdb02a";
        assert_eq!(digest, published);
        assert_eq!(csp_hash(&unpacked()), HASH);
    }

    #[test]
    fn the_hash_is_that_of_the_specification() {
        // The hash is the example of the W3C's Content Security Policy Level 3, in the section on
        // hash usage.
        assert_eq!(
            csp_hash("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }
}
