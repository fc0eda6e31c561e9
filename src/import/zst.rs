//! Decompression of `.zst` files: all frames, one after the other, each with its checksum.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

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
            match self.decoder.init(&mut self.source) {
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

    #[test]
    fn a_file_that_was_cut_off_or_is_something_else_is_an_error() {
        let file = compress_to_vec(&b"some text"[..], CompressionLevel::Fastest);
        assert!(decompressed(&file[..file.len() - 1]).is_err());
        assert!(decompressed(b"plain text").is_err());
    }
}
