//! What all mutations share: the acting user, the idempotency key, and the form of inputs and payloads.

use std::borrow::Cow;

use crate::{
    definition::{
        arguments::Arguments,
        list_size::ListSize,
        resolve::{Call, CallFn, Resolve},
        types::{InputDefinition, ObjectType, input_fields},
        values::{Object, Output},
    },
    errors::{ApiError, ApiResult, Code},
    reading::scope::Scope,
    request::access::Who,
};
use plaudit_catalogue::primitives::UserId;
use plaudit_domain::{
    Actor, AppKey, IdempotencyKey, PageAddress, Plaudit, Switched, Switching, Text, TextRule,
};

/// The field of inputs that create something, for the app's own id of it.
pub const APP_KEY: (&str, &str) = (
    "key: String",
    "Your app's own id of it: 1 to 200 bytes without control characters, never given twice. Needs the role service.",
);

/// A mutation that is about to start. Arguments are parsed after [`Self::begin`] and before [`Self::actor`],
/// so that bad input does not create a user.
pub struct Action<'a> {
    pub scope: &'a Scope,
    pub input: Arguments,
    key: Option<IdempotencyKey>,
    shows_counts: bool,
}

impl<'a> Action<'a> {
    /// The caller's right to act was checked before.
    ///
    /// # Errors
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) for a bad key.
    pub fn begin(call: Call<'a>) -> ApiResult<Self> {
        let input = call.arguments.input("input");
        let key =
            input.text("idempotencyKey").map(|key| IdempotencyKey::parse(key.into_owned())).transpose()?;
        Ok(Self { scope: call.scope, input, key, shows_counts: call.shows_counts })
    }

    pub fn plaudit(&self) -> &'a Plaudit {
        self.scope.plaudit()
    }

    pub const fn key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref()
    }

    /// The app's own id of what is created, which only services give, also when they act for a user.
    ///
    /// # Errors
    /// [`Code::Forbidden`](crate::Code::Forbidden) for other roles;
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) for a text that cannot be a key.
    pub fn app_key(&self) -> ApiResult<Option<AppKey>> {
        let Some(key) = self.text_of_service("key")? else { return Ok(None) };
        Ok(Some(AppKey::parse("key", &key)?))
    }

    /// The app's page about what is created, which only services give.
    ///
    /// # Errors
    /// [`Code::Forbidden`](crate::Code::Forbidden) for other roles;
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) for a text that is no such address.
    pub fn app_page(&self) -> ApiResult<Option<PageAddress>> {
        let Some(url) = self.text_of_service("url")? else { return Ok(None) };
        Ok(Some(PageAddress::parse("url", &url)?))
    }

    fn text_of_service(&self, argument: &'static str) -> ApiResult<Option<Cow<'_, str>>> {
        let text = self.input.text(argument);
        if text.is_some() && !self.scope.viewer().is_sent_by_service() {
            let message = format!("{argument}: this needs a token with the role service");
            return Err(ApiError::new(Code::Forbidden, message));
        }
        Ok(text)
    }

    /// A text of the input, if it is given.
    ///
    /// # Errors
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) for one that breaks its rule.
    pub fn optional_text(&self, rule: &TextRule) -> ApiResult<Option<Text>> {
        Ok(self.input.text(rule.argument).map(|text| Text::parse(&text, rule)).transpose()?)
    }

    /// # Errors
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) naming the first argument, if none of them is given.
    pub fn must_give_one_of<const N: usize>(&self, arguments: [&'static str; N]) -> ApiResult<()> {
        if arguments.iter().any(|argument| self.input.value(argument).is_some()) {
            return Ok(());
        }
        let (first, all) = (arguments[0], arguments.join(", "));
        Err(ApiError::bad_input(first, format!("{first}: give at least one of {all}")))
    }

    /// The acting user, created at the first action.
    ///
    /// # Errors
    /// [`Code::Suspended`](crate::Code::Suspended).
    pub async fn actor(&self) -> ApiResult<UserId> {
        self.scope.viewer().actor(self.plaudit()).await
    }

    /// The acting user, who may be suspended.
    pub async fn actor_even_suspended(&self) -> ApiResult<UserId> {
        self.scope.viewer().actor_even_suspended(self.plaudit()).await
    }

    /// The payload of a switch.
    pub fn switched(
        &self,
        switched: Switched,
        parts: impl IntoIterator<Item = (&'static str, Output)>,
    ) -> Output {
        self.scope.acts().durability.note(switched.durability);
        payload(switched.changed, parts)
    }

    /// A switch by the caller.
    ///
    /// # Errors
    /// [`Code::Suspended`](crate::Code::Suspended).
    pub async fn switching(&self, on: bool) -> ApiResult<Switching<'_>> {
        let actor = self.switching_actor(on).await?;
        Ok(Switching { actor, on, key: self.key(), shows_counts: self.shows_counts })
    }

    /// Switching off creates no user: who has none has switched nothing on.
    async fn switching_actor(&self, on: bool) -> ApiResult<Option<Actor>> {
        let viewer = self.scope.viewer();
        let user = if on { Some(self.actor().await?) } else { viewer.actor_if_user(self.plaudit()).await? };
        let Some(user) = user else { return Ok(None) };
        Ok(Some(Actor { user, by: viewer.acting_service(self.plaudit()).await? }))
    }
}

