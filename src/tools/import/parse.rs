//! Parses a line of an import: a JSON object, checked as far as it goes without the database.

use chrono::{DateTime, Utc};
use plaudit_token_auth::Subject;
use serde::Deserialize;
use serde_json::error::Category;

use super::line::{
    CarriedLine, CommentLine, EdgeLine, GroupLine, Line, NoteLine, RatingLine, Reason, UserLine,
};
use plaudit_catalogue::{CARRIED, EdgeKind, EntityKind, MAX_CARRIED, UnixMillis, carried_counter};
use plaudit_domain::{
    AppKey, COMMENT_BODY, GROUP_DESCRIPTION, GROUP_NAME, ImageAddress, NOTE_BODY, NOTE_TITLE, PageAddress,
    Score, Text, TextRule, USER_NAME,
};

/// All fields of all types. A field that a line's type does not have is an error.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "a JSON object")]
struct LineFields {
    #[serde(rename = "type")]
    kind: Option<String>,
    subject: Option<String>,
    name: Option<String>,
    avatar_url: Option<String>,
    key: Option<String>,
    owner: Option<String>,
    description: Option<String>,
    author: Option<String>,
    group: Option<String>,
    url: Option<String>,
    title: Option<String>,
    body: Option<String>,
    images: Option<Vec<String>>,
    note: Option<String>,
    comment: Option<String>,
    reply_to: Option<String>,
    user: Option<String>,
    target: Option<String>,
    score: Option<i32>,
    counter: Option<String>,
    value: Option<i64>,
    from: Option<String>,
    featured_at: Option<String>,
    on: Option<bool>,
    at: Option<String>,
}

impl Line {
    /// `now`: a time after it is refused.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn parse(text: &str, now: UnixMillis) -> Result<Self, Reason> {
        let mut fields: LineFields = serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Data => error.to_string(),
            _ => format!("it is not a JSON object: {error}"),
        })?;
        let kind = needed(&mut fields.kind, "type")?;
        let line = match kind.as_str() {
            "user" => fields.user_line(now).map(Self::User),
            "group" => fields.group_line(now).map(Self::Group),
            "note" => fields.note_line(now).map(Self::Note),
            "comment" => fields.comment_line(now).map(Self::Comment),
            "like" => fields.like(now).map(Self::Edge),
            "collect" => fields.edge(EdgeKind::NoteCollect, now).map(Self::Edge),
            "follow" => fields.edge(EdgeKind::Follow, now).map(Self::Edge),
            "join" => fields.edge(EdgeKind::GroupJoin, now).map(Self::Edge),
            "rating" => fields.rating(now).map(Self::Rating),
            "carried" => fields.carried().map(Self::Carried),
            _ => Err(format!(
                "unknown type {kind:?}; types are user, group, note, comment, like, collect, follow, join, rating and carried"
            )),
        }?;
        match fields.left() {
            Some(name) => Err(format!("a {kind} has no field {name}")),
            None => Ok(line),
        }
    }
}

impl LineFields {
    fn user_line(&mut self, now: UnixMillis) -> Result<UserLine, Reason> {
        let address =
            |address: String| ImageAddress::parse("avatarUrl", &address).map(ImageAddress::into_string);
        Ok(UserLine {
            subject: subject(&mut self.subject, "subject")?,
            name: text(&mut self.name, &USER_NAME)?,
            avatar_url: self.avatar_url.take().map(address).transpose().map_err(|error| error.to_string())?,
            at: self.at.take().map(|at| time(&at, now)).transpose()?,
        })
    }

    fn group_line(&mut self, now: UnixMillis) -> Result<GroupLine, Reason> {
        self.description.get_or_insert_default();
        Ok(GroupLine {
            key: key(&mut self.key, "key")?,
            owner: subject(&mut self.owner, "owner")?,
            name: text(&mut self.name, &GROUP_NAME)?,
            description: text(&mut self.description, &GROUP_DESCRIPTION)?,
            at: self.time(now)?,
        })
    }

