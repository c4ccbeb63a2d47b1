//! The page's files, inside the program.

/// One file.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its address, relative to the page's.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";
const SVG: &str = "image/svg+xml";
const FONT: &str = "font/woff2";

macro_rules! assets {
    ($($path:literal: $kind:expr,)*) => {
        /// All of them.
        pub const ASSETS: &[Asset] = &[$(Asset {
            path: $path,
            kind: $kind,
            bytes: include_bytes!(concat!("../../view/", $path)),
        }),*];
    };
}

assets! {
    "index.html": HTML,
    "style.css": CSS,
    "rows.css": CSS,
    "icon.svg": SVG,
    "examples.json": JSON,
    "theme.js": SCRIPT,
    "api.js": SCRIPT,
    "app.js": SCRIPT,
    "board.js": SCRIPT,
    "chart.js": SCRIPT,
    "game.js": SCRIPT,
    "history.js": SCRIPT,
    "picture.js": SCRIPT,
    "review.js": SCRIPT,
    "ridge.js": SCRIPT,
    "rows.js": SCRIPT,
    "shell.js": SCRIPT,
    "time.js": SCRIPT,
    "util.js": SCRIPT,
    "why.js": SCRIPT,
    "vendor/chessground.css": CSS,
    "vendor/chessground.js": SCRIPT,
    "vendor/pieces.css": CSS,
    "vendor/uplot.css": CSS,
    "vendor/uplot.js": SCRIPT,
    "vendor/inter.woff2": FONT,
    "vendor/newsreader.woff2": FONT,
}

/// The file at this address.
pub fn find(path: &str) -> Option<&'static Asset> {
    let path = if path.is_empty() { "index.html" } else { path };
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use sha2::{Digest, Sha256};

    use super::*;

    /// Files of the page that no program carries: what is written about the vendored ones.
    const LEFT_OUT: [&str; 6] = [
        "vendor/LIST.tsv",
        "vendor/README.md",
        "vendor/renew.sh",
        "vendor/uplot.LICENSE",
        "vendor/inter.LICENSE",
        "vendor/newsreader.LICENSE",
    ];

    fn folder() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/view"))
    }

    #[test]
    fn every_file_of_the_page_is_inside() {
        for inner in ["", "vendor"] {
            for entry in fs::read_dir(folder().join(inner)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(folder()).unwrap().to_str().unwrap().to_owned();
                let is_known = find(&name).is_some() || LEFT_OUT.contains(&name.as_str());
                assert!(is_known || path.is_dir(), "{name} is not served");
            }
        }
    }

    #[test]
    fn vendored_files_are_what_the_list_says() {
        let list = fs::read_to_string(folder().join("vendor/LIST.tsv")).unwrap();
        let mut listed = 0;
        for line in list.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [file, package, version, licence, sum] = fields[..] else { panic!("{line}") };
            let bytes = fs::read(folder().join("vendor").join(file)).unwrap();
            let digest = Sha256::digest(&bytes);
            let expected = (0..sum.len() / 2).map(|at| u8::from_str_radix(&sum[2 * at..][..2], 16));
            let expected: Vec<u8> = expected.map(Result::unwrap).collect();
            assert_eq!(digest[..], expected, "{file} of {package} {version}, {licence}");
            assert!(["MIT", "OFL-1.1", "GPL-3.0-or-later"].contains(&licence), "{licence}");
            listed += 1;
        }
        let vendored = ASSETS.iter().filter(|asset| asset.path.starts_with("vendor/"));
        for asset in vendored.clone() {
            assert!(list.contains(asset.path.trim_start_matches("vendor/")), "{}", asset.path);
        }
        assert!(listed >= vendored.count());
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        for asset in ASSETS.iter().filter(|asset| !asset.path.starts_with("vendor/")) {
            let Ok(text) = std::str::from_utf8(asset.bytes) else { continue };
            let text = text.replace("http://www.w3.org/", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{}", asset.path);
        }
    }
}
