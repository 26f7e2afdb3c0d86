//! Files that tests keep in one archive: tar under zstd.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Contents by name.
pub type Packed = BTreeMap<String, Vec<u8>>;

/// The files of an archive.
pub fn unpacked(path: &Path) -> Packed {
    let packed = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tar = zstd::decode_all(&packed[..]).expect("zstd");
    let mut archive = tar::Archive::new(&tar[..]);
    let files = archive.entries().expect("a tar archive");
    let file = |file: Result<tar::Entry<'_, &[u8]>, _>| {
        let mut file = file.expect("a whole archive");
        let name = file.path().expect("a name").display().to_string();
        let mut content = Vec::new();
        file.read_to_end(&mut content).expect("a whole file");
        (name, content)
    };
    let files = files.filter(|file| {
        let is_file = |file: &tar::Entry<'_, _>| file.header().entry_type().is_file();
        file.as_ref().is_ok_and(is_file)
    });
    files.map(file).collect()
}

/// Packs files: the same files give the same bytes.
pub fn pack(files: &Packed, path: &Path) {
    const LEVEL: i32 = 19;
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, name, &content[..])
            .expect("a name of an archive");
    }
    let tar = archive.into_inner().expect("a whole archive");
    let packed = zstd::encode_all(&tar[..], LEVEL).expect("zstd");
    fs::write(path, packed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