    fn note_line(&mut self, now: UnixMillis) -> Result<NoteLine, Reason> {
        let url = self.url.take().map(|url| PageAddress::parse("url", &url)).transpose();
        let featured_at = self.featured_at.take().map(|at| time(&at, now)).transpose()?;
        if featured_at.is_some() && self.group.is_none() {
            return Err("featuredAt: a note that is in no group cannot be featured".into());
        }
        Ok(NoteLine {
            key: key(&mut self.key, "key")?,
            author: subject(&mut self.author, "author")?,
            group: optional_key(&mut self.group, "group")?,
            url: url.map_err(|error| error.to_string())?.map(|url| url.as_str().to_owned()),
            title: text_or_none(&mut self.title, &NOTE_TITLE)?,
            body: text_or_none(&mut self.body, &NOTE_BODY)?,
            at: self.time(now)?,
            featured_at,
        })
    }

    fn comment_line(&mut self, now: UnixMillis) -> Result<CommentLine, Reason> {
        let images = self.images.take().unwrap_or_default();
        // Requests have the same rule for comments with and without images.
        let rule = TextRule { min: usize::from(images.is_empty()), ..COMMENT_BODY };
        let images = images.iter().map(|address| ImageAddress::parse("images", address));
        let images = images.map(|image| image.map(ImageAddress::into_string)).collect::<Result<_, _>>();
        Ok(CommentLine {
            key: key(&mut self.key, "key")?,
            note: key(&mut self.note, "note")?,
            author: subject(&mut self.author, "author")?,
            reply_to: optional_key(&mut self.reply_to, "replyTo")?,
            body: text(&mut self.body, &rule)?,
            images: images.map_err(|error| error.to_string())?,
            at: self.time(now)?,
        })
    }

    /// Of a note or of a comment.
    fn like(&mut self, now: UnixMillis) -> Result<EdgeLine, Reason> {
        match (&self.note, &self.comment) {
            (Some(_), Some(_)) => Err("a like has either a note or a comment, not both".into()),
            (None, None) => Err("the field note (or comment) is missing".into()),
            (Some(_), None) => self.edge(EdgeKind::NoteLike, now),
            (None, Some(_)) => self.edge(EdgeKind::CommentLike, now),
        }
    }

    fn edge(&mut self, kind: EdgeKind, now: UnixMillis) -> Result<EdgeLine, Reason> {
        let user = subject(&mut self.user, "user")?;
        let target = match kind {
            EdgeKind::NoteLike | EdgeKind::NoteCollect => key(&mut self.note, "note")?,
            EdgeKind::CommentLike => key(&mut self.comment, "comment")?,
            EdgeKind::Follow => subject(&mut self.target, "target")?,
            EdgeKind::GroupJoin => key(&mut self.group, "group")?,
        };
        if kind == EdgeKind::Follow && user == target {
            return Err("users cannot follow themselves".into());
        }
        Ok(EdgeLine { kind, user, target, on: self.on.take().unwrap_or(true), at: self.time(now)? })
    }

    fn rating(&mut self, now: UnixMillis) -> Result<RatingLine, Reason> {
        let score = needed(&mut self.score, "score")?;
        Ok(RatingLine {
            user: subject(&mut self.user, "user")?,
            note: key(&mut self.note, "note")?,
            score: Score::parse(score).map_err(|error| error.to_string())?,
            at: self.time(now)?,
        })
    }

    /// Of a note or of a user.
    fn carried(&mut self) -> Result<CarriedLine, Reason> {
        let (kind, of) = match (&self.note, &self.user) {
            (Some(_), Some(_)) => return Err("a carried number has either a note or a user, not both".into()),
            (None, None) => return Err("the field note (or user) is missing".into()),
            (Some(_), None) => (EntityKind::Note, key(&mut self.note, "note")?),
            (None, Some(_)) => (EntityKind::User, subject(&mut self.user, "user")?),
        };
        let name = needed(&mut self.counter, "counter")?;
        let counter = carried_counter(kind, &name).ok_or_else(|| {
            format!("counter: a {} carries {}, not {name:?}", kind.name(), counters_of(kind))
        })?;
        let value = needed(&mut self.value, "value")?;
        if !(0..=MAX_CARRIED).contains(&value) {
            return Err(format!("value: must be between 0 and {MAX_CARRIED}, not {value}"));
        }
        Ok(CarriedLine { counter, of, value, from: self.from.take() })
    }

    fn time(&mut self, now: UnixMillis) -> Result<UnixMillis, Reason> {
        time(&needed(&mut self.at, "at")?, now)
    }

