//! Log output on stderr: one line per event, which text of clients cannot forge.

use std::io::{self, IsTerminal, Write};

use tracing::Level;
use tracing_subscriber::{
    filter::{FilterFn, filter_fn},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use plaudit_catalogue::settings::{LogFormat, LogSettings};

/// Logs to stderr, because stdout is for the results of commands.
pub fn start_log(log: &LogSettings) {
    let ansi = io::stderr().is_terminal();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(log.log.clone())
        .with_writer(move || OneLine { out: io::stderr(), ansi })
        .with_ansi(ansi);
    match log.log_format {
        LogFormat::Text => subscriber.finish().with(without_messages()).init(),
        LogFormat::Json => subscriber.json().finish().with(without_messages()).init(),
    }
}

/// Drops lines with the messages of WebSockets, whatever the setting: a `connection_init` has a token.
fn without_messages() -> FilterFn {
    filter_fn(|line| *line.level() < Level::TRACE || !line.target().starts_with("tungstenite"))
}

/// Writes each event as one line. Text of clients in an event can neither forge another line nor control a
/// terminal.
struct OneLine<W> {
    out: W,
    /// Whether to keep escape sequences. They are colours of this program: the formatter escapes sequences of clients.
    ansi: bool,
}

impl<W: Write> Write for OneLine<W> {
    /// Writes one event: the formatter passes each event whole.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let (line, end) = match event.split_last() {
            Some((b'\n', line)) => (line, &b"\n"[..]),
            _ => (event, &b""[..]),
        };
        if line.iter().any(|&byte| self.must_escape(byte)) {
            let escaped: Vec<u8> = line.iter().flat_map(|&byte| self.escaped(byte)).collect();
            self.out.write_all(&[&escaped, end].concat())?;
        } else {
            self.out.write_all(event)?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W> OneLine<W> {
    const fn must_escape(&self, byte: u8) -> bool {
        byte.is_ascii_control() && !(self.ansi && byte == b'\x1b')
    }

    fn escaped(&self, byte: u8) -> Vec<u8> {
        if self.must_escape(byte) { byte.escape_ascii().collect() } else { vec![byte] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(event: &str, ansi: bool) -> String {
        let mut out = Vec::new();
        OneLine { out: &mut out, ansi }.write_all(event.as_bytes()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_event_is_one_line_without_control_characters() {
        assert_eq!(written("INFO ready é\n", false), "INFO ready é\n");
        let forged = "INFO name=x\n2026-11-21 ERROR forged\r\u{1b}[2J\u{7}\n";
        assert_eq!(written(forged, false), "INFO name=x\\n2026-11-21 ERROR forged\\r\\x1b[2J\\x07\n");
        assert_eq!(written("\u{1b}[32mINFO\u{1b}[0m a\nb\n", true), "\u{1b}[32mINFO\u{1b}[0m a\\nb\n");
    }
}