/// The payload of a mutation that always changes something: the new objects.
pub fn created(parts: impl IntoIterator<Item = (&'static str, Output)>) -> Output {
    Object::record(parts).into()
}

/// A payload: whether anything changed, and the changed objects.
pub fn payload(changed: bool, parts: impl IntoIterator<Item = (&'static str, Output)>) -> Output {
    Object::record([("changed", changed.into())].into_iter().chain(parts)).into()
}

/// Who may act, and the rate that the action counts for.
pub enum Permission {
    Write(Who),
    /// Creates something that others see.
    Create(Who),
}

/// A mutation with its input and its payload.
pub struct Mutation {
    pub name: &'static str,
    pub permission: Permission,
    pub description: &'static str,
    /// Fields of the input: signature and description each.
    pub input: &'static [(&'static str, &'static str)],
    /// When nothing changed; `None` for a mutation that always changes something.
    pub unchanged: Option<&'static str>,
    /// Other fields of the payload: signature and description each.
    pub payload: &'static [(&'static str, &'static str)],
    pub act: CallFn,
}

const KEY: (&str, &str) = (
    "idempotencyKey: String",
    "Any text of at most 64 bytes. A request with the same key within 24 hours returns the first result and changes \
     nothing; within 10 minutes, if the first one switched a state that was switched already.",
);

/// Mutations without an idempotency key: sent again, they do nothing. A key belongs to a user and keeps one result, and
/// these act for the app and have many.
const WITHOUT_KEY: &[&str] = &["removeNotes", "upsertGroups", "upsertNotes", "upsertUsers"];

impl Mutation {
    pub fn input_type(&self) -> InputDefinition {
        let key = (!WITHOUT_KEY.contains(&self.name)).then_some(KEY);
        let fields = input_fields(self.input.iter().copied().chain(key));
        let description = format!("The input of `{}`.", self.name);
        InputDefinition { name: self.type_name("Input"), description, fields }
    }

    pub fn payload_type(&self) -> ObjectType {
        let changed = self.unchanged.map(|unchanged| ("changed: Boolean!", unchanged));
        let description = format!("The result of `{}`.", self.name);
        ObjectType::new(self.type_name("Payload"), description)
            .parts(changed.into_iter().chain(self.payload.iter().copied()))
    }

    /// Adds its field to the type `Mutation`.
    pub fn add_to(&self, mutation: ObjectType) -> ObjectType {
        let (input, payload) = (self.type_name("Input"), self.type_name("Payload"));
        let signature = format!("{}(\"What to do.\" input: {input}!): {payload}", self.name);
        let mutation = mutation.field(&signature, self.description, Resolve::Call(self.act));
        let mutation = match self.permission {
            Permission::Write(who) => mutation.who(who),
            Permission::Create(who) => mutation.who(who).creates(self.name),
        };
        match self.list() {
            Some(list) => mutation.sized(self.name, ListSize::Ids { argument: "input", field: Some(list) }),
            None => mutation,
        }
    }

    /// The field of the input that lists what it acts on, one by one.
    fn list(&self) -> Option<&'static str> {
        let mut lists = self.input.iter().filter_map(|(signature, _)| signature.split_once(": ["));
        lists.find(|(_, of)| of.ends_with("]!")).map(|(name, _)| name)
    }

    /// `LikeNote` and the suffix.
    fn type_name(&self, suffix: &str) -> &'static str {
        let (first, rest) = self.name.split_at(1);
        format!("{}{rest}{suffix}", first.to_uppercase()).leak()
    }
}
