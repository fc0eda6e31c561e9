//! Syntax errors of documents in one line, as graphql-js words them. The parser itself shows where it failed by
//! a drawing of several lines, and names its own rules.
//!
//! Reads a document that the parser has refused once more, after the grammar of executable documents (GraphQL
//! specification, section 2), up to the first token that does not fit. Nested as deeply as brackets are, which
//! [`tokens`](super::tokens) has limited.

use async_graphql::Pos;

use super::tokens::{Lexer, is_name, length_while};

/// What is wrong, and where.
#[derive(PartialEq, Eq, Debug)]
pub struct SyntaxError {
    pub message: String,
    pub at: Pos,
}

/// Finds the error of a document that the parser has refused at `refused_at`. What this grammar allows and the
/// parser does not is unexpected there.
pub fn error_of(text: &str, refused_at: Pos) -> SyntaxError {
    let mut reader = Reader::new(text);
    let found = reader.advance().and_then(|()| reader.document());
    let Unexpected { message, at } =
        found.err().unwrap_or_else(|| Reader::new(text).unexpected_from(offset(text, refused_at)));
    SyntaxError { message: format!("Syntax Error: {message}"), at: position(text, at) }
}

/// The byte at a position of the parser.
fn offset(text: &str, Pos { line, column }: Pos) -> usize {
    let before = line.checked_sub(2).and_then(|breaks| text.match_indices('\n').nth(breaks));
    let line = before.map_or(0, |(index, _)| index + 1);
    line + text[line..].char_indices().nth(column - 1).map_or(text.len() - line, |(index, _)| index)
}

/// Line and column, in characters, from 1 on.
fn position(text: &str, at: usize) -> Pos {
    let before = &text.as_bytes()[..at];
    let is_break = |index: &usize| match before[*index] {
        b'\n' => true,
        b'\r' => text.as_bytes().get(index + 1) != Some(&b'\n'),
        _ => false,
    };
    let breaks = || (0..before.len()).filter(is_break);
    let line = breaks().next_back().map_or(0, |index| index + 1);
    Pos { line: breaks().count() + 1, column: text[line..at].chars().count() + 1 }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Int,
    Float,
    Text,
    BlockText,
    Spread,
    /// A bracket or another sign of one byte.
    Sign(u8),
    End,
}

#[derive(Clone, Copy)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    /// Byte in the document.
    at: usize,
}

impl Token<'_> {
    const END: Self = Self { kind: Kind::End, text: "", at: 0 };

    fn described(&self) -> String {
        let name = match self.kind {
            Kind::Name => "Name",
            Kind::Int => "Int",
            Kind::Float => "Float",
            Kind::Text => "String",
            Kind::BlockText => "BlockString",
            Kind::Spread | Kind::Sign(_) => return format!("\"{}\"", self.text),
            Kind::End => return "<EOF>".to_owned(),
        };
        let value = match self.kind {
            Kind::Text => self.text[1..self.text.len() - 1].to_owned(),
            // Of several lines.
            Kind::BlockText => return name.to_owned(),
            _ => self.text.to_owned(),
        };
        format!("{name} \"{value}\"")
    }
}

struct Unexpected {
    message: String,
    at: usize,
}

type Read = Result<(), Unexpected>;

