//! The viewer's profile.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::access::Who,
};
use plaudit_domain::{ImageAddress, ProfileEdit, USER_NAME, people::profiles};

pub const MUTATIONS: &[Mutation] = &[Mutation {
    name: "updateProfile",
    permission: Permission::Write(Who::SignedIn),
    description: "Changes your name or avatar. Open pages that watch you get the new ones.",
    input: &[
        ("name: String", "1 to 40 characters on one line. Omit it to leave it as it is."),
        (
            "avatarUrl: URL",
            "An https address of at most 2048 bytes; it is not fetched. An empty text removes it. Omit it to leave it as it is.",
        ),
    ],
    unchanged: Some("False when they were the same already."),
    payload: &[("user: User!", "You, as others see you.")],
    act: |call| update_profile(call).boxed(),
}];

async fn update_profile(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    action.must_give_one_of(["name", "avatarUrl"])?;
    let avatar_url = action.input.text("avatarUrl");
    let avatar_url =
        avatar_url.map(|address| ImageAddress::parse_or_none("avatarUrl", &address)).transpose()?;
    let edit = ProfileEdit { name: action.optional_text(&USER_NAME)?, avatar_url };
    let actor = action.actor().await?;
    let (user, changed) = profiles::update_profile(action.plaudit(), actor, &edit, action.key()).await?;
    Ok(payload(changed, [("user", user.into())]))
}
