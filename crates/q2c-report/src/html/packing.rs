//! Text that a page unpacks by itself, which makes it a third as large or less.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;

/// The text packed by gzip, in letters that are harmless in a page.
pub(super) fn packed(text: &[u8]) -> String {
    let mut packing = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = packing.write_all(text).and_then(|()| packing.finish());
    in_letters(&bytes.expect("a vector takes all bytes"))
}

/// Packed bytes in letters that are harmless in a page.
pub(super) fn in_letters(packed: &[u8]) -> String {
    STANDARD.encode(packed)
}
