use plaudit::{
    domain::*,
    embedded::*,
    hub::Hub,
    pipeline,
    primitives::*,
    store::{redis::Redis, sql::Db},
};
use std::{
    num::NonZeroUsize,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn scratch() {
    tracing_subscriber::fmt().with_env_filter("info,plaudit=debug").init();
    let dir = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    let path = dir.path().to_owned();
    let (servers, data) = tokio::task::spawn_blocking(move || {
        let data = DataDir::open(&path.join("d")).unwrap();
        let lock = data.lock("x").unwrap();
        let s = EmbeddedServers::start(&lock, Options { durable: false, ..Options::default() }).unwrap();
        ((s, lock), data)
    })
    .await
    .unwrap();
    let boot = Db::for_pipeline(&data.database_url(), 10).unwrap();
    boot.migrate().await.unwrap();
    let shards = boot.installation(ShardCount::new(2).unwrap()).await.unwrap().shards;
    let redis = Redis::new(&data.redis_url(), shards).unwrap();
    println!("{:?}", redis.check_process().await);
    let db = Db::for_requests(&data.database_url(), 10).unwrap();
    let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::new(1000).unwrap());
    let stop = CancellationToken::new();
    tokio::spawn({
        let hub = hub.clone();
        let s = stop.clone();
        async move { hub.run(s).await }
    });
    let status = pipeline::Status::new(shards);
    let p = tokio::spawn(pipeline::run(
        redis.clone(),
        boot.clone(),
        pipeline::Settings {
            owner: "me".into(),
            lease: Duration::from_secs(10),
            batch_events: 1000,
            batch_wait: Duration::from_millis(50),
            replicas: 0,
            activity: true,
            drain: Duration::from_secs(5),
        },
        status.clone(),
        stop.clone(),
    ));
    while !status.not_serving().is_empty() || !hub.is_hearing() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("serving");
    let plaudit = Plaudit::new(
        redis.clone(),
        db.clone(),
        hub.clone(),
        Limits { follows: 5000, reply_wait: Duration::from_secs(1) },
    );
    let a = plaudit.ensure_user("alice").await.unwrap();
    let b = plaudit.ensure_user("bob").await.unwrap();
    let t = Instant::now();
    println!("{:?}", plaudit.set_follow(a, b, true, None).await.map(|r| r.1));
    println!("first {:?}", t.elapsed());
    for _ in 0..5 {
        let t = Instant::now();
        println!("{:?}", plaudit.set_follow(a, b, false, None).await.map(|r| r.1));
        println!("{:?}", plaudit.set_follow(a, b, false, None).await.map(|r| r.1));
        println!("{:?}", plaudit.set_follow(a, b, true, None).await.map(|r| r.1));
        println!("3 flips {:?}", t.elapsed());
        println!("{:?}", hub.counts(&[a.into(), b.into()]).await);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    println!("{:?}", boot.read_totals(plaudit::catalogue::EntityKind::User, &[a.0, b.0]).await);
    for s in shards.all() {
        println!("{:?}", redis.shard_meta(s).await);
    }
    stop.cancel();
    p.await.unwrap();
    tokio::task::spawn_blocking(move || servers.0.stop()).await.unwrap();
}
