//! Decompression of `.zst` files: all frames, one after the other, each with its checksum. A frame takes as
//! much memory as its window, which is bounded.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

/// `zstd` uses no larger window without `--long`, up to level 19 (RFC 8878 recommends to support it).
const LARGEST_WINDOW: u64 = 8 << 20;
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Bytes that each frame begins with, also one to skip.
const HEAD: usize = 5;

/// Reads the frames of a file.
pub struct ZstReader<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> ZstReader<R> {
    pub fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), is_in_frame: false }
    }

    /// Begins the next frame, behind frames without data. False at the end of the file.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            let header = self.read_header()?;
            match self.decoder.init(header.as_slice().chain(&mut self.source)) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut (&mut self.source).take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    /// The whole header of a frame; of anything else the first bytes.
    fn read_header(&mut self) -> io::Result<Vec<u8>> {
        let mut header = Vec::new();
        (&mut self.source).take(HEAD as u64).read_to_end(&mut header)?;
        if header.len() == HEAD && header.starts_with(&MAGIC) {
            let (_, rest) = fields(header[MAGIC.len()]);
            (&mut self.source).take(rest as u64).read_to_end(&mut header)?;
            let window = window(&header).filter(|_| header.len() == HEAD + rest);
            if let Some(window) = window.filter(|window| *window > LARGEST_WINDOW) {
                return Err(io::Error::other(format!(
                    "it was compressed with a window of {} MiB, and windows above {} MiB are refused: compress it with \
                     zstd at level 19 or below, and without --long",
                    window >> 20,
                    LARGEST_WINDOW >> 20
                )));
            }
        }
        Ok(header)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("a checksum of the compressed file is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_in_frame && !self.begin_frame()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            let bytes = self.decoder.read(into)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            self.end_frame()?;
        }
    }
}

/// Of a frame with this descriptor: bytes of the size of its content, and all bytes of the header behind the descriptor
/// (RFC 8878, 3.1.1.1).
const fn fields(descriptor: u8) -> (usize, usize) {
    let is_single_segment = descriptor & 0x20 != 0;
    let content = match descriptor >> 6 {
        0 => is_single_segment as usize,
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let dictionary = [0, 1, 2, 4][(descriptor & 3) as usize];
    (content, !is_single_segment as usize + dictionary + content)
}

/// The window of a frame with this header: of a single segment it is the whole content.
fn window(header: &[u8]) -> Option<u64> {
    let descriptor = *header.get(MAGIC.len())?;
    if descriptor & 0x20 == 0 {
        let (exponent, mantissa) = (header.get(HEAD)? >> 3, u64::from(header.get(HEAD)? & 7));
        let base = 1_u64 << (10 + exponent);
        return Some(base + base / 8 * mantissa);
    }
    let (content, _) = fields(descriptor);
    let written = header.get(header.len().checked_sub(content)?..)?;
    let size = written.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte));
    Some(if content == 2 { size + 256 } else { size })
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn decompressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        ZstReader::new(bytes).read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn all_frames_are_read_and_those_without_data_are_skipped() {
        let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let skipped = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
        let long = "x\n".repeat(500_000);
        let file = [frame("one\n"), skipped.clone(), frame(&long), skipped, frame("end")].concat();
        assert_eq!(decompressed(&file).unwrap(), format!("one\n{long}end").into_bytes());
        assert!(decompressed(b"").unwrap().is_empty());
    }

    /// A frame of a last block without data, with these bytes behind the magic number.
    fn empty_frame(header: &[u8]) -> Vec<u8> {
        [MAGIC.as_slice(), header, &[1, 0, 0]].concat()
    }

    #[test]
    fn windows_above_8_mib_are_refused_and_the_error_says_what_to_do() {
        // Exponent and mantissa of the window: 8 MiB; 9 MiB; 128 MiB; 3.75 TiB.
        assert!(decompressed(&empty_frame(&[0, 13 << 3])).unwrap().is_empty());
        for (window, size) in [(13 << 3 | 1, "9 MiB"), (17 << 3, "128 MiB"), (u8::MAX, "3932160 MiB")] {
            let refused = decompressed(&empty_frame(&[0, window])).unwrap_err().to_string();
            assert!(refused.contains(size) && refused.contains("--long"), "{refused}");
        }
        // Single segments: their window is the content, whose size has 1, 2, 4 or 8 bytes, behind 2 of a dictionary.
        for (descriptor, size, allowed) in [
            (0x20, &[7][..], true),
            (0x60, &[255, 255], true),
            (0xA0, &(8_u32 << 20).to_le_bytes(), true),
            (0xA0, &(9_u32 << 20).to_le_bytes(), false),
            (0xE0, &(1_u64 << 40).to_le_bytes(), false),
            (0xE2, &[&[0, 0], &(1_u64 << 40).to_le_bytes()[..]].concat(), false),
        ] {
            let header = [&MAGIC, &[descriptor][..], size].concat();
            assert_eq!(window(&header).unwrap() <= LARGEST_WINDOW, allowed, "{header:?}");
            assert_eq!(fields(descriptor).1, size.len());
            if !allowed {
                assert!(decompressed(&header).unwrap_err().to_string().contains("window"));
            }
        }
        assert!(decompressed(&compress_to_vec(&vec![7; 20 << 20][..], CompressionLevel::Fastest)).is_ok());
    }

    #[test]
    fn a_file_that_was_cut_off_or_is_something_else_is_an_error() {
        let file = compress_to_vec(&b"some text"[..], CompressionLevel::Fastest);
        assert!(decompressed(&file[..file.len() - 1]).is_err());
        assert!(decompressed(b"plain text").is_err());
    }
}
