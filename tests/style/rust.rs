//! Just enough of Rust's grammar to count it: lexemes, and the definitions of a file.

/// A lexeme, and its line from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lexeme<'a> {
    pub text: &'a str,
    pub line: usize,
}

/// The lexemes of a file, without comments and items under `#[cfg(test)]`.
pub fn lexemes(text: &str) -> Vec<Lexeme<'_>> {
    let all = all_lexemes(text);
    let mut kept = Vec::with_capacity(all.len());
    let mut at = 0;
    while let Some(lexeme) = all.get(at) {
        if is_for_tests(&all[at..]) {
            at = end_of_item(&all, at + CFG_TEST.len());
        } else {
            kept.push(*lexeme);
            at += 1;
        }
    }
    kept
}

const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

fn is_for_tests(lexemes: &[Lexeme<'_>]) -> bool {
    lexemes.len() >= CFG_TEST.len() && CFG_TEST.iter().zip(lexemes).all(|(text, lexeme)| *text == lexeme.text)
}

/// Where the item that begins at `at` has ended: after its block or its semicolon, or before what closes its surroundings.
fn end_of_item(lexemes: &[Lexeme<'_>], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(lexeme) = lexemes.get(at) {
        at += 1;
        match lexeme.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return at - 1,
            ")" | "]" | "}" => depth -= 1,
            ";" if depth == 0 => return at,
            _ => continue,
        }
        if depth == 0 && lexeme.text == "}" {
            return at;
        }
    }
    at
}

fn all_lexemes(text: &str) -> Vec<Lexeme<'_>> {
    let (mut lexemes, mut rest, mut line) = (Vec::new(), text, 0);
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() { first.len_utf8() } else { length_of_first(rest) };
        let (lexeme, after) = rest.split_at(length);
        if !first.is_whitespace() && !lexeme.starts_with("//") && !lexeme.starts_with("/*") {
            lexemes.push(Lexeme { text: lexeme, line });
        }
        line += lexeme.matches('\n').count();
        rest = after;
    }
    lexemes
}

const OPERATORS: [&str; 17] =
    ["..=", "::", "->", "=>", "..", "&&", "||", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "<<", ">>"];

/// The length of the lexeme or comment that the text begins with, in bytes.
fn length_of_first(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |at| at + 2);
    }
    if let Some(length) = length_of_string(text) {
        return length;
    }
    if text.starts_with('\'') {
        return length_of_quoted_char(text).unwrap_or_else(|| 1 + word_length(&text[1..]));
    }
    let word = word_length(text);
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return text.find(|c: char| !is_of_word(c) && c != '.').unwrap_or(text.len());
    }
    if word > 0 {
        return word;
    }
    let operator = OPERATORS.iter().find(|operator| text.starts_with(**operator));
    operator.map_or_else(|| text.chars().next().map_or(0, char::len_utf8), |operator| operator.len())
}

const fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

fn word_length(text: &str) -> usize {
    text.find(|c| !is_of_word(c)).unwrap_or(text.len())
}

/// `"…"`, `b"…"`, `r#"…"#`.
fn length_of_string(text: &str) -> Option<usize> {
    let after_b = text.strip_prefix('b').unwrap_or(text);
    let before = text.len() - after_b.len();
    if let Some(raw) = after_b.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if !raw[hashes..].starts_with('"') {
            return None;
        }
        let end = format!("\"{}", "#".repeat(hashes));
        let (begin, length) = (before + 1 + hashes + 1, end.len());
        return Some(text[begin..].find(&end).map_or(text.len(), |at| begin + at + length));
    }
    let quoted = after_b.strip_prefix('"')?;
    let mut escaped = false;
    let end = quoted.char_indices().find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    Some(end.map_or(text.len(), |(at, _)| before + 1 + at + 1))
}

/// `'x'`, `'\n'`; `None` for a lifetime.
fn length_of_quoted_char(text: &str) -> Option<usize> {
    let mut inside = text[1..].chars();
    let first = inside.next()?;
    if first == '\\' {
        let escaped = inside.next()?;
        let begin = 2 + escaped.len_utf8();
        return text[begin..].find('\'').map(|at| begin + at + 1);
    }
    (inside.next() == Some('\'')).then(|| 1 + first.len_utf8() + 1)
}

/// A type or trait that a file defines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    pub name: String,
    pub is_public: bool,
    pub is_trait: bool,
}

/// An `impl` block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Impl {
    /// The last name of the type's path.
    pub of: String,
    /// The last name of the trait's path.
    pub for_trait: Option<String>,
    pub methods: usize,
}

/// A function or method, with the number of its lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// What a file defines.
#[derive(Default, Debug)]
pub struct Items {
    pub types: Vec<Definition>,
    pub impls: Vec<Impl>,
    pub functions: Vec<Function>,
    /// Whether it has functions, statics, types or macros at its top level.
    pub has_free: bool,
}