struct Reader<'a> {
    lexer: Lexer<'a>,
    text: &'a str,
    /// The next one.
    token: Token<'a>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { lexer: Lexer::new(text), text, token: Token::END }
    }

    /// The first token from this byte on is unexpected.
    fn unexpected_from(mut self, at: usize) -> Unexpected {
        loop {
            if let Err(unexpected) = self.advance() {
                return unexpected;
            }
            if self.token.kind == Kind::End || self.token.at >= at {
                return self.unexpected();
            }
        }
    }

    fn advance(&mut self) -> Read {
        self.lexer.skip_ignored();
        let at = self.text.len() - self.lexer.rest.len();
        let Some(&first) = self.lexer.rest.first() else {
            self.token = Token { at, ..Token::END };
            return Ok(());
        };
        // The lexer divides names that begin with true, false or null as the parser does; here they are one.
        let length = if is_name(first) {
            length_while(self.lexer.rest, |byte| byte == b'_' || byte.is_ascii_alphanumeric())
        } else {
            self.lexer.next().flatten().map_or(self.text.len() - at, |(_, length)| length)
        };
        let text = &self.text[at..];
        let mut end = length;
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let text = &text[..end];
        self.lexer.rest = &self.text.as_bytes()[at + end..];
        let kind = match first {
            _ if is_name(first) => Kind::Name,
            b'"' if text.starts_with("\"\"\"") => Kind::BlockText,
            b'"' if text.len() > 1 && text.ends_with('"') => Kind::Text,
            b'"' => return Err(Unexpected { message: "Unterminated string.".to_owned(), at: at + end }),
            b'0'..=b'9' | b'-' if text != "-" => {
                if text.contains(['.', 'e', 'E']) {
                    Kind::Float
                } else {
                    Kind::Int
                }
            }
            b'.' if text == "..." => Kind::Spread,
            b'!' | b'$' | b'&' | b'(' | b')' | b':' | b'=' | b'@' | b'[' | b']' | b'{' | b'|' | b'}' => {
                Kind::Sign(first)
            }
            _ => {
                let message = format!("Unexpected character: {}.", character(text));
                return Err(Unexpected { message, at });
            }
        };
        self.token = Token { kind, text, at };
        Ok(())
    }

    fn unexpected(&self) -> Unexpected {
        Unexpected { message: format!("Unexpected {}.", self.token.described()), at: self.token.at }
    }

    fn expected(&self, what: &str) -> Read {
        let message = format!("Expected {what}, found {}.", self.token.described());
        Err(Unexpected { message, at: self.token.at })
    }

    fn is(&self, sign: u8) -> bool {
        self.token.kind == Kind::Sign(sign)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token.kind == Kind::Name && self.token.text == word
    }

    fn sign(&mut self, sign: u8) -> Read {
        if self.is(sign) { self.advance() } else { self.expected(&format!("\"{}\"", char::from(sign))) }
    }

    /// Whether it was there.
    fn takes(&mut self, sign: u8) -> Result<bool, Unexpected> {
        let is = self.is(sign);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    fn name(&mut self) -> Read {
        if self.token.kind == Kind::Name { self.advance() } else { self.expected("Name") }
    }

    /// One or more of them between brackets.
    fn many(&mut self, (open, close): (u8, u8), mut item: impl FnMut(&mut Self) -> Read) -> Read {
        self.sign(open)?;
        loop {
            item(self)?;
            if self.takes(close)? {
                return Ok(());
            }
        }
    }

    fn document(&mut self) -> Read {
        loop {
            self.definition()?;
            if self.token.kind == Kind::End {
                return Ok(());
            }
        }
    }

    fn definition(&mut self) -> Read {
        if self.is(b'{') {
            return self.selection_set();
        }
        if self.is_word("fragment") {
            return self.fragment_definition();
        }
        if !["query", "mutation", "subscription"].into_iter().any(|word| self.is_word(word)) {
            return Err(self.unexpected());
        }
        self.advance()?;
        if self.token.kind == Kind::Name {
            self.advance()?;
        }
        if self.is(b'(') {
            self.many((b'(', b')'), Self::variable_definition)?;
        }
        self.directives(true)?;
        self.selection_set()
    }

    fn fragment_definition(&mut self) -> Read {
        self.advance()?;
        if self.is_word("on") {
            return Err(self.unexpected());
        }
        self.name()?;
        if !self.is_word("on") {
            return self.expected("\"on\"");
        }
        self.advance()?;
        self.name()?;
        self.directives(false)?;
        self.selection_set()
    }

    fn variable_definition(&mut self) -> Read {
        self.sign(b'$')?;
        self.name()?;
        self.sign(b':')?;
        self.type_reference()?;
        if self.takes(b'=')? {
            self.value(true)?;
        }
        self.directives(true)
    }

    fn type_reference(&mut self) -> Read {
        if self.takes(b'[')? {
            self.type_reference()?;
            self.sign(b']')?;
        } else {
            self.name()?;
        }
        self.takes(b'!').map(drop)
    }

    fn selection_set(&mut self) -> Read {
        self.many((b'{', b'}'), Self::selection)
    }

    fn selection(&mut self) -> Read {
        if self.token.kind == Kind::Spread {
            return self.fragment();
        }
        self.name()?;
        if self.takes(b':')? {
            self.name()?;
        }
        self.arguments(false)?;
        self.directives(false)?;
        if self.is(b'{') { self.selection_set() } else { Ok(()) }
    }

    fn fragment(&mut self) -> Read {
        self.advance()?;
        if self.token.kind == Kind::Name && self.token.text != "on" {
            self.advance()?;
            return self.directives(false);
        }
        if self.is_word("on") {
            self.advance()?;
            self.name()?;
        }
        self.directives(false)?;
        self.selection_set()
    }

    fn directives(&mut self, are_constant: bool) -> Read {
        while self.takes(b'@')? {
            self.name()?;
            self.arguments(are_constant)?;
        }
        Ok(())
    }

    fn arguments(&mut self, are_constant: bool) -> Read {
        if !self.is(b'(') {
            return Ok(());
        }
        self.many((b'(', b')'), |reader| reader.field(are_constant))
    }

    /// An argument, or a field of an object.
    fn field(&mut self, is_constant: bool) -> Read {
        self.name()?;
        self.sign(b':')?;
        self.value(is_constant)
    }

    fn value(&mut self, is_constant: bool) -> Read {
        match self.token.kind {
            Kind::Sign(b'[') => {
                self.advance()?;
                while !self.takes(b']')? {
                    self.value(is_constant)?;
                }
                Ok(())
            }
            Kind::Sign(b'{') => {
                self.advance()?;
                while !self.takes(b'}')? {
                    self.field(is_constant)?;
                }
                Ok(())
            }
            Kind::Sign(b'$') => {
                let at = self.token.at;
                self.advance()?;
                if is_constant && self.token.kind == Kind::Name {
                    let message = format!("Unexpected variable \"${}\" in constant value.", self.token.text);
                    return Err(Unexpected { message, at });
                }
                if is_constant {
                    Err(Unexpected { message: "Unexpected \"$\".".to_owned(), at })
                } else {
                    self.name()
                }
            }
            Kind::Name | Kind::Int | Kind::Float | Kind::Text | Kind::BlockText => self.advance(),
            Kind::Sign(_) | Kind::Spread | Kind::End => Err(self.unexpected()),
        }
    }
}

