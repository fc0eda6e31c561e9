//! Bundles of views.

use plaudit_catalogue::{
    event_log::Event,
    primitives::{Id, NoteId, ShardCount, ShardId},
};
use plaudit_store::redis::{Redis, ViewBundle, log::views};

use redis::{AsyncCommands, streams::StreamRangeReply};
use support::{SOON, Server, eventually, key};

#[tokio::test]
async fn a_bundle_is_appended_once_also_when_it_is_sent_repeatedly_or_late() {
    let server = Server::shared();
    let stores = server.stores();
    let id = stores.new_note().await;
    let redis = Redis::new(stores.redis_url(), ShardCount::new(2).unwrap()).unwrap();
    let event =
        Event::Views { note: NoteId(Id::try_from(id).unwrap()), by: 5.try_into().unwrap(), at: 1_000 };
    let bundle =
        |number| ViewBundle { shard: ShardId::first((id % 2) as u16), number, events: vec![event.clone()] };
    let sender = uuid::Uuid::new_v4();
    for number in [1, 1, 2, 1, 2] {
        views::append_views(&redis, sender, &bundle(number)).await.unwrap();
    }
    let total = "SELECT views FROM note_counts WHERE id = $1";
    eventually("both bundles are in PostgreSQL", SOON, || async {
        let total = stores.number(total, id).await;
        assert!(total <= 10, "{total}");
        (total == 10).then_some(())
    })
    .await;
    let log: StreamRangeReply = stores.redis().await.xrange_all(key(id % 2, "log")).await.unwrap();
    let texts = log.ids.iter().filter_map(|entry| entry.get::<String>("e"));
    assert_eq!(texts.filter(|text| text.starts_with(&format!("1 views {id} "))).count(), 2);
}