pub fn items(lexemes: &[Lexeme<'_>]) -> Items {
    let mut items = Items::default();
    let mut depth = 0_usize;
    let at = |index: usize| lexemes.get(index).map_or("", |lexeme: &Lexeme<'_>| lexeme.text);
    for (index, lexeme) in lexemes.iter().enumerate() {
        match lexeme.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "struct" | "enum" | "trait" if begins_item(lexemes, index) && is_name(at(index + 1)) => {
                items.types.push(Definition {
                    name: at(index + 1).to_owned(),
                    is_public: index > 0 && at(index - 1) == "pub",
                    is_trait: lexeme.text == "trait",
                });
            }
            "impl" if begins_item(lexemes, index) => items.impls.extend(impl_at(lexemes, index)),
            "fn" if is_name(at(index + 1)) => {
                items.functions.extend(function_at(lexemes, index));
                items.has_free |= depth == 0;
            }
            "static" | "type" | "macro_rules" if depth == 0 => items.has_free = true,
            _ => {}
        }
    }
    items
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Whether an item may begin here: after another one, an attribute or a visibility.
fn begins_item(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let before = index.checked_sub(1).map_or(";", |before| lexemes[before].text);
    [";", "}", "]", ")", "pub", "unsafe"].contains(&before)
}

/// Where the bracket that opens at `open` is closed.
fn closing(lexemes: &[Lexeme<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (index, lexeme) in lexemes.iter().enumerate().skip(open) {
        match lexeme.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    lexemes.len()
}

fn impl_at(lexemes: &[Lexeme<'_>], index: usize) -> Option<Impl> {
    let open = index + lexemes[index..].iter().position(|lexeme| lexeme.text == "{")?;
    let (mut angle, mut names) = (0_i32, vec![String::new()]);
    for lexeme in &lexemes[index + 1..open] {
        match lexeme.text {
            "<" => angle += 1,
            ">" => angle -= 1,
            ">>" => angle -= 2,
            "for" if angle == 0 => names.push(String::new()),
            "where" if angle == 0 => break,
            name if angle == 0 && is_name(name) => *names.last_mut()? = name.to_owned(),
            _ => {}
        }
    }
    let of = names.pop()?;
    let methods = methods_between(lexemes, open, closing(lexemes, open));
    Some(Impl { of, for_trait: names.pop(), methods })
}

fn methods_between(lexemes: &[Lexeme<'_>], open: usize, close: usize) -> usize {
    let (mut depth, mut methods) = (0, 0);
    for lexeme in &lexemes[open..close] {
        match lexeme.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            "fn" if depth == 1 => methods += 1,
            _ => {}
        }
    }
    methods
}

/// `None` for a declaration without a body.
fn function_at(lexemes: &[Lexeme<'_>], index: usize) -> Option<Function> {
    let mut at = index;
    let open = loop {
        match lexemes.get(at)?.text {
            "(" | "[" => at = closing(lexemes, at),
            "{" => break at,
            ";" => return None,
            _ => {}
        }
        at += 1;
    };
    let (first, last) = (lexemes[index].line, lexemes.get(closing(lexemes, open))?.line);
    Some(Function { name: lexemes[index + 1].text.to_owned(), line: first + 1, lines: last - first + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        lexemes(text).iter().map(|lexeme| lexeme.text).collect()
    }

    #[test]
    fn comments_and_items_for_tests_are_no_lexemes() {
        let text =
            "fn a() {} // b\n/* c */\n#[cfg(test)]\nmod tests { fn d() {} }\n#[cfg(test)]\nuse e;\nfn f() {}";
        assert_eq!(texts(text), ["fn", "a", "(", ")", "{", "}", "fn", "f", "(", ")", "{", "}"]);
    }

    #[test]
    fn strings_and_characters_are_one_lexeme() {
        assert_eq!(texts(r##"f("a\"{", r#"b"{"#, b"c", '{', '\'', '\u{7f}', &'a x)"##).len(), 18);
    }

    #[test]
    fn definitions_are_found_with_their_sizes() {
        let text = "pub struct A;\nimpl<T: Fn() -> u8> A {\n    fn one(&self) {\n        let _: [u8; 4];\n    }\n    fn two();\n}\n\
                    impl fmt::Display for A {\n    fn fmt(&self) {}\n}\ntrait B { fn three(&self); }\n";
        let items = items(&lexemes(text));
        let names: Vec<_> =
            items.types.iter().map(|of| (of.name.as_str(), of.is_public, of.is_trait)).collect();
        assert_eq!(names, [("A", true, false), ("B", false, true)]);
        let impls: Vec<_> =
            items.impls.iter().map(|of| (of.of.as_str(), of.for_trait.as_deref(), of.methods)).collect();
        assert_eq!(impls, [("A", None, 2), ("A", Some("Display"), 1)]);
        let functions: Vec<_> =
            items.functions.iter().map(|of| (of.name.as_str(), of.line, of.lines)).collect();
        assert_eq!(functions, [("one", 3, 3), ("fmt", 9, 1)]);
        assert!(!items.has_free);
    }
}