/// The first character in quotes, or its number.
fn character(text: &str) -> String {
    match text.chars().next() {
        Some('"') => "'\"'".to_owned(),
        Some(visible @ ' '..='~') => format!("\"{visible}\""),
        Some(other) => format!("U+{:04X}", u32::from(other)),
        None => "<EOF>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::{Error, parse_query};
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> SyntaxError {
        let Err(Error::Syntax { start, .. }) = parse_query(text) else { panic!("it is no error: {text}") };
        error_of(text, start)
    }

    /// What graphql-js 16 says of the same documents; `tests/clients/syntax.test.js` asks it for more.
    #[test]
    fn an_error_says_in_one_line_what_was_expected_and_what_was_found() {
        for (text, message, line, column) in [
            ("{ feed { } }", "Expected Name, found \"}\".", 1, 10),
            ("{ feed(first 3) { id } }", "Expected \":\", found Int \"3\".", 1, 14),
            ("", "Unexpected <EOF>.", 1, 1),
            ("{ feed {", "Expected Name, found <EOF>.", 1, 9),
            ("query", "Expected \"{\", found <EOF>.", 1, 6),
            ("{ a }\n\nnothing", "Unexpected Name \"nothing\".", 3, 1),
            ("query ($a: [Int) { a }", "Expected \"]\", found \")\".", 1, 16),
            ("query ($a: Int = $b) { a }", "Unexpected variable \"$b\" in constant value.", 1, 18),
            ("{ ...F } fragment F { a }", "Expected \"on\", found \"{\".", 1, 21),
            ("{ é }", "Unexpected character: U+00E9.", 1, 3),
            ("{ a(x: \"b", "Unterminated string.", 1, 10),
            ("# é\r\n{ a(x: \"é\", y: ) }", "Unexpected \")\".", 2, 16),
            ("{ a(nullable: 1, x: nullable y) }", "Expected \":\", found \")\".", 1, 31),
        ] {
            let expected =
                SyntaxError { message: format!("Syntax Error: {message}"), at: Pos { line, column } };
            assert_eq!(error(text), expected, "{text}");
        }
    }

    /// What the specification allows and the parser does not.
    #[test]
    fn what_only_the_parser_refuses_is_unexpected_where_it_stopped() {
        for text in ["{ a(x: \"\\u{e9}\") }", "\"described\" { a }"] {
            assert!(error(text).message.starts_with("Syntax Error: Unexpected "), "{:?}", error(text));
        }
    }

    proptest! {
        #[test]
        fn a_message_of_any_text_has_one_line_and_its_place_is_in_the_text(
            parts in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "(", ")", "[", "]", ":", "$", "@", "!", "=", "...", "query", "fragment", "on", "true", "a", "1",
                "1.5", "-", "\"b\"", "\"\\\"", "\"\"\"c\n\"\"\"", "\"\"\"", "#d", "\r\n", "\n", "\u{feff}", "é", "\u{7}", " ",
            ]), 0..24)
        ) {
            let text = parts.concat();
            if let Err(Error::Syntax { start, .. }) = parse_query(&text) {
                let SyntaxError { message, at } = error_of(&text, start);
                prop_assert!(!message.contains(['\n', '\r']), "{message}");
                prop_assert!(at.line <= text.split(['\n', '\r']).count() && at.column <= text.chars().count() + 1);
            }
        }
    }
}
