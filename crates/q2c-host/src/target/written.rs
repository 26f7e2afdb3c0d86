use super::direct::{AlignedBuffer, Alignment};
use super::open::failed;
use super::{Result, TargetError};
use q2c_model::Bytes;
use q2c_result::{Target, Warning};
use q2c_sys::fiemap::{self, Extent};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Start of the reason for a file that may not be fully written; the doctor looks for it.
pub(crate) const FILL_UNKNOWN: &str = "whether the file is fully written";
/// Start of the reason for a device that seems to hold zeros only.
const ONLY_ZEROS: &str = "that it holds written data";
/// The most blocks of a device that [`find_zeros`] reads.
const MAX_SAMPLED_BLOCKS: u64 = 32;
/// Flags of data that are stored within metadata: reads do not go to blocks of the file's own.
const METADATA_FLAGS: u32 = Extent::INLINE | Extent::TAIL;
/// Flags of data that have no place on the device yet.
const UNPLACED_FLAGS: u32 = Extent::DELALLOC | Extent::UNKNOWN;

/// Refuses a file of `size` bytes that has a hole, an unwritten extent or data without a place on
/// the device. Data without a place are written back first. Returns, in words, further reasons why
/// the file's I/O is not plainly that of the device.
pub(super) fn check(file: &File, path: &Path, size: u64) -> Result<Vec<String>> {
    let mut extents = fiemap::extents(file);
    let unplaced = |extents: &Vec<Extent>| extents.iter().any(|e| e.has(UNPLACED_FLAGS));
    if extents.as_ref().is_ok_and(unplaced) {
        file.sync_all().map_err(|e| failed("write back", path, e))?;
        extents = fiemap::extents(file);
    }
    let extents = match extents {
        Ok(extents) => extents,
        Err(e) => {
            return Ok(vec![format!(
                "{FILL_UNKNOWN}: its file system does not tell where it lies ({e})"
            )]);
        }
    };
    let Some((defect, offset)) = gap(&extents, size) else {
        return Ok(transformations(&extents));
    };
    Err(TargetError::NotWritten(path.to_owned(), defect, offset))
}

/// Reads up to [`MAX_SAMPLED_BLOCKS`] blocks spread over a device. If at least half of them are
/// zeros, they were probably never written or were discarded, and many devices answer such reads
/// without their medium. Returns this in words, or `None`.
pub(super) fn find_zeros(file: &File, size: u64, alignment: Alignment) -> Option<String> {
    let mut buffer = AlignedBuffer::new(alignment.offset.max(Bytes(4096)), alignment.memory);
    let length = buffer.bytes().len() as u64;
    let blocks = size / length;
    let (mut read, mut zero) = (0, 0);
    for n in 0..MAX_SAMPLED_BLOCKS.min(blocks) {
        // Multiples of the golden ratio are spread evenly.
        let offset = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % blocks * length;
        if file.read_exact_at(buffer.bytes(), offset).is_ok() {
            read += 1;
            zero += u64::from(buffer.bytes().iter().all(|byte| *byte == 0));
        }
    }
    (zero > 0 && zero * 2 >= read)
        .then(|| format!("{ONLY_ZEROS}: of {read} blocks all over it {zero} hold zeros only"))
}

/// The warning that a device seems to hold zeros only; `None` where that was not found.
#[must_use]
pub fn never_written(target: &Target) -> Option<Warning> {
    let unproved = target.unproved.iter().find(|u| u.starts_with(ONLY_ZEROS))?;
    let detail = unproved.trim_start_matches(ONLY_ZEROS);
    let detail = detail.trim_start_matches(": ");
    Some(Warning::new(
        "never-written",
        format!("{}: {detail}", target.path),
        "what was never written or was discarded is answered without the medium: figures may be far too good",
        "fill the device with random data, twice for NAND",
    ))
}

/// The first part of the file that a read would not find on the device, in words, and its offset.
fn gap(extents: &[Extent], size: u64) -> Option<(String, u64)> {
    let hole = |from, to| Some((format!("a hole of {}", Bytes(to - from)), from));
    let mut covered = 0;
    for extent in extents.iter().take_while(|e| e.logical < size) {
        if extent.logical > covered {
            return hole(covered, extent.logical);
        }
        if let Some(kind) = unfit_kind(extent) {
            let description = format!("{kind} of {}", Bytes(extent.length));
            return Some((description, extent.logical));
        }
        covered = extent.end();
    }
    (covered < size).then(|| hole(covered, size))?
}

