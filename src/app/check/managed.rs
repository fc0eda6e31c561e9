//! Stores that somebody else manages: which one it is, as far as hosts, roles and functions show. Each has a row in
//! docs/operations/managed-stores.md.

/// A service, and parts of hosts by which it is known.
const REDIS: &[(&str, &[&str])] = &[
    ("Amazon ElastiCache", &[".cache.amazonaws.com"]),
    ("Amazon MemoryDB", &[".memorydb."]),
    ("Azure Managed Redis", &[".redis.azure.net", ".redis.cache.windows.net"]),
    ("Upstash", &[".upstash.io"]),
    ("Alibaba Cloud Tair", &[".rds.aliyuncs.com"]),
    ("TencentDB for Redis", &[".tencentcdb.com", ".redis.tencent"]),
];

/// A service, and a role or function that only it has. The first that is there counts.
const POSTGRESQL: &[(&str, &str)] = &[
    ("Amazon Aurora", "aurora_version"),
    ("Amazon RDS", "rds_superuser"),
    ("Google Cloud SQL", "cloudsqlsuperuser"),
    ("Neon", "neon_superuser"),
    ("Supabase", "supabase_admin"),
    ("Azure Database for PostgreSQL", "azure_pg_admin"),
];

/// Those whose storage and memory nobody else sets.
const SIZED_BY_THE_SERVICE: [&str; 2] = ["Amazon Aurora", "Neon"];

/// The service at this address of a Redis.
pub fn redis(address: &str) -> Option<&'static str> {
    let known = REDIS.iter().find(|(_, hosts)| hosts.iter().any(|host| address.contains(host)));
    known.map(|(name, _)| *name)
}

/// What [`postgresql`] wants to know.
pub fn marks() -> Vec<&'static str> {
    POSTGRESQL.iter().map(|(_, mark)| *mark).collect()
}

/// The service that has these of the [`marks`].
pub fn postgresql(found: &[String]) -> Option<&'static str> {
    POSTGRESQL.iter().find(|(_, mark)| found.iter().any(|found| found == mark)).map(|(name, _)| *name)
}

/// Whether the memory settings of PostgreSQL are nobody's but the service's.
pub fn is_sized(service: Option<&str>) -> bool {
    service.is_some_and(|service| SIZED_BY_THE_SERVICE.contains(&service))
}

/// What the check says of it.
pub fn line(store: &str, service: &str) -> String {
    format!(
        "{store} is {service}: its row in docs/operations/managed-stores.md says what it forbids, and what to set"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_known_by_their_hosts_and_roles_and_each_has_a_row() {
        assert_eq!(
            redis("rediss://clustercfg.a.b.memorydb.us-east-1.amazonaws.com:6379"),
            Some("Amazon MemoryDB")
        );
        assert_eq!(redis("rediss://a.b.use1.cache.amazonaws.com:6379"), Some("Amazon ElastiCache"));
        assert_eq!(redis("rediss://eu1-calm-fox-3.upstash.io:6379"), Some("Upstash"));
        assert_eq!(redis("redis://cache.internal:6379"), None);
        let both = ["rds_superuser".to_owned(), "aurora_version".to_owned()];
        assert_eq!(postgresql(&both), Some("Amazon Aurora"));
        assert_eq!(postgresql(&both[..1]), Some("Amazon RDS"));
        assert_eq!(postgresql(&[]), None);
        let page = include_str!("../../../docs/operations/managed-stores.md");
        let names = REDIS.iter().map(|(name, _)| name).chain(POSTGRESQL.iter().map(|(name, _)| name));
        for name in names {
            assert!(page.contains(&format!("| [{name}]")), "{name} has no row");
        }
        assert!(SIZED_BY_THE_SERVICE.iter().all(|name| POSTGRESQL.iter().any(|(known, _)| known == name)));
    }
}