    /// A field that the line's type has not taken.
    fn left(&self) -> Option<&'static str> {
        let left = [
            ("subject", self.subject.is_some()),
            ("name", self.name.is_some()),
            ("avatarUrl", self.avatar_url.is_some()),
            ("key", self.key.is_some()),
            ("owner", self.owner.is_some()),
            ("description", self.description.is_some()),
            ("author", self.author.is_some()),
            ("group", self.group.is_some()),
            ("url", self.url.is_some()),
            ("title", self.title.is_some()),
            ("body", self.body.is_some()),
            ("images", self.images.is_some()),
            ("note", self.note.is_some()),
            ("comment", self.comment.is_some()),
            ("replyTo", self.reply_to.is_some()),
            ("user", self.user.is_some()),
            ("target", self.target.is_some()),
            ("score", self.score.is_some()),
            ("counter", self.counter.is_some()),
            ("value", self.value.is_some()),
            ("from", self.from.is_some()),
            ("featuredAt", self.featured_at.is_some()),
            ("on", self.on.is_some()),
            ("at", self.at.is_some()),
        ];
        left.into_iter().find(|(_, is_left)| *is_left).map(|(name, _)| name)
    }
}

/// The counters of a kind that may carry a number.
fn counters_of(kind: EntityKind) -> String {
    let names: Vec<&str> =
        CARRIED.iter().filter(|counter| counter.kind() == kind).map(|counter| counter.name()).collect();
    names.join(", ")
}

fn needed<T>(field: &mut Option<T>, name: &str) -> Result<T, Reason> {
    field.take().ok_or_else(|| format!("the field {name} is missing"))
}

