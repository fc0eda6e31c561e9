//! Where lines come from: files, also compressed ones, and standard input.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use sha2::{Digest, Sha256};

use super::zst::ZstReader;

/// A longer line is rejected, and not kept in memory.
pub const MAX_LINE_BYTES: usize = 256 * 1024;
const BUFFER: usize = 256 * 1024;

/// Digest of all lines that were read.
pub type LinesDigest = [u8; 32];

/// A file, or standard input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    StandardInput,
    File(PathBuf),
}

/// A line with its number, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumberedLine {
    pub number: u64,
    /// `Err`: it cannot be read as a text.
    pub text: Result<String, &'static str>,
}

/// The lines of an input, in order.
pub struct Lines {
    reader: BufReader<Box<dyn Read + Send>>,
    number: u64,
    digest: Sha256,
    /// Bytes of the file that were read, before decompression.
    consumed: Arc<AtomicU64>,
}

impl Input {
    pub fn of(argument: &Path) -> Self {
        if argument == Path::new("-") { Self::StandardInput } else { Self::File(argument.to_owned()) }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::StandardInput => "standard input".into(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The file of its rejected lines.
    pub fn rejects(&self) -> PathBuf {
        match self {
            Self::StandardInput => "stdin.rejects.jsonl".into(),
            Self::File(path) => {
                let mut name = path.as_os_str().to_owned();
                name.push(".rejects.jsonl");
                name.into()
            }
        }
    }

    /// Bytes to read; 0 if that is unknown.
    pub fn bytes(&self) -> io::Result<u64> {
        match self {
            Self::StandardInput => Ok(0),
            Self::File(path) => Ok(path.metadata()?.len()),
        }
    }

    /// # Errors
    /// If the file cannot be opened.
    pub fn open(&self) -> io::Result<Lines> {
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = |inner: Box<dyn Read + Send>| Counted { inner, consumed: Arc::clone(&consumed) };
        let plain: Box<dyn Read + Send> = match self {
            Self::StandardInput => Box::new(counted(Box::new(io::stdin()))),
            Self::File(path) => {
                let file = counted(Box::new(File::open(path)?));
                match path.extension().and_then(|ending| ending.to_str()) {
                    Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(file))),
                    Some("zst") => Box::new(ZstReader::new(BufReader::new(file))),
                    _ => Box::new(file),
                }
            }
        };
        let reader = BufReader::with_capacity(BUFFER, plain);
        Ok(Lines { reader, number: 0, digest: Sha256::new(), consumed })
    }
}

impl Lines {
    /// The next line that is not empty; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<NumberedLine>> {
        while let Some(line) = self.next_bytes()? {
            self.number += 1;
            let text = match line {
                None => Err("the line is longer than 256 KiB"),
                Some(bytes) if bytes.trim_ascii().is_empty() => continue,
                Some(bytes) => String::from_utf8(bytes).map_err(|_| "the line is not UTF-8"),
            };
            return Ok(Some(NumberedLine { number: self.number, text }));
        }
        Ok(None)
    }

    /// Reads this many lines without looking at them. False if there are fewer.
    pub fn skip(&mut self, lines: u64) -> io::Result<bool> {
        while self.number < lines {
            if self.next_bytes()?.is_none() {
                return Ok(false);
            }
            self.number += 1;
        }
        Ok(true)
    }

    /// Number of the last line.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Digest of all lines so far.
    pub fn digest(&self) -> LinesDigest {
        self.digest.clone().finalize().into()
    }

    /// How many bytes of the file were read, for a progress bar.
    pub fn consumed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.consumed)
    }

    /// The next line without its end; the inner `None` for one that is too long.
    fn next_bytes(&mut self) -> io::Result<Option<Option<Vec<u8>>>> {
        let (mut line, mut read, mut is_long) = (Vec::new(), 0, false);
        loop {
            let buffer = self.reader.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.map_or(buffer.len(), |end| end + 1)];
            self.digest.update(part);
            is_long |= line.len() + part.len() > MAX_LINE_BYTES;
            if !is_long {
                line.extend_from_slice(part);
            }
            let taken = part.len();
            read += taken;
            self.reader.consume(taken);
            if end.is_some() || taken == 0 {
                break;
            }
        }
        if read == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(Some((!is_long).then_some(line)))
    }
}

struct Counted {
    inner: Box<dyn Read + Send>,
    consumed: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(into)?;
        self.consumed.fetch_add(bytes as u64, Relaxed);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn lines(path: &Path) -> Vec<(u64, Result<String, &'static str>)> {
        let mut lines = Input::of(path).open().unwrap();
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.number, line.text));
        }
        all
    }

    #[test]
    fn compressed_files_have_the_lines_and_the_digest_of_plain_ones() {
        let dir = tempfile::tempdir().unwrap();
        let text = "one\n\n two \r\nthree".as_bytes();
        let (plain, gz, zst) = (dir.path().join("a"), dir.path().join("a.gz"), dir.path().join("a.zst"));
        std::fs::write(&plain, text).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(File::create(&gz).unwrap(), Default::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap();
        std::fs::write(&zst, compress_to_vec(text, CompressionLevel::Fastest)).unwrap();
        let expected = vec![(1, Ok("one".into())), (3, Ok(" two \r".into())), (4, Ok("three".into()))];
        let digest = |path: &Path| {
            let mut lines = Input::of(path).open().unwrap();
            assert!(lines.skip(4).unwrap());
            assert!(!lines.skip(5).unwrap());
            lines.digest()
        };
        for path in [&plain, &gz, &zst] {
            assert_eq!(lines(path), expected);
            assert_eq!(digest(path), digest(&plain));
        }
    }

    #[test]
    fn a_line_that_is_too_long_or_no_text_is_named_and_the_next_one_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let text = [&vec![b'x'; MAX_LINE_BYTES + 1][..], b"\n\xff\nnext\n"].concat();
        std::fs::write(&path, text).unwrap();
        let expected = [
            (1, Err("the line is longer than 256 KiB")),
            (2, Err("the line is not UTF-8")),
            (3, Ok("next".into())),
        ];
        assert_eq!(lines(&path), expected);
    }
}
