//! Files that tests keep in one archive: tar under zstd.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

/// The contents of files by their names.
pub type ArchiveFiles = BTreeMap<String, Vec<u8>>;

/// Returns the files of an archive.
pub fn unpack(path: &Path) -> ArchiveFiles {
    let packed = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tar = zstd::decode_all(&packed[..]).expect("zstd");
    let mut files = ArchiveFiles::new();
    for entry in tar::Archive::new(&tar[..])
        .entries()
        .expect("a tar archive")
    {
        let mut entry = entry.expect("a whole archive");
        if entry.header().entry_type().is_file() {
            let name = entry.path().expect("a name").display().to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("a whole file");
            files.insert(name, content);
        }
    }
    files
}

/// Packs files: the same files give the same bytes.
pub fn pack(files: &ArchiveFiles, path: &Path) {
    const ZSTD_LEVEL: i32 = 19;
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let appended = archive.append_data(&mut header, name, &content[..]);
        appended.expect("a name of an archive");
    }
    let tar = archive.into_inner().expect("a whole archive");
    let packed = zstd::encode_all(&tar[..], ZSTD_LEVEL).expect("zstd");
    fs::write(path, packed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