fn subject(field: &mut Option<String>, name: &str) -> Result<String, Reason> {
    let text = needed(field, name)?;
    match Subject::try_from(text) {
        Ok(subject) => Ok(subject.as_str().to_owned()),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

fn key(field: &mut Option<String>, name: &'static str) -> Result<String, Reason> {
    let text = needed(field, name)?;
    AppKey::parse(name, &text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn optional_key(field: &mut Option<String>, name: &'static str) -> Result<Option<String>, Reason> {
    if field.is_some() { key(field, name).map(Some) } else { Ok(None) }
}

fn text(field: &mut Option<String>, rule: &TextRule) -> Result<String, Reason> {
    let text = needed(field, rule.argument)?;
    Text::parse(&text, rule).map(|text| text.as_str().to_owned()).map_err(|error| error.to_string())
}

/// An empty text if the field is left out.
fn text_or_none(field: &mut Option<String>, rule: &TextRule) -> Result<String, Reason> {
    if field.is_some() { text(field, rule) } else { Ok(String::new()) }
}

fn time(text: &str, now: UnixMillis) -> Result<UnixMillis, Reason> {
    let parsed = DateTime::parse_from_rfc3339(text)
        .map_err(|_| format!("at: {text:?} is not a time such as 2019-05-01T12:00:00Z"))?;
    let at = parsed.with_timezone(&Utc).timestamp_millis();
    if at > now {
        return Err(format!("at: {text} is in the future"));
    }
    if at < 0 { Err(format!("at: {text} is before 1970")) } else { Ok(at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::Counter;

    const NOW: UnixMillis = 1_600_000_000_000;

    fn refused(text: &str) -> String {
        Line::parse(text, NOW).unwrap_err()
    }

    #[test]
    fn a_like_is_on_unless_it_says_otherwise() {
        let line = r#"{"type":"like","user":"a","note":"p1","at":"2019-05-01T12:00:00.5+02:00"}"#;
        let (kind, at) = (EdgeKind::NoteLike, 1_556_704_800_500);
        let like = EdgeLine { kind, user: "a".into(), target: "p1".into(), on: true, at };
        assert_eq!(Line::parse(line, NOW), Ok(Line::Edge(like.clone())));
        let off = line.replace("}", r#","on":false}"#);
        assert_eq!(Line::parse(&off, NOW), Ok(Line::Edge(EdgeLine { on: false, ..like })));
    }

    #[test]
    fn a_carried_number_is_of_a_counter_that_its_note_or_user_has() {
        let line = r#"{"type":"carried","note":"p","counter":"views","value":1000000000000}"#;
        let (of, from) = ("p".to_owned(), None);
        let carried = CarriedLine { counter: Counter::NoteViews, of, value: MAX_CARRIED, from };
        assert_eq!(Line::parse(line, NOW), Ok(Line::Carried(carried)));
        let line = r#"{"type":"carried","user":"a","counter":"coins","value":0,"from":"b"}"#;
        let (of, from) = ("a".to_owned(), Some("b".to_owned()));
        let carried = CarriedLine { counter: Counter::UserCoins, of, value: 0, from };
        assert_eq!(Line::parse(line, NOW), Ok(Line::Carried(carried)));
    }

    #[test]
    fn a_wrong_line_is_refused_with_the_name_of_what_is_wrong() {
        let at = r#""at":"2019-05-01T12:00:00Z""#;
        for (line, why) in [
            ("", "it is not a JSON object: EOF"),
            ("likes", "it is not a JSON object: expected"),
            ("7", "expected a JSON object"),
            ("[]", "invalid length"),
            (r#"{"user":"a"}"#, "the field type is missing"),
            (r#"{"type":"dislike"}"#, "unknown type \"dislike\""),
            (r#"{"type":"like","likes":1}"#, "unknown field `likes`"),
            (&format!(r#"{{"type":"like","user":"a",{at}}}"#), "the field note (or comment) is missing"),
            (&format!(r#"{{"type":"like","user":"a","note":"x","comment":"y",{at}}}"#), "not both"),
            (r#"{"type":"like","user":"a","note":"p"}"#, "the field at is missing"),
            (
                &format!(r#"{{"type":"like","user":"a","note":"p","title":"x",{at}}}"#),
                "a like has no field title",
            ),
            (
                &format!(r#"{{"type":"like","user":"","note":"p",{at}}}"#),
                "user: a subject has 1 to 255 bytes",
            ),
            (
                &format!(r#"{{"type":"like","user":"a","note":"a\nb",{at}}}"#),
                "note: a key has no control characters",
            ),
            (&format!(r#"{{"type":"like","user":"a","note":"{}",{at}}}"#, "k".repeat(201)), "200 bytes"),
            (r#"{"type":"like","user":"a","note":"p","at":"2099-05-01T12:00:00Z"}"#, "is in the future"),
            (r#"{"type":"like","user":"a","note":"p","at":"1969-05-01T12:00:00Z"}"#, "is before 1970"),
            (r#"{"type":"like","user":"a","note":"p","at":"yesterday"}"#, "is not a time"),
            (&format!(r#"{{"type":"follow","user":"a","target":"a",{at}}}"#), "cannot follow themselves"),
            (r#"{"type":"carried","counter":"likes","value":1}"#, "the field note (or user) is missing"),
            (r#"{"type":"carried","note":"p","user":"a","counter":"likes","value":1}"#, "not both"),
            (r#"{"type":"carried","note":"p","value":1}"#, "the field counter is missing"),
            (r#"{"type":"carried","note":"p","counter":"likes"}"#, "the field value is missing"),
            (
                r#"{"type":"carried","note":"p","counter":"followers","value":1}"#,
                "counter: a note carries likes, collects, views, not \"followers\"",
            ),
            (
                r#"{"type":"carried","user":"a","counter":"likes_received","value":1}"#,
                "counter: a user carries followers, coins, not",
            ),
            (
                r#"{"type":"carried","note":"p","counter":"likes","value":-1}"#,
                "value: must be between 0 and 1000000000000, not -1",
            ),
            (r#"{"type":"carried","note":"p","counter":"likes","value":1000000000001}"#, "must be between"),
            (
                r#"{"type":"carried","note":"p","counter":"likes","value":18446744073709551615}"#,
                "expected i64",
            ),
            (r#"{"type":"carried","note":"p","counter":"likes","value":1.5}"#, "expected i64"),
            (
                r#"{"type":"carried","note":"p","counter":"likes","value":1,"on":true}"#,
                "a carried has no field on",
            ),
            (
                &format!(r#"{{"type":"rating","user":"a","note":"p","score":11,{at}}}"#),
                "score: must be between",
            ),
            (r#"{"type":"user","subject":"a","name":" "}"#, "name: must have 1 to 40"),
            (
                &format!(
                    r#"{{"type":"note","key":"p","author":"a","title":"x","body":"y","url":"ftp://x/",{at}}}"#
                ),
                "url: only https or http addresses",
            ),
        ] {
            assert!(refused(line).contains(why), "{line}: {}", refused(line));
        }
    }
}
