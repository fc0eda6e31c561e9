//! `plaudit explain`: the counts of one entity in both stores, the source of each number, and any drift.

use clap::Args;

use super::{
    args::StoresArgs,
    entity::{NameError, Named, entity_id, user_id},
};
use plaudit_catalogue::primitives::UserId;
use plaudit_counting::reconcile::explain::explain;

#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// What to look at, as note_42 or note:<key>; kinds: user (user:<subject>), note, comment, group, inbox
    #[arg(value_name = "ID", value_parser = entity_id)]
    pub entity: Named,

    /// Also show this user's own edges to it (likes, follows …), as user_5 or user:<subject>; may be given
    /// several times
    #[arg(long, value_name = "USER", value_parser = user_id)]
    pub actor: Vec<Named>,

    #[command(flatten)]
    pub stores: StoresArgs,
}

/// Returns the document to print.
pub async fn run(args: &ExplainArgs) -> Result<String, NameError> {
    let (redis, db) = args.stores.open_also_without_redis().await?;
    let entity = args.entity.find(&db).await?;
    let mut actors: Vec<UserId> = Vec::with_capacity(args.actor.len());
    for actor in &args.actor {
        actors.push(actor.find_user(&db).await?);
    }
    let explanation = explain(&redis, &db, entity, &actors).await?;
    Ok(serde_json::to_string_pretty(&explanation).unwrap_or_default())
}