/// The reason why an extent is unfit as a target, in words; `None` for a fit one.
fn unfit_kind(extent: &Extent) -> Option<&'static str> {
    const NO_PLACE: &str = "data without a place on the device, even after a write-back,";
    let kinds = [
        (Extent::UNWRITTEN, "an unwritten extent"),
        (METADATA_FLAGS, "data within the metadata"),
        (UNPLACED_FLAGS, NO_PLACE),
    ];
    // An encoded extent's place is "unknown" on some file systems although it is written.
    let encoded = extent.has(Extent::ENCODED | Extent::ENCRYPTED) && !extent.has(Extent::DELALLOC);
    let is_of = |flag| extent.has(flag) && !(encoded && flag == UNPLACED_FLAGS);
    let (_, kind) = kinds.into_iter().find(|(flag, _)| is_of(*flag))?;
    Some(kind)
}

/// Sentences about data that the device stores in another form than reads return; each kind once.
fn transformations(extents: &[Extent]) -> Vec<String> {
    let kinds = [
        (Extent::ENCRYPTED, "encrypted: reads include the decryption"),
        (
            Extent::ENCODED,
            "compressed or encoded: the device reads other lengths than asked for",
        ),
        (
            Extent::SHARED,
            "shared with another file: a write goes elsewhere and allocates",
        ),
    ];
    // An encrypted extent is flagged encoded as well.
    let hidden = |e: &Extent, flag| flag == Extent::ENCODED && e.has(Extent::ENCRYPTED);
    let any = |flag| extents.iter().any(|e| e.has(flag) && !hidden(e, flag));
    let hits = kinds.iter().filter(|(flag, _)| any(*flag));
    hits.map(|(_, kind)| format!("that its I/O is the device's: the file is {kind}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent(logical: u64, length: u64, flags: u32) -> Extent {
        Extent {
            logical,
            physical: 1 << 30,
            length,
            flags,
        }
    }

    #[test]
    fn whole_files_pass() {
        let whole = [extent(0, 8192, 0), extent(8192, 4096, Extent::LAST)];
        assert_eq!(gap(&whole, 12288), None);
        // The last block reaches beyond the end of the file; an unwritten extent after the end does
        // not matter.
        let unwritten = extent(12288, 1 << 20, Extent::UNWRITTEN);
        assert_eq!(gap(&[extent(0, 12288, 0), unwritten], 12000), None);
    }

    #[test]
    fn each_kind_of_gap_is_named() {
        assert_eq!(gap(&[], 4096), Some(("a hole of 4 KiB".into(), 0)));
        let hole = gap(&[extent(4096, 4096, 0)], 8192);
        assert_eq!(hole, Some(("a hole of 4 KiB".into(), 0)));
        let inner = [extent(0, 4096, 0), extent(12288, 4096, 0)];
        assert_eq!(gap(&inner, 16384), Some(("a hole of 8 KiB".into(), 4096)));
        let hole = gap(&[extent(0, 4096, 0)], 1 << 20);
        assert_eq!(hole, Some(("a hole of 1020 KiB".into(), 4096)));
        let flagged = |flags| gap(&[extent(0, 4096, flags)], 4096).map(|f| f.0);
        let unwritten = flagged(Extent::UNWRITTEN).unwrap();
        assert_eq!(unwritten, "an unwritten extent of 4 KiB");
        let within = flagged(Extent::INLINE).unwrap();
        assert_eq!(within, "data within the metadata of 4 KiB");
        assert!(flagged(Extent::DELALLOC | Extent::UNKNOWN).is_some());
        assert_eq!(flagged(Extent::ENCODED | Extent::UNKNOWN), None);
    }

    #[test]
    fn transformed_data_are_said_once() {
        assert!(transformations(&[extent(0, 1, 0)]).is_empty());
        let both = transformations(&[extent(0, 1, Extent::ENCODED | Extent::ENCRYPTED)]);
        assert_eq!(both.len(), 1);
        assert!(both[0].contains("encrypted"));
        assert!(transformations(&[extent(0, 1, Extent::ENCODED)])[0].contains("compressed"));
    }

    proptest! {
        /// Compares the first gap with that in a map of single blocks.
        #[test]
        fn a_gap_is_found_exactly_where_one_is(blocks in proptest::collection::vec(0u8..3, 1..40)) {
            let extents: Vec<Extent> = (0u64..).zip(&blocks)
                .filter(|(_, kind)| **kind != 0)
                .map(|(i, kind)| extent(i * 512, 512, if *kind == 2 { Extent::UNWRITTEN } else { 0 }))
                .collect();
            let expected = blocks.iter().position(|k| *k != 1).map(|i| i as u64 * 512);
            prop_assert_eq!(gap(&extents, blocks.len() as u64 * 512).map(|g| g.1), expected);
        }
    }
}
